"""The conversation as values, for clients that show it in a view of their own."""

from __future__ import annotations

from typing import Literal

from handrail.lsp.protocol.questions import Approval
from handrail.lsp.protocol.review import HunkKind
from handrail.lsp.protocol.values import Failure, Mode
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatStatus:
    """
    The state of a conversation, without its messages.

    Attributes:
        title: The title that the user gave it, or else the first line of its first prompt; empty in a new
            conversation.
        model: The model that answers.
        mode: What the next turn may do.
        input_tokens: Tokens that all turns have sent to the model.
        output_tokens: Tokens that the model has written in all turns.
        running: Id of the turn that is running; null if no turn is running.
        context_percent: How full the model's context is, in percent; null before the first turn.
        cost_usd: The price of all turns in US dollars; null if it is unknown.
        plan: If the latest turn made a plan: the message that you can send to have the model carry it out;
            otherwise null.
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
    The user's message that began a turn.

    Attributes:
        id: The item's id, unique in its conversation.
        turn: Id of the turn that it began.
        text: The message.
        state: The state of the turn. `broken`: it did not reach its end, for example because the server was
            killed.
        reason: Why the turn did not finish; null if it did, is running, or was cancelled while it ran.
        resend: Whether `chat.resend` can send the message again, changed or not.
        changes: Whether the turn may have changed documents, which `checkpoint.restore` can undo.
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
    """
    Text from the model.

    Attributes:
        id: The item's id, unique in its conversation.
        turn: Id of the turn that it belongs to.
        text: The text, as Markdown; it grows while the model writes.
    """

    kind: Literal["words"]
    id: str
    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTold:
    """
    A message from the user, or from handrail on the user's behalf, after the turn had begun.

    Attributes:
        id: The item's id, unique in its conversation.
        turn: Id of the turn that it belongs to.
        text: The message.
        state: `read`: the model has read it. `waiting`: the model reads it before its next step. `unread`:
            the turn ended before the model read it. `queued`: it begins a turn of its own once this one has
            finished.
        sender: Who sent it. `handrail` for what handrail told the model by itself, such as the instructions
            in an `AGENTS.md`.
    """

    kind: Literal["told"]
    id: str
    turn: str
    text: str
    state: Literal["read", "waiting", "unread", "queued"]
    sender: Literal["user", "handrail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRemark:
    """
    A note from handrail to the reader.

    Attributes:
        id: The item's id, unique in its conversation.
        text: The note, as Markdown.
        turn: Id of the turn that it belongs to; null for the answer to a command such as `/mode`.
        checkpoint: Id of the checkpoint that it is about, if any.
        session: Id of the session that it is about, if any.
    """

    kind: Literal["remark"]
    id: str
    text: str
    turn: str | None = None
    checkpoint: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTodo:
    """
    An entry of the model's to-do list.

    Attributes:
        text: What to do.
        state: `open`: not started. `active`: in progress. `done`: finished.
    """

    text: str
    state: Literal["open", "active", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHunk:
    """
    A change by a tool call that is neither kept nor undone.

    Attributes:
        id: Identifies the change in `review.keep` and `review.undo`.
        uri: URI of the document.
        path: The document's path, as people read it.
        line: The first line of the change, counted from 0.
        diff: The removed and added lines, only the beginning if the change is long; empty if it is not text.
        kind: The kind of change, as in `Hunk`.
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
        id: The item's id, unique in its conversation.
        turn: Id of the turn that it belongs to.
        call: The tool call's id, for `output.show`.
        tool: Name of the tool that was called.
        title: What the call does, for people.
        state: `running`: it has no result yet. `done`: it succeeded. `failed`: it failed. `lost`: its turn
            ended before it had a result.
        code: The class of failure; null unless it failed.
        summary: The first line of its result; empty while it runs.
        output: What it has printed so far, or the rest of its result; only the beginning or the end of a long
            text.
        hidden: How many characters `output` leaves out.
        uri: URI of the document that the call is about; null if there is none.
        line: The line in that document, counted from 0.
        todos: The to-do list, if the call sets it.
        command: Id of the background command that the call started and that is still running.
        awaited: Whether the turn waits for a command that the call runs; `command.interrupt` ends only this
            command.
        failures: Edits of the call that failed and are still open.
        hunks: Changes of the call that are pending. A change that several calls made is listed with each.
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
        id: The item's id, unique in its conversation.
        turn: Id of the turn that it belongs to.
        subject: What the question is about.
        approval: The whole question, while it is open. Its `secondsLeft` is as it was when the
            client was first told about the question; `until` is exact.
        until: When the time to answer the open question is over, as an RFC 3339 time.
        end: How it ended, in words that follow the subject, such as `was answered: No`; empty while it is
            open.
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
    A conversation. Its texts may come from a model, a file or a command: show `words` and `remark` as
    Markdown without HTML, pictures or commands, and everything else as plain text.

    Attributes:
        session: The session's id.
        revision: The current revision; the next `handrail/chat/changed` has this number plus one.
        status: The state of the conversation.
        items: The parts of the conversation, in order.
    """

    session: str
    revision: int
    status: ChatStatus
    items: list[ChatItem]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatGrowth:
    """
    Text to append to an item.

    Attributes:
        id: The item's id.
        text: What to append to the item's `text`.
    """

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChanged:
    """
    A conversation that the client has read has changed; sent ten times a second at most.

    Attributes:
        session: The session's id.
        revision: One more than the last revision. A client that misses one reads the conversation again.
        status: The new state of the conversation; null if it has not changed.
        items: Items that are new, which go to the end of the conversation, or that have changed.
        grown: Items whose text has grown; apply these after `items`.
        removed: Ids of the items to remove.
        order: Ids of all items in order, given only if a new item does not go to the end.
    """

    session: str
    revision: int
    status: ChatStatus | None = None
    items: list[ChatItem] | None = None
    grown: list[ChatGrowth] | None = None
    removed: list[str] | None = None
    order: list[str] | None = None
