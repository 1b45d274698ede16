"""
Tell which failed mutations a restore has made pointless: those of what it took back.

What failed in a turn that is restored was meant for documents as they are no more. A part of a document, and
a document that was left alone, keeps its failures.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from handrail.agent.restore.compare import identity
from handrail.agent.restore.restore import RestoreReport, Wish
from handrail.core.ledger.outcome import Mutation
from handrail.ports import Ports


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """
    What a restore took back.

    Attributes:
        turn, step: The turn, from which step on.
        turns: Others that were taken back, or are out of their conversation.
        only: The identities of the documents that were asked for; None for all.
        left: Those of documents that were not restored, or not all of them.
    """

    turn: str
    step: int
    turns: Collection[str]
    only: Collection[str] | None
    left: Collection[str]

    def has(self, mutation: Mutation) -> bool:
        """Whether *mutation* is among what was taken back."""
        if mutation.identity in self.left or (self.only is not None and mutation.identity not in self.only):
            return False
        if mutation.turn == self.turn:
            return mutation.step >= self.step
        return mutation.turn in self.turns


def collect_undone(ports: Ports, wish: Wish, report: RestoreReport, turns: Collection[str]) -> Undone | None:
    """
    What a restore took back.

    Args:
        ports: The world.
        wish: What was to be restored.
        report: What came of it.
        turns: Those that were taken back besides the one that is named, or are out of their conversation.

    Returns:
        None if it was only some lines.
    """
    if wish.lines is not None:
        return None
    turn, _, step = wish.checkpoint.rpartition(".")
    is_step = bool(turn) and step.isdecimal()
    left = [*(each.uri for each in report.conflicts), *(each.uri for each in report.partial)]
    return Undone(
        turn=turn if is_step else wish.checkpoint,
        step=int(step) if is_step else 0,
        turns=turns,
        only=None if wish.uris is None else {identity(ports, uri) for uri in wish.uris},
        left={identity(ports, uri) for uri in left},
    )
