"""
Files on disk for contained commands: layers, a folder for temporary files, and copies.

It is in the state folder and is removed when the server ends; the next server removes that of a killed one.
Layers with contents stay for a week, so that these can be copied to where they belong.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from handrail.adapters.containment.profile import Layer
from handrail.adapters.files.system_lock import take
from handrail.adapters.state import lock
from handrail.adapters.state.layers import LAYERS, NAMES
from handrail.values import dataclass, field

FOLDER, LOCK = "contained", "lock"
KEPT_S = 7 * 24 * 3600


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
                with lock.hold(above / LOCK, writes=True):
                    _remove_left(above)
                    _remove_old_layers(self.state() / LAYERS, above)
                    folder = above / f"{time.strftime('%Y-%m-%d')}-{secrets.token_hex(4)}"
                    folder.mkdir(mode=0o700)
                    self._handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                    take(self._handle, writes=True)
                self._folder = Path(os.path.realpath(folder))
            return self._folder

    def temporary(self) -> str:
        """The folder that commands have as `/tmp`."""
        path = self.folder() / "tmp"
        path.mkdir(exist_ok=True, mode=0o700)
        return os.fspath(path)

    def copy_texts(self, texts: Sequence[tuple[str, bytes]]) -> tuple[dict[str, str], Path | None]:
        """Files that hold what *texts* say, by the paths over which they lie, and the folder of them."""
        if not texts:
            return {}, None
        beside = self.of_command()
        result = {}
        for number, (path, raw) in enumerate(texts):
            copy = beside / str(number)
            copy.write_bytes(raw)
            result[path] = os.fspath(copy)
        return result, beside

    def of_command(self) -> Path:
        """A new folder for one command."""
        folder = self.folder() / f"command-{secrets.token_hex(8)}"
        folder.mkdir(mode=0o700)
        return folder

    def layer(self, path: str) -> Layer | None:
        """The layer over a folder, taken until it is given back; None while another command has it."""
        folder = self.folder()
        known_by = re.sub("[^0-9A-Za-z._-]", "_", os.path.basename(path))[:50]
        name = f"{known_by}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"
        layers, work = _layers_of(folder), folder / "work" / name
        layers.mkdir(parents=True, exist_ok=True, mode=0o700)
        upper = layers / name
        with self._lock:
            if path in self._in_use:
                return None
            if not upper.exists() and "\n" not in path:  # such a one is found by hand alone
                with open(layers / NAMES, "a", encoding="utf-8", errors="surrogateescape") as names:
                    names.write(f"{name}: {path}\n")
            upper.mkdir(exist_ok=True)
            work.mkdir(parents=True, exist_ok=True)
            self._in_use.add(path)
        return Layer(folder=path, upper=os.fspath(upper), work=os.fspath(work))

    def give_back(self, layers: Sequence[Layer], folder: Path | None) -> None:
        """A command has ended that had these."""
        with self._lock:
            self._in_use.difference_update(layer.folder for layer in layers)
        if folder is not None:
            remove(folder)

    def close(self) -> None:
        """Removes it."""
        with self._lock:
            folder, self._folder = self._folder, None
            if folder is not None:
                remove(folder)
                layers = _layers_of(folder)
                _remove_empty(layers)
                with suppress(OSError):
                    os.utime(layers)
                os.close(self._handle)


def _layers_of(folder: Path) -> Path:
    """Returns the folder of the layers of the server whose folder this is."""
    return folder.parent.parent / LAYERS / folder.name


def _remove_empty(layers: Path) -> None:
    """Removes the layers in which nothing was written; all, if nothing was written in any."""
    for layer in list(layers.iterdir()) if layers.is_dir() else ():
        with suppress(OSError):
            os.rmdir(layer)
    with suppress(OSError):
        if [path.name for path in layers.iterdir()] == [NAMES]:
            remove(layers)


def _remove_old_layers(above: Path, servers: Path) -> None:
    """Removes what servers that have ended left in layers a week ago."""
    for layers in list(above.iterdir()) if above.is_dir() else ():
        if not (servers / layers.name).exists():
            _remove_empty(layers)
            with suppress(OSError):
                if layers.stat().st_mtime < time.time() - KEPT_S:
                    remove(layers)


def remove(folder: Path) -> None:
    """Removes a folder with all that is in it, as far as that can be done."""
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
    """Removes the folders of servers that have ended."""
    for folder in list(above.iterdir()):
        with suppress(OSError):
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                if take(handle, writes=True):
                    remove(folder)
            finally:
                os.close(handle)
