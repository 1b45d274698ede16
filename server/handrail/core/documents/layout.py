"""Normalise a row of Markdown: a formatter may change whitespace, bullets, emphasis and escapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set

from handrail.patterns import lazy_pattern

Counted = Callable[[str], str]  # what of a row counts

FENCE = lazy_pattern(r"(`{3,}|~{3,})\w*")
_BULLET = re.compile(r"\A(?:[-*+]|\d{1,9}[.)])(?=[ \t])")
_CLOSED = re.compile(r"\A(#{1,6}[ \t].*?)[ \t]+#+[ \t]*\Z")  # a heading, at both ends
_RULER = re.compile(r"[|:\- \t]*-[|:\- \t]*")
_EMPHASIS = re.compile(r"(?<![\w\\])[*_]{1,3}(?=\w)|(?<=\w)[*_]{1,3}(?!\w)")
_SIGNS = re.compile(r"[-*_\\<>\s]+")  # of rules, emphasis, escapes and links
_RULE = re.compile(r"\\?([-*_])([ \t]*\1){2,}")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def plain(row: str, *, is_code: bool) -> str:
    """
    A row without all that formatters change.

    Of a row of a fenced block they may change the blanks around it.
    """
    row = row.strip().lstrip("> \t")
    if FENCE.fullmatch(row):
        return "```"
    if is_code:
        return row
    if _RULER.fullmatch(row):  # of a table
        return re.sub("-+", "-", bare(row))
    return bare(_with_usual_marks(row).replace("\\", "").replace("*", "").replace("_", ""))


def words(row: str, *, is_code: bool) -> list[str]:
    """The words of a row, the same in every layout; in code every character of a word counts."""
    row = row.strip()
    if is_code:
        return row.split()
    if FENCE.fullmatch(row):
        return ["```"]
    if _RULE.fullmatch(row):
        return ["---"]
    if _RULER.fullmatch(row):
        return re.sub("-+", "-", row).split()
    row = _EMPHASIS.sub(lambda match: "*" * len(match[0]), _with_usual_marks(row))
    return _ESCAPED.sub(r"\1", row).split()


def prose(row: str) -> str:
    """Returns what `plain` leaves of a row that is not code."""
    return plain(row, is_code=False)


def code(row: str) -> str:
    """Returns what `plain` leaves of a row of a fenced block."""
    return plain(row, is_code=True)


def message(row: str) -> str:
    """Returns the words of a row, with one blank between them."""
    return " ".join(words(row, is_code=False))


def message_code(row: str) -> str:
    """Returns the words of a row of a fenced block, with one blank between them."""
    return " ".join(words(row, is_code=True))


def letters(row: str) -> str:
    """Returns the letters and digits of a row; if it has none, its signs."""
    row = row.strip().lstrip("> \t")
    if FENCE.fullmatch(row):
        return "```"
    kept = "".join(filter(str.isalnum, _with_usual_marks(row).removeprefix("1.")))
    return kept or (_SIGNS.sub("", row) or "-" if row else "")


def is_wrapped_anew(old: Sequence[str], new: Sequence[str], counted: Set[Counted]) -> bool:
    """Returns whether rows hold the same as others, which are compared in these ways."""
    before, after = " ".join(map(str.strip, old)), " ".join(map(str.strip, new))
    (one, *others) = counted
    if others or one is code:
        return bare(before) == bare(after)
    return one(before) == one(after) and bool(bare(before))


def bare(text: str) -> str:
    """A text without its blanks."""
    return "".join(text.split())


def _with_usual_marks(row: str) -> str:
    """A row with the bullet, and the end of a heading, that stand for all of their kind."""
    row = _CLOSED.sub(r"\1", row)
    return _BULLET.sub(lambda match: "-" if match[0] in "-*+" else "1.", row, count=1)
