"""The containment of one command, and what must not have changed or appeared when it has ended."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import ExitStack, suppress
from pathlib import Path

from handrail.adapters.containment.ground import INSTALLED, LINKS, Kind, Marked, Places
from handrail.adapters.containment.profile import GIT_RUNS, Layer
from handrail.core.policy.containment import Need
from handrail.values import dataclass, field

LIMIT_PROCESSES = 4_000
LIMIT_PINS = 200  # files that are held open for one command
# Forks without end are ended with the command, and the machine can be worked with until then.
BOUNDED = f'{{ ulimit -u {LIMIT_PROCESSES} || ulimit -p {LIMIT_PROCESSES}; }} 2>/dev/null; exec "$@"'
Identity = tuple[int, int]
NEVER_TAKEN = frozenset({Kind.SPECIAL, Kind.OWN, Kind.CLOSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """
    The paths that were hidden or protected in the workspace at some time.

    Attributes:
        paths: The paths, each with the folder that it was in.
        files: The files and folders themselves, wherever they are by now: where each led as a link, and in
            which folders it took effect. A command cannot change them in their places.
        links: The links by their paths.
        at: The file or folder at each path.
        places: Where the folders of the workspace were.
        closed: The folders that could not be listed.
    """

    paths: Mapping[str, Identity | None]
    files: Mapping[Identity, Set[tuple[str, Identity | None]]]
    links: Mapping[str, str]
    at: Mapping[str, Identity] = field(default_factory=dict)
    places: Places = field(default_factory=Places)
    closed: frozenset[Identity] = frozenset()

    def has(self, each: Marked) -> bool:
        """Whether what is there now was there, or was put there by someone who could do more."""
        now = _identity(each.path)
        if now is None:
            return True
        # With the folder in which it takes effect, a file may be moved to a new place, but not to another's.
        if _effect(each) in self.files.get(now, ()):
            is_there = self.at.get(each.path) == now
            return is_there or each.kind is Kind.SPECIAL or not self.places.has_other_above(each.path)
        # A command cannot put something in the place of what is mounted, but it can move the folder away.
        is_in_same_folder = self.paths.get(each.path, now) == _identity(os.path.dirname(each.path))
        return is_in_same_folder and each.kind not in LINKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """
    The containment of one command, and what it is checked for when the command has ended.

    Attributes:
        mounted: The files over which others are mounted, by their identity.
        pins: Closes what is open for the command.
        replaced: The paths of the mounted files that were found replaced.
        reopened: The folders that the command closed and that were opened again.
        layers: The folders that are changed only in layers.
        folder: Its own files on disk.
        scratch: The files on disk that all commands share, if it may write there.
        needs: What its containment has been opened for.
        opened: The paths that are open for it.
        roots: The workspace folders, without links.
        before: The paths that were hidden or protected in the workspace when it began; None if it cannot
            create such paths.
        number: How much had been allowed by then.
        needs_keeper: Whether it runs below a keeper, as it has no processes of its own that end with it.
        git_runs: The files that git runs or follows in each repository of the workspace and that existed when
            it began.
    """

    program: str
    arguments: tuple[str, ...]
    takes_name: bool
    is_bounded: bool
    mounted: Mapping[str, Identity] = field(default_factory=dict)
    pins: ExitStack = field(default_factory=ExitStack)
    replaced: list[str] = field(default_factory=list)
    reopened: list[str] = field(default_factory=list)
    layers: tuple[Layer, ...] = ()
    folder: Path | None = None
    scratch: Path | None = None
    needs: frozenset[Need] = frozenset()
    opened: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    before: Before | None = None
    number: int = 0
    needs_keeper: bool = False
    git_runs: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @staticmethod
    def was_held(told: bytes) -> bool:
        """Returns whether a command was held until its end, or irrevocably, according to what was written."""
        return b"exit-code" in told or b"landlocked" in told

    def changed_layers(self) -> list[Layer]:
        """The layers in which something was written, by this command or an earlier one."""
        return [layer for layer in self.layers if _is_filled(layer.upper)]

    def wrap(
        self, program: str, name: str, arguments: Sequence[str], folder: str, told: int
    ) -> tuple[str, ...]:
        """
        Returns the arguments that start *program* as *name* in *folder*, held; its status is written to the
        descriptor *told*.
        """
        named = ("--argv0", name) if self.takes_name and not self.is_bounded else ()
        bounded = ("/bin/sh", "-c", BOUNDED, "sh") if self.is_bounded else ()
        telling = ("--json-status-fd", str(told))
        return (*self.arguments, *telling, *named, "--chdir", folder, "--", *bounded, program, *arguments)

    def replaced_file(self) -> str | None:
        """A file that was hidden or kept, and was another one at some look: that is not hidden."""
        if not self.replaced:
            now = ((path, was, _identity(path)) for path, was in self.mounted.items())
            self.replaced.extend(path for path, was, is_ in now if is_ not in {was, None})
        return self.replaced[0] if self.replaced else None

    def is_taken(self, each: Marked) -> bool:
        """Whether what is there now is to be taken away: it is new, and none of what the command may make."""
        return self.is_new(each) and not self._may_make(each)

    def is_new(self, each: Marked) -> bool:
        """Whether what is there now was not there when the command began."""
        if self.before is None or each.kind in NEVER_TAKEN or not each.is_named:
            return False
        return not self.before.has(each)

    def open_closed(self, path: str) -> bool:
        """
        Opens a folder that the command has closed, so that it can be searched; returns whether it did.

        Raises OSError.
        """
        if self.before is None or _identity(path) in self.before.closed:
            return False
        folder = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            status = os.fstat(folder)
            if status.st_uid != os.geteuid():
                return False
            os.chmod(f"/proc/self/fd/{folder}", stat.S_IMODE(status.st_mode) | stat.S_IRWXU)
        finally:
            os.close(folder)
        self.reopened.append(path)
        return True

    def is_left(self, each: Marked) -> bool:
        """Whether it is a pipe or socket that the command has made, and that no program has open."""
        if self.before is None or each.kind is not Kind.SPECIAL or self.before.has(each):
            return False
        return _is_unused(each.path)

    def _may_make(self, each: Marked) -> bool:
        if each.kind is Kind.KEPT and Need.REPOSITORY in self.needs:
            return True
        if each.path in self.opened:  # to open a folder opens nothing that is asked about in it
            return True
        return Need.NETWORK in self.needs and is_installed(each, self.roots)

    def new_git_runs(self) -> list[str]:
        """
        Returns files that git runs or follows and that have appeared in a repository that existed before.
        """
        now = {folder: _git_runs(folder) - were for folder, were in self.git_runs.items()}
        return sorted(path for paths in now.values() for path in paths)


def remember_marked(marked: Iterable[Marked], places: Places) -> Before:
    """Returns the paths that are hidden or protected now."""
    all_of_them = list(marked)
    at = {each.path: now for each in all_of_them if (now := _identity(each.path)) is not None}
    files: dict[Identity, set[tuple[str, Identity | None]]] = {}
    for each in all_of_them:
        if each.path in at:
            files.setdefault(at[each.path], set()).add(_effect(each))
    named = (each for each in all_of_them if each.is_named and each.kind not in LINKS)
    return Before(
        paths={each.path: _identity(os.path.dirname(each.path)) for each in named},
        files=files,
        at=at,
        places=places,
        links={each.path: _target(each) for each in all_of_them if each.kind in LINKS},
        closed=frozenset(
            at[each.path] for each in all_of_them if each.kind is Kind.CLOSED and each.path in at
        ),
    )


def pin(paths: Iterable[str], pins: ExitStack) -> dict[str, Identity]:
    """
    Returns the current identity of each path; paths that do not exist are left out.

    The files are open until *pins* is closed. Otherwise the file system could give the number of one that was
    replaced to a later one, which would then look like it.
    """
    can_pin = hasattr(os, "O_PATH")
    result = dict[str, Identity]()
    for path in paths:
        is_pinned = can_pin and len(result) < LIMIT_PINS
        identity = (_pin(path, pins) if is_pinned else None) or _identity(path)
        if identity is not None:
            result[path] = identity
    return result


def _pin(path: str, pins: ExitStack) -> Identity | None:
    """Opens a file; returns what it is, or None if that is impossible, as with too many open files."""
    with suppress(OSError):
        pinned = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        pins.callback(os.close, pinned)
        status = os.fstat(pinned)
        return status.st_dev, status.st_ino
    return None


def git_runs(marked: Iterable[Marked]) -> dict[str, frozenset[str]]:
    """Returns the files that git runs or follows in each repository of the workspace."""
    return {each.path: _git_runs(each.path) for each in marked if each.kind is Kind.KEPT and each.is_folder}


def is_installed(each: Marked, roots: Sequence[str]) -> bool:
    """Whether a path runs later, and a package manager writes it."""
    if each.kind is not Kind.LATER:
        return False
    home = next((root for root in roots if each.path.startswith(f"{root}/")), "")
    return not INSTALLED.isdisjoint(Path(each.path[len(home) + 1 :]).parts)


def _is_unused(path: str) -> bool:
    """Whether no program reads from a pipe or listens at a socket; other things than these are in use."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISFIFO(mode):
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
        elif stat.S_ISSOCK(mode):
            with socket.socket(socket.AF_UNIX) as asking:
                asking.setblocking(False)
                asking.connect(path)
    except OSError as error:
        return error.errno in {errno.ENXIO, errno.ECONNREFUSED}
    return False


def _effect(each: Marked) -> tuple[str, Identity | None]:
    """Returns where it leads as a link, and the folder in which it takes effect, if that counts."""
    folder = None if each.kind is Kind.SPECIAL else _identity(each.effective_in)
    return _target(each), folder


def _target(each: Marked) -> str:
    """Returns the target of a link; empty for anything else."""
    try:
        return os.readlink(each.path) if each.kind in LINKS else ""
    except OSError:
        return ""


def _git_runs(folder: str) -> frozenset[str]:
    paths = (os.path.join(folder, name) for name in GIT_RUNS)
    return frozenset(path for path in paths if os.path.lexists(path))


def _is_filled(folder: str) -> bool:
    try:
        return bool(os.listdir(folder))
    except OSError:
        return False


def _identity(path: str) -> Identity | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
