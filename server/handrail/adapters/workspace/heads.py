"""
Read the beginnings of files with one name in the folders below a folder; each again only when it has changed.

There may be ten thousand such folders, and files of any size: the number of folders and the length that is
read are limited. Links are not followed, so nothing outside the folder is read.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from handrail.adapters.files import setting_file
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.ports.heads import Head, Heads
from handrail.values import dataclass

HEAD_BYTES = 16_000
LIMIT_KEPT = 1_000  # files whose beginnings are remembered
Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Kept:
    """The remembered beginning of a file, valid while its stamp is the same."""

    stamp: Stamp
    head: Head


class HeadReader:
    """
    Reads the beginnings of files, and remembers them.

    Args:
        resolve: Says what a path means; a plain file that no link leads to always means the same.
    """

    def __init__(self, resolve: Callable[[str], Place | Failure]) -> None:
        self._resolve = resolve
        self._kept: dict[str, _Kept] = {}

    def forget(self) -> None:
        """Paths have another meaning from now on."""
        self._kept.clear()

    def heads(self, folder: Path, name: str, limit: int, is_ignored: Callable[[Path], bool]) -> Heads:
        """The beginnings of the files *name* in at most *limit* folders right below *folder*, by name."""
        try:
            with os.scandir(folder) as entries:
                below = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
        except OSError:
            return Heads()
        files = (os.path.join(folder, each, name) for each in below[:limit])
        found = [head for file in files if (head := self._head(file, is_ignored)) is not None]
        return Heads(heads=found, more=len(below[limit:]))

    def _head(self, file: str, is_ignored: Callable[[Path], bool]) -> Head | None:
        try:
            status = os.lstat(file)
            if not stat.S_ISREG(status.st_mode) or is_ignored(Path(file)):
                return None
            stamp = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            known = self._kept.get(file)
            if known is None or known.stamp != stamp:
                place = self._resolve(file)
                if isinstance(place, Failure):
                    return None
                text = _text(setting_file.read_head(Path(file), HEAD_BYTES))
                known = self._kept[file] = _Kept(stamp, Head(place=place, text=text))
                for oldest in list(islice(self._kept, max(0, len(self._kept) - LIMIT_KEPT))):
                    del self._kept[oldest]
        except OSError:
            return None
        return known.head


def _text(raw: bytes) -> str | None:
    """The beginning of a text, of which the last character may be cut; None if it is not UTF-8."""
    if b"\0" in raw:
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(raw, final=len(raw) < HEAD_BYTES)
    except UnicodeDecodeError:
        return None
    return text
