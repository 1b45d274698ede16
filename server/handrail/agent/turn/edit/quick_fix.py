"""
Make a failed edit at a place that the user chose.

The road is that of every edit (`landing`), outside of any turn: with a checkpoint of its own, read back, and
taken back if only a part of it landed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from handrail.agent.turn.edit import landing
from handrail.agent.turn.edit.landing import PlannedCall
from handrail.agent.turn.edit.plan import Part, PlannedFile
from handrail.core.checkpoint import StepId
from handrail.core.documents.change import PlannedHunk, Update
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.ports import Document, Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """
    What came of a quick fix.

    Attributes:
        outcome: Of its edit.
        warnings: What of it cannot be taken back as usual, in sentences.
    """

    outcome: Outcome
    warnings: tuple[str, ...] = ()


async def make(
    ports: Ports, turn: str, mutation: Mutation, document: Document, planned: PlannedHunk
) -> Fixed:
    """
    Makes an edit that was *planned* on *document*.

    Args:
        ports: The world.
        turn: The id of its checkpoint.
        mutation: What the outcome is called.
        document: As it was just read.
        planned: The edit; without any change the document already has this change.

    Raises:
        CheckpointError: What was there could not be kept, and the user wants that first. Nothing is changed.
    """
    mutation = replace(mutation, uri=document.uri)
    change = Update(uri=document.uri, base=document.text, hunks=(planned,))
    file = PlannedFile(
        path=mutation.path,
        parts=(Part(mutation=mutation, planned=planned, text=document.text),),
        changes=(change,) if planned.edits else (),
    )
    step = StepId(session="", turn=turn, number=1, label=f"Quick fix in {mutation.path}")
    call = PlannedCall(title=f"apply in {mutation.path}", files=(file,))
    made = await landing.make(ports, step, [call], lambda: False)
    await ports.review.settle()
    ((outcome,),) = (each.outcomes for each in made.calls)
    warnings = (*made.calls[0].warnings, made.note)
    return Fixed(outcome=outcome, warnings=tuple(filter(None, warnings)))
