"""
Search and list the files of folders: with ripgrep if it is on PATH, otherwise without, with the same result.

Documents with unsaved text are searched as they are in the editor. Protected files are searched only if they
are named, or a folder above them that is protected for the same reason: the user was asked about these. What
a search finds in another key would have been read without asking.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from handrail.adapters.files import failure, scan
from handrail.adapters.files.files import in_thread, path_of
from handrail.adapters.workspace import listing, ripgrep
from handrail.adapters.workspace.protected import protection_of
from handrail.core.failure import Code, Failure
from handrail.core.policy import rules
from handrail.core.policy.place import Place, PlaceKind
from handrail.core.policy.rules import Decision, Rule
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results.search import (
    CLOSED_FILE,
    LIMIT_LINES,
    UNSEARCHED,
    Line,
    Lines,
    Search,
    closed_note,
)
from handrail.ports import Document
from handrail.values import dataclass

READERS = ("read_file", "search")  # whose rules hold for searches
LIMIT_FOUND = 2_000  # lines, before those of protected files are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """
    The files to search.

    Attributes:
        roots: The workspace folders.
        resolve: What a path or URI means there.
        internal: The names of version control's folders.
        rules: The user's rules.
    """

    roots: tuple[Path, ...]
    resolve: Callable[[str], Place | Failure]
    internal: Sequence[str]
    rules: Sequence[Rule] = ()

    def is_closed(self, place: Place, within: Place | None) -> bool:
        """Whether the user's rules keep a file out of a search; they may have been asked about *within*."""
        seen = place if within is None else place.add_names(within)
        said = [
            rules.decision_for_path(self.rules, tool, ToolKind.READ, seen.paths, seen.named)
            for tool in READERS
        ]
        return Decision.BLOCK in said or (Decision.ASK in said and not self._has_asked(within))

    def may_search(self, place: Place, within: Place | None) -> bool:
        """
        Whether a search of *within* may look into the file *place*.

        A yes to a folder, also to one outside the workspace, is one to the files below it that are not
        protected or are protected for the same reason as the folder.
        """
        named = within is not None and within.identity == place.identity
        why = _why_protected(place)
        covered = not why or (within is not None and _why_protected(within) == why)
        return (named or covered) and not self.is_closed(place, within)

    def unsearched_note(self, within: Place | None, starts: Sequence[Path]) -> str:
        """Returns what a search does not look into, for the model."""
        if within is not None and not starts[0].is_dir():
            return CLOSED_FILE if self.is_closed(within, within) else ""
        note = UNSEARCHED[within is not None and bool(_why_protected(within)), self._is_ignored(starts[0])]
        closed = closed_note(
            rule.decision
            for rule in self.rules
            if any(rule.is_for(tool, ToolKind.READ) for tool in READERS)
            and not (rule.decision is Decision.ASK and self._has_asked(within))
        )
        return " ".join(filter(None, (note, closed)))

    def _is_ignored(self, folder: Path) -> bool:
        """Whether a search of all workspace folders does not enter *folder*, because it is ignored."""
        roots = [Path(os.path.realpath(root)) for root in self.roots]
        above = [root for root in roots if folder.is_relative_to(root)]
        return bool(above) and all(
            root != folder and listing.Ignored(root, self.is_internal)(folder, is_folder=True)
            for root in above
        )

    def _has_asked(self, within: Place | None) -> bool:
        """Whether a rule has asked about the search: a yes is one to all files about which rules ask."""
        if within is None:
            return False
        said = rules.decision_for_path(self.rules, "search", ToolKind.READ, within.paths, within.named)
        return said is Decision.ASK

    def is_internal(self, name: str) -> bool:
        """Whether a folder of that name belongs to version control."""
        return name in self.internal

    def starts_of(self, place: Place | None) -> tuple[Path, ...] | Failure:
        """The files and folders that are meant by *place*, or by none."""
        if place is None:
            return self.roots or _no_folder()
        path = path_of(place.uri)
        if path is None or not path.exists():
            return Failure(
                code=Code.NO_SUCH_FILE,
                uri=place.uri,
                message=f"The file or folder {place.path} does not exist.",
                steps=("Check the path, or list its parent folder.",),
            )
        return (path,)


