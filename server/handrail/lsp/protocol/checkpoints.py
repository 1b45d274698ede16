"""Requests about checkpoints: what a client asks for, and what it is told."""

from __future__ import annotations

from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import Checkpoint, Range, RestoreReport
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointListParams:
    """
    Selects the checkpoints to list.

    Attributes:
        session: Only checkpoints of this session; null lists those of all sessions.
        uri: Only checkpoints that contain this document; `paths` then lists no other.
    """

    session: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDiffParams:
    """
    Selects the states to compare.

    Attributes:
        checkpoint: Id of a turn or a step; the diff starts from the state before it.
        against: The diff ends at the state before this other turn or step, or at the current state (`now`).
            If absent, it ends where the turn ended, even if `checkpoint` is a step, and leaves out what the
            user or other programs changed between the steps. But documents that the turn created or deleted,
            and documents in which someone else changed the same lines as the turn, are always shown with all
            changes.
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
        uri: URI of a document that shows the diff: a virtual document (scheme `handrail`, to be read with
            `workspace/textDocumentContent`), or a file if the client does not declare that capability.
        text: The unified diff.
    """

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRestoreParams:
    """
    Selects what is restored.

    Attributes:
        checkpoint: Id of the turn to undo, or of the step to undo together with all later steps of its turn.
            With `conversation`, it may be any turn of a session, even one that changed no document.
        uris: Restore only these documents; null restores all. A document that the user has renamed since may
            be given by its old or its new name; the report has the new one.
        conversation: Whether to rewind the conversation too, to the point before the turn or step. Later
            messages leave the conversation but stay in the session's journal.
        following: Whether to undo everything that was done in the workspace since, too: later turns of all
            sessions, quick fixes, restores, and undos in a review.
        files: Whether to restore documents; by default true. It may be false only with `conversation` and
            without `uris`.
        range: Undo only what the turn changed in these lines of the current text; `uris` must then name
            exactly one document.
        dry_run: Whether to change nothing, and only return the report that the restore would have now.
            Only a real restore finds out that the editor refuses an edit or that a file cannot be written.
    """

    checkpoint: str
    uris: list[str] | None = None
    conversation: bool = False
    following: bool = False
    files: bool = True
    range: Range | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRedoParams:
    """
    Selects the restore to redo.

    Attributes:
        checkpoint: The `checkpoint` of its `RestoreReport`; by default the newest restore that was not redone
            yet.
        dry_run: As for `checkpoint.restore`.
    """

    checkpoint: str | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointReadParams:
    """
    Selects the text to read.

    Attributes:
        checkpoint: Id of a turn or a step.
        uri: The document.
        after: Whether to read what the turn left; by default, what there was before the turn or step.
    """

    checkpoint: str
    uri: str
    after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointText:
    """
    The text of a document in a checkpoint.

    Attributes:
        text: The text; null if there was no document, or it was not text.
        exists: Whether there was a document.
    """

    text: str | None
    exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPruneParams:
    """
    Selects the checkpoints to remove.

    Attributes:
        checkpoints: Ids of the checkpoints to remove, even if they are within the limits; an empty list
            removes nothing, and null removes those that exceed the limits.
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


CHECKPOINT_LIST = Request(
    name="checkpoint.list",
    params=CheckpointListParams,
    result=list[Checkpoint],
    does="Lists checkpoints, newest first.",
)
CHECKPOINT_DIFF = Request(
    name="checkpoint.diff",
    params=CheckpointDiffParams,
    result=CheckpointDiff,
    does="Compares a checkpoint with what its turn left, with another checkpoint, or with the current state.",
)
CHECKPOINT_PRUNE = Request(
    name="checkpoint.prune",
    params=CheckpointPruneParams,
    result=CheckpointPruned,
    does="Removes checkpoints, or enforces the limits.",
)
CHECKPOINT_VERIFY = Request(
    name="checkpoint.verify",
    params=CheckpointVerifyParams,
    result=CheckpointSoundness,
    does="Reads all checkpoints and reports what is damaged.",
)
CHECKPOINT_RESTORE = Request(
    name="checkpoint.restore",
    params=CheckpointRestoreParams,
    result=RestoreReport,
    does="Undoes a turn, or a step and all later steps of its turn; keeps what the user has typed since.",
)
CHECKPOINT_REDO = Request(
    name="checkpoint.redo",
    params=CheckpointRedoParams,
    result=RestoreReport,
    does=(
        "Redoes what a restore undid: documents, and the conversation if it was rewound too, are again as "
        "before the restore."
    ),
)
CHECKPOINT_READ = Request(
    name="checkpoint.read",
    params=CheckpointReadParams,
    result=CheckpointText,
    does="Returns the text that a document had before a turn or step, or that the turn left.",
)
