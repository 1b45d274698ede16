"""Explain why no place was chosen for a hunk, with the nearest places and the next steps."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.documents.index import plain
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Code, Failure
from handrail.core.matching import glyphs
from handrail.core.matching.strings import LIMIT_MATCHES
from handrail.core.patches.hunk import Hunk

# The numbers after `@@` count too; but in V4A there are none, and models count lines badly.
IN_HEADER = "Or write after @@ the first line of the class or function that contains the one you mean."
IN_BLOCK = (
    "Or write :start_line:N on the line below <<<<<<< SEARCH, where N is the line number of the one you mean."
)
AS_ARGUMENT = "Or give start_line, the line number of the one you mean."


def too_often() -> Failure:
    """The failure for text that would be replaced in too many places."""
    return Failure(
        code=Code.TOO_LARGE,
        message=f"The search text occurs {LIMIT_MATCHES:,} times or more, which is too many to replace at "
        f"once.",
        steps=("Use a longer search text.", "Or write the whole file."),
    )


def no_match(text: Text, wanted: Sequence[str], near: tuple[Candidate, ...]) -> Failure:
    """`no-match` for rows *wanted*: the nearest place, the first line that differs there, and what to do."""
    steps = ["Read the document again: it may have changed. Then send its exact lines as search text."]
    message = "The search text is not in the document."
    if near:
        best = near[0]
        message += f" The nearest match is line {best.line + 1} ({best.score:.0%} similar)"
        differing = _first_difference(text, wanted, best)
        message += f"; {differing}" if differing else "."
        steps = [
            f"If you mean line {best.line + 1}, send the lines exactly as they are there.",
            "Otherwise, read the document again: it may have changed. Then send its exact lines.",
        ]
    return Failure(code=Code.NO_MATCH, message=message, steps=tuple(steps), near=near)


def same_glyphs(text: Text, wanted: Sequence[str], near: tuple[Candidate, ...]) -> Failure:
    """`no-match` for rows *wanted* that only look like those at *near*: which characters differ."""
    best = near[0]
    rows = text.rows[best.line : best.line + len(wanted)]
    told = (
        (at, glyphs.difference(there, row)) for at, (there, row) in enumerate(zip(rows, wanted, strict=False))
    )
    at, difference = next(((at, each) for at, each in told if each), (0, ""))
    if not difference:
        return no_match(text, wanted, near)
    line = best.line + at + 1
    return Failure(
        code=Code.NO_MATCH,
        message=(f"The search text is not in the document. Line {line} looks the same, but {difference}."),
        steps=(
            f"If you mean line {line}, send the characters that it has. JSON can write them as escapes.",
            "Or use a search text that leaves these characters out.",
        ),
        near=near,
    )


def _first_difference(text: Text, wanted: Sequence[str], near: Candidate) -> str:
    for at, row in enumerate(wanted):
        there = text.rows[near.line + at] if near.line + at < len(text.rows) else ""
        if plain(row) != plain(there):
            if row.strip() and glyphs.fold(row).strip() == glyphs.fold(there).strip():
                return f"line {near.line + at + 1} looks the same, but {glyphs.difference(there, row)}."
            return f"line {near.line + at + 1} is {_quote(there)} where the search text has {_quote(row)}."
    return ""


def _quote(row: str) -> str:
    row = row.strip()
    return repr(row if len(row) <= 60 else row[:57] + "...")


def near_each_other(near: tuple[Candidate, ...]) -> Failure:
    """`ambiguous-match` for places of which none is exact and none the best by a margin."""
    shown = " and ".join(f"line {each.line + 1} ({each.score:.0%} similar)" for each in near)
    return Failure(
        code=Code.AMBIGUOUS_MATCH,
        message=f"The search text is not in the document, and more than one place is similar: {shown}.",
        steps=(
            "Send the exact current lines as search text.",
            "Add a line of context that differs between the places.",
        ),
        near=near,
    )


def new_text_is_elsewhere(near: Candidate) -> Failure:
    """`ambiguous-match` for new text that is in the document while its old text all but stands at *near*."""
    return Failure(
        code=Code.AMBIGUOUS_MATCH,
        message=f"The new text is already in the document, and line {near.line + 1} is only similar to the "
        f"search text.",
        steps=(
            f"If you mean line {near.line + 1}, send its exact current lines.",
            "Otherwise leave the edit out.",
        ),
        near=(near,),
    )


def outside_scope(near: Candidate, missed: tuple[str, int]) -> Failure:
    """`no-match` for text that stands at *near* only, away from a header (and its line) that was given."""
    header, line = missed
    what = "The search text" if near.score == 1 else "Text similar to the search text"
    return Failure(
        code=Code.NO_MATCH,
        message=(
            f"{what} is at line {near.line + 1}, but not in the scope of {_quote(header)} "
            f"(line {line + 1}), which the patch names. Nothing was changed."
        ),
        steps=(
            f"If you mean line {near.line + 1}, name its scope, or leave the scope out.",
            f"Otherwise send the lines exactly as they are below line {line + 1}.",
        ),
        near=(near,),
    )


def depth_is_open(near: Candidate) -> Failure:
    """
    `bad-patch` for one row without its indentation whose replacement continues with blocks at the margin.
    """
    return Failure(
        code=Code.BAD_PATCH,
        message=(
            f"The search text is line {near.line + 1} without its indentation, and the new text has "
            f"unindented blocks, so their indentation is unclear. Nothing was changed."
        ),
        steps=("Send the search text and the new text with the indentation that the lines should have.",),
        near=(near,),
    )


def ambiguous_match(near: Sequence[Candidate], count: int, hunk: Hunk) -> Failure:
    """
    `ambiguous-match` for *count* places, the first ones being *near*; *hunk*, as it was given, tells how it
    can name its place.
    """
    shown = ", ".join(str(each.line + 1) for each in near) + (", …" if count > len(near) else "")
    alike = "" if all(each.score == 1 for each in near) else " with small differences"
    times = f"{LIMIT_MATCHES:,} times or more" if count >= LIMIT_MATCHES else f"{count} times"
    return Failure(
        code=Code.AMBIGUOUS_MATCH,
        message=f"The search text occurs {times}{alike} (lines {shown}).",
        steps=(
            "Add a line of context that differs between the places.",
            IN_HEADER if hunk.signs else IN_BLOCK if hunk.whole_lines else AS_ARGUMENT,
        ),
        near=tuple(near),
    )
