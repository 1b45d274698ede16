"""
Literal escapes that a model wrote instead of characters, such as a backslash and an n for a line ending.

They are resolved only where the search text shows that they are not meant; a tab at the start of a new row
also where the document indents by tabs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from handrail.core.patches.hunk import Hunk
from handrail.patterns import lazy_pattern

ESCAPE = lazy_pattern(r"\\([nrt\"'\\`$])")
MEANT = {"n": "\n", "t": "\t", "r": "", '"': '"', "'": "'", "\\": "\\", "`": "`", "$": "$"}

OPENING = ('"""', "'''", "`", '"', "'")
QUOTE_MARKS = lazy_pattern(r"\\.|\n|" + "|".join(OPENING), re.DOTALL)
DOUBLE_MARKS = lazy_pattern(r"\\.|\n|" + "|".join(mark for mark in OPENING if "'" not in mark), re.DOTALL)
LIFETIME = lazy_pattern(r"[<&]'[a-z_]\w*\b(?!')")  # in Rust; there one quote opens no string
BEFORE_STRING = lazy_pattern(r"(?:^|\W)[rbfu]{0,2}$", re.IGNORECASE)  # and not an apostrophe in a word
IN_CODE = lazy_pattern(
    r"(?:[(=,\[{:+]|\b(?:return|echo|print|puts|yield|raise|throw|in|case))\s*[rbfu]{0,2}$", re.IGNORECASE
)
LIMIT_BEFORE = 80  # characters before a string that tell whether it is in code

ENTITY = lazy_pattern(r"&(lt|gt|amp|quot|apos|#0?39|#x27|#34|#x22);", re.IGNORECASE)
CHARACTERS = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
CHARACTERS |= {"#39": "'", "#039": "'", "#x27": "'", "#34": '"', "#x22": '"'}
BARE = lazy_pattern(rf"[<>]|&(?!{ENTITY.pattern[1:]})", re.IGNORECASE)

TABS = lazy_pattern(r"^([ \t]*)((?:\\t)+)(?=[^\\\s])", re.MULTILINE)
TEX = lazy_pattern(
    r"^[ \t]*\\(?!t)[A-Za-z]|^[ \t]*\\t(?:ext|itle|able|abular|oday|iny|op|oprule|heta|au|imes|ilde|o|an)\b",
    re.MULTILINE,
)
ESCAPES_NOTE = "Literal escapes, such as \\n, were replaced by the characters that they stand for."
ENTITIES_NOTE = "HTML entities were replaced by the characters that they stand for."
TABS_NOTE = "A literal \\t at the start of new lines was written as a tab."


def resolve_escapes(hunk: Hunk) -> Hunk | None:
    """
    *hunk* as it was meant, if its search text has literal escapes in the place of characters.

    A search text in one line with a literal line end is escaped throughout, and so is what replaces it, if
    that is in one line too; a replacement that has line ends is meant literally. Otherwise only those escapes
    are resolved in the new text that the old text has too. None if there is nothing to resolve, or if what
    the new text means is not certain.
    """
    escapes = set(ESCAPE.findall(hunk.old))
    if not escapes:
        return None
    in_one_line = "\n" not in hunk.old.removesuffix("\n")
    new_in_one_line = "\n" not in hunk.new.removesuffix("\n")
    new_meant = None
    if "n" in escapes and in_one_line:
        meant = set(MEANT)
        new_meant = meant if new_in_one_line else set()
    elif "n" in escapes or (in_one_line and new_in_one_line and "n" in ESCAPE.findall(hunk.new)):
        return None
    else:
        meant = escapes
    old = _unescape(hunk.old, meant)
    new = _unescape(hunk.new, meant if new_meant is None else new_meant)
    if (old, new) == (hunk.old, hunk.new) or not old.strip():
        return None
    if new_meant and _breaks_string(new) and not _breaks_string(old):
        return None  # the escape of a string may be meant, so it is not certain which ones are
    return replace(hunk, old=old, new=new, notes=(*hunk.notes, ESCAPES_NOTE))


def _breaks_string(text: str) -> bool:
    """
    Whether a string in *text* begins in one line and ends in a later one, unlike a string of code.

    Prose may be quoted over two lines, so behind a word a string counts only if nothing but line ends is left
    of it below. Quotes of three characters and backticks hold several lines.
    """
    quotes = ""
    is_code: bool | None = None
    marks = DOUBLE_MARKS if LIFETIME.search(text) else QUOTE_MARKS
    for found in marks.finditer(text):
        mark, start, end = found[0], found.start(), found.end()
        if not quotes:
            if mark in ("'", '"') and not BEFORE_STRING.search(text, max(0, start - 3), start):
                continue
            quotes, is_code = mark if mark in OPENING else "", _is_in_code(text, start)
        elif mark.startswith(quotes):
            quotes = ""
        elif mark == "\n" and quotes in ("'", '"'):
            closed = text.find(quotes, end)
            if closed >= 0 and (is_code or (is_code is None and not text[end:closed].strip("\n"))):
                return True
            quotes = ""
    return False


def _is_in_code(text: str, start: int) -> bool | None:
    """Whether a quote at *start* is in code; None if only the text behind it tells."""
    if IN_CODE.search(text[max(0, start - LIMIT_BEFORE) : start]):
        return True
    row = text[text.rfind("\n", 0, start) + 1 : start]
    return None if row.strip() else False


def _unescape(text: str, meant: set[str]) -> str:
    return ESCAPE.sub(lambda match: MEANT[match[1]] if match[1] in meant else match[0], text)


def without_entities(hunk: Hunk) -> Hunk | None:
    """
    *hunk* with the characters that HTML entities stand for, if its search text has entities.

    A search text without a bare `<`, `>` or `&` is escaped throughout, and so is what replaces it. None if
    there is nothing to resolve, or if what the new text means is not certain.
    """
    kinds = {_character(found) for found in ENTITY.findall(hunk.old)}
    others = {_character(found) for found in ENTITY.findall(hunk.new)} - kinds
    if not kinds or (others and (BARE.search(hunk.old) or BARE.search(hunk.new))):
        return None
    old, new = (ENTITY.sub(lambda found: _character(found[1]), text) for text in (hunk.old, hunk.new))
    if not old.strip():
        return None
    return replace(hunk, old=old, new=new, notes=(*hunk.notes, ENTITIES_NOTE))


def _character(entity: str) -> str:
    return CHARACTERS[entity.lower()]


def with_tabs(hunk: Hunk, document: str, near: Sequence[str]) -> Hunk:
    """
    *hunk* with a tab for a literal one that begins the indentation of a new row, where tabs indent.

    Args:
        hunk: What is to be made.
        document: All of the document, in which no row begins with a backslash that is meant, as TeX's do.
        near: Its rows around the place.
    """
    if not TABS.search(hunk.new) or TABS.search(hunk.old) or not any(row.startswith("\t") for row in near):
        return hunk
    if TEX.search(document) or TEX.search(hunk.new) or TABS.search(document):
        return hunk
    new = TABS.sub(lambda match: match[1] + "\t" * (len(match[2]) // 2), hunk.new)
    return replace(hunk, new=new, notes=(*hunk.notes, TABS_NOTE))
