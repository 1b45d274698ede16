"""
Turn the hunks of a patch into the smallest edits of a document.

Line opcodes between old and new decide: a line that the hunk does not change keeps the document's bytes;
new lines take their neighbours' terminator and the document's indentation. Whether a hunk's text is there
already is found here too. The document is only read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from handrail.core import indent, match
from handrail.core.change import PlannedHunk, Tier
from handrail.core.edit import TextEdit, trimmed
from handrail.core.failure import Code, Failure, Span
from handrail.core.patch import Hunk
from handrail.core.text import Text, split_lines, to_lf

OMISSION = re.compile(
    r"^\s*(?:#|//|/\*|<!--|--|;|%)?\s*"
    r"(?:(?:\.{3}|…)\s*(?:\(?(?:existing|rest|remaining|other|same|unchanged|previous)\b.*|\[?truncated\]?.*)"
    r"|\(?rest (?:of (?:the )?\w+ )?(?:is |remains )?unchanged\)?\.?|\.\.\.\[truncated\])"
    r"\s*(?:\*/|-->)?\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkPlan:
    """What one hunk comes to: edits (none if it is there already), or why not."""

    hunk: Hunk
    result: PlannedHunk | Failure


def plan(text: Text, hunks: Sequence[Hunk]) -> tuple[HunkPlan, ...]:
    """
    Plan each hunk against *text*.

    Returns:
        One plan for each hunk, in order. The edits of different hunks do not overlap: of two that
        would, the later fails with `bad-patch`.
    """
    plans: list[HunkPlan] = []
    taken: list[Span] = []
    after = 0
    for hunk in hunks:
        result = plan_hunk(text, hunk, after)
        if isinstance(result, PlannedHunk) and any(_overlap(edit.span, taken) for edit in result.edits):
            result = Failure(
                code=Code.BAD_PATCH,
                message=f"Hunk {hunk.number} changes lines that an earlier hunk of the patch changes too.",
                steps=("Put both changes into one hunk.",),
            )
        if isinstance(result, PlannedHunk) and result.edits:
            taken += [edit.span for edit in result.edits]
            after = max(after, result.edits[-1].span.end)
        plans.append(HunkPlan(hunk=hunk, result=result))
    return tuple(plans)


def _overlap(span: Span, taken: Sequence[Span]) -> bool:
    return any(
        (span.start < other.end and other.start < span.end)
        or span.start == span.end == other.start == other.end
        for other in taken
    )


def plan_hunk(text: Text, hunk: Hunk, after: int = 0) -> PlannedHunk | Failure:
    """The edits of one hunk, or why it cannot be made; see `plan`."""
    if wrong := _unusable(text, hunk):
        return wrong
    if not hunk.old.strip("\n") and hunk.whole_lines and not hunk.old:
        return _insertion(text, hunk)
    found = match.locate(text, hunk, after)
    if isinstance(found, Failure):
        return PlannedHunk(number=hunk.number, tier=Tier.SAFE, edits=()) if _is_there(text, hunk) else found
    edits: list[TextEdit] = []
    for place in found:
        made = _edits_at(text, hunk, place.span, indented=place.tier is not Tier.SAFE)
        if isinstance(made, Failure):
            return made
        edits += made
    return PlannedHunk(number=hunk.number, tier=found[0].tier, edits=tuple(edits))


def plan_at(text: Text, hunk: Hunk, span: Span) -> PlannedHunk | Failure:
    """The edits of *hunk* at a place that a person chose: whole lines, terminator of the last excluded."""
    made = _edits_at(text, replace(hunk, whole_lines=True), span, indented=True)
    return made if isinstance(made, Failure) else PlannedHunk(number=hunk.number, tier=Tier.SAFE, edits=made)


def plan_whole(text: Text, content: str) -> PlannedHunk | Failure:
    """
    The edits that make *content* (with LF) the whole text.

    Lines that stay keep their bytes; the document's final newline, or its absence, is kept unless that
    is all that differs.
    """
    flat = to_lf(text.content)
    content = to_lf(content)
    if marker := _omission(text, content):
        return marker
    if flat.rstrip("\n") != content.rstrip("\n") and text.content:
        content = content[:-1] if content.endswith("\n") and not flat.endswith("\n") else content
        content = (
            content + "\n" if flat.endswith("\n") and content and not content.endswith("\n") else content
        )
    rows = [(line.rstrip("\r\n"), line[len(line.rstrip("\r\n")) :]) for line in split_lines(text.content)]
    new_rows = [(line.rstrip("\n"), "\n" if line.endswith("\n") else "") for line in split_lines(content)]
    edits, offset = [], [0]
    for row, eol in rows:
        offset.append(offset[-1] + len(row) + len(eol))
    matcher = SequenceMatcher(None, rows_key(rows), rows_key(new_rows), autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            continue
        eol = _neighbour_eol(text, i)
        new = "".join(row + (eol if end else "") for row, end in new_rows[k:m])
        edit = trimmed(text.content, TextEdit(span=Span(start=offset[i], end=offset[j]), new=new))
        if edit is not None:
            edits.append(edit)
    return PlannedHunk(number=None, tier=Tier.SAFE, edits=tuple(edits))


def rows_key(rows: Sequence[tuple[str, str]]) -> list[tuple[str, bool]]:
    """Rows as they are compared: the text, and whether there is a terminator, whichever it is."""
    return [(row, bool(eol)) for row, eol in rows]


def _unusable(text: Text, hunk: Hunk) -> Failure | None:
    if not hunk.whole_lines and not hunk.old:
        return Failure(
            code=Code.EMPTY_SEARCH,
            message="The search text is empty.",
            steps=("Give the lines to replace.", "To make a new file, use write_file."),
        )
    if hunk.old == hunk.new:
        return Failure(
            code=Code.NO_CHANGE,
            message="Search text and replacement are the same; there is nothing to change.",
            steps=("Leave the edit out.", "Or send the replacement you meant."),
        )
    if hunk.whole_lines and hunk.old and not hunk.old.strip():
        return Failure(
            code=Code.EMPTY_SEARCH,
            message="The search text is nothing but blank lines.",
            steps=("Add a line that is not blank.",),
        )
    return _omission(text, hunk.new, hunk.old)


def _omission(text: Text, new: str, old: str = "") -> Failure | None:
    for row in new.split("\n"):
        if OMISSION.match(row) and row.strip() not in text.content and row.strip() not in old:
            return Failure(
                code=Code.OMISSION,
                message=f"The new text leaves out lines: {row.strip()!r} stands where they should be.",
                steps=("Send the lines in full.", "Or edit only the lines that change."),
            )
    return None


def _is_there(text: Text, hunk: Hunk) -> bool:
    """Whether the document has the new text already, so plainly that it cannot be chance."""
    if len(hunk.new.strip()) < 8:
        return False
    return isinstance(match.locate(text, replace(hunk, old=hunk.new, replace_all=False)), tuple)


def _insertion(text: Text, hunk: Hunk) -> PlannedHunk | Failure:
    """An addition without context: below its scope line, else at the end of the document."""
    line = len(text.rows)
    if hunk.scope:
        places = [at for at, row in enumerate(text.rows) if row.strip() == hunk.scope[-1].strip()]
        if len(places) != 1:
            return Failure(
                code=Code.AMBIGUOUS_MATCH if places else Code.NO_MATCH,
                message=f"The line {hunk.scope[-1]!r}, below which to insert, occurs {len(places)} times.",
                steps=("Give a line of context before or after the insertion.",),
            )
        line = places[0] + 1
    elif hunk.line_number is not None and text.rows:
        return Failure(
            code=Code.EMPTY_SEARCH,
            message="The hunk adds lines without any context, so a line number alone would decide the place.",
            steps=("Give a line of context before or after the insertion.",),
        )
    eol = _neighbour_eol(text, line)
    new = hunk.new.replace("\n", eol)
    if line < len(text.rows) or not text.content or text.eols[-1]:
        start, new = text.starts[line] if line < len(text.starts) else len(text.content), new + eol
    else:
        start, new = len(text.content), eol + new
    edit = TextEdit(span=Span(start=start, end=start), new=new)
    return PlannedHunk(number=hunk.number, tier=Tier.SAFE, edits=(edit,))


def _edits_at(text: Text, hunk: Hunk, span: Span, *, indented: bool) -> tuple[TextEdit, ...] | Failure:
    """The edits that turn the place at *span* from old to new, row by row."""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    if hunk.whole_lines and not hunk.new:
        new = []
    there = [row.rstrip("\r\n") for row in split_lines(text.content[span.start : span.end])]
    if text.content[span.start : span.end].endswith(("\n", "\r")) or not there:
        there.append("")
    if not hunk.whole_lines and len(old) == len(there) + 1 and not old[-1]:
        # Whole lines after all, matched without the last terminator: the new text ends in one as well.
        old.pop()
        new = new[:-1] if new and not new[-1] else new
    region = _Region(text, span, there, hunk.whole_lines or span.start in text.starts)
    fitted = _fitted(text, (old, new, there), indented=indented)
    if isinstance(fitted, Failure):
        return fitted
    edits: list[TextEdit] = []
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        first, end = min(i, len(there)), min(j, len(there))
        edit = trimmed(text.content, region.replace(first, end, fitted[k:m]))
        if edit is not None:
            edits.append(edit)
    return tuple(edits)


def _fitted(
    text: Text, rows: tuple[list[str], list[str], list[str]], *, indented: bool
) -> list[str] | Failure:
    """The new rows with the document's indentation, and its own spelling where only that differs."""
    old, new, there = rows
    if not indented:
        return new
    fit = indent.fit(list(zip(old, there, strict=False)), [*old, *new], text)
    if isinstance(fit, Failure):
        return fit
    spelled = _spelling(old, there)
    fitted: list[str] = []
    for row in new:
        found = fit.row(row)
        if isinstance(found, Failure):
            return found
        fitted.append(found.translate(spelled) if not found.isascii() or spelled else found)
    return fitted