def _why_protected(place: Place) -> str:
    """Why a file is asked about before it is read, wherever it is; empty without such a reason."""
    if place.kind is PlaceKind.OUTSIDE:
        found = protection_of(Path(place.path))
        return found.reason if found is not None and found.is_read else ""
    return place.why if place.kind is PlaceKind.PROTECTED else ""


async def find_files(ground: SearchScope, within: Place | None, glob: str) -> tuple[str, ...] | Failure:
    """The paths of files that ignore rules do not leave out, sorted; see `Workspace.files`."""
    starts = ground.starts_of(within)
    if isinstance(starts, Failure):
        return starts
    wanted, result = listing.Glob(glob), set[str]()
    for start in starts:
        place = ground.resolve(os.fspath(start))
        shown = place.path if isinstance(place, Place) else os.fspath(start)
        try:
            paths = await _files(ground, start)
        except scan.SlowError as error:
            return failure.of_search(error)
        result |= await in_thread(_show_wanted, paths, start, shown, wanted)
    return await in_thread(lambda: tuple(sorted(result)))


def _show_wanted(paths: Sequence[Path], start: Path, shown: str, wanted: listing.Glob) -> set[str]:
    """Those of the paths that are wanted, as people read them; *shown* is how they read *start*."""
    result, below = set[str](), len(os.fspath(start).rstrip(os.sep)) + 1
    for path in paths:
        name = path.name if path == start else os.fspath(path)[below:].replace(os.sep, "/")
        if wanted.takes(name):
            result.add(shown if path == start else name if shown == "." else f"{shown}/{name}")
    return {path.encode("utf-8", "replace").decode("utf-8") for path in result}


