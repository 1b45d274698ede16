"""What a client asks for, and what a client says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.values import Mode, Range


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """
    A document, or a part of one, that the user points at.

    Attributes:
        uri: URI of the document. A document that cannot be read is left out.
        range: The part that the model is shown; null for the whole document.
    """

    uri: str
    range: Range | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnImage:
    """
    A picture for the model: a PNG, JPEG, GIF or WebP of at most 3.5 MB. Give either `uri` or `data`.

    Attributes:
        uri: URI of the picture's file.
        data: The picture's bytes in base64, if it has no file.
        name: A name for a picture given as `data`; by default `picture`.
    """

    uri: str | None = None
    data: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartParams:
    """
    The turn to begin.

    Attributes:
        prompt: What the user asks for; it must not be empty.
        session: Id of the session to continue; without it, a new session begins.
        mode: What the turn may do; by default the setting `handrail.mode`.
        context: Documents, or parts of them, to show to the model.
        images: Pictures to show to the model, 20 at most. The model must be able to see pictures.
    """

    prompt: str
    session: str | None = None
    mode: Mode | None = None
    context: list[TurnContext] | None = None
    images: list[TurnImage] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStartResult:
    """
    The turn that has begun or waits to begin; `turn.wait` answers when it has ended.

    Attributes:
        session: The session's id.
        turn: The turn's id.
    """

    session: str
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnApplyParams:
    """
    Edits that another program wrote, such as another agent in the editor.

    Attributes:
        edits: A V4A patch, SEARCH/REPLACE blocks, a unified diff, or whole files.
        title: The title of the turn and of its checkpoint.
    """

    edits: str
    title: str = "Edits from the editor"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWaitParams:
    """
    The turn to wait for.

    Attributes:
        turn: The turn's id.
    """

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSteerParams:
    """
    A message to a running turn.

    Attributes:
        turn: The turn's id.
        text: The message; it must not be empty.
    """

    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelListParams:
    """
    Which server's models to list.

    Attributes:
        like: A model, written as in the setting `handrail.model`, whose server is asked; by default, the
            model in that setting.
        own_address: With `like`: true to ask at the provider's own address with its usual key, false to ask
            at the address in `handrail.baseUrl`; by default, `handrail.baseUrl` is used only if `like` has
            the same provider as `handrail.model`.
    """

    like: str | None = None
    own_address: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """
    A model that can be chosen.

    Attributes:
        model: The value of the setting `handrail.model` that chooses it.
        title: Its name for people; null if the server gives none.
        window: The size of its context in tokens; null if the server does not say.
        current: Whether it is the chosen model, or the one given as `like`.
    """

    model: str
    title: str | None = None
    window: int | None = None
    current: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelForgetParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListParams:
    """
    Which sessions of the workspace to list.

    Attributes:
        limit: List only this many, the newest; null lists all.
    """

    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """
    A session of the workspace.

    Attributes:
        session: The session's id.
        title: The title that the user gave it, or else the first line of its first prompt.
        time: When it was last written to, as an RFC 3339 time.
        turns: The number of its turns.
    """

    session: str
    title: str
    time: str
    turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumeParams:
    """
    The session to resume.

    Attributes:
        session: The session's id.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForkParams:
    """
    The session to copy, and how much of it.

    Attributes:
        session: Id of the session to copy.
        turn: Id of the last turn to include.
    """

    session: str
    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForkResult:
    """
    The new session.

    Attributes:
        session: The new session's id.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCompactParams:
    """
    The session whose conversation to summarise.

    Attributes:
        session: The session's id.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCompacted:
    """
    The result of summarising a conversation.

    Attributes:
        before: About how many tokens the conversation had; null if there is too little to summarise.
        after: About how many tokens it has now; null if there is too little to summarise.
    """

    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRenameParams:
    """
    The session's new title.

    Attributes:
        session: The session's id.
        title: The new title; it must not be empty.
    """

    session: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleteParams:
    """
    The session to delete.

    Attributes:
        session: The session's id.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCancelParams:
    """
    The turn to stop.

    Attributes:
        turn: The turn's id.
    """

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureListParams:
    """
    Which open failures to list.

    Attributes:
        uri: Only failures in this document; null lists those in all documents.
    """

    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDismissParams:
    """
    Which open failures to close. One of the two fields must be given.

    Attributes:
        failure: Id of the failure to close.
        all: Whether to close all open failures.
    """

    failure: str | None = None
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureApplyParams:
    """
    The failed edit, and where to make it.

    Attributes:
        failure: The failure's id.
        candidate: Index of the place in the failure's `candidates`, counted from 0.
    """

    failure: str
    candidate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDiffParams:
    """
    The failed edit to show.

    Attributes:
        failure: The failure's id.
        candidate: Index of the place in the failure's `candidates`, counted from 0; null shows the edit at
            each of them.
    """

    failure: str
    candidate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDiff:
    """
    What a failed edit would change.

    Attributes:
        uri: URI of a document that shows the diff: a virtual document, or a file if the client does not
            support those.
        text: The unified diff.
    """

    uri: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceTrustParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """
    What a client opts in to, in `capabilities.experimental.handrail` or `initializationOptions.handrail`.

    Attributes:
        turn_updates: Whether the server sends `handrail/turn/update`.
        approvals: Whether the server asks with `handrail/approval/request` and sends
            `handrail/approval/ended`.
        unattended: Whether no user is present: a question that the client does not answer at once counts as a
            no.
        untrusted: Whether the user has not trusted the workspace yet. Until `workspace.trust`, turns run only
            in the mode `ask`, and the workspace's settings, instructions, skills and commands are ignored.
        services: What the client does for the server: `save` saves documents, `model` answers with its own
            model, `secret` keeps keys, `review` shows pending changes and receives `handrail/review/changed`,
            `chat` shows conversations and receives `handrail/chat/changed`, `diagnostics` passes on what
            other language servers report, `definition`, `references` and `symbols` ask them for names.
        settings: Settings without the prefix `handrail.`, dotted or nested; settings of scope `machine` are
            allowed too.
    """

    turn_updates: bool = False
    approvals: bool = False
    unattended: bool = False
    untrusted: bool = False
    services: list[str] | None = None
    settings: dict[str, object] | None = None
