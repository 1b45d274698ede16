"""The ports to what is pending: how the agent's changes come there, and where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from handrail.core.checkpoint import CommandEffects, StepId
from handrail.core.documents.text import Text
from handrail.core.review.pending import Pending


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """
    What one call made of a document.

    Attributes:
        uri: As it is called by now.
        before: What the call found; None for nothing.
        after: What it left, without what others did meanwhile; None for nothing.
        turn, call: Whose it is.
        step: The id of the checkpoint's step that has what was found.
    """

    uri: str
    before: Text | None
    after: Text | None
    turn: str
    call: str
    step: str


class Review(Protocol):
    """Told of all that the agent changes."""

    async def landed(self, made: Sequence[Made]) -> None:
        """Edits have landed."""
        ...

    async def ran(self, step: StepId, call: str, effects: CommandEffects) -> None:
        """A command has changed files."""
        ...


class Unreviewed:
    """Nothing that is done is pending."""

    async def landed(self, made: Sequence[Made]) -> None:
        """It is the user's at once."""

    async def ran(self, step: StepId, call: str, effects: CommandEffects) -> None:
        """It is the user's at once."""


class ReviewStore(Protocol):
    """Keeps what is pending in a workspace, also for other processes."""

    async def news(self) -> tuple[Pending | str, ...]:
        """What others have written since it was last asked; the identity of a document that has nothing."""
        ...

    async def write(self, documents: Sequence[Pending | str]) -> None:
        """Keep documents with what is pending; an identity for one that has nothing any more."""
        ...


class Forgetful:
    """Keeps nothing."""

    async def news(self) -> tuple[Pending | str, ...]:
        """Nobody else writes."""
        return ()

    async def write(self, documents: Sequence[Pending | str]) -> None:
        """It is gone with the process."""
