"""
Check the files that git reads first, before git does: a pipe would block it, a device has no end.

Anyone may have put a `.git` into a folder. Links are followed, as git does.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

POINTER_BYTES = 10_000  # a path and a few words
LIMITS_BYTES: Mapping[str, int] = {  # far more than real ones have
    "HEAD": POINTER_BYTES,
    "commondir": POINTER_BYTES,
    "config": 10_000_000,
    "config.worktree": 10_000_000,
    "index": 2_000_000_000,
    "info/attributes": 10_000_000,
    "info/exclude": 10_000_000,
    "info/sparse-checkout": 10_000_000,
    "objects/info/alternates": 1_000_000,
    "packed-refs": 1_000_000_000,
    "shallow": 100_000_000,
}
IN_WORK_TREES = frozenset({".gitattributes", ".gitignore"})
OF_PATTERNS_BYTES = 100_000_000  # git itself reads no more of one
# dulwich's errors have no base class. For damaged files it raises whatever its parsers meet, such as
# BufferError, or StopIteration, which could not even leave a thread.
UNREADABLE = Exception
POINTS = re.compile(r"(?:gitdir|ref): *(.+?)\s*", re.DOTALL)


def obstacle(folder: Path) -> str:
    """Returns why git must not be run in the repository of *folder*; empty if it may."""
    found = _repository(folder)
    if found is None:
        return ""
    parts = {found, _common(found)}
    for part in sorted(parts):
        for name, limit in LIMITS_BYTES.items():
            if why := _why_not(part / name, limit):
                return why
    named = _pointer(found / "HEAD")
    return (
        next((why for part in parts if (why := _why_not(part / named, POINTER_BYTES))), "") if named else ""
    )


def is_in_repository(folder: Path) -> bool:
    """Whether *folder* lies in a work tree, as git finds it."""
    return _repository(folder) is not None


def are_plain_objects(objects: Path) -> bool:
    """Whether all that lies in an object store are plain files; what is missing is not looked at."""
    return all(entry.is_file() for entry in _objects(objects))


def waits_for(top: Path, names_of_patterns: Set[str] = IN_WORK_TREES) -> str:
    """Returns a path below *top* at which git would wait forever, such as a pipe; empty if there is none."""
    for at, folders, names in os.walk(top):
        for name in names_of_patterns & set(names):
            if why := of_patterns(Path(at, name)):
                return why
        if ".git" in folders:
            folders.remove(".git")
            if why := obstacle(Path(at)):
                return f"{why}, and git or ripgrep could hang on it"
    return ""


def of_patterns(path: str | Path) -> str:
    """Returns why git would wait forever for a file of patterns; empty if it would not."""
    why = _why_not(path, OF_PATTERNS_BYTES)
    return f"{why}, and git or ripgrep could hang on it" if why else ""


def _objects(objects: Path) -> Iterator[os.DirEntry[str]]:
    try:
        folders = [each for each in os.scandir(objects) if len(each.name) == 2 or each.name == "pack"]
        for folder in folders:
            yield from os.scandir(folder.path)
    except OSError:
        return


def _repository(folder: Path) -> Path | None:
    """Git's own folder for *folder*, as git finds it; None if there is none."""
    at = Path(os.path.realpath(folder))
    for above in (at, *at.parents):
        found = above / ".git"
        if found.is_dir():
            return found
        if found.is_file():
            named = _pointer(found)
            return above / named if named else None
    return None


def _common(repository: Path) -> Path:
    """Returns the folder in which a linked work tree has what it shares with others."""
    path = repository / "commondir"
    if _why_not(path, POINTER_BYTES) or not path.exists():
        return repository
    return repository / path.read_text("utf-8", "surrogateescape").strip()


def _pointer(path: Path) -> str:
    """The path that a file names after `gitdir:` or `ref:`; empty if it names none."""
    if not path.is_file() or _why_not(path, POINTER_BYTES):
        return ""
    found = POINTS.fullmatch(path.read_text("utf-8", "surrogateescape"))
    return found[1] if found else ""


def _why_not(path: str | Path, limit: int) -> str:
    """Returns why a file must not be read; empty if it may be, or is missing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # ValueError: a NUL character
        return ""
    if stat.S_ISDIR(status.st_mode):
        return ""  # git says so itself, at once
    if not stat.S_ISREG(status.st_mode):
        return f"{path} is a pipe, a socket or a device"
    return f"{path} is too large" if status.st_size > limit else ""