async def find_lines(ground: SearchScope, wanted: Search, unsaved: Sequence[Document]) -> Lines | Failure:
    """The lines that match, see `Workspace.search`."""
    starts = ground.starts_of(wanted.within)
    if isinstance(starts, Failure):
        return starts
    order = scan.Scan(pattern=wanted.pattern, ignore_case=wanted.ignore_case, limit=LIMIT_FOUND)
    seeker = _Seeker(ground=ground, wanted=wanted, order=order, unsaved=_unsaved_by_identity(ground, unsaved))
    try:
        found, more = await seeker.find(starts)
    except (scan.PatternError, scan.SlowError, OSError) as error:
        return failure.of_search(error)
    lines = sorted(found, key=lambda line: (line.path, line.line_number))
    left_out = await in_thread(ground.unsearched_note, wanted.within, starts)
    return Lines(lines=tuple(lines[:LIMIT_LINES]), more=more or len(lines) > LIMIT_LINES, left_out=left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seeker:
    """One search; `unsaved` are texts by the identity of their documents."""

    ground: SearchScope
    wanted: Search
    order: scan.Scan
    unsaved: Mapping[str, tuple[Place, str]]

    async def find(self, starts: Sequence[Path]) -> tuple[list[Line], bool]:
        rg = ripgrep.program()
        if rg is not None:
            try:
                return await self._with_ripgrep(rg, starts)
            except ripgrep.NotDoneError:
                pass  # a pattern of another dialect, or an old ripgrep
        return await self._search_without_ripgrep(starts)

    async def _with_ripgrep(self, rg: str, starts: Sequence[Path]) -> tuple[list[Line], bool]:
        lines: list[Line] = []
        cut = False
        for start in starts:
            matches, is_cut = await ripgrep.find(rg, self.order, start, self.ground.internal)
            lines += await in_thread(self._wanted_lines, start, matches)
            cut = cut or is_cut
        for place, text in await self._unsaved_texts(starts):
            matches, _ = await ripgrep.find(rg, self.order, Path(os.sep), (), text)
            lines += [Line(path=place.path, line_number=m.line_number, row=m.row) for m in matches]
        return lines, cut

    def _wanted_lines(self, start: Path, matches: Sequence[scan.Match]) -> list[Line]:
        """
        Returns the matches on disk, without those in unsaved documents, in protected files, or not asked for.
        """
        glob, shown = listing.Glob(self.wanted.glob), dict[str, str | None]()
        for source in {each.source for each in matches}:
            path, place = Path(source), self.ground.resolve(source)
            takes = path == start or glob.takes(path.relative_to(start).as_posix())
            is_meant = takes and isinstance(place, Place) and self._may_read(place)
            shown[source] = place.path if is_meant and isinstance(place, Place) else None
        return [
            Line(path=name, line_number=each.line_number, row=each.row)
            for each in matches
            if (name := shown[each.source]) is not None
        ]

    def _may_read(self, place: Place) -> bool:
        return place.identity not in self.unsaved and self.ground.may_search(place, self.wanted.within)

    async def _unsaved_texts(self, starts: Sequence[Path]) -> list[tuple[Place, str]]:
        """The unsaved documents that are meant."""
        result = []
        for place, text in self.unsaved.values():
            path = path_of(place.uri)
            named = self.wanted.within is not None and self.wanted.within.identity == place.identity
            if path is None:
                is_meant = self.wanted.within is None and not self.wanted.glob
            else:
                is_meant = named or any([await in_thread(self._is_below, start, path) for start in starts])
            if is_meant and self.ground.may_search(place, self.wanted.within):
                result.append((place, text))
        return result

    def _is_below(self, start: Path, path: Path) -> bool:
        if not path.is_relative_to(start) or path == start:
            return False
        takes = listing.Glob(self.wanted.glob).takes(path.relative_to(start).as_posix())
        return takes and not listing.Ignored(start, self.ground.is_internal)(path)

    async def _search_without_ripgrep(self, starts: Sequence[Path]) -> tuple[list[Line], bool]:
        places = dict[str, Place]()
        sources = await in_thread(lambda: list(self._sources(starts, places)))
        for place, text in await self._unsaved_texts(starts):
            sources.append(scan.Source(name=place.identity, text=text))
            places[place.identity] = place
        matches, more = await scan.find(self.order, sources)
        return [
            Line(path=places[each.source].path, line_number=each.line_number, row=each.row)
            for each in matches
        ], more

    def _sources(self, starts: Sequence[Path], places: dict[str, Place]) -> Iterator[scan.Source]:
        """The files to be searched; *places* takes what they are, by their identities."""
        glob = listing.Glob(self.wanted.glob)
        for start in starts:
            for path in _walk(self.ground, start):
                place = self.ground.resolve(os.fspath(path))
                takes = path == start or glob.takes(path.relative_to(start).as_posix())
                if takes and isinstance(place, Place) and self._may_read(place):
                    places[place.identity] = place
                    yield scan.Source(name=place.identity, path=os.fspath(path))


async def _files(ground: SearchScope, start: Path) -> Sequence[Path]:
    if (rg := ripgrep.program()) is not None and await in_thread(start.is_dir):
        try:
            return await ripgrep.files(rg, start, ground.internal)
        except ripgrep.NotDoneError:
            pass  # an old ripgrep, or one that could not read something
    return await in_thread(_walk, ground, start)


def _walk(ground: SearchScope, start: Path) -> Sequence[Path]:
    return (start,) if start.is_file() else list(listing.walk(start, ground.is_internal))


def _unsaved_by_identity(ground: SearchScope, unsaved: Sequence[Document]) -> dict[str, tuple[Place, str]]:
    places = ((ground.resolve(document.uri), document.text.content) for document in unsaved)
    return {place.identity: (place, text) for place, text in places if isinstance(place, Place)}


def _no_folder() -> Failure:
    return Failure(
        code=Code.OUTSIDE_WORKSPACE,
        message="No folder is open, so there is nothing to search.",
        steps=("Ask the user to open a folder.",),
    )
