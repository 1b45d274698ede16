"""Which pending hunks someone means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from handrail.agent.turns import UnknownId
from handrail.core.review.hunks import Hunk
from handrail.core.review.pending import Pending
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HunkSelection:
    """
    A choice of pending hunks; the fields narrow each other down.

    Attributes:
        hunks: Their ids; None for all that the others leave.
        uri: Those of one document.
        turn: Those in which a turn wrote; undone, what it wrote in them.
    """

    hunks: Sequence[str] | None = None
    uri: str | None = None
    turn: str | None = None


def select_hunks(
    documents: Iterable[Pending], wanted: HunkSelection, identity: str | None
) -> dict[str, tuple[Hunk, ...]]:
    """The hunks that are meant, by the identities of their documents; *identity* is the wanted one's."""
    ids = None if wanted.hunks is None else set(wanted.hunks)
    result = dict[str, tuple[Hunk, ...]]()
    for known in documents:
        if wanted.uri is not None and known.identity != identity:
            continue
        hunks = tuple(
            hunk
            for hunk in known.document.hunks
            if (ids is None or hunk.id in ids) and (wanted.turn is None or wanted.turn in hunk.turns)
        )
        if hunks:
            result[known.identity] = hunks
    missing = (ids or set()) - {hunk.id for hunks in result.values() for hunk in hunks}
    if missing:
        raise UnknownId(
            f"Change {min(missing)!r} is not pending. It may have been kept, undone or rewritten."
        )
    return result
