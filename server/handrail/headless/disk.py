"""
Files of one workspace folder: where they are, reading and writing them byte for byte.

Nothing here reaches outside the folder: a URI is resolved, symbolic links included, before a file is touched.
Which text belongs into a file is decided in `workspace`.
"""

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import url2pathname

from handrail.headless.errors import EditRefusedError


def path_of(uri: str) -> Path:
    """
    Give the absolute path that a `file` URI names; nothing is resolved.

    Raises:
        EditRefusedError: The URI does not name a file on this machine.
    """
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise EditRefusedError(f"{uri} is not a URI") from error
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        raise EditRefusedError(f"{uri} is not the URI of a file on this machine")
    name = url2pathname(parts.path) if os.name == "nt" else os.fsdecode(unquote_to_bytes(parts.path))
    if "\0" in name or not os.path.isabs(name):
        raise EditRefusedError(f"{uri} is not the URI of a file on this machine")
    return Path(name)


def document_path(root: Path, uri: str) -> Path:
    """
    Give the one identity of a document: its path with every symbolic link resolved.

    Args:
        root: The workspace folder, resolved.
        uri: As the server spells it; the file need not exist.

    Raises:
        EditRefusedError: It is not inside the workspace folder.
    """
    return _inside(root, Path(os.path.realpath(path_of(uri))), uri)


def entry_path(root: Path, uri: str) -> Path:
    """Give the path of what is created, moved or removed: a symbolic link here means the link itself."""
    path = path_of(uri)
    if path.name in ("", ".."):
        raise EditRefusedError(f"{uri} does not name a file")
    return _inside(root, Path(os.path.realpath(path.parent)) / path.name, uri)


def _inside(root: Path, path: Path, uri: str) -> Path:
    if path == root or not path.is_relative_to(root):
        raise EditRefusedError(f"{uri} is not inside the workspace folder {root}")
    return path


def read(path: Path) -> bytes:
    """
    Read a plain file.

    Raises:
        EditRefusedError: It is not there, not a plain file, or cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe or device would block or never end
            raise EditRefusedError(f"{path} is not a regular file")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise EditRefusedError(f"{path} does not exist") from error
    except OSError as error:
        raise EditRefusedError(f"{path} cannot be read: {error.strerror}") from error


def write(path: Path, content: bytes) -> None:
    """
    Replace the content of an existing file at once, keeping its mode, owner and attributes.

    A file is written in place if it has other names, or what a new file there would not have: an owner that
    we may not give a file to, other attributes, or another access list.

    Args:
        path: Resolved, so a symbolic link that led here stays a link.
        content: All of the new content.
    """
    status = path.stat()
    if status.st_nlink > 1:
        _overwrite(path, content)
        return
    handle, name = tempfile.mkstemp(prefix=".handrail-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if _attributes(name) != _attributes(path) or not _give(name, status):
            _overwrite(path, content)
            os.unlink(name)
            return
        os.chmod(name, stat.S_IMODE(status.st_mode))
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _give(name: str, status: os.stat_result) -> bool:
    """Give a file the owner in *status*; false if we may not."""
    if os.name == "nt":
        return True
    ours = os.stat(name)
    if (ours.st_uid, ours.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.chown(name, status.st_uid, status.st_gid)
        except PermissionError:
            return False
    return True


def _attributes(path: str | Path) -> dict[str, bytes]:
    """The extended attributes of a file, except those that the system gives to each."""
    if sys.platform != "linux":
        return {}
    try:
        names = [name for name in os.listxattr(path) if not name.startswith("security.")]
        return {name: os.getxattr(path, name) for name in names}
    except OSError:
        return {}


def _overwrite(path: Path, content: bytes) -> None:
    """Write in place; what fails halfway is undone."""
    with open(path, "r+b") as file:
        before = file.read()
        try:
            _fill(file, content)
        except OSError:
            _fill(file, before)
            raise


def _fill(file: BinaryIO, content: bytes) -> None:
    file.seek(0)
    file.write(content)
    file.truncate()
    file.flush()
    os.fsync(file.fileno())


def stamp(path: Path) -> tuple[int, int, int] | None:
    """Tell two states of a file apart without reading it; None when it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
