"""The ports for pending changes: how the agent's changes become pending, and where they are stored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from handrail.core.checkpoint import CommandEffects, StepId
from handrail.core.documents.text import Text
from handrail.core.review.pending import Pending
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChange:
    """
    The change that one call made to a document.

    Attributes:
        uri: Its current URI.
        before: The contents before the call; None: no file.
        after: The contents after the call, without changes that others made during it; None: no file.
        turn, call: The turn and the call that made it.
        step: The id of the checkpoint's step that has the contents before the call.
        moved_from: If the call moved a document here, the URI of that document, to which `before` belongs;
            otherwise None.
    """

    uri: str
    before: Text | None
    after: Text | None
    turn: str
    call: str
    step: str
    moved_from: str | None = None


class Review(Protocol):
    """Is notified of all changes that the agent makes."""

    def on_command_begin(self) -> None:
        """Called before a command that may change files; `ran` is called after it, even if it failed."""
        ...

    async def on_landing(self, made: Sequence[AgentChange]) -> None:
        """Called when edits have landed."""
        ...

    async def settle(self) -> None:
        """Called when a turn ends: its landed changes are stored when this returns."""
        ...

    async def on_command_end(self, step: StepId, call: str, effects: CommandEffects) -> None:
        """Called when a command has changed files."""
        ...


class NoReview:
    """Review port without pending changes."""

    def on_command_begin(self) -> None:
        """It is the user's at once."""

    async def on_landing(self, made: Sequence[AgentChange]) -> None:
        """It is the user's at once."""

    async def settle(self) -> None:
        """Nothing is kept."""

    async def on_command_end(self, step: StepId, call: str, effects: CommandEffects) -> None:
        """It is the user's at once."""


class ReviewStore(Protocol):
    """
    Stores the pending changes of a workspace, and shares them between processes.

    Attributes:
        damaged: Called once for each file that could not be read, with a message for the user.
    """

    damaged: Callable[[str], None]

    async def news(self) -> tuple[Pending | str, ...]:
        """
        Returns what others wrote since the last call; the identity of a document without pending changes.
        """
        ...

    async def write(self, documents: Sequence[Pending | str]) -> None:
        """Stores documents with pending changes; for one that has none left, pass its identity."""
        ...

    async def expire(self, max_age_days: int) -> None:
        """Forgets pending changes that are older; they count as kept, and `news` reports this."""
        ...


class NoReviewStore:
    """Stores nothing."""

    damaged: Callable[[str], None] = logging.getLogger(__name__).warning

    async def news(self) -> tuple[Pending | str, ...]:
        """No one else writes."""
        return ()

    async def write(self, documents: Sequence[Pending | str]) -> None:
        """It is gone with the process."""

    async def expire(self, max_age_days: int) -> None:
        """Nothing is that old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncommitted:
    """
    The files that may differ from the last commit.

    Attributes:
        files: The ids of their contents in the commit, by URI; empty ids for new files.
        unread: The paths of work trees of which git's files cannot be read.
    """

    files: Mapping[str, str]
    unread: tuple[str, ...] = ()


class Records(Protocol):
    """
    Reads what the user's version control has recorded of files: git's index and HEAD.

    Attributes:
        unreadable: Called once for each repository that cannot be read, with a message for the user.
    """

    unreadable: Callable[[str], None]

    async def recorded_ids(
        self, uris: Sequence[str], *, again: bool = False
    ) -> Mapping[str, tuple[str, str]]:
        """
        Returns the ids of the files' contents in the index and in HEAD; empty ids for missing files.

        Args:
            again: Whether to include files whose repository has not changed since the last call.
        """
        ...

    async def uncommitted_files(self, folders: Sequence[str]) -> Uncommitted:
        """
        Returns the tracked files below folders that may differ from the last commit; if there are very many,
        only some of them.
        """
        ...

    async def content(self, uri: str, blob: str) -> bytes | None:
        """Returns the recorded contents with an id; None if they cannot be read."""
        ...

    def is_recorded(self, raw: bytes, blob: str) -> bool:
        """Whether these bytes are the recorded contents with an id."""
        ...


class NoRecords:
    """Records port without version control."""

    unreadable: Callable[[str], None] = logging.getLogger(__name__).warning

    async def recorded_ids(
        self, uris: Sequence[str], *, again: bool = False
    ) -> Mapping[str, tuple[str, str]]:
        """Nothing is on record."""
        return {}

    async def uncommitted_files(self, folders: Sequence[str]) -> Uncommitted:
        """Nothing is on record."""
        return Uncommitted(files={})

    async def content(self, uri: str, blob: str) -> bytes | None:
        """Nothing is on record."""
        return None

    def is_recorded(self, raw: bytes, blob: str) -> bool:
        """Nothing is on record."""
        return False
