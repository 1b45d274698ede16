"""The conversation as values, for clients that show it in a view of their own; and what is done there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from handrail.lsp.protocol.params import TurnImage
from handrail.lsp.protocol.questions import Approval
from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.review import HunkKind
from handrail.lsp.protocol.values import Failure, Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReadParams:
    """Which session to read; without `session` the latest one that this server knows, else a new one."""

    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatStatus:
    """
    What a conversation is, apart from what is said in it.

    Attributes:
        title: As the user has named it, else the first line of its first prompt; empty in a new one.
        model: Who answers.
        mode: Of the next turn.
        running: The turn that runs.
        context_percent: How full the model's context is; missing before the first turn.
        input_tokens, output_tokens: Of all turns.
        cost_usd: Of all turns, where the price is known.
        plan: What to say to have the plan carried out that the latest turn has made, if it made one.
    """

    title: str
    model: str
    mode: Mode
    input_tokens: int = 0
    output_tokens: int = 0
    running: str | None = None
    context_percent: int | None = None
    cost_usd: float | None = None
    plan: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatPrompt:
    """
    What the user said, which began a turn.

    Attributes:
        state: How the turn is: one that did not come to its end, as the server was killed, is *broken*.
        reason: Why it is not finished.
        resend: Whether the message can be sent again, changed or not, with `chat.resend`.
        changes: Whether the turn may have changed documents, which `checkpoint.restore` takes back.
    """

    kind: Literal["prompt"]
    id: str
    turn: str
    text: str
    state: Literal["running", "finished", "stopped", "cancelled", "failed", "broken"]
    reason: str | None = None
    resend: bool = False
    changes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatWords:
    """What the model said, as Markdown; while it speaks, `text` grows."""

    kind: Literal["words"]
    id: str
    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTold:
    """
    What the user, or handrail in the user's place, said after the turn had begun.

    Attributes:
        state: *read* the model has read it; *waiting* it will, before its next step; *unread* the turn ended
            without reading it; *queued* it begins a turn once this one has finished.
    """

    kind: Literal["told"]
    id: str
    turn: str
    text: str
    state: Literal["read", "waiting", "unread", "queued"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRemark:
    """
    What the reader should know: of a turn, or, without one, what a command such as `/mode` answers.

    Attributes:
        text: Markdown.
        checkpoint, session: What it is about, if it is about one.
    """

    kind: Literal["remark"]
    id: str
    text: str
    turn: str | None = None
    checkpoint: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTodo:
    """One thing on the model's list of what is to be done."""

    text: str
    state: Literal["open", "active", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHunk:
    """
    A change of a call that is neither kept nor undone.

    Attributes:
        id: Names it in `review.keep` and `review.undo`.
        path, line: Its place, as people read it, and counted from 0.
        diff: What goes and what comes, of a long change the beginning; empty where the text is not shown.
    """

    id: str
    uri: str
    path: str
    line: int
    diff: str
    kind: HunkKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCall:
    """
    A tool call.

    Attributes:
        call: Its id, for `output.show`.
        title: What it does, for people.
        state: Whether it runs or waits to, is done, or has failed; *lost* if its turn ended before.
        code: The class of failure, if it has failed.
        summary: The first line of its result.
        output: What it has printed so far, or the rest of its result; of a long text one end.
        hidden: How many characters of `output` are left out.
        uri, line: The place that it is about; the line counts from 0.
        todos: The list of what is to be done, if that is what it gives.
        command: The id of the command that it has begun in the background and that still runs.
        awaited: Whether it runs a command that the turn waits for, which `command.interrupt` ends alone.
        failures: Its edits that did not land and are open failures.
        hunks: Its changes that are pending; one that several calls have made is among those of each.
    """

    kind: Literal["call"]
    id: str
    turn: str
    call: str
    tool: str
    title: str
    state: Literal["running", "done", "failed", "lost"]
    code: str | None = None
    summary: str = ""
    output: str = ""
    hidden: int = 0
    uri: str | None = None
    line: int = 0
    todos: list[ChatTodo] | None = None
    command: str | None = None
    awaited: bool = False
    failures: list[Failure] | None = None
    hunks: list[ChatHunk] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatQuestion:
    """
    A question to the user.

    Attributes:
        subject: What it is about.
        approval: All of it, while it is open; `secondsLeft` is as of when it was first told.
        until: When it ends as a no, while it is open, RFC 3339.
        end: How it ended, in words.
    """

    kind: Literal["question"]
    id: str
    turn: str
    subject: str
    approval: Approval | None = None
    until: str | None = None
    end: str = ""


ChatItem = ChatPrompt | ChatWords | ChatTold | ChatRemark | ChatCall | ChatQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTranscript:
    """
    A conversation. Everything in it may be text of a model, a file or a command: show it, never interpret it.

    Attributes:
        revision: What the next `handrail/chat/changed` counts on from.
        items: In order; each has an `id` of its own.
    """

    session: str
    revision: int
    status: ChatStatus
    items: list[ChatItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGrowth:
    """Text that came at the end of the `text` of an item."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChanged:
    """
    A conversation that was read has changed; it is told ten times a second at most.

    Attributes:
        revision: One more than before. A client that has missed one reads the conversation again.
        status: As it is now, if it has changed.
        items: Those that are new, at the end of the conversation, or have changed.
        grown: Those whose text has grown, after `items`.
        removed: The ids of those that are gone.
        order: The ids of all items in order, if new ones do not stand at the end.
    """

    session: str
    revision: int
    status: ChatStatus | None = None
    items: list[ChatItem] | None = None
    grown: list[ChatGrowth] | None = None
    removed: list[str] | None = None
    order: list[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSayParams:
    """
    Says something in a conversation, and leaves what is written in its document alone.

    Attributes:
        text: As a turn, or to the one that runs; or a command such as `/compact`.
        mode: Of the turn; by default that of the conversation.
        queue: Whether it begins a turn of its own after the one that runs, which does not read it.
        images: Pictures that the model is shown, as in `turn.start`. A turn that runs cannot be shown any.
    """

    session: str
    text: str
    mode: Mode | None = None
    queue: bool = False
    images: list[TurnImage] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSaid:
    """
    The turn that reads what was said; null if it was a command.

    Attributes:
        session: Where the conversation goes on: another one after `/new`.
    """

    session: str
    turn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChooseParams:
    """Choose the mode of a conversation, or the model, from the next turn on."""

    session: str
    mode: Mode | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCompleteParams:
    """The text of a message that is being written, up to the place where it is written."""

    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOffer:
    """A name, as it is written in a message, and what it stands for; a path says so itself."""

    name: str
    does: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOffers:
    """
    What may be meant by the end of a text.

    Attributes:
        typed: That end, of which a name takes the place.
    """

    typed: str
    offers: list[ChatOffer]


CHAT_READ = Request(
    name="chat.read",
    params=ChatReadParams,
    result=ChatTranscript,
    does="Reads a conversation; from then on its changes are told to clients that opted in to `chat`.",
)
CHAT_SAY = Request(
    name="chat.say",
    params=ChatSayParams,
    result=ChatSaid,
    does="Says something in a conversation: as a turn, to the one that runs, or as the turn after it.",
)
CHAT_CHOOSE = Request(
    name="chat.choose",
    params=ChatChooseParams,
    result=None,
    does="Chooses the mode of a conversation, or the model, from the next turn on.",
)
CHAT_COMPLETE = Request(
    name="chat.complete",
    params=ChatCompleteParams,
    result=ChatOffers,
    does="Completes an `@name` or a `/command` in a message that is being written in a view.",
)