def _spelling(old: Sequence[str], there: Sequence[str]) -> dict[int, str]:
    """Punctuation that the document spells otherwise than the patch, where the matched rows agree on it."""
    seen: dict[str, set[str]] = {}
    for wanted, found in zip(old, there, strict=False):
        for ours, theirs in zip(wanted.strip(" \t"), found.strip(" \t"), strict=False):
            seen.setdefault(ours, set()).add(theirs)
    return {
        ord(ours): min(theirs)
        for ours, theirs in seen.items()
        if len(theirs) == 1 and ours not in theirs and match.PUNCTUATION.get(ord(min(theirs))) == ours
    }


@dataclass(frozen=True, slots=True)
class _Region:
    """The matched place, and how to replace rows of it."""

    text: Text
    span: Span
    rows: list[str]
    whole_lines: bool

    def replace(self, first: int, end: int, new: Sequence[str]) -> TextEdit:
        """Replace rows first..end of the region by *new*, keeping whole what stands around them."""
        starts = self._starts()
        line = self.text.line_at(self.span.start) + first
        eol = _neighbour_eol(self.text, line)
        body = eol.join(new)
        if end < len(self.rows):
            start, stop = starts[first], starts[end]
            body += eol if new else ""
            return TextEdit(span=Span(start=start, end=stop), new=body)
        if first < end and new:
            return TextEdit(span=Span(start=starts[first], end=self.span.end), new=body)
        if new:  # an insertion behind the last row: at the start of the next line, if there is one
            below = self._line_below()
            if below is not None:
                return TextEdit(span=Span(start=below, end=below), new=body + eol)
            return TextEdit(span=Span(start=self.span.end, end=self.span.end), new=eol + body)
        return self._removal(starts[first])

    def _line_below(self) -> int | None:
        line = self.text.line_at(self.span.end)
        ends_row = self.whole_lines and self.span.end == self.text.row_end(line)
        return self.text.starts[line + 1] if ends_row and line + 1 < len(self.text.starts) else None

    def _removal(self, start: int) -> TextEdit:
        """Remove rows up to the region's end, with one terminator: the one behind, else the one before."""
        end, text = self.span.end, self.text
        if self.whole_lines:
            line = text.line_at(end)
            if line < len(text.eols) and text.eols[line]:
                end += len(text.eols[line])
            elif start and text.line_at(start) > 0:
                start -= len(text.eols[text.line_at(start) - 1])
        elif start > self.span.start:
            start -= len(text.eols[text.line_at(start) - 1])
        return TextEdit(span=Span(start=start, end=end), new="")

    def _starts(self) -> list[int]:
        first = self.text.line_at(self.span.start)
        return [self.span.start, *(self.text.starts[first + row] for row in range(1, len(self.rows)))]


def _neighbour_eol(text: Text, line: int) -> str:
    """The terminator that a new row at *line* takes: of the row before it, else behind it, else the usual."""
    if 0 < line <= len(text.eols) and text.eols[line - 1]:
        return text.eols[line - 1]
    if line < len(text.eols) and text.eols[line]:
        return text.eols[line]
    return text.eol
