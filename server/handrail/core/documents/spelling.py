"""
Ways in which models spell the same text differently: typographic punctuation.

Texts are compared with quotes, dashes, dots and spaces in plain ASCII. An edit keeps the document's own
spelling of everything that it does not change.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

SINGLES, DOUBLES = "\u2018\u2019\u201a\u201b\u2032", "\u201c\u201d\u201e\u201f\u2033"
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
SPACES = "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
SPELLINGS = {
    **dict.fromkeys(SINGLES, "'"),
    **dict.fromkeys(DOUBLES, '"'),
    **dict.fromkeys(DASHES, "-"),
    **dict.fromkeys(SPACES, " "),
    "\u2026": "...",
}
KINDS = (SINGLES + DOUBLES, DASHES, SPACES, "\u2026")  # who spells one of a kind so spells all of it so
QUOTES = (  # an apostrophe inside a word is none
    (re.compile(r"(?<!\w)['\u2018\u2019]|['\u2018\u2019](?!\w)"), "'", "\u2018", "\u2019"),
    (re.compile(r'["\u201c\u201d]'), '"', "\u201c", "\u201d"),
)
LONGER = re.compile("\u2026")  # what has more than one character when it is plain
EM_DASH = "\u2014"  # models write it as one hyphen or as two

LIMIT_COMPARED = 4_000_000  # pairs of characters; beyond this only equal begins and ends are looked for


def plain(text: str, *, long_dash: bool = False) -> str:
    """*text* with typographic punctuation and spaces in ASCII; an em dash is two hyphens if *long_dash*."""
    if text.isascii():
        return text
    if long_dash:
        text = text.replace(EM_DASH, "--")
    for character, spelled in SPELLINGS.items():
        text = text.replace(character, spelled)  # far faster than `translate`
    return text


def offsets(text: str) -> Callable[[int], int | None]:
    """From an offset in `plain(text)` to the one in *text*; None inside of what is one character there."""
    starts = [found.start() for found in LONGER.finditer(text)]
    growth = len(SPELLINGS["\u2026"]) - 1
    begins = [start + growth * number for number, start in enumerate(starts)]

    def offset(at: int) -> int | None:
        number = bisect_right(begins, at)
        if number and begins[number - 1] < at <= begins[number - 1] + growth:
            return None
        return at - growth * bisect_left(begins, at)

    return offset


def keep_spelling(new: str, old: str, there: str) -> str:
    """*new* with all that it keeps of *old* spelled as in *there*, the same text but for spelling."""
    if old == there:
        return new
    offsets_there = _offsets_there(old, there)
    parts = []
    for i, j, k, m, is_equal in _opcodes(old, new):
        parts.append(there[offsets_there[i] : offsets_there[j]] if is_equal and offsets_there else new[k:m])
    return _in_pairs("".join(parts), there)


def _opcodes(old: str, new: str) -> Iterator[tuple[int, int, int, int, bool]]:
    """Yields matching ranges old[i:j] and new[k:m], in order, and whether they are equal."""
    if len(old) * len(new) <= LIMIT_COMPARED:
        for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            yield i, j, k, m, tag == "equal"
        return
    head = common_length(old, new)
    tail = common_length(old[: head - len(old) - 1 : -1], new[: head - len(new) - 1 : -1])
    yield 0, head, 0, head, True
    yield head, len(old) - tail, head, len(new) - tail, False
    yield len(old) - tail, len(old), len(new) - tail, len(new), True


def common_length(one: str, other: str) -> int:
    """Returns the length of the common beginning; compares halves, at the speed of comparing strings."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end_length(one: str, other: str) -> int:
    """Returns the length of the common end, in the same way."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _in_pairs(row: str, there: str) -> str:
    """*row* without quotes that open in one spelling and close in another; *there* shows which are used."""
    characters = list(row)
    for quotes, plain_one, opens, closing in QUOTES:
        found = list(quotes.finditer(row))
        if len(found) % 2 or len({quote[0] for quote in found}) < 2:
            continue
        opening = opens if opens in there else closing
        for first, last in zip(found[::2], found[1::2], strict=True):
            if (first[0] == plain_one) != (last[0] == plain_one):
                characters[first.start()], characters[last.start()] = opening, closing
    return "".join(characters)


def foreign_characters(pairs: Sequence[tuple[str, str]], document: str) -> str:
    """
    The typographic characters that a patch brings into a document which has none of their kind.

    Args:
        pairs: Rows that are the same, as the patch and as the document have them.
        document: All of its text.
    """
    blanks = ""
    for kind in KINDS:
        is_shown = any(character in ours for ours, theirs in pairs if ours != theirs for character in kind)
        if is_shown and not any(character in document for character in kind):
            blanks += kind
    return blanks


def spell_plainly(row: str, characters: str) -> str:
    """*row* with these typographic characters in their plain spelling."""
    return row if row.isascii() else "".join(SPELLINGS[c] if c in characters else c for c in row)


def _offsets_there(old: str, there: str) -> list[int]:
    """For each offset of *old* the one in *there*; empty if they are not the same text."""
    if len(old) == len(there):
        return list(range(len(old) + 1))
    result = [0]
    at = end = 0
    while at < len(old):
        if end >= len(there):
            return []
        one, other = _unit(old, at, there[end]), _unit(there, end, old[at])
        if plain(old[at : at + one]) not in (plain(there[end : end + other]), "--" if one == 2 else ""):
            return []
        result += [end] * (one - 1) + [end + other]
        at, end = at + one, end + other
    return result if end == len(there) else []


def _unit(text: str, at: int, other: str) -> int:
    """Returns how many characters of *text* spell the one character *other*."""
    if text[at] == other:
        return 1
    for spelled in ("...", "--"):
        if other in ("\u2026", EM_DASH) and text.startswith(spelled, at):
            return len(spelled)
    return 1
