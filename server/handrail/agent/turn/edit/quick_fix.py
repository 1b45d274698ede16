"""
Make a failed edit at a place that the user chose.

It takes the same path as every edit (`landing`), but outside any turn: it has a checkpoint of its own, is
read back, and is reverted if it lands only in part.
"""

from __future__ import annotations

from handrail.agent.turn.edit import landing
from handrail.agent.turn.edit.landing import PlannedCall
from handrail.agent.turn.edit.plan import Part, PlannedFile
from handrail.core.checkpoint import StepId
from handrail.core.documents.change import PlannedHunk, Update
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.ports import Document, Ports
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickFixResult:
    """
    The result of a quick fix.

    Attributes:
        outcome: The outcome of its edit.
        warnings: Sentences about changes that cannot be undone as usual.
    """

    outcome: Outcome
    warnings: tuple[str, ...] = ()


async def make(
    ports: Ports, turn: str, mutation: Mutation, document: Document, planned: PlannedHunk
) -> QuickFixResult:
    """
    Makes an edit that was *planned* on *document*.

    Args:
        ports: The ports of the server.
        turn: The id of its checkpoint.
        mutation: The mutation to report in the outcome.
        document: The document as it was just read.
        planned: The edit; it is empty if the document already has the change.

    Raises:
        CheckpointError: The earlier contents could not be stored, and the settings require that. Nothing was
            changed.
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
    return QuickFixResult(outcome=outcome, warnings=tuple(filter(None, warnings)))
