"""
A copy of the user's index to start from, so that the first snapshot need not read every file.

An entry is trusted only if the file's bytes are the blob's: files that conversion may have changed are hashed
again, and so are unmerged ones and those that a flag hides from git. If the user's objects cannot be relied
on, all files are read, and only their list is taken from the index. Nested repositories are removed, because
each is a work tree of its own. The user's own index is only read.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

from handrail.adapters.git import layout
from handrail.adapters.worktrees.git import Git, split
from handrail.adapters.worktrees.user import UserRepository
from handrail.ports import CheckpointError
from handrail.values import dataclass

CONVERTING = ("text", "eol", "crlf", "filter", "ident", "working-tree-encoding")
LINK = b"160000"  # the mode of an entry that stands for a nested repository
NOTHING = b"0" * 40
PLAIN = re.compile(rb"H 1[02]0... [0-9a-f]{40} 0\t").match  # a file or a symbolic link that git may look at
PATH = 52  # where a path begins in a line
BLOB, NAME = slice(7, 47), 50  # where a blob and a path are in a line without the letter that flags add
PIECE_BYTES = 1 << 18  # what is taken apart without others getting their turn
ATTRIBUTES = b".gitattributes"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    mode: bytes
    blob: bytes
    stage: bytes
    path: bytes


def begin(git: Git, user: UserRepository, above: Iterable[Path]) -> bool:
    """
    Copy the index of *user* for *git*; nothing is left if that cannot be done.

    Args:
        git: Has no index yet.
        user: Whose index it is.
        above: The folders above what git is going to look at; there may be attributes in them.

    Returns:
        Whether there is a copy.
    """
    index = git.folder / "index"
    try:
        if git.borrows and not layout.are_plain_objects(user.objects):
            return False
        shutil.copy2(user.index, index)  # with its time: git tells by it which entries it must not trust
        reread_doubtful(git, user, has_attributes=any((each / ".gitattributes").exists() for each in above))
    except (CheckpointError, OSError):  # none yet, split in two, or of a kind that this git does not know
        index.unlink(missing_ok=True)
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The files that an index lists: their names, and the blobs that they have."""

    names: Sequence[bytes]
    blobs: Set[bytes]


def list_files(git: Git) -> Listed:
    """Lists the index. Raises CheckpointError."""
    names, blobs = list[bytes](), set[bytes]()
    for lines in _pieces(git.run("ls-files", "-s", "-z")):
        names += [line[NAME:] for line in lines]
        blobs.update([line[BLOB] for line in lines])
    return Listed(names=names, blobs=blobs)


def list_tree(git: Git, tree: str) -> dict[bytes, str]:
    """Returns the blobs of a tree by the names of their files. Raises CheckpointError."""
    lines = (line.split(b"\t", 1) for line in _lines(git.run("ls-tree", "-r", "-z", tree)))
    return {name: about.split(b" ")[2].decode("ascii") for about, name in lines}


def reread(git: Git, names: Set[bytes]) -> None:
    """Makes git read *names* again, whatever its index says about them. Raises CheckpointError."""
    lines = (line for line in _lines(git.run("ls-files", "-v", "-s", "-z")) if line[PATH:] in names)
    entries = map(_entry, lines)
    _order(git, [order for entry in entries for order in _forget_stat(entry, entry.blob)])


def are_attributes(name: bytes) -> bool:
    """Whether a path is a file of attributes, which can have files next to it and below it converted."""
    return name.rpartition(b"/")[2].lower() == ATTRIBUTES


def reread_doubtful(git: Git, user: UserRepository, *, has_attributes: bool) -> None:
    """
    Makes git read again what its index may be wrong about. Raises CheckpointError.

    Args:
        git: Has a copy of the index of *user*.
        user: Whose index it is.
        has_attributes: Whether there are files of attributes that the index does not know.
    """
    raw = git.run("ls-files", "-v", "-s", "-z")
    if not git.borrows:
        empty = git.run("hash-object", "-w", "--stdin").strip()  # so that what is not empty is found changed
        _order(git, [order for line in _lines(raw) for order in _forget_stat(_entry(line), empty)])
        return
    converted = set[bytes]()
    if user.converts:
        converted.update(line[PATH:] for line in _lines(raw))
    elif has_attributes or _have_attributes(user, raw):
        converted.update(_find_converted(git, user, [line[PATH:] for line in _lines(raw)]))
    orders = list[bytes]()
    # There may be very many, and few are doubtful, so only those are looked at closely.
    for line in _lines(raw):
        if not PLAIN(line) or (converted and line[PATH:] in converted):
            entry = _entry(line)
            orders += _forget_stat(entry, entry.blob)
    _order(git, orders)


def _lines(raw: bytes) -> Iterator[bytes]:
    """Yields what `split` returns, one by one."""
    for lines in _pieces(raw):
        yield from lines


def _pieces(raw: bytes) -> Iterator[Sequence[bytes]]:
    """Yields what `split` returns, a piece at a time."""
    at = 0
    while at < len(raw):
        end = raw.index(b"\0", min(at + PIECE_BYTES, len(raw) - 1)) + 1
        yield split(raw[at:end])
        at = end


def _forget_stat(entry: _Entry, blob: bytes) -> Iterator[bytes]:
    """
    Yields an index entry without times, so that git reads the file again; until then it counts as *blob*.
    """
    if entry.mode == LINK or entry.stage != b"0":
        yield b"0 " + NOTHING + b"\t" + entry.path
    if entry.mode != LINK:
        yield entry.mode + b" " + blob + b"\t" + entry.path


def _order(git: Git, orders: Sequence[bytes]) -> None:
    if orders:
        git.run("update-index", "-z", "--index-info", given=b"".join(order + b"\0" for order in orders))


def _entry(line: bytes) -> _Entry:
    fields, path = line.split(b"\t", 1)
    _, mode, blob, stage = fields.split(b" ")
    return _Entry(mode=mode, blob=blob, stage=stage, path=path)


def _find_converted(git: Git, user: UserRepository, paths: Sequence[bytes]) -> set[bytes]:
    """The paths whose content git may have changed on its way to the disk."""
    given = b"".join(path + b"\0" for path in paths)
    # Without our own overriding attributes, and with the user's beside the files.
    said = split(_as_user(git, user, "check-attr", "-z", "--stdin", *CONVERTING, given=given))
    return {said[at] for at in range(0, len(said), 3) if said[at + 2] not in (b"unspecified", b"unset")}


def _have_attributes(user: UserRepository, raw: bytes) -> bool:
    """Whether there are files of attributes in the index or outside the work tree."""
    named = (raw[at : at + PIECE_BYTES + len(ATTRIBUTES)] for at in range(0, len(raw), PIECE_BYTES))
    return any(map(os.path.exists, user.attributes)) or any(ATTRIBUTES in piece.lower() for piece in named)


def _as_user(git: Git, user: UserRepository, *args: str, given: bytes) -> bytes:
    ours: Path = git.folder / "info" / "attributes"
    kept = ours.read_bytes()
    theirs = b"".join(each.read_bytes() + b"\n" for each in user.attributes[::-1] if each.is_file())
    try:
        ours.write_bytes(theirs)
        return git.run(*args, given=given)
    finally:
        ours.write_bytes(kept)
