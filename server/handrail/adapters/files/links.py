"""
Read and restore what is at a path itself: a symbolic link is not followed here.

This is for undoing what commands did to links. A link or file is put in place atomically, under the folder's
lock, and only if the place is still as it was found; the folder must still be the one that its path names.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from handrail.adapters.files import entry, failure, files, lock
from handrail.adapters.files.entry import Entry
from handrail.core.checkpoint import LINK, Image
from handrail.core.failure import Failure


def read_image(path: Path | Entry) -> Image | None:
    """
    Returns the image of a path; None if it is something other than a link or a plain file, or cannot be read.
    """
    file = path if isinstance(path, Entry) else Entry(path)
    try:
        mode = file.status().st_mode
        if stat.S_ISLNK(mode):
            return Image(raw=os.fsencode(os.readlink(file.name, dir_fd=file.folder)), mode=LINK)
        if not stat.S_ISREG(mode):
            return None
        state = files.read(path, files.LIMIT_KEPT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return Image(raw=None)
    except OSError:
        return None
    return Image(raw=state.raw, mode=state.mode)


def put_image(path: Path, base: Image, wanted: Image, stand_ins: Path | None) -> Failure | None:
    """Have *wanted* lie at a path where *base* lies; *stand_ins* as in `lock.hold`."""
    try:
        if os.path.realpath(path.parent) != os.fspath(path.parent):
            return failure.stale_file(path)
        if wanted.raw is not None:
            entry.make_folders(path.parent)
        with lock.hold(path, stand_ins), entry.hold(path) as file:
            return _put_image(file, base, wanted)
    except OSError as error:
        return failure.unwritable(path, error)


def _put_image(file: Entry, base: Image, wanted: Image) -> Failure | None:
    if read_image(file) != base:
        return failure.stale_file(file.path)
    if wanted.raw is None:
        file.unlink()
    elif base.raw is None and not wanted.is_link:
        files.create(file, wanted.raw, wanted.mode)
    else:
        _put(file, wanted)
    files.sync_folder(file)
    return None if read_image(file) == wanted else failure.other_content(file.path)


def _put(file: Entry, wanted: Image) -> None:
    """Atomically replaces whatever is at a path with a link or a file."""
    assert wanted.raw is not None
    beside = file.sibling(f"{files.TEMPORARY}{secrets.token_hex(8)}")
    try:
        if wanted.is_link:
            os.symlink(os.fsdecode(wanted.raw), beside.name, dir_fd=beside.folder)
        else:
            files.create(beside, wanted.raw, wanted.mode)
        file.replace(beside)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()
