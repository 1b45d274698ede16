"""
Move away files that appeared while a contained command ran and that need the user's permission.

They may be the user's own, created by another program during that time. So they are moved to a folder in the
state folder, where they stay for 30 days.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from handrail.adapters.containment.scratch import remove
from handrail.adapters.files.failure import in_words
from handrail.adapters.files.files import uri_of
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Code, Failure
from handrail.core.policy.shell import Appeared
from handrail.values import dataclass, field, replace

FOLDER = "taken-away"
KEPT_S = 30 * 24 * 3600
LIMIT_FILES, LIMIT_BYTES = 20, 65_536  # that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedFiles:
    """The files that were moved away after a command; see `RunResult`."""

    appeared: tuple[Appeared, ...] = ()
    left: tuple[str, ...] = ()
    unsearched: str = ""


@dataclass(kw_only=True)
class Quarantine:
    """
    Moves files out of the workspace, and puts them back.

    Attributes:
        state: Gives the state folder.
    """

    state: Callable[[], Path]
    _moved: dict[Path, tuple[Path, str | None]] = field(default_factory=dict)

    def folder(self) -> Path:
        """A new folder to move things to. Raises OSError, CheckpointError."""
        above = self.state() / FOLDER
        above.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in list(above.iterdir()):
            with suppress(OSError):
                if old.stat().st_mtime < time.time() - KEPT_S:
                    remove(old)
        folder = above / f"{time.strftime('%Y-%m-%d')}-{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        return folder

    def take(self, path: Path, folder: Path, was: str | None = None) -> Appeared:
        """
        Moves *path* into *folder*; where that cannot be done, it is still there.

        Args:
            was: Where it led as a link, which is there again then.
        """
        beside = folder / path.name
        if os.path.lexists(beside):
            beside = folder / secrets.token_hex(4) / path.name
        try:
            beside.parent.mkdir(exist_ok=True)
            _move(path, beside)
            if was is not None:
                path.symlink_to(was)
        except OSError:
            return Appeared(uri=uri_of(path))
        self._moved[path] = beside, was
        return Appeared(uri=uri_of(path), lies_in=os.fspath(beside))

    def put_back(self, path: Path) -> Failure | None:
        """Has *path* be there again, unless something is there by now."""
        beside, was = self._moved.get(path, (None, None))
        if was is not None and path.is_symlink() and os.readlink(path) == was:
            path.unlink()
        if beside is None or os.path.lexists(path):
            return Failure(
                code=Code.STALE_DOCUMENT,
                message=f"{path} was not put back: it exists again, or handrail no longer has its copy.",
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _move(beside, path)
        except OSError as error:
            return Failure(
                code=Code.STALE_DOCUMENT, message=f"{path} could not be put back: {in_words(error)}."
            )
        del self._moved[path]
        with suppress(OSError):
            beside.parent.rmdir()
        return None

    def put_back_saved(self, path: Path, saved: Mapping[str, Text]) -> tuple[list[str], list[Appeared]]:
        """
        Has be there again the files at *path* that have a saved text; returns their paths, and the rest.

        What else is in their folders can then be put back by itself.
        """
        beside, _ = self._moved.get(path, (None, None))
        if beside is None:
            return [], []
        text = saved.get(os.fspath(path))
        if text is not None and _is_saved(beside, text) and self.put_back(path) is None:
            return [os.fspath(path)], []
        names = _names(beside)
        inner = [(Path(each).relative_to(path), saved[each]) for each in saved if each.startswith(f"{path}/")]
        if not names or not any(_is_saved(beside / name, text) for name, text in inner):
            return [], [Appeared(uri=uri_of(path), lies_in=os.fspath(beside))]
        del self._moved[path]
        back, rest = list[str](), list[Appeared]()
        for name in names:
            self._moved[path / name] = beside / name, None
            again, away = self.put_back_saved(path / name, saved)
            back += again
            rest += away
        return back, rest


def _names(folder: Path) -> list[str]:
    """Returns what is in a folder; nothing for a link or a file, or if it cannot be listed."""
    try:
        return [] if folder.is_symlink() else sorted(os.listdir(folder))
    except OSError:
        return []


def _is_saved(path: Path, saved: Text) -> bool:
    """Whether a file has the text that was saved, but for its line ends: editors have ways of their own."""
    try:
        raw = path.read_bytes() if stat.S_ISREG(os.lstat(path).st_mode) else None
    except OSError:
        return False
    found = None if raw is None else Text.parse(raw, saved.encoding)
    if not isinstance(found, Text):
        return False
    return to_lf(found.content).rstrip("\n") == to_lf(saved.content).rstrip("\n")


def show_contents(appeared: Iterable[Appeared]) -> Iterator[Appeared]:
    """*appeared* with what is in it, as far as that can be shown: a question has its limits."""
    count, size = LIMIT_FILES, LIMIT_BYTES
    for each in appeared:
        files = list(islice(_read_contents(Path(each.lies_in), size), count + 1)) if each.lies_in else []
        if len(files) > count:
            files[count:] = [("...", None)]
        count -= min(count, len(files))
        size -= sum(len(text or "") for _, text in files)
        yield replace(each, files=tuple(files))


def _move(path: Path, to: Path) -> None:
    """Moves a file or folder, also out of a folder that the command has closed. Raises OSError."""
    try:
        os.rename(path, to)
    except PermissionError:
        for closed in (path.parent, path):
            if stat.S_ISDIR(mode := os.lstat(closed).st_mode):
                os.chmod(closed, stat.S_IMODE(mode) | stat.S_IRWXU)
        os.rename(path, to)
    except OSError:  # the state folder lies on another disk
        shutil.move(path, to)


def _read_contents(top: Path, left: int) -> Iterator[tuple[str, str | None]]:
    """Yields the files of what was moved, with their contents, up to *left* bytes."""
    for path in _files(top):
        name = os.path.relpath(path, top) if path != top else ""
        text = _text(path, left)
        left -= len(text or "")
        yield name, text


def _files(top: Path) -> Iterator[Path]:
    if top.is_symlink() or not top.is_dir():
        yield top
        return
    for at, folders, names in os.walk(top):
        folders.sort()
        linked = [name for name in folders if os.path.islink(os.path.join(at, name))]
        yield from (Path(at, name) for name in sorted((*names, *linked)))


def _text(path: Path, limit: int) -> str | None:
    """Returns the text of a file or the target of a link; None if it is too long, or not text."""
    try:
        if path.is_symlink():
            return f"a link to {os.readlink(path)}\n"
        if not path.is_file() or path.stat().st_size > limit:
            return None
        raw = path.read_bytes()
    except OSError:
        return None
    return None if b"\0" in raw else raw.decode("utf-8", "replace")
