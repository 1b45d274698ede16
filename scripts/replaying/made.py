"""
Changes of our own in real files, for where two releases of something cannot be had.

Small edits such as people make: rename, remove, add, change a number, put rows below a condition.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from replaying.changes import Change, sources
from replaying.document import Rows, fold
from replaying.spoiled import WORD, indent_of

EDITED = (".py", ".pyi", ".js", ".ts", ".md", ".rst", ".yml", ".yaml", ".toml", ".css", ".c", ".h", ".sh")
APART = 25  # rows between two edits of a file

Edit = Callable[[Rows, random.Random], Rows]


def of_folders(folders: Sequence[Path], count: int, seed: str) -> Iterator[Change]:
    """Up to *count* files of *folders*, each with an edit every so many rows; drawn by the seed."""
    chance = random.Random(f"{seed} made")
    found = [(folder, path) for folder in folders for path in sources(folder) if path.suffix in EDITED]
    for folder, path in chance.sample(found, len(found)):
        change = Change.between(
            f"{folder.name}/{path.relative_to(folder).as_posix()}", path.read_bytes(), None
        )
        if change is None or change.before is None or len(change.before.rows) < APART:
            continue
        rows = edited(change.before.rows, chance)
        eol = change.before.eols[0]
        if rows != change.before.rows and len(set(change.before.eols)) == 1:
            yield replace(change, after=replace(change.before, rows=rows, eols=(eol,) * len(rows)))
            count -= 1
        if not count:
            return


def edited(rows: Rows, chance: random.Random) -> Rows:
    """*rows* with an edit here and there."""
    made: list[str] = []
    at = 0
    while at < len(rows):
        calm = at + chance.randrange(4, APART)
        made += rows[at:calm]
        end = calm + chance.randrange(1, 4)
        block = rows[calm:end]
        made += chance.choice(EDITS)(block, chance) if any(map(fold, block)) else block
        at = end
    return tuple(made)


def renamed(block: Rows, chance: random.Random) -> Rows:
    """A word has another name, throughout."""
    words = [word for row in block for word in WORD.findall(row)]
    word = chance.choice(words) if words else ""
    return tuple(re.sub(rf"\b{word}\b", f"{word}_{len(word)}", row) for row in block) if word else block


def removed(block: Rows, chance: random.Random) -> Rows:
    """The rows are gone."""
    return ()


def added(block: Rows, chance: random.Random) -> Rows:
    """Rows like these follow, each with another word."""
    new = tuple(re.sub(r"\w{3,}", lambda word: f"{word[0]}_{len(word[0])}", row, count=1) for row in block)
    return block if set(new) & set(block) else block + new


def counted(block: Rows, chance: random.Random) -> Rows:
    """The numbers are greater by one."""
    return tuple(re.sub(r"\b\d{1,6}\b", lambda found: str(int(found[0]) + 1), row) for row in block)


def guarded(block: Rows, chance: random.Random) -> Rows:
    """The rows stand below a condition, one step deeper."""
    first = next(row for row in block if fold(row))
    step = "\t" if indent_of(first).startswith("\t") else "    "
    guard = f"{indent_of(first)}if is_wanted({chance.randrange(1000)}):"
    return (guard, *(step + row if row.strip() else row for row in block))


def commented(block: Rows, chance: random.Random) -> Rows:
    """A remark stands above the rows."""
    first = next(row for row in block if fold(row))
    return (f"{indent_of(first)}# See case {chance.randrange(1000)} of the handbook.", *block)


EDITS: tuple[Edit, ...] = (renamed, removed, added, counted, guarded, commented)
