"""
The pending changes of a workspace's documents, one file for each, in the state folder.

A file is replaced as a whole, so another process reads either the old or the new contents. If it cannot be
read, nothing is pending: the document stays as it is.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from handrail.adapters.files.files import in_thread
from handrail.core.review import pending
from handrail.core.review.pending import Pending
from handrail.counts import count_of

logger = logging.getLogger(__name__)

ENDING = ".json.z"
LIMIT_BYTES = 200_000_000  # of one file, unpacked: no more than a few texts of the largest documents
DAY_S = 24 * 3600.0
PART_S = 3600.0  # no process writes a file for so long
TICK_NS = 100_000_000  # two changes of a folder within less may have the same time
LOST = (
    "The pending changes in {documents} cannot be read, so they count as kept. No document was "
    "changed, and checkpoints can still undo these changes. The damaged files are in {folder}."
)
Stamp = tuple[int, int, int]
Listed = tuple[Path, int, int]  # a folder, and when something was put into it or removed


class ReviewFolder:
    """The ReviewStore port."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self.damaged: Callable[[str], None] = logger.warning
        self._folder = folder
        self._bad: dict[str, Stamp] = {}  # files that cannot be read, of which the user knows
        self._known: dict[str, tuple[Stamp, str]] = {}
        self._of: Path | None = None
        self._seen: Listed | None = None  # the folder when nothing in it was new

    async def news(self) -> tuple[Pending | str, ...]:
        """Returns what other servers have written since the last call."""
        if self._seen is not None and self._seen == _list(self._folder()):
            return ()
        pending, bad = await in_thread(self._news)
        if bad:
            self.damaged(LOST.format(documents=count_of(bad, "document"), folder=self._of))
        return pending

    async def write(self, documents: Sequence[Pending | str]) -> None:
        """Keep documents with what is pending in them."""
        await in_thread(self._write, documents)

    async def expire(self, max_age_days: int) -> None:
        """Forget what nothing has changed for longer, and what a killed process has left of a file."""
        await in_thread(self._expire, time.time() - max_age_days * DAY_S)

    def _expire(self, oldest: float) -> None:
        there: list[Path] = []
        with suppress(OSError):
            there = list(self._folder().iterdir())
        for file in there:
            is_part = not file.name.endswith(ENDING)
            with suppress(OSError):  # another server may have forgotten it just now
                if file.lstat().st_mtime < (time.time() - PART_S if is_part else oldest):
                    file.unlink()

    def _news(self) -> tuple[tuple[Pending | str, ...], int]:
        """The news, and how many files cannot be read of which the user does not know."""
        folder = self._folder()
        if folder != self._of:  # other workspace folders were opened
            self._of, self._known = folder, {}
        pending, bad = list[Pending | str](), 0
        listed = _list(folder)
        is_settled = listed is not None and time.time_ns() - listed[1] > TICK_NS
        self._seen = listed if is_settled else None
        there = _stamps(folder)
        if there is None:
            return (), 0
        for name in [name for name in self._known if name not in there]:
            pending.append(self._known.pop(name)[1])
        for name, stamp in there.items():
            if name in self._known and self._known[name][0] == stamp:
                continue
            document = _read(folder / name)
            if document is not None and _name(document.identity) == name:
                self._known[name] = (stamp, document.identity)
                pending.append(document)
            elif self._bad.get(name) != stamp:
                self._bad[name], bad = stamp, bad + 1
        return tuple(pending), bad

    def _write(self, documents: Sequence[Pending | str]) -> None:
        folder = self._folder()
        for each in documents:
            identity = each if isinstance(each, str) else each.identity
            name = _name(identity)
            try:
                if isinstance(each, str):
                    self._known.pop(name, None)
                    (folder / name).unlink(missing_ok=True)
                else:
                    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                    self._known[name] = (_replace(folder / name, each), identity)
            except OSError as error:
                logger.warning("The pending changes of %s could not be stored: %s", identity, error)


def _name(identity: str) -> str:
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ENDING


def _list(folder: Path) -> Listed | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return folder, status.st_mtime_ns, status.st_ino


def _stamps(folder: Path) -> dict[str, Stamp] | None:
    """The files of a folder; None if they cannot be listed."""
    result = dict[str, Stamp]()
    try:
        names = [name for name in os.listdir(folder) if name.endswith(ENDING)]
    except FileNotFoundError:
        return result
    except OSError:
        return None
    for name in names:
        with suppress(OSError):  # it may be gone by now
            result[name] = _stamp((folder / name).stat())
    return result


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _replace(file: Path, document: Pending) -> Stamp:
    beside = file.with_name(f"{file.name}.{os.getpid()}")
    packed = zlib.compress(pending.as_json(document).encode("ascii"), 1)
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as opened:
        opened.write(packed)
    beside.replace(file)
    return _stamp(file.stat())


def _read(file: Path) -> Pending | None:
    try:
        unpacking = zlib.decompressobj()
        raw = unpacking.decompress(file.read_bytes(), LIMIT_BYTES)
        review = pending.read(raw.decode("ascii")) if unpacking.eof else None
    except (OSError, zlib.error, UnicodeError) as error:
        logger.warning("%s cannot be read: %s", file.name, error)
        return None
    return review
