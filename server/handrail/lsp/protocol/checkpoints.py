"""Requests about checkpoints: what a client asks for, and what it is told."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.values import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointListParams:
    """
    Which checkpoints to list.

    Attributes:
        session: Only checkpoints of this session; null lists those of all sessions.
        uri: Only checkpoints that contain this document; `paths` then lists no other.
    """

    session: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDiffParams:
    """
    What to compare.

    Attributes:
        checkpoint: Id of a turn or a step; the diff starts from the state before it.
        against: What the diff ends with: the state before this other turn or step, or `now`; by default what
            the turn left.
        uri: Compare only this document.
    """

    checkpoint: str
    against: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDiff:
    """
    The differences.

    Attributes:
        uri: URI of a document that shows the diff: a virtual document, or a file if the client does not
            support those.
        text: The unified diff.
    """

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRestoreParams:
    """
    What to restore.

    Attributes:
        checkpoint: Id of the turn to undo, or of the step to undo together with all later steps of its turn.
            With `conversation`, it may be any turn of a session, even one that changed no document.
        uris: Restore only these documents; null restores all.
        conversation: Whether to roll back the session too, to the point before the turn or step. What came
            later leaves the conversation but stays in the session's journal.
        following: Whether to undo all later turns too.
        files: Whether to restore documents. It may be false only with `conversation` and without `uris`.
        range: Undo only what the turn changed in these lines of the current text; `uris` must then name
            exactly one document.
    """

    checkpoint: str
    uris: list[str] | None = None
    conversation: bool = False
    following: bool = False
    files: bool = True
    range: Range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPruneParams:
    """
    Which checkpoints to remove.

    Attributes:
        checkpoints: Ids of the checkpoints to remove, even if the limits allow them; null removes those that
            exceed the limits.
    """

    checkpoints: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPruned:
    """
    The result of the removal.

    Attributes:
        removed: Ids of the checkpoints that were removed.
        bytes_used: How much disk space the remaining checkpoints use, in bytes.
    """

    removed: list[str]
    bytes_used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointVerifyParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSoundness:
    """
    The result of the check.

    Attributes:
        checkpoints: How many checkpoints were read.
        problems: What is damaged, one sentence each; empty if everything can be read.
    """

    checkpoints: int
    problems: list[str]
