"""
Contain commands: determine for each what it may see and change, and enforce it with bubblewrap or Landlock.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from handrail.adapters.containment import landlock
from handrail.adapters.containment.ground import INSTALLED, CannotSearchError, Kind, Marked, WorkspaceScan
from handrail.adapters.containment.holding import Holding, git_runs, is_installed, pin, remember_marked
from handrail.adapters.containment.landlock import Landlock
from handrail.adapters.containment.probe import Bubblewrap, find, hidden_file
from handrail.adapters.containment.profile import (
    Layer,
    TooManyError,
    View,
    is_cache,
    is_in,
    make_arguments,
)
from handrail.adapters.containment.quarantine import MovedFiles, Quarantine, show_contents
from handrail.adapters.containment.scratch import Scratch, remove
from handrail.adapters.containment.system import home_of
from handrail.adapters.files.failure import in_words
from handrail.adapters.files.files import in_thread, path_of, uri_of
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.policy.containment import Available, Contained, Need, Profile
from handrail.core.policy.shell import Appeared
from handrail.ports import CheckpointError
from handrail.values import dataclass, field, replace


class CannotContainError(Exception):
    """A command cannot be contained; the text says why, for people."""


@dataclass(kw_only=True)
class Containment:
    """
    Contains the commands of a server.

    Attributes:
        environ: The server's environment.
        roots: Gives the workspace folders.
        kind_of: What a path in a workspace folder is, relative to it.
        state: Gives the state folder.
    """

    environ: Mapping[str, str]
    roots: Callable[[], Sequence[Path]]
    kind_of: Callable[[Path], Kind]
    state: Callable[[], Path]
    _available_for: dict[tuple[Path, ...], tuple[Bubblewrap | Landlock | None, str]] = field(
        default_factory=dict
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _taking: threading.Lock = field(default_factory=threading.Lock)
    _made: set[str] = field(default_factory=set)
    _allowed: dict[str, int] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        self._ground = WorkspaceScan(kind_of=self.kind_of)
        self._scratch = Scratch(state=self.state)
        self._taken_away = Quarantine(state=self.state)

    async def available(self) -> Available:
        """Returns how far commands can be contained in the current workspace; tries it once."""
        return await in_thread(self._available)

    async def hold(self, contained: Contained) -> Holding | None:
        """Returns how to hold a command; None if it is free. Raises CannotContainError."""
        if contained.profile is Profile.FREE:
            return None
        made: list[Holding | None] = []
        try:
            await in_thread(lambda: made.append(self._hold(contained)))
        except asyncio.CancelledError:
            for each in made:
                if each is not None:
                    self.release(each)
            raise
        return made[0]

    def note_folders(self, uris: Sequence[str]) -> None:
        """Commands have made these folders, which later ones may change."""
        self._made.update(os.path.realpath(path) for uri in uris if (path := path_of(uri)) is not None)

    def close(self) -> None:
        """Removes what is kept for commands."""
        self._scratch.close()

    # ---- What there is -----------------------------------------------------------------------------

    def _available(self) -> Available:
        found, why = self._container()
        if found is None:
            return Available(why_not=why)
        try:
            self._hold(Contained(profile=Profile.LOOK))
        except CannotContainError as error:
            return Available(why_not=str(error))
        if isinstance(found, Landlock):
            by, no_work = f"Landlock (version {found.version})", self._no_work() or found.why_no_work
            reasons = "; ".join(each for each in (why, no_work) if each)
            return Available(by=by, works=not no_work, is_weak=True, mounts=False, why_not=reasons)
        version = ".".join(map(str, found.version))
        by = f"bubblewrap {version} ({found.program})"
        why = self._no_work()
        if not why and not found.overlays:
            why = f"commands cannot write in most folders that git ignores, because {found.why_no_overlays}"
            return Available(by=by, works=True, why_not=why)
        return Available(by=by, works=not why, why_not=why)

    def _container(self) -> tuple[Bubblewrap | Landlock | None, str]:
        """
        Returns the means that contains commands in the workspace, and why it is not bubblewrap, if it is not.
        """
        roots = tuple(self.roots())
        with self._lock:
            if roots not in self._available_for:
                try:
                    self._available_for[roots] = self._try(roots)
                except (OSError, CheckpointError) as error:
                    self._available_for[roots] = None, f"the state folder cannot be used: {in_words(error)}"
            return self._available_for[roots]

    def _try(self, roots: Sequence[Path]) -> tuple[Bubblewrap | Landlock | None, str]:
        folder = self._scratch.of_command()
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        try:
            found, why = find(roots, folder, port)
            if found is not None:
                return found, ""
            other, why_neither = landlock.find(roots, folder, port)
            return other, "; ".join(each for each in (why, why_neither) if each)
        finally:
            listener.close()
            remove(folder)

    def _no_work(self) -> str:
        """Returns why no command may write in the workspace unasked; empty if it may."""
        home = self.environ.get("HOME", "")
        if not os.path.isabs(home):
            return "HOME is not set, so handrail does not know what to hide"
        real = Path(os.path.realpath(home))
        for root in self.roots():
            top = Path(os.path.realpath(root))
            if top == Path(top.anchor) or real.is_relative_to(top):
                return f"the workspace folder {root} is or contains the home folder"
        return "" if self.roots() else "no folder is open"

    # ---- One command -------------------------------------------------------------------------------

    def _exposing_folder(self, contained: Contained, roots: Sequence[str]) -> str:
        """A folder that is opened, and in which all that is hidden would be seen again."""
        home = os.path.realpath(self.environ.get("HOME") or "/")
        whole = [home, *roots]
        opened = (path for path in _real(contained.opened) if path not in roots)
        return next((path for path in opened if any(Path(each).is_relative_to(path) for each in whole)), "")

    def _hold(self, contained: Contained) -> Holding | None:
        found, why = self._container()
        if found is None:
            raise CannotContainError(why)
        roots = [os.path.realpath(root) for root in self.roots()]
        works = contained.profile is Profile.WORK
        if above := self._exposing_folder(contained, roots):
            if not works:  # it only reads, and the user has said yes to this
                return None
            raise CannotContainError(f"{above} contains the workspace or the home folder")
        if works and isinstance(found, Landlock) and found.why_no_work:
            raise CannotContainError(found.why_no_work)
        try:
            if isinstance(found, Landlock):
                return self._hold_by_landlock(contained, found, roots, is_work=works)
            return self._hold_by_bubblewrap(contained, found, roots, is_work=works)
        except (CannotSearchError, TooManyError) as error:
            raise CannotContainError(str(error)) from error
        except (OSError, CheckpointError) as error:
            raise CannotContainError(f"the state folder cannot be used: {in_words(error)}") from error

    def _hold_by_landlock(
        self, contained: Contained, landlock: Landlock, roots: Sequence[str], *, is_work: bool
    ) -> Holding:
        """Returns how Landlock holds a command."""
        marked = self._ground.marked_paths(self.roots())
        folder = self._scratch.of_command()
        with ExitStack() as undo:
            undo.callback(remove, folder)
            view = self._view(contained, marked, roots)
            if is_work:
                _, kept = self._layers(contained, overlays=False)
                view = replace(view, kept=kept, temporary=self._scratch.temporary())
            arguments = landlock.arguments(view, folder)
            undo.pop_all()
        held = Holding(
            program=landlock.program,
            arguments=arguments,
            takes_name=True,
            is_bounded=is_work,
            folder=folder,
            roots=tuple(roots),
            needs_keeper=is_work,
        )
        return self._watch(held, contained, marked) if is_work else held

    def _watch(self, holding: Holding, contained: Contained, marked: Sequence[Marked]) -> Holding:
        """Returns *holding* with everything that is needed to find paths that must not have appeared."""
        return replace(
            holding,
            needs=contained.needs,
            opened=_real(contained.opened),
            before=remember_marked(marked, self._ground.remember_places()),
            number=self._count,
            git_runs=git_runs(marked),
            scratch=self._scratch.folder(),
        )

    def _hold_by_bubblewrap(
        self, contained: Contained, bubblewrap: Bubblewrap, roots: Sequence[str], *, is_work: bool
    ) -> Holding:
        """Returns how bubblewrap holds a command."""
        marked = self._ground.marked_paths(self.roots())
        with ExitStack() as undo:
            layers, kept = self._layers(contained, overlays=bubblewrap.overlays) if is_work else ((), ())
            undo.callback(self._scratch.give_back, layers, None)
            copies, folder = self._scratch.copy_texts(_by_path(contained.copies))
            undo.callback(self._scratch.give_back, (), folder)
            view = self._view(contained, marked, roots)
            if is_work:
                temporary, overlays = self._scratch.temporary(), bubblewrap.overlays
                view = replace(view, layers=layers, kept=kept, temporary=temporary, overlays=overlays)
            result = make_arguments(replace(view, copies=copies))
            pins = undo.enter_context(ExitStack())
            mounted = pin(result.mounted, pins)
            undo.pop_all()
        held = Holding(
            program=bubblewrap.program,
            arguments=result.arguments,
            takes_name=bubblewrap.takes_name,
            is_bounded=is_work,
            mounted=mounted,
            pins=pins,
            layers=layers,
            folder=folder,
            roots=tuple(roots),
        )
        return self._watch(held, contained, marked) if is_work else held

    def _view(self, contained: Contained, marked: Sequence[Marked], roots: Sequence[str]) -> View:
        """Returns what a command sees, without what is made for it alone. Raises CannotSearchError."""
        closed = [each.path for each in marked if each.kind is Kind.CLOSED]
        if path := next((path for path in _real(contained.opened) if is_in(path, closed)), ""):
            raise CannotSearchError(f"handrail cannot list {path}, or a folder that it is in")
        works = contained.profile is Profile.WORK
        repositories = _repositories(marked, roots)
        installs = works and Need.NETWORK in contained.needs
        settings = [os.path.join(root, name, "pyvenv.cfg") for root in roots for name in (".venv", "venv")]
        return View(
            roots=roots,
            home=home_of(self.environ.get("PATH", ""), self.environ.get("HOME", ""), settings),
            hidden=hidden_file(self._scratch.folder()),
            is_writable=works,
            needs=contained.needs if works else frozenset(),
            marked=[
                *(each for each in marked if not (installs and is_installed(each, roots))),
                *(Marked(path, Kind.KEPT, is_folder=True) for path in repositories),
            ],
            opened=_real(contained.opened),
            repositories=repositories,
            overlays=False,
        )

    def take_away(self, holding: Holding, *, is_over: bool = True) -> MovedFiles:
        """Moves away what must not have appeared, and once the command *is over* the pipes that are left."""
        with self._taking:  # of two that look at once, one moves a path and the other one does not find it
            return self._take_away(holding, is_over=is_over)

    def _take_away(self, holding: Holding, *, is_over: bool) -> MovedFiles:
        if holding.before is None:
            return MovedFiles()
        links = holding.before.links
        try:
            marked = self._ground.marked_paths(self.roots(), holding.open_closed)
            left = [Path(each.path) for each in marked if is_over and holding.is_left(each)]
            new = [each for each in marked if holding.is_new(each)]
            new = [each for each in new if self._allowed.get(each.path, 0) <= holding.number]
            self._allow(each.path for each in new if not holding.is_taken(each))
            taken = sorted(each.path for each in new if holding.is_taken(each))
            paths = [Path(path) for path in (*taken, *holding.new_git_runs()) if os.path.lexists(path)]
            folder = self._taken_away.folder() if paths or left else Path()
        except CannotSearchError as error:
            return MovedFiles(unsearched=str(error))
        except (OSError, CheckpointError) as error:
            return MovedFiles(unsearched=f"the state folder cannot be used: {in_words(error)}")
        away = [self._taken_away.take(path, folder, links.get(os.fspath(path))) for path in paths]
        for path in left:
            self._taken_away.take(path, folder)
        gone = tuple(uri_of(path) for path in left if not os.path.lexists(path))
        return MovedFiles(appeared=tuple(show_contents(away)), left=gone)

    def put_back(self, path: Path) -> Failure | None:
        """Has *path* be there again, unless something is there by now."""
        failure = self._taken_away.put_back(path)
        if failure is None:
            self._allow(map(os.fspath, (path, *path.parents)))  # in a new folder, it may be only a part
        return failure

    def put_back_saved(self, path: Path, saved: Mapping[str, Text]) -> tuple[Appeared, ...]:
        """Has be there again the files at *path* that have a saved text; returns the rest."""
        texts = {real: text for uri, text in saved.items() for real in _real([uri])}
        back, rest = self._taken_away.put_back_saved(path, texts)
        self._allow(back)
        return tuple(show_contents(rest))

    def allow(self, uris: Sequence[str]) -> None:
        """Notes that what is at these URIs may be there, whatever commands are running."""
        self._allow(_real(uris))

    def _allow(self, paths: Iterable[str]) -> None:
        """Notes that what is at these paths may be there, even for commands that began before."""
        self._count += 1
        self._allowed.update(dict.fromkeys(paths, self._count))

    def release(self, holding: Holding) -> None:
        """A command that was held has ended."""
        holding.pins.close()
        self._scratch.give_back(holding.layers, holding.folder)

    def _layers(self, contained: Contained, *, overlays: bool) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
        """Returns the folders that are changed only in layers, and those that cannot be changed."""
        layers, kept = [], []
        installs = Need.NETWORK in contained.needs
        for path in _real(contained.not_covered):
            if is_cache(Path(path)) or path in self._made or (installs and Path(path).name in INSTALLED):
                continue
            if not os.path.isdir(path) or not overlays:
                kept.append(path)
                continue
            if (layer := self._scratch.layer(path)) is not None:
                layers.append(layer)
            else:
                kept.append(path)
        return tuple(layers), tuple(kept)


def _by_path(copies: Sequence[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    return [(path, raw) for uri, raw in copies for path in _real([uri])]


def _real(uris: Sequence[str]) -> tuple[str, ...]:
    found = (path_of(uri) for uri in uris)
    return tuple(dict.fromkeys(os.path.realpath(path) for path in found if path is not None))


def _repositories(marked: Sequence[Marked], roots: Sequence[str]) -> tuple[str, ...]:
    """Git's folders elsewhere that files called `.git` name."""
    found = dict.fromkeys(
        path
        for each in marked
        if each.kind is Kind.KEPT and not each.is_folder
        for path in _git_folders(each.path)
    )
    return tuple(path for path in found if not any(path.startswith(f"{root}/") for root in roots))


def _git_folders(file: str) -> Iterator[str]:
    """The folder that git's file names, with that of all its work trees, if it is one."""
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as text:
            name, _, value = text.readline(5_000).rstrip("\n").partition(": ")
    except OSError:
        return
    folder = os.path.realpath(os.path.join(os.path.dirname(file), value))
    if name != "gitdir" or not os.path.isfile(os.path.join(folder, "HEAD")):
        return
    common = os.path.join(folder, "commondir")
    if os.path.isfile(common):
        with open(common, encoding="utf-8", errors="surrogateescape") as text:
            folder = os.path.realpath(os.path.join(folder, text.readline(5_000).rstrip("\n")))
    if os.path.isdir(os.path.join(folder, "objects")) and os.path.isfile(os.path.join(folder, "HEAD")):
        yield folder
