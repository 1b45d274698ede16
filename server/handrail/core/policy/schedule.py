"""
Put allowed calls into batches: what may run at once, and what must wait.

A call that was blocked or denied is not in a batch, so it can neither run nor take a checkpoint. Calls that
only read run together; a call that changes a document waits for earlier calls that touch it. Running one at a
time is the same plan with batches of one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from handrail.values import dataclass


@dataclass(frozen=True, kw_only=True)
class Touch:
    """
    The paths that one call reads and changes.

    Attributes:
        reads: Identities of documents, and of folders whose documents it reads.
        changes: Identities of documents.
        sees_all: Whether it may read what it does not name.
        anything: Whether it may change what it does not name; it then runs alone.
    """

    reads: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    sees_all: bool = False
    anything: bool = False

    @cached_property
    def disturbs(self) -> frozenset[str]:
        """
        Returns the paths that read differently once it has run: those that it changes, and the folders above
        them.
        """
        return frozenset(above for each in self.changes for above in _upwards(each))

    @property
    def is_harmless(self) -> bool:
        """Whether it only reads."""
        return not self.changes and not self.anything


def next_batch(left: Sequence[tuple[int, Touch]], asked: Collection[int]) -> tuple[int, ...]:
    """
    Chooses the calls that can run now.

    Args:
        left: The calls that have not run, in call order, each with its index.
        asked: Indices of those that wait for the user's answer.

    Returns:
        Indices of calls that can run together; none if all wait for answers. A call waits for earlier ones
        that must not run at the same time. One that only reads does not wait for an answer, unless it reads
        what the call that is asked about names as changed.
    """
    batch: list[tuple[int, Touch]] = []
    held: list[tuple[Touch, bool]] = []
    for index, touch in left:
        if index in asked:
            held.append((touch, True))
        elif any(_holds(other, is_asked, touch) for other, is_asked in held):
            held.append((touch, False))
        elif any(_exclude(touch, other) for _, other in batch):
            break
        else:
            batch.append((index, touch))
    return tuple(index for index, _ in batch)


def _holds(earlier: Touch, is_asked: bool, touch: Touch) -> bool:
    if is_asked and touch.is_harmless:
        return bool(earlier.changes & touch.reads)
    return _exclude(earlier, touch)


def plan(touches: Sequence[Touch | None]) -> tuple[tuple[int, ...], ...]:
    """
    Plan calls of which none is asked about.

    Args:
        touches: One value for each call, in call order; None for a call that must not run.

    Returns:
        Batches of indices, in order; every allowed call is in exactly one.
    """
    left = [(index, touch) for index, touch in enumerate(touches) if touch is not None]
    batches = []
    while left:
        batches.append(next_batch(left, ()))
        left = left[len(batches[-1]) :]
    return tuple(batches)


def _exclude(one: Touch, other: Touch) -> bool:
    if one.anything or other.anything:
        return True
    return bool(one.changes & other.changes) or _disturbs(one, other) or _disturbs(other, one)


def _disturbs(one: Touch, other: Touch) -> bool:
    """Whether *other* reads what *one* changes."""
    return bool(one.disturbs & other.reads or (other.sees_all and one.changes))


def _upwards(identity: str) -> Iterator[str]:
    """An identity, and those of the folders above it."""
    while identity:
        yield identity
        identity = identity.rpartition("/")[0]
