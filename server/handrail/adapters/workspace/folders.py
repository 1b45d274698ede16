"""
The workspace folders, and what a path means in them.

Links and `..` are followed before anything is judged, so no spelling of a path avoids the judgement: the
stricter kind applies, of the path as written or of the place that it leads to. Every string results in a
place or a failure. Whether a kind permits anything is decided by the policy; files are only located here,
never read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from handrail.adapters.files.files import in_thread, path_of, uri_of
from handrail.adapters.files.paths import (
    INTERNAL,
    OWN_FOLDER,
    VERSION_CONTROL,
    fold_case,
    inside,
    paths_below,
    root_names,
    shown_path,
)
from handrail.adapters.workspace import reached
from handrail.adapters.workspace.heads import HeadReader
from handrail.adapters.workspace.listing import Ignored
from handrail.adapters.workspace.protected import (
    SECRETS,
    holds_secrets,
    plain_name,
    protection_of,
)
from handrail.adapters.workspace.search import SearchScope, find_files, find_lines
from handrail.adapters.workspace.spellings import (
    link_spellings,
    names_of,
    plain_spelling,
    rule_paths,
)
from handrail.core.failure import Code, Failure
from handrail.core.policy import rules
from handrail.core.policy.commands.options import Below
from handrail.core.policy.place import Place, PlaceKind
from handrail.core.policy.rules import Decision, Rule
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results.search import Lines, Search
from handrail.ports import Document
from handrail.ports.heads import Heads
from handrail.values import replace

# In the user's home folder: what of it may have another name in a workspace.
KEYS = (".ssh", ".gnupg", ".aws", ".netrc", ".npmrc", ".pypirc", ".git-credentials")

SHORT_NAME = re.compile(r"(?:git|hg|svn|bzr)~\d+")  # what Windows also calls them

READING = "read_file"  # whose rules hold for all that reads files
LIMIT_PATH_BYTES = 4096
LIMIT_NAME_BYTES = 255
OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
UNTITLED = "untitled:"


class Folders:
    """The Workspace port for a list of folders that may change; the first is the main one."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = tuple(roots)
        self._rules: Callable[[], Sequence[Rule]] = tuple
        self._heads = HeadReader(self.resolve)

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders, as the client spells them."""
        return self._roots

    def replace(self, roots: Sequence[Path]) -> None:
        """From now on, these are the folders."""
        self._roots = tuple(roots)
        self._heads.forget()

    def set_folders(self, uris: Sequence[str]) -> None:
        """From now on, these are the folders; one that is not on this machine's disk is left out."""
        self.replace([path for uri in uris if (path := path_of(uri)) is not None])

    def set_rules(self, asked: Callable[[], Sequence[Rule]]) -> None:
        """From now on, these are the user's rules; see the port."""
        self._rules = asked

    def resolve(self, path: str) -> Place | Failure:
        """
        Find what *path* names.

        Args:
            path: Relative, absolute, a `file` URI or an `untitled` URI. A relative one is looked for in
                each folder in turn, and belongs to the first if it is nowhere. Where there are several
                folders it may begin with the name of one, as `Place.path` then does.

        Returns:
            The place; `bad-arguments` for what cannot be a path, `outside-workspace` without a folder.
        """
        if path.startswith(UNTITLED):
            return self._untitled_place(path)
        if not self._roots:
            return Failure(
                code=Code.OUTSIDE_WORKSPACE,
                message="No folder is open, so no path is inside the workspace.",
                steps=("Ask the user to open a folder.",),
            )
        absolute = self._absolute(path)
        return absolute if isinstance(absolute, Failure) else self._place(absolute)

    async def ignored_uris(self, uris: Sequence[str]) -> frozenset[str]:
        """Those of the files that ignore rules leave out; see the port."""
        return await in_thread(self._ignored_uris, uris)

    def _ignored_uris(self, uris: Sequence[str]) -> frozenset[str]:
        by_root = [
            Ignored(Path(os.path.realpath(root)), self._search_scope.is_internal) for root in self._roots
        ]

        def is_ignored(uri: str) -> bool:
            path = path_of(uri)
            real = None if path is None else Path(os.path.realpath(path.parent), path.name)
            return real is None or all(each(real) for each in by_root)

        return frozenset(uri for uri in uris if is_ignored(uri))

    async def files(self, within: Place | None, glob: str) -> tuple[str, ...] | Failure:
        """The files that ignore rules do not leave out; see the port."""
        return await find_files(self._search_scope, within, glob)

    async def heads(self, within: Place, name: str, limit: int) -> Heads:
        """The beginnings of the files *name* in the folders below a folder; see the port."""
        return await in_thread(self._heads_of, within, name, limit)

    def _heads_of(self, within: Place, name: str, limit: int) -> Heads:
        folder = path_of(within.uri)
        root = next(
            (each for each in self._roots if folder is not None and folder.is_relative_to(each)), None
        )
        if folder is None or root is None:
            return Heads()
        return self._heads.heads(folder, name, limit, Ignored(root, self._search_scope.is_internal))

    async def search(self, wanted: Search, unsaved: Sequence[Document]) -> Lines | Failure:
        """The lines that match; see the port."""
        return await find_lines(self._search_scope, wanted, unsaved)

    async def reached_places(self, place: Place, below: Below) -> tuple[Place, ...] | None:
        """The protected files that a command reads by *place*; see the port."""
        return await in_thread(self._reached_places, place, below)

    def _reached_places(self, place: Place, below: Below) -> tuple[Place, ...] | None:
        path = path_of(place.uri)
        reals = tuple(Path(os.path.realpath(root)) for root in self._roots)
        real = Path(os.path.realpath(path)) if path is not None else None
        home = inside(os.fspath(real), reals) if real is not None else None
        if real is None:
            return ()
        root = reals[home[0]] if home is not None else real
        keys = tuple(Path(os.path.expanduser("~"), name) for name in KEYS)
        ground = reached.ProtectedFiles(roots=reals, keys=keys, patterns=SECRETS, is_protected=holds_secrets)
        said = [each for each in self._rules() if each.is_for(READING, ToolKind.READ)]
        start, folders = os.path.join(real, ""), names_of(self._roots, reals)

        def decision(path: str) -> Decision | None:
            paths, named = rule_paths(path, folders), place.names_below(path.removeprefix(start))
            return rules.decision_for_path(said, READING, ToolKind.READ, paths, named)

        try:
            found = ground.reached_files(real, root, below) if home is not None else []
            if any(each.decision is not Decision.ALLOW for each in said) and real.is_dir():
                found += ground.ruled_files(real, root, below, decision)
        except reached.TooManyError:
            return None
        return tuple(self._place(os.fspath(each)).add_names(place) for each in dict.fromkeys(found))

    @property
    def _search_scope(self) -> SearchScope:
        internal = sorted(INTERNAL)
        return SearchScope(
            roots=self._roots, resolve=self.resolve, internal=internal, rules=tuple(self._rules())
        )

    def _untitled_place(self, uri: str) -> Place | Failure:
        known = Place(uri=uri, identity=uri, path=uri, kind=PlaceKind.INSIDE)
        if uri.startswith(UNTITLED + "/"):  # the editor will save it there without asking
            path = path_of("file://" + uri.removeprefix(UNTITLED))
            wrong = _unusable(uri if path is None else os.fspath(path))
            if path is None or wrong:
                return wrong or _no_path("It is not the URI of a document.")
            place = self._place(os.fspath(path))
            known = replace(place, uri=uri, identity=uri, path=uri, is_link=False, meant_by=place.paths)
        return _unusable(uri) or known

    def _absolute(self, path: str) -> str | Failure:
        if path[:5].lower() == "file:":
            named = path_of(path)
            if named is None:
                return _no_path("It is not the URI of a file on this machine.")
            path = os.fspath(named)
        elif OTHER_SCHEME.match(path):
            return _no_path("Only files and untitled documents are supported.")
        return _unusable(path) or (path if os.path.isabs(path) else self._find(path))

    def _find(self, path: str) -> str:
        """The relative *path* in the folder that it belongs to."""
        first, _, rest = path.removeprefix("./").partition("/")
        named = [
            root for root, name in zip(self._roots, root_names(self._roots), strict=True) if name == first
        ]
        if named and len(self._roots) > 1:
            joined = os.path.join(named[0], rest)
            is_taken = any(os.path.lexists(root / first) for root in self._roots)
            if os.path.lexists(joined) or not is_taken:
                return joined
        joined_to = [os.path.join(root, path) for root in self._roots]
        return next(filter(os.path.lexists, joined_to), joined_to[0])

    def _place(self, absolute: str) -> Place:
        """Judge an absolute path."""
        absolute = plain_spelling(absolute)
        real = os.path.realpath(absolute)
        reals = tuple(Path(os.path.realpath(root)) for root in self._roots)
        home = inside(real, reals)
        normal = os.path.normpath(absolute)
        folders = names_of(self._roots, reals)
        spelled = link_spellings(absolute) if real != absolute else ()
        if spelled is None:
            return Place(
                uri=uri_of(normal),
                identity=normal,
                path=shown_path(normal, (), ()),
                kind=PlaceKind.OUTSIDE,
                meant_by=(normal,),
                named=rule_paths(normal, folders),
            )
        written = [Path(below) for path in spelled for below in paths_below(path, (*self._roots, *reals))]
        why = ""
        if home is None:
            internal = _is_internal([part for each in (Path(real), *written) for part in each.parts])
            kind, uri = PlaceKind.VERSION_CONTROL if internal else PlaceKind.OUTSIDE, uri_of(real)
        else:
            kind, why = _kind_of([home[1], *written])
            uri = uri_of(self._roots[home[0]] / home[1])
        shown = shown_path(real, reals, root_names(self._roots))
        meant_by = rule_paths(real, folders)
        named = dict.fromkeys(each for path in spelled for each in rule_paths(path, folders))
        return Place(
            uri=uri,
            identity=fold_case(real),
            path=shown,
            kind=kind,
            why=why,
            is_link=real != normal and os.path.islink(normal),
            meant_by=() if meant_by == (shown,) else meant_by,
            named=tuple(each for each in named if each not in meant_by),
        )


