"""
Find a hunk's old rows where they differ from the document's in the spacing between tokens only.

Blanks are ignored where they have no meaning in any language with such a row: runs of them, around commas and
brackets, around `=`, on both sides of an operator, around the bars of a table. Strings, comments' words,
indentation and rows inside a string of several rows stay as they are. Rows that the new text has from the old
one keep the document's spacing; others are written as the patch has them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from handrail.core.documents.change import Tier
from handrail.core.documents.index import plain, squeeze
from handrail.core.documents.text import Text
from handrail.core.matching.indent import leading_blanks
from handrail.core.matching.result import Match, line_span
from handrail.core.patches.hunk import Hunk, rows_of
from handrail.patterns import lazy_pattern

TOKEN = lazy_pattern(
    r"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|["'`].*)"""
    r"""|(?P<blank>[ \t]+)|(?P<word>\w+)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<stop>[,;])"""
    r"""|(?P<operator>[-=+*/<>!&|%^:?]+)|(?P<other>.)"""
)
REGEX = lazy_pattern(r"[(,=:\[!&|?{;]\s*/(?![/*\s])")  # what may be a pattern between slashes
SHELL = lazy_pattern(r"\A#!.*sh\b|^[ \t]*(?:fi|done|esac)[ \t]*(?:$|[;|<>&)#])", re.MULTILINE)
QUOTES = ('"""', "'''", "`")
WORD = lazy_pattern(r"\w{4,}")
VOTERS = 3  # words of the old rows that are looked up
LIMIT_CHARS = 2000  # of a row in which words are looked for
LEAST_CHARS = 4
LIMIT_MATCHES = 50  # more cannot be told apart
NOTE = "Spacing inside lines was taken from the document."

Token = tuple[str, str]  # kind and text; of blanks between two tokens the kind is "blank"


def matches(text: Text, hunk: Hunk) -> list[Match]:
    """The runs of lines that are the hunk's old rows but for spacing inside of them."""
    old = rows_of(hunk)[0]
    wanted = [squeeze(plain(row)) for row in old]
    if sum(map(len, wanted)) < LEAST_CHARS:
        return []
    lines = _lines(text, old, wanted)
    if not 0 < len(lines) < LIMIT_MATCHES or SHELL.search(text.flat):
        return []
    ours = [fold(plain(row)) for row in old]
    result = []
    for line in lines:
        there = text.rows[line : line + len(old)]
        if all(map(_is_same, ours, there)) and not is_in_string(text, line, old):
            span = line_span(text, line, line + len(old))
            spaced = _keep_spacing(hunk, there)
            numbers = tuple(range(line, line + len(old)))
            result.append(
                Match(span=span, tier=Tier.NORMALISED, strategy="spacing", hunk=spaced, lines=numbers)
            )
    return result


def _lines(text: Text, old: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """
    Returns the lines at which the *old* rows are, ignoring blanks; searches for one of their rare words, if
    they have any.
    """
    words = {word: at for at, row in enumerate(old) for word in WORD.findall(plain(row)[:LIMIT_CHARS])}
    for word in sorted(words, key=len, reverse=True)[:VOTERS]:
        lines = text.index.plain.lines_with(word, LIMIT_MATCHES)
        if lines is not None:
            firsts = (line - words[word] for line in lines)
            return [first for first in firsts if first >= 0 and _matches_at(text, wanted, first)]
    return text.index.squeezed.find(wanted, LIMIT_MATCHES)


def _matches_at(text: Text, wanted: Sequence[str], line: int) -> bool:
    there = text.rows[line : line + len(wanted)]
    return len(there) == len(wanted) and all(
        squeeze(plain(row)) == other for row, other in zip(there, wanted, strict=True)
    )


def _is_same(ours: str, row: str) -> bool:
    return ours == fold(plain(row))


def is_in_string(text: Text, line: int, old: Sequence[str]) -> bool:
    """Whether a row from *line* on that differs from the *old* one is inside a string of several rows."""
    before = sum(map(len, text.rows[:line])) + line
    counts = [text.flat.count(quotes, 0, before) for quotes in QUOTES]
    for row, twin in zip(old, text.rows[line : line + len(old)], strict=True):
        later = [count + twin.count(quotes) for count, quotes in zip(counts, QUOTES, strict=True)]
        is_inside = any(count % 2 for count in (*counts, *later))
        if is_inside and plain(row) != plain(twin):
            return True
        counts = later
    return False


def _keep_spacing(hunk: Hunk, there: Sequence[str]) -> Hunk:
    """*hunk* with the document's spacing in its old rows, and in those of its new ones that stay."""
    old, new = rows_of(hunk)
    bodies = {row.strip(): twin[len(leading_blanks(twin)) :] for row, twin in zip(old, there, strict=True)}

    def space(row: str) -> str:
        return leading_blanks(row) + bodies[row.strip()] if row.strip() in bodies else row

    return replace(
        hunk,
        old="\n".join(map(space, old)),
        new="\n".join(map(space, new)),
        whole_lines=True,
        leaves_blank=new == [""],
        notes=(*hunk.notes, NOTE),
    )


# ---- Blanks that mean nothing ---------------------------------------------------------------------


def fold(row: str) -> str:
    """*row* without the blanks that mean nothing, and one for every other run."""
    tokens = [(found.lastgroup or "", found[0]) for found in TOKEN.finditer(row)]
    if REGEX.search(row):
        return row
    parts: list[str] = []
    depth, is_comment = 0, False
    for at, (kind, token) in enumerate(tokens):
        depth += (kind == "open") - (kind == "close")
        is_comment = is_comment or token == "#" or (kind == "operator" and token.startswith("//"))
        if kind != "blank":
            parts.append(token)
        elif is_comment or not _is_free(tokens, at, row, depth):
            parts.append(" ")
    return "".join(parts)


def _is_free(tokens: Sequence[Token], at: int, row: str, depth: int) -> bool:
    """Whether the blanks *at* could be left out."""
    if not 0 < at < len(tokens) - 1:
        return True
    (before, left), (behind, right) = tokens[at - 1], tokens[at + 1]
    if row.startswith("|") and "|" in (left, right):
        return True  # a cell of a table
    if "stop" in (before, behind):
        return depth > 0 or not {"=", "(", "{", ";"}.isdisjoint(row)
    if before == "open" or behind == "close":
        return True
    if before == "operator" and _is_operator(tokens, at - 1, row, depth):
        return True
    if behind == "operator" and _is_operator(tokens, at + 1, row, depth):
        return True
    if behind == "open":
        return before in ("word", "close") and (right == "{" or (right == "(" and left != "]"))
    return before == "close" and behind == "word" and left != "]"


def _is_operator(tokens: Sequence[Token], at: int, row: str, depth: int) -> bool:
    """Whether blanks around the operator *at* mean nothing."""
    operator = tokens[at][1]
    if "=" in operator:
        return True
    if operator == ":":
        is_value = row.endswith((";", ",")) and tokens[at - 1][0] != "blank"
        return depth > 0 or is_value
    around = [tokens[side][0] if 0 <= side < len(tokens) else "" for side in (at - 1, at + 1)]
    if around != ["blank", "blank"]:
        return False
    sides = [tokens[side][0] if 0 <= side < len(tokens) else "" for side in (at - 2, at + 2)]
    return sides[0] in ("word", "string", "close") and sides[1] in ("word", "string", "open")
