"""
Snapshots of small folders without git: all files as they are, kept in the note of the command.

What is larger than a note should be is not kept at all, and said so: half a snapshot would pass for whole.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from handrail.adapters.workspace import VERSION_CONTROL
from handrail.core.checkpoint import LINK, Image

LIMIT_FILES = 2_000
LIMIT_BYTES = 5_000_000

Plain = dict[str, list[str | int]]  # by absolute path: the bytes in base64, the mode as in `Image`


def take(roots: Sequence[Path]) -> Plain | None:
    """All plain files and links below *roots* but version control's own; None if it is too much."""
    found: Plain = {}
    size = 0
    for root in roots:
        for at, folders, names in os.walk(root):
            folders[:] = [each for each in folders if each not in VERSION_CONTROL]
            for name in (*names, *(each for each in folders if os.path.islink(os.path.join(at, each)))):
                path = Path(at, name)
                status = path.lstat()
                if stat.S_ISLNK(status.st_mode):
                    target = base64.b64encode(os.fsencode(os.readlink(path))).decode("ascii")
                    found[os.fspath(path)] = [target, LINK]
                if not stat.S_ISREG(status.st_mode) or not os.access(path, os.R_OK):
                    continue
                size += status.st_size
                if len(found) >= LIMIT_FILES or size > LIMIT_BYTES:
                    return None
                raw = base64.b64encode(path.read_bytes()).decode("ascii")
                found[os.fspath(path)] = [raw, stat.S_IMODE(status.st_mode)]
    return found


def image(plain: Plain, path: str) -> Image:
    """What a path held."""
    if path not in plain:
        return Image(raw=None)
    raw, mode = plain[path]
    return Image(raw=base64.b64decode(str(raw)), mode=int(mode))


def folders(plain: Plain) -> set[Path]:
    """The folders that held something."""
    return {folder for path in plain for folder in Path(path).parents}
