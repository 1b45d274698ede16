"""
Match names against the plain patterns of a shell: `*`, `?` and `[a-z]`, part by part of a path.

A backslash makes the next character literal. No pattern matches a slash, and only a written dot matches one
at the beginning of a name. The time is at most proportional to the length of the name times that of the
pattern.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

ITEM = re.compile(r"\\(.)|(\*)\*?|(\?)|\[([!^]?)([^\]]+)\]|(.)", re.DOTALL)
RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)
WILD = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")


def is_wild(pattern: str) -> bool:
    """Whether a part of a path is a pattern."""
    return WILD.search(pattern) is not None


def literal(pattern: str) -> str:
    """The text of a part that is not a pattern."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)


def matches(pattern: str, name: str) -> bool:
    """Whether *name*, a part of a path, is one of *pattern*."""
    items = _items(pattern)
    if name.startswith(".") and not (items and "." in (items[0][0], items[0][5])):
        return False
    at = item = 0
    star, tried = -1, 0
    while at < len(name):
        if item < len(items) and items[item][1]:
            star, tried = item, at
            item += 1
        elif item < len(items) and _takes(items[item], name[at]):
            at, item = at + 1, item + 1
        elif star >= 0:
            tried += 1
            at, item = tried, star + 1
        else:
            return False
    return all(each[1] for each in items[item:])


@lru_cache(maxsize=256)
def _items(pattern: str) -> Sequence[tuple[str, ...]]:
    return ITEM.findall(pattern)


def _takes(item: tuple[str, ...], character: str) -> bool:
    escaped, _, anything, negated, characters, plain = item
    if anything:
        return True
    if not characters:
        return character in (escaped, plain)
    found = any(
        (low <= character <= high) if low else character == single
        for low, high, single in RANGE.findall(characters)
    )
    return found is not bool(negated)
