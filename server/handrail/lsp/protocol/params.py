"""What a client asks for, and what a client says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.values import Mode, Range


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """Something the user points at: a document, or a range of it."""

    uri: str
    range: Range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnImage:
    """
    A picture that the model is shown: a PNG, JPEG, GIF or WebP of 3.5 MB at most.

    Attributes:
        uri: Of its file.
        data: Its bytes in base64, if it has no file.
        name: What it is called then.
    """

    uri: str | None = None
    data: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartParams:
    """Begin a turn: in a new session unless one is named. Images are for models that see, 20 at most."""

    prompt: str
    session: str | None = None
    mode: Mode | None = None
    context: list[TurnContext] | None = None
    images: list[TurnImage] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartResult:
    """The turn has begun; its end is had by `turn.wait`."""

    session: str
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnApplyParams:
    """
    Make edits that somebody else has written, such as another agent of the editor.

    Attributes:
        edits: In a notation of replies: V4A, SEARCH/REPLACE blocks, a unified diff, or whole files.
        title: What the turn and its checkpoint are called.
    """

    edits: str
    title: str = "Edits from the editor"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWaitParams:
    """Names the turn whose end is awaited."""

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSteerParams:
    """Say something to a running turn."""

    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListParams:
    """Which models: those of the chosen model's server, or of the server of the model `like`."""

    like: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """
    A model.

    Attributes:
        model: What the setting `handrail.model` is for it.
        title: As people know it, if the server tells.
        window: How many tokens it reads, if the server tells.
        current: Whether it is the one of the setting.
    """

    model: str
    title: str | None = None
    window: int | None = None
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelForgetParams:
    """Nothing is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListParams:
    """Sessions of the workspace: the newest `limit` of them, else all."""

    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """
    A session.

    Attributes:
        title: As the user has named it, else the first line of its first prompt.
        time: When it was last written to, RFC 3339.
        turns: How many turns it has.
    """

    session: str
    title: str
    time: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumeParams:
    """Names the session to take up again."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForkParams:
    """A new session with the conversation up to the end of a turn."""

    session: str
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForkResult:
    """The new session."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRenameParams:
    """Give a session another title."""

    session: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleteParams:
    """Remove the conversation of a session for good; checkpoints of its turns stay."""

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCancelParams:
    """Names the turn to stop."""

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureListParams:
    """Which failures: of one document, or all."""

    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDismissParams:
    """Close one failure, or all."""

    failure: str | None = None
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureApplyParams:
    """Make a failed edit at one of its candidates (an index into them)."""

    failure: str
    candidate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDiffParams:
    """Show what a failed edit would change at one of its candidates (an index into them), or at each."""

    failure: str
    candidate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDiff:
    """A unified diff, and the document that shows it: virtual, or a file where a client lacks those."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointListParams:
    """
    Which checkpoints: of one session, or all.

    Attributes:
        uri: Only those that have this document; it is the only one of their `paths` then.
    """

    session: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDiffParams:
    """
    Compare a checkpoint.

    Attributes:
        checkpoint: The id of a turn or a step; the diff begins with what was there before it.
        against: Another checkpoint, before which the diff ends, or `now`; without it, what the turn left.
        uri: The only document to look at.
    """

    checkpoint: str
    against: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointDiff:
    """A unified diff, and the document that shows it: virtual, or a file where a client lacks those."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRestoreParams:
    """
    Take a turn, or a step and what follows it, back.

    Attributes:
        checkpoint: Its id; with `conversation`, any turn of a session, even if it changed no document.
        uris: Only these documents.
        conversation: The session goes back as well, to before the turn or the step; what came later in it is
            out of the conversation, and stays in the session's journal.
        following: All later turns as well.
        files: Restore documents; `false`, with `conversation`, leaves them all as they are.
        range: In the one document of `uris` as it is now: only what the turn changed in these lines.
    """

    checkpoint: str
    uris: list[str] | None = None
    conversation: bool = False
    following: bool = False
    files: bool = True
    range: Range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPruneParams:
    """Remove these checkpoints, whatever the limits say; without any, what the limits do not allow."""

    checkpoints: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPruned:
    """The checkpoints that are gone, and what the others take on the disk."""

    removed: list[str]
    bytes_used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointVerifyParams:
    """Nothing is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSoundness:
    """How many checkpoints were read, and what is wrong; nothing if `problems` is empty."""

    checkpoints: int
    problems: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceTrustParams:
    """Nothing is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """
    What a client opts in to: `capabilities.experimental.handrail` or `initializationOptions.handrail`.

    Attributes:
        turn_updates: Send `handrail/turn/update`.
        approvals: Ask by `handrail/approval/request`, and send `handrail/approval/ended`.
        unattended: Nobody is there: a question that the client does not answer at once ends as a no.
        untrusted: The user has not trusted the workspace yet. Until `workspace.trust`, turns can only ask,
            and nothing of the workspace is obeyed: no settings, instructions, skills or commands.
        services: What the client does for the server: "save", "model", "secret", "review"; "chat": it shows
            the conversations that it has read, and is sent `handrail/chat/changed`; "diagnostics": it passes
            on what other language servers report.
        settings: Settings by name without `handrail.`, dotted or nested; machine settings may come here.
    """

    turn_updates: bool = False
    approvals: bool = False
    unattended: bool = False
    untrusted: bool = False
    services: list[str] | None = None
    settings: dict[str, object] | None = None
