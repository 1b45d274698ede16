"""
What a server keeps on disk for contained commands: layers, a folder for temporary files, and copies.

It lies in the state folder and goes when the server ends; that of a server that was killed is removed by the
next one.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from handrail.adapters.containment.profile import Layer
from handrail.adapters.files.system_lock import taken
from handrail.adapters.state import lock

FOLDER, LOCK = "contained", "lock"


@dataclass(kw_only=True)
class Scratch:
    """
    The folder of one server.

    Attributes:
        state: Gives the state folder.
    """

    state: Callable[[], Path]
    _folder: Path | None = None
    _handle: int = -1
    _in_use: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def folder(self) -> Path:
        """It, made if it is not there, and locked while the server lives. Raises OSError, CheckpointError."""
        with self._lock:
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

    def temporary(self) -> str:
        """The folder that commands have as `/tmp`."""
        path = self.folder() / "tmp"
        path.mkdir(exist_ok=True, mode=0o700)
        return os.fspath(path)

    def copied(self, texts: Sequence[tuple[str, bytes]]) -> tuple[dict[str, str], Path | None]:
        """Files that hold what *texts* say, by the paths over which they lie, and the folder of them."""
        if not texts:
            return {}, None
        beside = self.of_command()
        found = {}
        for number, (path, raw) in enumerate(texts):
            copy = beside / str(number)
            copy.write_bytes(raw)
            found[path] = os.fspath(copy)
        return found, beside

    def of_command(self) -> Path:
        """A new folder for one command."""
        folder = self.folder() / f"command-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        return folder

    def layer(self, path: str) -> Layer | None:
        """The layer over a folder, taken until it is given back; None while another command has it."""
        at = self.folder() / "layers" / hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        (at / "upper").mkdir(parents=True, exist_ok=True)
        (at / "work").mkdir(exist_ok=True)
        with self._lock:
            if path in self._in_use:
                return None
            self._in_use.add(path)
        return Layer(folder=path, upper=f"{at}/upper", work=f"{at}/work")

    def give_back(self, layers: Sequence[Layer], folder: Path | None) -> None:
        """A command has ended that had these."""
        with self._lock:
            self._in_use.difference_update(layer.folder for layer in layers)
        if folder is not None:
            remove(folder)

    def close(self) -> None:
        """Remove it."""
        with self._lock:
            folder, self._folder = self._folder, None
            if folder is not None:
                remove(folder)
                os.close(self._handle)


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that can be done."""
    for path in _folders(folder):  # the kernel closes a layer's own folder to everybody, and commands theirs
        with suppress(OSError):
            os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _folders(top: Path) -> Iterator[str]:
    """All folders from *top* down, each before what is in it is looked at."""
    yield os.fspath(top)
    for at, below, _ in os.walk(top):
        yield from (path for name in below if not os.path.islink(path := os.path.join(at, name)))


def _remove_left(above: Path) -> None:
    """Remove the folders of servers that have ended."""
    for folder in list(above.iterdir()):
        with suppress(OSError):
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                if taken(handle, writes=True):
                    remove(folder)
            finally:
                os.close(handle)
