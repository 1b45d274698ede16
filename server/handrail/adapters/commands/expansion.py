"""
Expand file patterns as bash does by default: sorted by bytes, without names that begin with a dot, and a
pattern that matches no file stays as it is. A name that begins with `-` becomes `./-`, so that it is not
taken for an option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from handrail.core.policy.commands import glob
from handrail.core.policy.commands.line import Word
from handrail.values import dataclass

LIMIT_WORDS = 1_000  # of a line
LIMIT_ENTRIES = 20_000  # of folders that are looked through for it
LIMIT_STEPS = 5_000_000  # of comparing names with patterns: about a second


class TooManyError(Exception):
    """The files of a pattern cannot be determined; the text says which pattern."""


@dataclass(kw_only=True)
class ExpansionBudget:
    """The number of files that may still be read for one line."""

    words: int = LIMIT_WORDS
    entries: int = LIMIT_ENTRIES
    steps: int = LIMIT_STEPS

    def take(self, *, words: int = 0, entries: int = 0, steps: int = 0) -> None:
        """Take some of it."""
        self.words -= words
        self.entries -= entries
        self.steps -= steps
        if min(self.words, self.entries, self.steps) < 0:
            raise TooManyError("a pattern that matches more files than handrail can check")


def expand(words: Sequence[Word], folder: str, room: ExpansionBudget) -> tuple[str, ...]:
    """The words of a command in *folder*, an absolute path. Raises TooManyError."""
    result: list[str] = []
    for word in words:
        names = sorted(_names(word.pattern, folder, room), key=os.fsencode) if word.pattern else []
        result += [f"./{name}" if name.startswith("-") else name for name in names] or [word.text]
    if any(not _is_text(word) for word in result):
        raise TooManyError("a pattern that matches a file name that is not valid text")
    return tuple(result)


def _names(pattern: str, folder: str, room: ExpansionBudget) -> Iterator[str]:
    """The paths that *pattern* is for, as they follow from how it is written."""
    starts = [""]
    pieces = re.findall(r"(/?)([^/]+)|(/)$", pattern)
    for index, (slashes, part, trailing) in enumerate(pieces):
        is_last = index + 1 == len(pieces)
        following = list[str]()
        for start in starts:
            if trailing:
                following += [start + trailing] if os.path.isdir(os.path.join(folder, start)) else []
            elif glob.is_wild(part):
                following += _children(start + slashes, part, folder, room)
            else:
                name = start + slashes + glob.literal(part)
                is_there = os.path.lexists if is_last else os.path.isdir
                following += [name] if is_there(os.path.join(folder, name)) else []
        starts = following
    room.take(words=len(starts))
    yield from starts


def _children(start: str, part: str, folder: str, room: ExpansionBudget) -> Iterator[str]:
    try:
        names = os.listdir(os.path.join(folder, start))
    except OSError:
        return
    longest = 1 if part.count("*") < 2 else len(part)  # one star is compared in one go
    room.take(entries=len(names), steps=longest * sum(map(len, names)))
    yield from (start + name for name in names if glob.matches(part, name))


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\0" not in name
