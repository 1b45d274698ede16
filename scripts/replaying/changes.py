"""
Real changes: two trees, or two revisions of a repository, and the hunks in which their files differ.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from replaying.document import Document, Hunk, Part, Rows

LIMIT_ROWS = 4_000  # of a file; comparing longer ones takes the time of many others
LIMIT_CHARS = 1_000  # of a row; nobody wrote a longer one
LIMIT_HUNK = 40  # rows; what models write in one hunk
HUNKS_A_FILE = 12  # so that one rewritten file does not outweigh a package
JOINED = 2  # kept rows between two differences that are shown as one hunk
SKIPPED_FOLDERS = {".git", "site-packages", "__pycache__"}
SKIPPED = (".min.js", ".map", ".lock", "package-lock.json", ".po", ".svg")


@dataclass(frozen=True)
class Change:
    """A file before and after; None where it is not there."""

    path: str
    before: Document | None
    after: Document | None

    @staticmethod
    def between(path: str, before: bytes | None, after: bytes | None) -> Change | None:
        """The change between two contents; None if nothing changed, or no person wrote them."""
        old, new = (Document.of(raw) if raw else None for raw in (before, after))
        unreadable = (before and old is None) or (after and new is None)
        long = any(len(each.rows) > LIMIT_ROWS for each in (old, new) if each is not None)
        wide = any(len(row) > LIMIT_CHARS for each in (old, new) if each for row in each.rows)
        return None if unreadable or long or wide or old == new else Change(path, old, new)


def of_trees(old: Path, new: Path) -> Iterator[Change]:
    """All text files that differ between two folders, by path."""
    old, new = _inner(old), _inner(new)
    names = {path.relative_to(root).as_posix() for root in (old, new) for path in sources(root)}
    for name in sorted(names):
        before, after = (_read(root / name) for root in (old, new))
        if before != after and (change := Change.between(name, before, after)):
            yield change


def of_revisions(repository: Path, old: str, new: str) -> Iterator[Change]:
    """All text files that differ between two commits of a repository, by path."""
    listed = _git(repository, "diff", "--name-only", "--no-renames", "-z", old, new)
    if listed is None:
        raise SystemExit(f"{old} and {new} cannot be compared in {repository}.")
    for name in sorted(listed.decode("utf-8", "surrogateescape").split("\0")):
        if name and not name.endswith(SKIPPED):
            before, after = (_git(repository, "show", f"{rev}:{name}") for rev in (old, new))
            if change := Change.between(name, before, after):
                yield change


def hunks(change: Change, chance: random.Random) -> list[Hunk]:
    """
    The differences of a changed file, each as one hunk of it with one to five rows of context.

    Those that write blanks into a blank row are left out: nobody can tell whether that is meant.
    """
    if change.before is None or change.after is None:
        return []
    before, after = change.before.rows, change.after.rows
    found = []
    for cluster in clusters(before, after):
        start, parts = _parts(before, after, cluster)
        hunk = Hunk(change.path, change.before, start, parts)
        lead, tail = chance.choice((1, 2, 3, 3, 3, 5)), chance.choice((1, 2, 3, 3, 3, 5))
        wide = hunk.widened(lead, tail)
        is_short = len(wide.old) <= LIMIT_HUNK and len(wide.new) <= LIMIT_HUNK
        if is_short and wide.old != wide.new and not any(map(str.isspace, wide.new)):
            found.append(wide)
    return sorted(chance.sample(found, min(len(found), HUNKS_A_FILE)), key=lambda hunk: hunk.start)


Block = tuple[int, int, int, int]


def clusters(before: Rows, after: Rows, joined: int = JOINED) -> list[list[Block]]:
    """The blocks in which two files differ, those with few kept rows between them together."""
    head = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
    if head is None:
        head = min(len(before), len(after))
    matcher = SequenceMatcher(None, before[head:], after[head:], autojunk=False)
    found: list[list[Block]] = []
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        block = (i + head, j + head, k + head, m + head)
        if found and block[0] - found[-1][-1][1] <= joined:
            found[-1].append(block)
        else:
            found.append([block])
    return found


def _parts(before: Rows, after: Rows, cluster: list[Block]) -> tuple[int, tuple[Part, ...]]:
    parts: list[Part] = []
    at = cluster[0][0]
    for i, j, k, m in cluster:
        if i > at:
            parts.append(Part(before[at:i], before[at:i]))
        parts.append(Part(before[i:j], after[k:m]))
        at = j
    return cluster[0][0], tuple(parts)


def _inner(root: Path) -> Path:
    """A release is packed in a folder of its own: that folder, if there is nothing beside it."""
    entries = [path for path in root.iterdir() if not path.name.startswith(".")]
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else root


def sources(root: Path) -> Iterator[Path]:
    """The files below a folder, by path, those apart that no person writes."""
    for path in sorted(root.rglob("*")):
        if (
            path.is_file()
            and not path.is_symlink()
            and not path.name.endswith(SKIPPED)
            and not SKIPPED_FOLDERS & set(path.parts)
        ):
            yield path


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _git(repository: Path, *arguments: str) -> bytes | None:
    """What git says; None if it has an error instead."""
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, check=False)
    return None if done.returncode else done.stdout
