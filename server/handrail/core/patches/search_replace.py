"""
Read SEARCH/REPLACE blocks, in the dialects of aider, Cline and Roo.

Markers of a block are searched for from strict to lenient. A lenient reading is used only if there is no
other, and is mentioned in the notes of the hunk. A marker in an impossible place is refused, because then it
is uncertain where the parts end; a marker that is text is written with a backslash before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.core.documents.text import to_lf, unwritable
from handrail.core.failure import Code, Failure
from handrail.core.patches.hunk import FilePatch, Hunk, Operation, bad, no_edits
from handrail.patterns import lazy_pattern
from handrail.values import dataclass

SEARCH = lazy_pattern(r"^\s{0,3}(?:<{5,9}|-{5,9}) ?SEARCH>?(?:\s*:(\d+))?\s*$")
SEARCH_LIKE = lazy_pattern(r"^\s{0,3}(?:<{3,}|-{3,})[ \t]*SEARCH>?(?:\s*:(\d*))?\s*$", re.IGNORECASE)
REPLACE = lazy_pattern(r"^\s{0,3}(?:>{5,9}|\+{5,9}) ?REPLACE<?\s*$")
REPLACE_LIKE = lazy_pattern(r"^\s{0,3}(?:>{3,}|\+{3,})[ \t]*REPLACE<?:?\s*$", re.IGNORECASE)
BARE_END = lazy_pattern(r"^>{5,9}\s*$")
DIVIDER = lazy_pattern(r"^={5,9}\s*$")
DIVIDER_LIKE = lazy_pattern(r"^={3,}\s*$")
START_LINE = lazy_pattern(r"^\s*:start_line:\s*(\d+)\s*$")
END_LINE = lazy_pattern(r"^\s*:end_line:\s*\d+\s*$")
RULE = lazy_pattern(r"^-{5,9}\s*$")
FENCE = lazy_pattern(r"^ {0,3}(?:`{3,}|~{3,})\s*$")
CONFLICT = lazy_pattern(r"^(?:<{7}|>{7}|\|{7})(?: |$)")
TITLE = lazy_pattern(r"^[^\s=(){}\[\];<>][^=(){}\[\];<>]*[^\s=(){}\[\];<>,:\\]$|^\w$")
ESCAPED = lazy_pattern(
    r"^\\(?=<{5}|={5}|>{5}|-{5}|\+{5}|:(?:start|end)_line:"
    r"|(?i:(?:<{3,}|-{3,})[ \t]*SEARCH>?:?\s*$|(?:>{3,}|\+{3,})[ \t]*REPLACE<?:?\s*$))",
    re.MULTILINE,
)

RESPELLED = "The marker {} was accepted although it is misspelled."
DOUBLED = "A second '=======' in the block was ignored."
DIVIDED_END = "The '=======' at the end of the block was read as its end."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """
    The lines of a block's markers and parts.

    Attributes:
        opening: The line of its first marker.
        first: The first line of the search part.
        middle: The divider, and the line past it or past its double.
        end: The line past the new part.
        next: The line past the block.
        notes: What was corrected.
        is_doubled: Whether the divider is doubled.
    """

    opening: int
    first: int
    middle: tuple[int, int]
    end: int
    next: int
    notes: tuple[str, ...] = ()
    is_doubled: bool = False


def parse_search_replace(path: str, patch: str, others: tuple[str, ...] = ()) -> FilePatch | Failure:
    """
    Read SEARCH/REPLACE blocks that all edit *path*, or the file of one of the *others*.

    Text between the blocks is passed over. An empty search part means the whole content of a new file.
    Origin: the dialects of aider, Cline and Roo (`:start_line:` and a rule below it).
    """
    if wrong := unwritable(patch, "the patch"):
        return wrong
    lines = to_lf(patch).split("\n")
    hunks: list[Hunk] = []
    at = 0
    while at < len(lines):
        if REPLACE_LIKE.match(lines[at]):
            return bad(at + 1, lines[at], "'<<<<<<< SEARCH' before it")
        if not SEARCH_LIKE.match(lines[at]):
            at += 1
            continue
        block = _block(lines, at)
        hunk = _hunk(lines, block, len(hunks) + 1) if isinstance(block, _Block) else block
        if isinstance(hunk, Failure):
            return hunk
        assert isinstance(block, _Block)
        hunks.append(hunk)
        at = block.next
    if not hunks:
        return no_edits("'<<<<<<< SEARCH', '=======' and '>>>>>>> REPLACE' lines")
    if len(hunks) == 1 and not hunks[0].old.strip():
        only = hunks[0]
        content = only.new + "\n" if only.new or only.leaves_blank else ""
        return FilePatch(path=path, operation=Operation.ADD, content=content, notes=only.notes, others=others)
    if placeless := next((hunk for hunk in hunks if not hunk.old.strip()), None):
        return Failure(
            code=Code.BAD_PATCH,
            message=f"The search part of block {placeless.number} is empty, so it is unknown where the block "
            f"belongs.",
            steps=("Put the lines to replace into it, or a line next to the place of the new lines.",),
        )
    return FilePatch(path=path, operation=Operation.UPDATE, hunks=tuple(hunks), others=others)


def opens_block(lines: Sequence[str], at: int) -> bool:
    """Whether a block begins at line *at*: by a marker as it should be, or else by a block that is whole."""
    if SEARCH.match(lines[at]):
        return True
    return SEARCH_LIKE.match(lines[at]) is not None and isinstance(_block(lines, at), _Block)


def block_end(lines: Sequence[str], at: int) -> int | None:
    """The line past the block that begins at line *at*; None if it is not whole."""
    block = _block(lines, at)
    return block.next if isinstance(block, _Block) else None


# ---- Where a block ends and divides -----------------------------------------------------------------


def _block(lines: Sequence[str], opening: int) -> _Block | Failure:
    marker = SEARCH if SEARCH.match(lines[opening]) else SEARCH_LIKE
    first = _below_head(lines, opening)
    stop = first
    while stop < len(lines) and not (marker.match(lines[stop]) or REPLACE.match(lines[stop])):
        stop += 1
    notes: tuple[str, ...] = () if marker is SEARCH else (RESPELLED.format(repr(lines[opening].strip())),)
    if stop < len(lines) and REPLACE.match(lines[stop]):
        end, following = stop, stop + 1
    else:
        found = _other_end(lines, opening, (first, stop))
        if found is None:
            shown = min(stop, len(lines) - 1)
            wanted = f"'>>>>>>> REPLACE' to end the block that line {opening + 1} opens"
            return bad(shown + 1, lines[shown], wanted)
        end, following, note = found, found + 1, lines[found].strip()
        notes += (DIVIDED_END if DIVIDER_LIKE.match(note) else RESPELLED.format(repr(note)),)
    return _divide(
        lines,
        _Block(opening=opening, first=first, middle=(first, first), end=end, next=following, notes=notes),
    )


def _below_head(lines: Sequence[str], opening: int) -> int:
    """The first line of the search part, below the line numbers and the rule that Roo writes."""
    first = opening + 1
    while first < len(lines) and (START_LINE.match(lines[first]) or END_LINE.match(lines[first])):
        first += 1
    if first > opening + 1 and first < len(lines) and RULE.match(lines[first]):
        first += 1
    return first


def _other_end(lines: Sequence[str], opening: int, body: tuple[int, int]) -> int | None:
    """The line that ends a block without `>>>>>>> REPLACE`; None if it is not certain that it ends."""
    for marker in (REPLACE_LIKE, BARE_END):
        ends = [at for at in range(*body) if marker.match(lines[at])]
        if ends:
            return ends[0] if len(ends) == 1 else None
    found = _dividers(lines, opening, body)
    if len(found) != 2 or found[1] == found[0] + 1:
        return None
    behind = next((lines[at] for at in range(found[1] + 1, body[1]) if lines[at].strip()), "")
    return found[1] if FENCE.match(behind) else None


def _dividers(lines: Sequence[str], opening: int, body: tuple[int, int]) -> list[int]:
    """The lines that may divide a block: those as long as the opening marker are meant before any other."""
    length = len(re.match(r"\s*(.)\1*", lines[opening])[0].strip())  # type: ignore[index]
    found = [at for at in range(*body) if DIVIDER_LIKE.match(lines[at])]
    alike = [at for at in found if len(lines[at].strip()) == length]
    return alike or [at for at in found if DIVIDER.match(lines[at])]


def _divide(lines: Sequence[str], block: _Block) -> _Block | Failure:
    """*block* with its divider."""
    found = _dividers(lines, block.opening, (block.first, block.end))
    if not found:
        wanted = f"'=======' to end the search part that line {block.opening + 1} opens"
        return bad(block.end + 1, lines[block.end], wanted)
    if len(found) == 1:
        return _with_divider(block, (found[0], found[0] + 1), block.end)
    is_sure = len(found) == 2 and not any(map(CONFLICT.match, lines[block.first : block.end]))
    if is_sure and found[1] == found[0] + 1 < block.end - 1:
        return _with_divider(block, (found[0], found[1] + 1), block.end)
    if is_sure and found[0] + 1 < found[1] == block.end - 1 and not TITLE.match(lines[found[1] - 1]):
        return _with_divider(block, (found[0], found[0] + 1), found[1])
    return bad(found[1] + 1, lines[found[1]], "one '=======' in a block; write others as '\\======='")


def _with_divider(block: _Block, middle: tuple[int, int], end: int) -> _Block:
    is_doubled = end < block.end or middle[1] > middle[0] + 1
    notes = (*block.notes, DOUBLED) if is_doubled else block.notes
    return _Block(
        opening=block.opening,
        first=block.first,
        middle=middle,
        end=end,
        next=block.next,
        notes=notes,
        is_doubled=is_doubled or DIVIDED_END in notes,
    )


# ---- What it says -----------------------------------------------------------------------------------


def _hunk(lines: Sequence[str], block: _Block, number: int) -> Hunk | Failure:
    if (wrong := _stray_head(lines, block)) is not None:
        return wrong
    old, new = lines[block.first : block.middle[0]], lines[block.middle[1] : block.end]
    divider = lines[block.middle[0]].strip()
    return Hunk(
        number=number,
        old=_text(old),
        new=_text(new),
        line_number=_hint(lines, block),
        leaves_blank=list(new) == [""],
        notes=block.notes,
        rivals=(_text([*old, divider]),) if block.is_doubled else (),
    )


def _text(rows: Sequence[str]) -> str:
    return ESCAPED.sub("", "\n".join(rows))


def _hint(lines: Sequence[str], block: _Block) -> int | None:
    hint = None
    if (marked := SEARCH_LIKE.match(lines[block.opening])) and marked[1]:
        hint = int(marked[1])
    for at in range(block.opening + 1, block.first):
        if found := START_LINE.match(lines[at]):
            hint = int(found[1])
    return hint


def _stray_head(lines: Sequence[str], block: _Block) -> Failure | None:
    """`bad-patch` for a line number, or the rule below it, in the new part, unless the search part has it."""
    known = set(lines[block.first : block.middle[0]])
    for at in range(block.middle[1], block.end):
        line = lines[at]
        if line not in known and (START_LINE.match(line) or END_LINE.match(line)):
            return bad(at + 1, line, f"a line of the new text; write it as '\\{line.strip()}' if it is text")
    first = block.middle[1]
    has_rule = block.first > block.opening + 1 and RULE.match(lines[block.first - 1])
    if has_rule and first < block.end and RULE.match(lines[first]) and lines[first] not in known:
        return bad(first + 1, lines[first], "a line of the new text; write it as '\\-------' if it is text")
    return None
