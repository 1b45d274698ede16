"""
Undo pending hunks like any other edit: with a checkpoint of its own, versioned and read back.

Text that the user has typed in a hunk stays. If it cannot be separated from the agent's text, the hunk stays
unchanged, and both texts are reported. Documents that were created, removed or changed as a whole are
restored from the checkpoint before that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import accumulate

from handrail.agent.restore import restore
from handrail.agent.review.reviews import Reviews
from handrail.agent.review.selection import HunkSelection
from handrail.agent.turn.edit import landing
from handrail.agent.turn.edit.landing import PlannedCall
from handrail.agent.turn.edit.plan import Part, PlannedFile
from handrail.core.checkpoint import StepId
from handrail.core.documents.change import PlannedHunk, Tier, Update
from handrail.core.documents.edit import edits_between
from handrail.core.ledger.outcome import Mutation
from handrail.core.review import document as one
from handrail.core.review.document import Reviewed
from handrail.core.review.hunks import Hunk
from handrail.core.review.pending import Pending
from handrail.core.review.undo import is_followed
from handrail.ports import CheckpointError, Document, LostCheckpointError, NoReview, Ports
from handrail.values import dataclass, field, replace

TYPED = "You edited lines that the agent wrote, so handrail cannot separate your text from the agent's."
LATER_TURN = (
    "A later turn changed the same lines, so this turn's part cannot be undone alone. Undo that turn first, "
    "or undo the whole change, with the parts of all turns."
)
YOU_OR_LATER_TURN = (
    "You and a later turn edited these lines too, so this turn's part cannot be undone alone. Undo that turn "
    "first, or undo the whole change, with the parts of all turns."
)
LATER_TURN_IN_WHOLE = (
    "A later turn changed this document too, and handrail can only undo the change of the whole document. "
    "Undo that turn first, or undo the whole change, with the parts of all turns."
)
SEVERAL_TURNS = (
    "Several turns changed this file, and handrail can only undo all of it. Undo the whole change, with the "
    "parts of all turns."
)
CHANGED = "The document changed just before the undo. Try again."
LOST = "{} handrail can no longer undo this change, so it counts as kept."
PENDING = "{} The change was not undone, and is still to review."


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """
    A hunk that was not undone.

    Attributes:
        now: The current text.
        before: The text without the hunk.
        is_typed: Whether text that the user typed is the reason, so that a forced undo would remove it.
    """

    hunk: str
    uri: str
    reason: str
    now: str
    before: str
    is_typed: bool


@dataclass(kw_only=True)
class Undone:
    """
    The outcome of an undo.

    Attributes:
        hunks: The ids of the hunks that were undone, at least the turn's part of them.
        checkpoint: The id of the checkpoint with the earlier contents; None if nothing was touched.
    """

    hunks: list[str] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    checkpoint: str | None = None

    def add(self, more: Undone) -> None:
        """Adds the outcome of another one."""
        self.hunks += more.hunks
        self.conflicts += more.conflicts
        self.checkpoint = more.checkpoint or self.checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """
    The plan for one document.

    Attributes:
        edits: Each hunk to undo, and the edits that undo it.
        without: The document after some of these hunks are undone, by their ids.
    """

    pending: Pending
    document: Document
    edits: tuple[tuple[Hunk, PlannedHunk], ...]
    without: Callable[[frozenset[str]], Reviewed]

    @property
    def change(self) -> Update:
        """The whole change."""
        hunks = tuple(planned for _, planned in self.edits)
        return Update(uri=self.document.uri, base=self.document.text, hunks=hunks, is_divisible=True)

    def file(self, turn: str) -> PlannedFile:
        """The change as one file of a call; the mutation of each hunk has its id."""
        mutation = Mutation(
            id="",
            turn=turn,
            call="",
            tool="review",
            order=0,
            uri=self.document.uri,
            identity=self.pending.identity,
            path=self.pending.path,
        )
        parts = tuple(
            Part(mutation=replace(mutation, id=hunk.id), planned=planned, text=self.document.text)
            for hunk, planned in self.edits
        )
        return PlannedFile(path=self.pending.path, parts=parts, changes=(self.change,))


async def undo(reviews: Reviews, wanted: HunkSelection, *, forced: bool = False) -> Undone:
    """
    Undoes hunks.

    Args:
        reviews: All pending changes.
        wanted: The hunks to undo.
        forced: Whether to remove text that was typed in them too; the checkpoint has it. If a turn is given,
            this does not include what later turns wrote.

    Raises:
        UnknownId: One of them is not pending.
        CheckpointError: The current contents could not be stored, and the settings require that. Nothing was
            changed.
    """
    await reviews.refresh()
    undone = Undone()
    ports = replace(reviews.ports(), review=NoReview())
    chosen, turn = reviews.hunks(wanted), reviews.new_id("u")
    restores = tuple({reviews.pending[identity].checkpoint.partition(".")[0] for identity in chosen})
    step = StepId(session="", turn=turn, number=1, label="Undo in a review", pinned=True, restores=restores)
    plans = list[_Plan]()
    for identity, hunks in chosen.items():
        pending = reviews.pending[identity]
        if pending.is_whole and _means_whole(pending, hunks, wanted.turn):
            if wanted.turn is not None and _has_other_turns(pending, wanted.turn):
                reason = LATER_TURN_IN_WHOLE if pending.is_new else SEVERAL_TURNS
                undone.conflicts.append(_conflict(pending, pending.document.hunks[0], reason))
            elif await _undo_whole(reviews, ports, step, pending, undone) and wanted.hunks is None:
                more = await undo(reviews, replace(wanted, uri=pending.back.uri), forced=forced)
                undone.add(more)
        elif (plan := await _plan(ports, pending, hunks, (wanted.turn, forced), undone)) is not None:
            plans.append(plan)
    if plans:
        await _make(reviews, ports, step, plans, undone)
    return undone


async def _plan(
    ports: Ports, pending: Pending, hunks: Sequence[Hunk], how: tuple[str | None, bool], undone: Undone
) -> _Plan | None:
    """Returns the edits that undo hunks; None if there are none."""
    turn, forced = how
    document = await ports.editor.read(pending.uri)
    rows = pending.document.rows
    if not isinstance(document, Document) or document.text.content != "".join(rows):
        undone.conflicts += [_conflict(pending, hunk, CHANGED) for hunk in hunks]
        return None
    ids = frozenset(hunk.id for hunk in hunks)
    result = await asyncio.to_thread(one.undo_pending, pending.document, ids, turn, forced=forced)
    undone.conflicts += [_conflict(pending, hunk, _why_not(hunk, turn)) for hunk in result.conflicts]
    edits = await asyncio.to_thread(_edits, pending.document, result)

    def drop(some: frozenset[str]) -> Reviewed:
        return one.undo_pending(pending.document, some, turn, forced=forced).document

    return _Plan(pending=pending, document=document, edits=edits, without=drop) if edits else None


def _why_not(hunk: Hunk, turn: str | None) -> str:
    """Returns why a hunk, or the part of a turn in it, was not undone."""
    if not is_followed(hunk, turn):
        return TYPED
    return YOU_OR_LATER_TURN if hunk.is_typed_in else LATER_TURN


def _edits(document: Reviewed, result: one.Undone) -> tuple[tuple[Hunk, PlannedHunk], ...]:
    starts = list(accumulate(map(len, document.rows), initial=0))
    collected = []
    for number, hunk in enumerate(document.hunks, 1):
        new = result.now_of.get(hunk.id)
        if new is not None:
            smallest = edits_between("".join(hunk.rows), "".join(new))
            edits = tuple(replace(each, span=each.span.shift(starts[hunk.start])) for each in smallest)
            collected.append((hunk, PlannedHunk(number=number, tier=Tier.SAFE, edits=edits)))
    return tuple(collected)


async def _make(reviews: Reviews, ports: Ports, step: StepId, plans: Sequence[_Plan], undone: Undone) -> None:
    """Makes the planned changes of all documents at once, and determines which landed."""
    files = tuple(plan.file(step.turn) for plan in plans)
    call = PlannedCall(title="undo", files=files, partial=True)
    made = await landing.make(ports, step, [call], lambda: False)
    undone.checkpoint = made.checkpoint or undone.checkpoint
    of = {outcome.mutation.id: outcome for outcome in made.calls[0].outcomes}
    became = dict[str, tuple[Reviewed, Reviewed]]()
    for plan in plans:
        landed = set[str]()
        for hunk, _ in plan.edits:
            failure = of[hunk.id].failure
            if failure is None:
                landed.add(hunk.id)
            else:
                undone.conflicts.append(_conflict(plan.pending, hunk, failure.message))
        undone.hunks += [hunk.id for hunk, _ in plan.edits if hunk.id in landed]
        left = await asyncio.to_thread(plan.without, frozenset(landed))
        became[plan.pending.identity] = (plan.pending.document, left)
    await reviews.replace_pending(became)


def _means_whole(pending: Pending, hunks: Sequence[Hunk], turn: str | None) -> bool:
    """Whether the document as a whole is meant: in a created one, later turns have hunks of their own."""
    first = pending.document.hunks[0]
    is_first = first in hunks and (turn is None or turn == first.turns[0])
    return not pending.is_new or is_first


def _has_other_turns(pending: Pending, turn: str) -> bool:
    return any(other != turn for hunk in pending.document.hunks for other in hunk.turns)


async def _undo_whole(reviews: Reviews, ports: Ports, step: StepId, pending: Pending, undone: Undone) -> bool:
    """
    Restores a document that was created, moved, removed or changed as a whole.

    Returns whether more is pending in it now. A moved document is moved back only if nothing is in the way at
    either of its paths.
    """
    (hunk, *_) = pending.document.hunks
    uris = [pending.uri, *((pending.origin.uri,) if pending.origin is not None else ())]
    request = restore.RestoreRequest(checkpoint=pending.checkpoint, uris=uris, following=True)
    try:
        if pending.origin is not None and (expected := (await restore.dry_run(ports, request)).conflicts):
            undone.conflicts.append(_conflict(pending, hunk, expected[0].reason))
            return False
        report = await restore.restore(ports, step, request)
    except CheckpointError as error:
        is_lost = await _is_lost(ports, pending)
        if is_lost:
            await reviews.keep(HunkSelection(hunks=[hunk.id]))
        undone.conflicts.append(_conflict(pending, hunk, (LOST if is_lost else PENDING).format(error)))
        return False
    undone.checkpoint = report.checkpoint or undone.checkpoint
    reasons = [each.reason for each in report.conflicts] + [each.reason for each in report.partial]
    if reasons:
        undone.conflicts.append(_conflict(pending, hunk, reasons[0]))
        return False
    await reviews.reinstate(pending)
    undone.hunks.append(hunk.id)
    return pending.earlier is not None


async def _is_lost(ports: Ports, pending: Pending) -> bool:
    """Whether the checkpoint of a change can never be read again; what else went wrong may pass."""
    try:
        await ports.checkpoints.restore_plan(pending.checkpoint, following=True)
    except LostCheckpointError:
        return True
    except CheckpointError:
        return False
    return False


def _conflict(pending: Pending, hunk: Hunk, reason: str) -> Conflict:
    now = pending.document.rows if pending.is_new else hunk.rows
    return Conflict(
        hunk=hunk.id,
        uri=pending.uri,
        reason=reason,
        now="".join(now),
        before="".join(hunk.before),
        is_typed=reason is TYPED,
    )
