"""
What lies at a path itself: a symbolic link is a link here, and not what it leads to.

For taking back what commands did to links. A link or file is put in place at once, under the folder's lock,
and only while what lies there is what was found before; the folder must still be the one that its path names.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from handrail.adapters.files import failure, files, lock
from handrail.core.checkpoint import LINK, Image
from handrail.core.failure import Failure


def look(path: Path) -> Image | None:
    """What lies at a path; None for what is neither link nor plain file nor nothing, or cannot be read."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return Image(raw=os.fsencode(os.readlink(path)), mode=LINK)
        if not stat.S_ISREG(mode):
            return None
        found = files.read(path, files.LIMIT_KEPT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Image(raw=None)
    except OSError:
        return None
    return Image(raw=found.raw, mode=found.mode)


def lay(path: Path, found: Image, wanted: Image, stand_ins: Path | None) -> Failure | None:
    """Have *wanted* lie at a path where *found* lies; *stand_ins* as in `lock.held`."""
    try:
        if wanted.raw is not None:
            os.makedirs(path.parent, exist_ok=True)
        if os.path.realpath(path.parent) != os.fspath(path.parent):
            return failure.changed(path)
        with lock.held(path, stand_ins):
            return _lay(path, found, wanted)
    except OSError as error:
        return failure.unwritable(path, error)


def _lay(path: Path, found: Image, wanted: Image) -> Failure | None:
    if look(path) != found:
        return failure.changed(path)
    if wanted.raw is None:
        os.unlink(path)
    elif found.raw is None and not wanted.is_link:
        files.create(path, wanted.raw, wanted.mode)
    else:
        _put(path, wanted)
    files.sync_folder(path.parent)
    return None if look(path) == wanted else failure.altered(path)


def _put(path: Path, wanted: Image) -> None:
    """Put a link or a file in the place of whatever lies there, at once."""
    assert wanted.raw is not None
    beside = path.parent / f".handrail-{secrets.token_hex(8)}"
    try:
        if wanted.is_link:
            os.symlink(os.fsdecode(wanted.raw), beside)
        else:
            files.create(beside, wanted.raw, wanted.mode)
        os.replace(beside, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside)