def _kind_of(paths: Sequence[Path]) -> tuple[PlaceKind, str]:
    """Returns the kind of a path in a folder, and why: the strictest one of its target and its spellings."""
    parts = [part for path in paths for part in path.parts]
    if _is_internal(parts):
        return PlaceKind.VERSION_CONTROL, ""
    if any(plain_name(part) == OWN_FOLDER for part in parts):
        return PlaceKind.OWN, ""
    found = [each for each in map(protection_of, paths) if each is not None]
    if not found:
        return PlaceKind.INSIDE, ""
    strictest = next((each for each in found if each.is_read), found[0])
    return PlaceKind.PROTECTED if strictest.is_read else PlaceKind.RUNS_LATER, strictest.reason


def _is_internal(parts: Sequence[str]) -> bool:
    """Whether a part is a version control system's folder, however a file system lets one spell it."""
    return any(name in VERSION_CONTROL or SHORT_NAME.fullmatch(name) for name in map(plain_name, parts))


def _unusable(path: str) -> Failure | None:
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        return _no_path("It has characters that a path cannot contain.")
    if not raw:
        return _no_path("It is empty.")
    if b"\0" in raw:
        return _no_path("It has a NUL character.")
    if len(raw) > LIMIT_PATH_BYTES or any(len(part) > LIMIT_NAME_BYTES for part in raw.split(b"/")):
        return _no_path("It is too long.")
    return None


def _no_path(why: str) -> Failure:
    return Failure(
        code=Code.BAD_ARGUMENTS,
        message=f"This is not a valid path. {why}",
        steps=("Give a path relative to the workspace folder.",),
    )
