"""Undo pending hunks, or a turn's part of them, even if they have changed since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.core.documents.edit import apply, opcodes
from handrail.core.documents.revert import revert
from handrail.core.documents.text import Text, split_lines
from handrail.core.review.hunks import Hunk, Rows, Step, terminate_rows
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """
    A document after some of its hunks were undone.

    Attributes:
        rows: What it is to hold.
        hunks: Those that are pending then.
        conflicts: The hunks that stay as they are: the user, or a later turn, has changed the same rows, or
            may have.
        now_of: The new rows of each hunk that was undone, also in part, by its id.
    """

    rows: list[str]
    hunks: tuple[Hunk, ...]
    conflicts: tuple[Hunk, ...]
    now_of: Mapping[str, Rows]


def undo_hunks(
    rows: Sequence[str],
    hunks: Sequence[Hunk],
    ids: frozenset[str],
    turn: str | None = None,
    *,
    forced: bool = False,
) -> Undone:
    """
    Undoes the hunks of *ids*, or what *turn* did in them.

    What the user has typed in a hunk stays, and what of the agent's rows is untouched goes; all of it goes if
    that is *forced*. Later turns are never undone with *turn*, even if that is forced.
    """
    now, left, conflicts = list(rows), list[Hunk](), list[Hunk]()
    growth, now_of = 0, dict[str, Rows]()
    for hunk in hunks:
        at = hunk.shift(growth)
        if hunk.id not in ids or (turn is not None and turn not in hunk.turns):
            left.append(at)
            continue
        result = (
            _before_steps(hunk, turn)
            if forced and not is_followed(hunk, turn)
            else _without_steps(hunk, turn)
        )
        if result is None:
            left.append(at)
            conflicts.append(at)
            continue
        new = terminate_rows(result.rows, hunk.rows, is_last=hunk.end == len(rows))
        result = replace(result, rows=new)
        now[at.start : at.end] = now_of[hunk.id] = new
        growth += len(new) - len(hunk.rows)
        if result.steps and result.rows != result.before:
            left.append(replace(result, start=at.start))
    return Undone(rows=now, hunks=tuple(left), conflicts=tuple(conflicts), now_of=now_of)


def is_followed(hunk: Hunk, turn: str | None) -> bool:
    """Whether another turn wrote in a hunk after the first step of *turn* in it; never for all turns."""
    steps = hunk.steps[_first_step(hunk, turn) :]
    return any(turn not in (None, step.turn) for step in steps)


def _first_step(hunk: Hunk, turn: str | None) -> int:
    return next(at for at, step in enumerate(hunk.steps) if turn in (None, step.turn))


def _before_steps(hunk: Hunk, turn: str | None) -> Hunk:
    """A hunk as it was before the first step of a turn, or before any step."""
    if turn is None:
        return replace(hunk, rows=hunk.before, steps=())
    first = _first_step(hunk, turn)
    return replace(hunk, rows=hunk.steps[first].before, steps=hunk.steps[:first])


def _without_steps(hunk: Hunk, turn: str | None) -> Hunk | None:
    """A hunk as it would be without what a turn did, or without any step; None if that is unclear."""
    first = _first_step(hunk, turn)
    gone = [step for step in hunk.steps if turn in (None, step.turn)]
    is_last = not is_followed(hunk, turn)
    if is_last and not replace(hunk, steps=hunk.steps[first:]).is_typed_in:
        return replace(hunk, rows=hunk.steps[first].before, steps=hunk.steps[:first])
    if turn is None and (left := _typing_between(hunk)) is not None:
        return replace(hunk, rows=(*hunk.before, *left), steps=())
    rows = _revert_steps(hunk.rows, gone)
    steps = list(hunk.steps[:first])
    for at, step in enumerate(hunk.steps[first:], first):
        if step in gone:
            continue
        earlier = [each for each in hunk.steps[first:at] if each in gone]
        before, after = _revert_steps(step.before, earlier), _revert_steps(step.after, earlier)
        if before is None or after is None:
            return None
        steps.append(replace(step, before=before, after=after))
    return None if rows is None else replace(hunk, rows=rows, steps=tuple(steps))


def _typing_between(hunk: Hunk) -> Rows | None:
    """The user's own rows in a hunk, where each row is either the user's or the agent's; else None."""
    last = hunk.steps[-1]
    if replace(hunk, rows=last.after).is_typed_in:
        return None
    blocks = opcodes(last.after, hunk.rows)
    if any(i < j and k < m for i, j, k, m in blocks):
        return None
    return tuple(row for _, _, k, m in blocks for row in hunk.rows[k:m])


def _revert_steps(rows: Rows, steps: Sequence[Step]) -> Rows | None:
    if not steps:
        return rows
    now = Text("".join(rows))
    stretches = [(Text("".join(step.before)), Text("".join(step.after))) for step in steps]
    edits = revert(now, stretches)
    return None if edits is None else tuple(split_lines(apply(now.content, edits)))
