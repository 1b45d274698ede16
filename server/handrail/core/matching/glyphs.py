"""
Tell texts that look the same from each other, though they have other characters.

An accented character is one code point, or a letter and a mark. These spellings mean the same, and no one can
see or choose them, so a hunk may be respelled as the document is. Other differences that hardly anyone sees,
such as a space without width or a letter of another alphabet, may be meant: they are only named.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, zip_longest
from typing import Literal

from handrail.core.documents import spelling
from handrail.core.documents.text import Text
from handrail.core.matching.strings import find_all
from handrail.core.patches.hunk import Hunk
from handrail.patterns import lazy_pattern

NOTE = "Accented characters were written with the code points that the document has for them."
LIMIT_CHARS = 4_000_000  # of a document in which such text is looked for
Form = Literal["NFC", "NFD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD")
# What each of these looks like: letters of other alphabets, and marks that look like quotes.
GLYPHS = {
    **dict(zip("АВЕЅІЈКМНОРСТУХаеѕіјорсухһԁԛԝ", "ABESIJKMHOPCTYXaesijopcyxhdqw", strict=True)),
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοινρυ", "ABEZHIKMNOPTYXoivpu", strict=True)),
    **dict.fromkeys("`\u00b4\u02b9\u02bb\u02bc\u02bd\u02c8\u05f3\ua78c", "'"),
    **dict.fromkeys("\u2028\u2029\u2800", " "),
    "\u05f4": '"',
    "\u02d7": "-",
    "\u2043": "-",
}
UNSEEN = lazy_pattern("[\u034f\u115f\u1160\u17b4\u17b5\u3164\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def respellings(text: Text, hunk: Hunk) -> Iterator[Hunk]:
    """Yields *hunk* with its accented characters as one code point, and as two, if that differs."""
    if text.flat.isascii() or (hunk.old.isascii() and hunk.new.isascii()):
        return
    for form in FORMS:
        old = _in_form(form, hunk.old)
        if old != hunk.old:
            yield replace(hunk, old=old, new=_in_form(form, hunk.new), notes=(*hunk.notes, NOTE))


def _in_form(form: Form, text: str) -> str:
    """*text* in a normal form of Unicode, but for characters that no normal form would give back."""
    kept = "".join(each for each in set(text) if unicodedata.normalize("NFC", each) != each)
    if not kept:
        return unicodedata.normalize(form, text)
    parts = re.split(f"([{re.escape(kept)}])", text)
    return "".join(part if part in kept else unicodedata.normalize(form, part) for part in parts)


def cuts_character(flat: str, end: int) -> bool:
    """Whether a place that ends at *end* leaves a mark of its last character behind."""
    return end < len(flat) and unicodedata.combining(flat[end]) != 0


# ---- Differences that are named ---------------------------------------------------------------------


def lines(text: Text, wanted: Sequence[str], limit: int) -> list[int]:
    """Returns the lines at which text that looks like the *wanted* rows begins, at most *limit*."""
    needle = "\n".join(row.strip() for row in fold("\n".join(wanted)).split("\n")).strip("\n")
    is_plain = text.flat.isascii() and all(map(str.isascii, wanted))
    if not needle.strip() or is_plain or len(text.flat) > LIMIT_CHARS:
        return []
    rows = "\n".join(row.strip() for row in fold(text.flat).split("\n"))
    above = next(at for at, row in enumerate(wanted) if fold(row).strip())
    found = [rows.count("\n", 0, at) - above for at in find_all(rows, needle)[: limit * 10]]
    return [line for line in dict.fromkeys(found) if line >= 0][:limit]


def fold(text: str) -> str:
    """*text* as it looks: without invisible characters, and with one of those that look the same."""
    text = UNSEEN.sub("", unicodedata.normalize("NFKD", _replace_glyphs(spelling.plain(text))))
    return _replace_glyphs(text)


def _replace_glyphs(text: str) -> str:
    table = {ord(each): GLYPHS.get(each) for each in set(text) if each in GLYPHS or _is_invisible(each)}
    return text.translate(table)


def _is_invisible(character: str) -> bool:
    return character not in "\n\t" and unicodedata.category(character) in ("Cf", "Cc")


def difference(there: str, row: str) -> str:
    """
    Returns where the document's row *there* first differs from *row*, which looks like it or a part of it.

    Punctuation and spaces that are compared as the same do not differ. Empty if nothing differs.
    """
    row = row.strip()
    folded = fold(row)
    at = fold(there).find(folded)
    if not folded or at < 0:
        return ""
    begins = list(accumulate((len(fold(each)) for each in there), initial=0))
    start = next((number for number, begin in enumerate(begins) if begin >= at), 0)
    here = there[start:]
    for number, (theirs, ours) in enumerate(zip_longest(here, row)):
        if ours is None and fold(theirs):
            return ""
        if theirs is None or ours is None or spelling.plain(theirs) != spelling.plain(ours):
            first = number - (_is_mark(here, number) or _is_mark(row, number))
            return (
                f"at column {start + first + 1} it has {_code_points(here, first)}, where the search text "
                f"has {_code_points(row, first)}"
            )
    return ""


def _is_mark(text: str, at: int) -> bool:
    return 0 < at < len(text) and unicodedata.combining(text[at]) != 0


def _code_points(text: str, at: int) -> str:
    """Returns the character *at* an offset, with the marks behind it, by the numbers and names of Unicode."""
    end = at + 1
    while _is_mark(text, end):
        end += 1
    if at >= len(text):
        return "nothing"
    return " and ".join(f"U+{ord(each):04X} ({unicodedata.name(each, 'no name')})" for each in text[at:end])
