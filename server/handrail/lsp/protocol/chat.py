"""Requests about conversations that are documents."""

from __future__ import annotations

from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import Mode, Range
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOpenParams:
    """
    The conversation to open.

    Attributes:
        session: The session's id; by default the latest session that this server knows, or else a new one.
    """

    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatNewParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDocument:
    """
    The document of a conversation.

    Attributes:
        session: The session's id.
        uri: URI of the document.
        text: Its whole text.
        line: The line where the user writes, counted from 0.
    """

    session: str
    uri: str
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSendParams:
    """
    The conversation whose message is sent.

    Attributes:
        uri: URI of the conversation's document; it takes precedence over `session`.
        session: The session's id; without `uri` and `session`, the latest conversation that this server
            knows.
        mode: What the turn may do; by default the conversation's mode.
    """

    uri: str | None = None
    session: str | None = None
    mode: Mode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSent:
    """
    The message that was sent.

    Attributes:
        session: The session's id.
        turn: Id of the turn that reads the message; null if it was a command such as `/mode ask`.
    """

    session: str
    turn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAskParams:
    """
    Something to say in a conversation, from anywhere in the editor. Give `text` or `uri`, or both.

    Attributes:
        session: The session's id; by default the latest session that this server knows, or else a new one.
        uri: URI of the document that it is about.
        range: The part to quote, of the text in the editor. Without a part, or if it is longer than 20,000
            characters, the document is only named.
        change: Whether the user wants that part changed.
        text: What the user says.
        mode: What the turn may do, if the message is sent; by default the conversation's mode.
        send: Whether to send it at once, leaving the user's draft alone. Otherwise it is added to the draft
            at the end of the conversation.
    """

    session: str | None = None
    uri: str | None = None
    range: Range | None = None
    change: bool = False
    text: str | None = None
    mode: Mode | None = None
    send: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAsked:
    """
    The conversation that has the message or the draft.

    Attributes:
        session: The session's id.
        uri: URI of the conversation's document.
        text: The document's whole text.
        line: The line where the user continues to write, counted from 0.
        turn: Id of the turn that reads the message; null if it was not sent.
    """

    session: str
    uri: str
    text: str
    line: int
    turn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResendParams:
    """
    An earlier message of a conversation.

    Attributes:
        turn: Id of the turn that the message began.
        uri: URI of the conversation's document; it takes precedence over `session`.
        session: The session's id; without `uri` and `session`, the latest conversation that this server
            knows.
        text: What to send in its place; by default the message as it is in the document now.
    """

    turn: str
    uri: str | None = None
    session: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurnParams:
    """
    A turn of a conversation.

    Attributes:
        turn: The turn's id.
        uri: URI of the conversation's document; it takes precedence over `session`.
        session: The session's id; without `uri` and `session`, the latest conversation that this server
            knows.
    """

    turn: str
    uri: str | None = None
    session: str | None = None


CHAT_OPEN = Request(
    name="chat.open",
    params=ChatOpenParams,
    result=ChatDocument,
    does="Writes and opens the document of a conversation, which is kept up to date from then on.",
)
CHAT_NEW = Request(
    name="chat.new",
    params=ChatNewParams,
    result=ChatDocument,
    does="Starts a conversation, and writes and opens its document.",
)
CHAT_SEND = Request(
    name="chat.send",
    params=ChatSendParams,
    result=ChatSent,
    does=(
        "Sends what the user has written at the end of a conversation: as a new turn, or to the running one."
    ),
)
CHAT_ASK = Request(
    name="chat.ask",
    params=ChatAskParams,
    result=ChatAsked,
    does=(
        "Sends a message to a conversation from anywhere in the editor, with the selected text; or adds "
        "it to the draft."
    ),
)
CHAT_RESTORE = Request(
    name="chat.restore",
    params=ChatTurnParams,
    result=ChatDocument,
    does="Restores the text of an earlier message that was changed in the document.",
)
CHAT_RESEND = Request(
    name="chat.resend",
    params=ChatResendParams,
    result=ChatDocument,
    does="Sends an earlier message again, with the changes that the user has made to it, in a new session "
    "that also has everything before it.",
)
CHAT_FORK = Request(
    name="chat.fork",
    params=ChatTurnParams,
    result=ChatDocument,
    does="Copies a conversation up to the end of a turn into a new one, and opens its document.",
)
CHAT_RETRY = Request(
    name="chat.retry",
    params=ChatTurnParams,
    result=ChatSent,
    does="Sends the message of the last turn once more, in the same conversation.",
)

DOCUMENT_REQUESTS = (
    CHAT_OPEN,
    CHAT_NEW,
    CHAT_SEND,
    CHAT_ASK,
    CHAT_RESEND,
    CHAT_RESTORE,
    CHAT_FORK,
    CHAT_RETRY,
)
