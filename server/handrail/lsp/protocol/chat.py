"""Requests about conversations that are documents."""

from __future__ import annotations

from dataclasses import dataclass

from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import Mode, Range


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOpenParams:
    """Which session to show; without `session` the latest one that this server knows, else a new one."""

    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatNewParams:
    """This request takes no params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDocument:
    """
    A conversation as a document.

    Attributes:
        line: Where the user writes, counted from 0.
    """

    session: str
    uri: str
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSendParams:
    """
    Sends what is written at the end of a conversation.

    Attributes:
        uri, session: The conversation, by either; without both the latest one that this server knows.
        mode: Of the turn; by default that of the conversation.
    """

    uri: str | None = None
    session: str | None = None
    mode: Mode | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSent:
    """
    What was sent.

    Attributes:
        turn: The turn that reads it; null if it was a command, such as `/mode ask`.
    """

    session: str
    turn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatAskParams:
    """
    Says something in a conversation from elsewhere. One of `text` and `uri` must be given.

    Attributes:
        session: The conversation; by default the latest one that this server knows, or else a new one.
        uri, range: What it is about: a document, or a part of it that is quoted as the editor holds it.
        change: Whether the user wants that part changed.
        text: What the user says.
        mode: Of the turn that is begun, if it is sent; by default that of the conversation.
        send: Whether to send it at once, without what else is written in the conversation. Otherwise it is
            written at the end of the conversation, where the user goes on.
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
    The conversation in which it was said.

    Attributes:
        line: Where the user writes, counted from 0.
        turn: The turn that reads it, if it was sent.
    """

    session: str
    uri: str
    text: str
    line: int
    turn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatResendParams:
    """
    Names an earlier message of a conversation.

    Attributes:
        turn: The turn that the message has begun. It is sent again as it stands in the document.
        uri, session: The conversation, by its document or its session.
        text: What is sent instead.
    """

    turn: str
    uri: str | None = None
    session: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurnParams:
    """
    Names a turn of a conversation.

    Attributes:
        uri, session: The conversation, by its document or its session.
    """

    turn: str
    uri: str | None = None
    session: str | None = None


CHAT_OPEN = Request(
    name="chat.open",
    params=ChatOpenParams,
    result=ChatDocument,
    does="Writes the document of a conversation, which is brought up to date as it goes on, and opens it.",
)
CHAT_NEW = Request(
    name="chat.new",
    params=ChatNewParams,
    result=ChatDocument,
    does="Begins a conversation: writes its document, and opens it.",
)
CHAT_SEND = Request(
    name="chat.send",
    params=ChatSendParams,
    result=ChatSent,
    does="Sends what the user has written at the end of a conversation: as a turn, or to the one that runs.",
)
CHAT_ASK = Request(
    name="chat.ask",
    params=ChatAskParams,
    result=ChatAsked,
    does="Says something in a conversation from elsewhere, with what is selected there; or writes it down.",
)
CHAT_RESTORE = Request(
    name="chat.restore",
    params=ChatResendParams,
    result=ChatDocument,
    does="Shows an earlier message, which was changed in the document, as it was sent.",
)
CHAT_RESEND = Request(
    name="chat.resend",
    params=ChatResendParams,
    result=ChatDocument,
    does="Sends an earlier message again as it stands now, in a new session with what was before it.",
)
CHAT_FORK = Request(
    name="chat.fork",
    params=ChatTurnParams,
    result=ChatDocument,
    does="Begins a conversation that holds this one up to the end of a turn, and opens its document.",
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
