"""
Find the failed mutations that a restore has made obsolete: those of what it undid.

A failed edit of a restored turn was meant for a state of the document that no longer exists. A document that
was restored only in part, or not at all, keeps its failures.
"""

from __future__ import annotations

from collections.abc import Collection

from handrail.agent.restore.names import identity
from handrail.agent.restore.restore import RestoreReport, RestoreRequest
from handrail.core.ledger.outcome import Mutation
from handrail.ports import Ports
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """
    The turns and documents that a restore undid.

    Attributes:
        turn, step: The turn, and its first step that was undone.
        turns: Other turns that were undone, or removed from their conversation.
        only: The identities of the documents that were asked for; None for all.
        left: The identities of documents that were not restored, or only in part.
    """

    turn: str
    step: int
    turns: Collection[str]
    only: Collection[str] | None
    left: Collection[str]

    def has(self, mutation: Mutation) -> bool:
        """Whether *mutation* is among what was undone."""
        if mutation.identity in self.left or (self.only is not None and mutation.identity not in self.only):
            return False
        if mutation.turn == self.turn:
            return mutation.step >= self.step
        return mutation.turn in self.turns


def collect_undone(
    ports: Ports, request: RestoreRequest, report: RestoreReport, turns: Collection[str]
) -> Undone | None:
    """
    Determines what a restore undid.

    Args:
        ports: The ports of the server.
        request: What should be restored.
        report: Its outcome.
        turns: Other turns that were undone, or removed from their conversation.

    Returns:
        None if it was only some lines.
    """
    if request.lines is not None:
        return None
    turn, _, step = request.checkpoint.rpartition(".")
    is_step = bool(turn) and step.isdecimal()
    left = [*(each.uri for each in report.conflicts), *(each.uri for each in report.partial)]
    done = (*report.restored, *report.unchanged, *report.deleted)  # under the names that they have now
    return Undone(
        turn=turn if is_step else request.checkpoint,
        step=int(step) if is_step else 0,
        turns=turns,
        only=None if request.uris is None else {identity(ports, uri) for uri in (*request.uris, *done)},
        left={identity(ports, uri) for uri in left},
    )
