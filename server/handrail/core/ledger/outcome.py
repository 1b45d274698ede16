"""The outcomes of mutations, and what to show to the user about those that failed."""

from __future__ import annotations

from typing import Protocol

from handrail.core.documents.change import Status, Tier
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Code, Failure, Span
from handrail.core.patches.hunk import Hunk
from handrail.values import dataclass

WAS_DOUBLED = "The editor made this edit twice; the second copy was removed."
IS_DOUBLED = (
    "The editor made this edit twice, and the second copy could not be removed: it is still in the document."
)
COPIES = frozenset((WAS_DOUBLED, IS_DOUBLED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """
    One hunk, or one whole document, that a tool call tried to change.

    Attributes:
        id: The id of its outcome; for a failure, the id that clients use.
        turn, call, tool: Where it comes from.
        order: The step, counted over all turns of the process, so that later steps have higher numbers.
        step: The step, counted in its turn; 0 outside of turns.
        uri, identity, path: The document: as the client spells it, its identity, its display name.
        hunk: The hunk to write; None for a whole document.
    """

    id: str
    turn: str
    call: str
    tool: str
    order: int
    uri: str
    identity: str
    path: str
    hunk: Hunk | None = None
    step: int = 0


class Named(Protocol):
    """A document, by all its names; see `Mutation`."""

    @property
    def uri(self) -> str:
        """As the client spells it."""
        ...

    @property
    def identity(self) -> str:
        """The same for every spelling."""
        ...

    @property
    def path(self) -> str:
        """Its display name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    The outcome of a mutation.

    Attributes:
        mutation: What was tried.
        status: Whether it is in the document now.
        tier: How the hunk matched, if it did.
        failure: Why it is not there.
        text: The document as last seen: what was read back, or what the hunk was searched in.
        spans: Where the change is in `text`.
        diff: The change that landed, for people; None if nothing landed, or if another outcome of the call
            shows it.
        uncovered: Why no checkpoint has what was there before it landed; None if one has.
        notes: What was corrected to understand it, and what the editor changed in it, in sentences.
        moved_to: Where the document is now, if this has moved it.
    """

    mutation: Mutation
    status: Status
    tier: Tier | None = None
    failure: Failure | None = None
    text: Text | None = None
    spans: tuple[Span, ...] = ()
    diff: str | None = None
    uncovered: str | None = None
    notes: tuple[str, ...] = ()
    moved_to: Named | None = None

    @property
    def document(self) -> Named:
        """The document that the mutation was tried in, at the place to which it has moved it."""
        is_moved = self.moved_to is not None and self.status is Status.LANDED
        return self.moved_to if self.moved_to is not None and is_moved else self.mutation

    @property
    def name(self) -> str:
        """The name of the mutation in texts: its document, where that is now, and its hunk."""
        hunk, now = self.mutation.hunk, self.document.path
        moved = f" (now {now})" if now != self.mutation.path else ""
        return f"{self.mutation.path}{moved}" + (f", hunk {hunk.number}" if hunk is not None else "")

    @property
    def line(self) -> int | None:
        """The line of `text`, counted from 0, where the change begins or should have; None if unknown."""
        near = self.failure.near if self.failure is not None else ()
        spans = (*self.spans, *(each.span for each in near))
        return self.text.line_at(spans[0].start) if spans and self.text is not None else None

    def is_news(self, was: Outcome) -> bool:
        """Whether it must be reported, given that *was* was reported before."""
        return self._reported_values != was._reported_values or bool(
            COPIES.intersection(self.notes) - set(was.notes)
        )

    @property
    def _reported_values(self) -> tuple[Status, str, Code | None, str]:
        failed = self.failure
        if failed is None:
            return self.status, self.mutation.identity, None, ""
        return self.status, self.mutation.identity, failed.code, failed.message


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFailure:
    """
    A failure that the user should see.

    Attributes:
        mutation: What was tried first.
        failure: The first error; its places are those of `seen`.
        seen: The document's text that `failure.near` refers to; None if it has none.
        attempts: How often it was tried; `repeats` are the ids of the outcomes after the first.
        lowered: Whether later edits of the document landed elsewhere.
        retried_in: The order of the last step whose calls may be its retries only because of their tool.
        there: The text at the nearest place when it failed; empty if no place is known.
        is_only: Whether that text was nowhere else.
        is_begun: Whether some of the places at which all occurrences were to be replaced have the new text.
        last: The text before its places were removed, or the document, and its places there; None if they
            are there.
    """

    mutation: Mutation
    failure: Failure
    seen: Text | None
    attempts: int = 1
    repeats: tuple[str, ...] = ()
    lowered: bool = False
    retried_in: int | None = None
    there: str = ""
    is_only: bool = False
    is_begun: bool = False
    last: tuple[Text, tuple[Candidate, ...]] | None = None

    @property
    def id(self) -> str:
        """The id that clients use."""
        return self.mutation.id
