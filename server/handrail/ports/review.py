"""The ports to what is pending: how the agent's changes come there, and where it is kept."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
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
        after: What it left, without what others did in the meantime; None for nothing.
        turn, call: Whose it is.
        step: The id of the checkpoint's step that has what was found.
        moved_from: The URI of the document that the call moved here, which `before` is of; else None.
    """

    uri: str
    before: Text | None
    after: Text | None
    turn: str
    call: str
    step: str
    moved_from: str | None = None


class Review(Protocol):
    """Told of all that the agent changes."""

    def begins(self) -> None:
        """A command that may change files begins; `ran` is called when it has ended, whatever came of it."""
        ...

    async def on_landing(self, made: Sequence[Made]) -> None:
        """Edits have landed."""
        ...

    async def settle(self) -> None:
        """A turn ends: what has landed is kept when this returns."""
        ...

    async def ran(self, step: StepId, call: str, effects: CommandEffects) -> None:
        """A command has changed files."""
        ...


class Unreviewed:
    """Nothing that is done is pending."""

    def begins(self) -> None:
        """It is the user's at once."""

    async def on_landing(self, made: Sequence[Made]) -> None:
        """It is the user's at once."""

    async def settle(self) -> None:
        """Nothing is kept."""

    async def ran(self, step: StepId, call: str, effects: CommandEffects) -> None:
        """It is the user's at once."""


class ReviewStore(Protocol):
    """
    Keeps what is pending in a workspace, also for other processes.

    Attributes:
        damaged: Told what could not be read, and what that means, once each.
    """

    damaged: Callable[[str], None]

    async def news(self) -> tuple[Pending | str, ...]:
        """What others have written since it was last asked; the identity of a document that has nothing."""
        ...

    async def write(self, documents: Sequence[Pending | str]) -> None:
        """Keeps documents with what is pending; an identity for one that has nothing any more."""
        ...

    async def expire(self, max_age_days: int) -> None:
        """Forgets what nothing has changed for longer: it counts as kept, which is news."""
        ...


class Forgetful:
    """Keeps nothing."""

    damaged: Callable[[str], None] = logging.getLogger(__name__).warning

    async def news(self) -> tuple[Pending | str, ...]:
        """No one else writes."""
        return ()

    async def write(self, documents: Sequence[Pending | str]) -> None:
        """It is gone with the process."""

    async def expire(self, max_age_days: int) -> None:
        """Nothing is that old."""


class Records(Protocol):
    """
    What the user's version control has on record of files: git's index and HEAD.

    Attributes:
        unreadable: Told of a repository that cannot be read, and what that means, once.
    """

    unreadable: Callable[[str], None]

    async def recorded_ids(
        self, uris: Sequence[str], *, again: bool = False
    ) -> Mapping[str, tuple[str, str]]:
        """
        The ids of what the index and HEAD hold of files; empty ids for nothing.

        Args:
            again: Whether files are told of as well whose repository has not changed since it was last asked.
        """
        ...

    async def uncommitted_files(self, folders: Sequence[str]) -> Mapping[str, str]:
        """
        The tracked files below folders that may differ on the disk from the last commit.

        Returns:
            The ids of what the commit holds of them, by URI; empty ids for new files. Some of them, if there
            are very many.
        """
        ...

    async def content(self, uri: str, blob: str) -> bytes | None:
        """What a file holds on record under an id; None if that cannot be read."""
        ...

    def is_it(self, raw: bytes, blob: str) -> bool:
        """Whether these bytes are what is on record under an id."""
        ...


class Unrecorded:
    """There is no version control."""

    unreadable: Callable[[str], None] = logging.getLogger(__name__).warning

    async def recorded_ids(
        self, uris: Sequence[str], *, again: bool = False
    ) -> Mapping[str, tuple[str, str]]:
        """Nothing is on record."""
        return {}

    async def uncommitted_files(self, folders: Sequence[str]) -> Mapping[str, str]:
        """Nothing is on record."""
        return {}

    async def content(self, uri: str, blob: str) -> bytes | None:
        """Nothing is on record."""
        return None

    def is_it(self, raw: bytes, blob: str) -> bool:
        """Nothing is on record."""
        return False
