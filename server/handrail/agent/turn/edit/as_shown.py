"""
Compare the changes that a question showed with those that would be made when it is answered.

A change is the same only if its diff, with the rows around it, is the same, and if it is at the same place.
Text that was added or removed in one part of the document, above or below, only shifts it.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.agent.turn.edit.plan import PlannedFile, preview
from handrail.core.documents.change import Change, Update
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.spelling import common_end_length, common_length
from handrail.values import replace


def is_as_shown(shown: Sequence[PlannedFile], now: Sequence[PlannedFile]) -> bool:
    """Whether files would be changed as was shown."""
    if _rows(shown) != _rows(now):
        return False
    changes = [[change for file in files for change in file.changes] for files in (shown, now)]
    return len(changes[0]) == len(changes[1]) and all(map(_is_same_change, *changes))


def _rows(files: Sequence[PlannedFile]) -> list[str]:
    """Returns the lines of a diff of *files*, without their positions."""
    return [row for row in preview(files).split("\n") if not row.startswith("@@")]


def _is_same_change(shown: Change, now: Change) -> bool:
    if not isinstance(shown, Update) or not isinstance(now, Update):
        return shown == now
    return shown.uri == now.uri and _shift(shown, now.base.content) == now.edits


def _shift(update: Update, content: str) -> tuple[TextEdit, ...] | None:
    """Returns the edits of *update* for a later text; None if they are not above or below what changed."""
    base = update.base.content
    if base == content:
        return update.edits
    begin = common_length(base, content)
    end = common_end_length(base[begin:], content[begin:])
    growth = len(content) - len(base)
    edits = []
    for edit in update.edits:
        if edit.span.end <= begin:
            edits.append(edit)
        elif edit.span.start >= len(base) - end:
            span = replace(edit.span, start=edit.span.start + growth, end=edit.span.end + growth)
            edits.append(replace(edit, span=span))
        else:
            return None
    return tuple(edits)
