"""
Contain commands: what each may see and change is worked out anew, and bubblewrap holds it to that.

Layers, the temporary folder of commands and the file that hides others lie in the state folder, and are gone
when the server ends; those of a server that was killed are removed by the next one.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from handrail.adapters.containment.ground import INSTALLED, Ground, Kind, Marked, TooLargeError
from handrail.adapters.containment.probe import Bubblewrap, find, hidden_file
from handrail.adapters.containment.profile import (
    LIMIT_MOUNTS,
    Layer,
    TooManyError,
    View,
    is_cache,
    made,
)
from handrail.adapters.containment.system import home_of
from handrail.adapters.files.files import in_thread, path_of
from handrail.adapters.files.system_lock import taken
from handrail.adapters.state import lock
from handrail.core.failure import Code, Failure
from handrail.core.policy.containment import Available, Contained, Need, Profile
from handrail.ports import CheckpointError

FOLDER, LOCK = "contained", "lock"
LIMIT_PROCESSES = 4_000
# Forks without end are ended with the command, and the machine can be worked with until then.
BOUNDED = f'{{ ulimit -u {LIMIT_PROCESSES} || ulimit -p {LIMIT_PROCESSES}; }} 2>/dev/null; exec "$@"'
Identity = tuple[int, int]


class CannotContainError(Exception):
    """A command cannot be contained; the text says why, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """
    How one command is held.

    Attributes:
        mounted: The files that others lie over, by what they were.
        layers: The folders that are changed only beside.
        marked: What was hidden or kept in the workspace when it began; None if it cannot add to that.
    """

    program: str
    arguments: tuple[str, ...]
    takes_name: bool
    is_bounded: bool
    mounted: Mapping[str, Identity]
    layers: tuple[Layer, ...] = ()
    marked: frozenset[str] | None = None

    def changed_layers(self) -> list[Layer]:
        """The layers in which something was written, by this command or an earlier one."""
        return [layer for layer in self.layers if any(os.scandir(layer.upper))]

    def wrapped(self, program: str, name: str, arguments: Sequence[str], folder: str) -> tuple[str, ...]:
        """What starts *program* by *name* in *folder*, held."""
        named = ("--argv0", name) if self.takes_name and not self.is_bounded else ()
        bounded = ("/bin/sh", "-c", BOUNDED, "sh") if self.is_bounded else ()
        return (*self.arguments, *named, "--chdir", folder, "--", *bounded, program, *arguments)

    def replaced(self) -> str | None:
        """A file that was hidden or kept, and is another one now: that is not hidden."""
        return next((path for path, was in self.mounted.items() if _identity(path) not in {was, None}), None)


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
    _found: dict[tuple[Path, ...], tuple[Bubblewrap | None, str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _folder: Path | None = None
    _handle: int = -1
    _made: set[str] = field(default_factory=set)
    _aside: dict[Path, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ground = Ground(kind_of=self.kind_of)

    async def available(self) -> Available:
        """What can be contained in the workspace as it is; it is tried once."""
        return await in_thread(self._available)

    async def hold(self, contained: Contained) -> Holding | None:
        """How a command is to be held; None if it is free. Raises CannotContainError."""
        return None if contained.profile is Profile.FREE else await in_thread(self._hold, contained)

    def made(self, uris: Sequence[str]) -> None:
        """Commands have made these folders, which later ones may change."""
        self._made.update(os.path.realpath(path) for uri in uris if (path := path_of(uri)) is not None)

    def close(self) -> None:
        """Remove what is kept for commands."""
        with self._lock:
            folder, self._folder = self._folder, None
            if folder is not None:
                _remove(folder)
                os.close(self._handle)

    # ---- What there is -----------------------------------------------------------------------------

    def _available(self) -> Available:
        found, why = self._bubblewrap()
        if found is None:
            return Available(why_not=why)
        try:
            self._hold(Contained(profile=Profile.LOOK))
        except CannotContainError as error:
            return Available(why_not=str(error))
        version = ".".join(map(str, found.version))
        by = f"bubblewrap {version} ({found.program})"
        why = self._no_work()
        if not why and not found.overlays:
            return Available(by=by, works=True, why_not="without layers, ignored folders are not written")
        return Available(by=by, works=not why, why_not=why)

    def _bubblewrap(self) -> tuple[Bubblewrap | None, str]:
        roots = tuple(self.roots())
        with self._lock:
            if roots not in self._found:
                try:
                    self._found[roots] = self._tried(roots)
                except (OSError, CheckpointError) as error:
                    self._found[roots] = None, f"the state folder cannot be used: {error}"
            return self._found[roots]

    def _tried(self, roots: Sequence[Path]) -> tuple[Bubblewrap | None, str]:
        folder = self._own() / f"trial-{secrets.token_hex(4)}"
        folder.mkdir()
        listener = socket.create_server(("127.0.0.1", 0))
        try:
            return find(roots, folder, listener.getsockname()[1])
        finally:
            listener.close()
            _remove(folder)

    def _no_work(self) -> str:
        """Why nothing may be written in the workspace unasked."""
        home = self.environ.get("HOME", "")
        if not os.path.isabs(home):
            return "HOME is not set, so it is not known what to hide"
        real = Path(os.path.realpath(home))
        for root in self.roots():
            top = Path(os.path.realpath(root))
            if top == Path(top.anchor) or real.is_relative_to(top):
                return f"the workspace folder {root} is, or holds, the home folder"
        return "" if self.roots() else "no folder is open"

    # ---- One command -------------------------------------------------------------------------------

    def _above(self, contained: Contained, roots: Sequence[str]) -> str:
        """A folder that is opened, and in which all that is hidden would be seen again."""
        home = os.path.realpath(self.environ.get("HOME") or "/")
        whole = [home, *roots]
        opened = (path for path in _real(contained.opened) if path not in roots)
        return next((path for path in opened if any(Path(each).is_relative_to(path) for each in whole)), "")

    def _hold(self, contained: Contained) -> Holding | None:
        found, why = self._bubblewrap()
        if found is None:
            raise CannotContainError(why)
        roots = [os.path.realpath(root) for root in self.roots()]
        works = contained.profile is Profile.WORK
        if above := self._above(contained, roots):
            if not works:  # it only reads, and the user has said yes to this
                return None
            raise CannotContainError(f"{above} holds the workspace or the home folder")
        try:
            marked = self._ground.marked(self.roots())
            folder = self._own()
            repositories = _repositories(marked, roots)
            layers, kept = self._layers(contained, found, folder) if works else ((), ())
            installs = works and Need.NETWORK in contained.needs
            view = View(
                roots=roots,
                home=home_of(
                    self.environ.get("PATH", ""),
                    self.environ.get("HOME", ""),
                    [os.path.join(root, name, "pyvenv.cfg") for root in roots for name in (".venv", "venv")],
                ),
                hidden=hidden_file(folder),
                is_writable=works,
                needs=contained.needs if works else frozenset(),
                marked=[
                    *(each for each in marked if not (installs and _is_installed(each, roots))),
                    *(Marked(path, Kind.KEPT, is_folder=True) for path in repositories),
                ],
                opened=_real(contained.opened),
                layers=layers,
                kept=kept,
                repositories=repositories,
                temporary=self._temporary(folder) if works else None,
                overlays=found.overlays and works,
                copies=_copied(contained.copies, folder),
            )
            result = made(view)
        except TooLargeError as error:
            raise CannotContainError("the workspace has too many folders to look through") from error
        except TooManyError as error:
            raise CannotContainError(
                f"more than {LIMIT_MOUNTS} files and folders would have to be hidden or kept"
            ) from error
        except (OSError, CheckpointError) as error:
            raise CannotContainError(f"the state folder cannot be used: {error}") from error
        identities = {path: _identity(path) for path in result.mounted}
        return Holding(
            program=found.program,
            arguments=result.arguments,
            takes_name=found.takes_name,
            is_bounded=works,
            mounted={path: was for path, was in identities.items() if was is not None},
            layers=layers,
            marked=frozenset(each.path for each in marked) if works else None,
        )

    def take_away(self, holding: Holding) -> list[Path]:
        """Move away what runs later, holds keys or is version control's own, and has appeared."""
        if holding.marked is None:
            return []
        found = []
        for each in sorted(self._ground.marked(self.roots()), key=lambda marked: marked.path):
            path = Path(each.path)
            is_new = each.path not in holding.marked and each.kind is not Kind.SPECIAL
            if not is_new or not os.path.lexists(path):
                continue
            beside = self._own() / "aside" / secrets.token_hex(8)
            beside.parent.mkdir(exist_ok=True)
            shutil.move(path, beside)
            self._aside[path] = beside
            found.append(path)
        return found

    def put_back(self, path: Path) -> Failure | None:
        """Have *path* be there again, unless something is there by now."""
        beside = self._aside.pop(path, None)
        if beside is None or os.path.lexists(path):
            return Failure(
                code=Code.STALE_DOCUMENT, message=f"{path} is there already, or is not kept any more."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(beside, path)
        return None

    def _layers(
        self, contained: Contained, found: Bubblewrap, folder: Path
    ) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
        """What is changed only beside, and what is not changed at all."""
        layers, kept = [], []
        installs = Need.NETWORK in contained.needs
        for path in _real(contained.not_covered):
            if is_cache(Path(path)) or path in self._made or (installs and Path(path).name in INSTALLED):
                continue
            if not os.path.isdir(path) or not found.overlays:
                kept.append(path)
                continue
            at = folder / "layers" / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
            (at / "upper").mkdir(parents=True, exist_ok=True)
            (at / "work").mkdir(exist_ok=True)
            layers.append(Layer(folder=path, upper=f"{at}/upper", work=f"{at}/work"))
        return tuple(layers), tuple(kept)

    # ---- Our own folder ----------------------------------------------------------------------------

    def _own(self) -> Path:
        """The folder of this server, locked while it lives. Raises OSError."""
        if self._folder is None:
            above = self.state() / FOLDER
            above.mkdir(parents=True, exist_ok=True, mode=0o700)
            with lock.held(above / LOCK, writes=True):
                _remove_left(above)
                folder = above / secrets.token_hex(8)
                folder.mkdir(mode=0o700)
                self._handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                taken(self._handle, writes=True)
            self._folder = Path(os.path.realpath(folder))
        return self._folder

    def _temporary(self, folder: Path) -> str:
        path = folder / "tmp"
        path.mkdir(exist_ok=True, mode=0o700)
        return os.fspath(path)


def _remove_left(above: Path) -> None:
    """Remove the folders of servers that have ended."""
    for folder in list(above.iterdir()):
        with suppress(OSError):
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                if taken(handle, writes=True):
                    _remove(folder)
            finally:
                os.close(handle)


def _remove(folder: Path) -> None:
    def open_up(_: object, path: str, __: object) -> None:
        with suppress(OSError):  # the kernel closes a layer's own folder to everybody
            os.chmod(path, 0o700)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    shutil.rmtree(folder, onerror=open_up)
    shutil.rmtree(folder, ignore_errors=True)


def _copied(copies: Sequence[tuple[str, bytes]], folder: Path) -> dict[str, str]:
    """Files of ours with these contents, by the paths over which they lie."""
    if not copies:
        return {}
    beside = folder / "copies"
    beside.mkdir(exist_ok=True)
    found = {}
    for uri, raw in copies:
        for path in _real([uri]):
            copy = beside / hashlib.sha256(os.fsencode(path) + b"\0" + raw).hexdigest()
            if not copy.exists():
                copy.write_bytes(raw)
            found[path] = os.fspath(copy)
    return found


def _real(uris: Sequence[str]) -> tuple[str, ...]:
    found = (path_of(uri) for uri in uris)
    return tuple(dict.fromkeys(os.path.realpath(path) for path in found if path is not None))


def _identity(path: str) -> Identity | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_installed(each: Marked, roots: Sequence[str]) -> bool:
    """Whether a path runs later, and a package manager writes it."""
    if each.kind is not Kind.LATER:
        return False
    home = next((root for root in roots if each.path.startswith(f"{root}/")), "")
    return not INSTALLED.isdisjoint(Path(each.path[len(home) + 1 :]).parts)


def _repositories(marked: Sequence[Marked], roots: Sequence[str]) -> tuple[str, ...]:
    """Git's folders elsewhere that files called `.git` name."""
    found = dict.fromkeys(
        path for each in marked if each.kind is Kind.KEPT and not each.is_folder for path in _named(each.path)
    )
    return tuple(path for path in found if not any(path.startswith(f"{root}/") for root in roots))


def _named(file: str) -> Iterator[str]:
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
