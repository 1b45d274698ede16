"""
Put allowed calls into batches: what may run at once, and what must wait.

A call that was blocked or denied is in no batch, so it can neither run nor take a checkpoint. Calls that
only read run together; a call that changes a document waits for earlier calls that touch it. Running one
at a time is the same plan with batches of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """
    What one call touches.

    Attributes:
        reads, changes: Identities of documents.
        anything: Whether it may touch what it does not name; it then runs alone.
    """

    reads: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    anything: bool = False


def plan(touches: Sequence[Touch | None]) -> tuple[tuple[int, ...], ...]:
    """
    Plan the calls.

    Args:
        touches: One value for each call, in call order; None for a call that must not run.

    Returns:
        Batches of indices, in order; every allowed call is in exactly one.
    """
    batches: list[list[int]] = []
    current: list[Touch] = []
    for index, touch in enumerate(touches):
        if touch is None:
            continue
        if not batches or any(_exclude(touch, other) for other in current):
            batches.append([])
            current = []
        batches[-1].append(index)
        current.append(touch)
    return tuple(tuple(batch) for batch in batches)


def _exclude(one: Touch, other: Touch) -> bool:
    if one.anything or other.anything:
        return True
    return bool(one.changes & other.changes or one.changes & other.reads or one.reads & other.changes)
