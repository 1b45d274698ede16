"""
The pending hunks of one document: the agent's changes that are neither kept nor undone.

Theory of operation. A document is its rows, each with its own end. A hunk is a range of them together with
the steps that led to it: the rows before a call, and after it. Everything else is the user's, so the text
without any pending hunk, `base`, is the document with each hunk's rows replaced by those before its first
step:

    now   a B c            base  a b c
            ^ Hunk(start=1, rows=(B,), steps=(b -> B,))

So text that the user types outside hunks is in both texts, and text typed inside is only in `now`. The steps
of a hunk are a chain: each begins with what the last one left, and whatever differs between the two the user
has typed. So a hunk, or one turn's part of it, is undone three-way (`documents/revert`).
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from handrail.core.documents.index import squeeze
from handrail.values import dataclass, replace

Rows = tuple[str, ...]
ENDS = ("\n", "\r")
LIMIT_COMPARED = 1_000  # characters, of which the longest common stretch is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The change that one call of a turn made to the rows of a hunk."""

    turn: str
    call: str
    before: Rows
    after: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """
    A change that is pending.

    Attributes:
        id: Identifies it among all hunks of the document; never changes.
        start: Its first row, counted from 0; a hunk without rows is before that row.
        rows: The rows that are there now.
        steps: The steps of the agent, in order; at least one.
    """

    id: str
    start: int
    rows: Rows
    steps: tuple[Step, ...]

    @property
    def end(self) -> int:
        """The row after its last one."""
        return self.start + len(self.rows)

    @property
    def before(self) -> Rows:
        """The rows that would be there without it."""
        return self.steps[0].before

    @property
    def turns(self) -> tuple[str, ...]:
        """The turns that wrote in it, in order."""
        return tuple(dict.fromkeys(step.turn for step in self.steps))

    @property
    def is_typed_in(self) -> bool:
        """Whether the user has typed in it."""
        left = [step.after for step in self.steps]
        states = [*(step.before for step in self.steps[1:]), self.rows]
        return left != states

    @property
    def is_rewritten(self) -> bool:
        """Whether nothing of what the agent wrote is left, so that it is all the user's."""
        last = set(self.steps[-1].after)
        written = {row for step in self.steps for row in (set(step.after) - set(step.before)) & last}
        if not written or not {squeeze(row) for row in written}.isdisjoint(map(squeeze, self.rows)):
            return False
        return is_all_new(self.steps[-1].after, self.rows)

    @property
    def previous_state(self) -> Hunk | None:
        """The hunk without its later steps, if its rows are those before one of its steps."""
        at = next((at for at, step in enumerate(self.steps) if step.before == self.rows), None)
        return None if at is None else replace(self, steps=self.steps[:at])

    def shift(self, rows: int) -> Hunk:
        """The same so many rows further down."""
        return replace(self, start=self.start + rows) if rows else self

    def widen_steps(self, above: Rows, below: Rows) -> tuple[Step, ...]:
        """Its steps in a stretch that has more rows above and below."""
        return tuple(
            replace(step, before=(*above, *step.before, *below), after=(*above, *step.after, *below))
            for step in self.steps
        )


def is_all_new(before: Rows, now: Sequence[str]) -> bool:
    """
    Whether the user has rewritten all of a text, whatever blanks there are.

    It is not if both begin or end alike, or if half of the shorter one is in the other: a user may type at
    both ends of a row before the next comparison, and a formatter may run too.
    """
    old, new = _pack(before), _pack(now)
    if not old or not new:
        return True
    if old[0] == new[0] or old[-1] == new[-1] or old in new or new in old:
        return False
    if len(old) + len(new) > LIMIT_COMPARED:
        return True
    longest = SequenceMatcher(None, old, new, autojunk=False).find_longest_match()
    return longest.size * 2 < min(len(old), len(new))


def _pack(rows: Sequence[str]) -> str:
    """Rows without blanks and line ends."""
    return "".join(squeeze(row).rstrip("\r\n") for row in rows)


def base_of(rows: Sequence[str], hunks: Sequence[Hunk]) -> list[str]:
    """Returns the rows of a document if all its *hunks* were undone; hunks ascend, as everywhere here."""
    result, done = list[str](), 0
    for hunk in hunks:
        result += (
            *rows[done : hunk.start],
            *terminate_rows(hunk.before, hunk.rows, is_last=hunk.end == len(rows)),
        )
        done = hunk.end
    return [*result, *rows[done:]]


def terminate_rows(new: Rows, old: Rows, *, is_last: bool) -> Rows:
    """*new* rows in place of *old* ones, of which the last one has an end if others follow."""
    if is_last or not new or new[-1].endswith(ENDS):
        return new
    end = next((row[len(row.rstrip("\r\n")) :] for row in reversed(old) if row.endswith(ENDS)), "\n")
    return (*new[:-1], new[-1] + end)


def drop_hunks(hunks: Sequence[Hunk], ids: frozenset[str]) -> tuple[Hunk, ...]:
    """*hunks* after those of *ids* were kept: the text stays, and is the user's now."""
    return tuple(hunk for hunk in hunks if hunk.id not in ids)
