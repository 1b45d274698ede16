"""
A copy of the user's index to start from, so that the first snapshot need not read every file.

An entry may be trusted only if the file's bytes are the blob's: what conversion may have touched is hashed
anew, and so is what is unmerged, or hidden from git by a flag. Where the user's objects may not be leaned on,
all is read, and only what git is to look at is taken from the index. Nested repositories are taken out, as
each is a work tree of its own. The user's own index is only read.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from handrail.adapters.tree_git import Git, UserRepository, split
from handrail.ports import CheckpointError

CONVERTING = ("text", "eol", "crlf", "filter", "ident", "working-tree-encoding")
LINK = b"160000"  # the mode of an entry that stands for a nested repository
NOTHING = b"0" * 40
PLAIN = re.compile(rb"H 1[02]0... [0-9a-f]{40} 0\t").match  # a file or a symbolic link that git may look at
PATH = 52  # where a path begins in a line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    mode: bytes
    blob: bytes
    stage: bytes
    path: bytes


def begin(git: Git, user: UserRepository) -> bool:
    """Copy the index of *user* for *git*; whether that could be done. Nothing is left if it could not."""
    index = git.folder / "index"
    try:
        shutil.copy2(user.index, index)  # with its time: git tells by it which entries it must not trust
        _distrust(git, user)
    except (CheckpointError, OSError):  # none yet, split in two, or of a kind that this git does not know
        index.unlink(missing_ok=True)
        return False
    return True


def _distrust(git: Git, user: UserRepository) -> None:
    lines = split(git.run("ls-files", "-v", "-s", "-z"))
    if not git.borrows:
        empty = git.run("hash-object", "-w", "--stdin").strip()  # so that what is not empty is found changed
        _order(git, [order for line in lines for order in _anew(_entry(line), empty)])
        return
    paths = [line[PATH:] for line in lines]
    converted = set(paths) if user.converts else _converted(git, user, paths)
    orders = list[bytes]()
    # There may be very many, and few are doubtful, so only those are looked at closely.
    for entry in (_entry(line) for line in lines if not PLAIN(line) or line[PATH:] in converted):
        orders += _anew(entry, entry.blob)
    _order(git, orders)


def _anew(entry: _Entry, blob: bytes) -> Iterator[bytes]:
    """What has git forget when it looked at a file, so that it is read anew; it is taken to hold *blob*."""
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


def _converted(git: Git, user: UserRepository, paths: Sequence[bytes]) -> set[bytes]:
    """The paths whose content git may have changed on its way to the disk."""
    if not _has_attributes(user, paths):
        return set()
    given = b"".join(path + b"\0" for path in paths)
    # Without our own overriding attributes, and with the user's beside the files.
    said = split(_as_user(git, user, "check-attr", "-z", "--stdin", *CONVERTING, given=given))
    return {said[at] for at in range(0, len(said), 3) if said[at + 2] not in (b"unspecified", b"unset")}


def _has_attributes(user: UserRepository, paths: Iterable[bytes]) -> bool:
    folders = {path[: path.rfind(b"/") + 1] for path in paths} | {b""}
    top = os.path.join(os.fsencode(user.top), b"")
    inside = (top + folder + b".gitattributes" for folder in folders)
    return any(map(os.path.exists, user.attributes)) or any(map(os.path.exists, inside))


def _as_user(git: Git, user: UserRepository, *args: str, given: bytes) -> bytes:
    ours: Path = git.folder / "info" / "attributes"
    kept = ours.read_bytes()
    theirs = b"".join(each.read_bytes() + b"\n" for each in user.attributes[::-1] if each.is_file())
    try:
        ours.write_bytes(theirs)
        return git.run(*args, given=given)
    finally:
        ours.write_bytes(kept)
