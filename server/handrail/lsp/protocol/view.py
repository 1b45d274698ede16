"""Requests of clients that show a conversation in a view of their own."""

from __future__ import annotations

from handrail.lsp.protocol.conversation import ChatTranscript
from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.turns import TurnImage
from handrail.lsp.protocol.values import Mode
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReadParams:
    """
    The conversation to read.

    Attributes:
        session: The session's id; by default the latest session that this server knows, or else a new one.
    """

    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSayParams:
    """
    A message in a conversation. The draft in its document stays as it is.

    Attributes:
        session: The session's id.
        text: A message that starts a turn or is sent to the running one, or a command such as `/compact`.
        mode: What the turn may do; by default the conversation's mode.
        queue: Whether the message begins a turn of its own after the running one, instead of going to that
            one.
        images: Pictures to show to the model, as in `turn.start`. A running turn does not take pictures.
    """

    session: str
    text: str
    mode: Mode | None = None
    queue: bool = False
    images: list[TurnImage] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSaid:
    """
    The result of saying something.

    Attributes:
        session: Id of the session in which the conversation continues: a new one after `/new`.
        turn: Id of the turn that reads the message; null if it was a command.
    """

    session: str
    turn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatChooseParams:
    """
    A choice of mode and model from the next turn on.

    Attributes:
        session: The session's id; null to choose only the model.
        mode: What turns may do in this session; null leaves the mode as it is.
        model: A value of the setting `handrail.model`, which counts for all sessions until the server ends or
            the setting changes; null leaves the model as it is.
    """

    session: str | None = None
    mode: Mode | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCompleteParams:
    """
    The message to complete.

    Attributes:
        before: The text of the message up to the cursor.
    """

    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOffer:
    """
    A name that can complete the message.

    Attributes:
        name: The name, as it is written in a message.
        does: What the name means; empty for a path.
    """

    name: str
    does: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOffers:
    """
    The completions of the message.

    Attributes:
        typed: The end of the text, which the chosen name replaces; empty if there is nothing to complete.
        offers: The names to choose from.
    """

    typed: str
    offers: list[ChatOffer]


CHAT_READ = Request(
    name="chat.read",
    params=ChatReadParams,
    result=ChatTranscript,
    does="Reads a conversation; from then on, clients that opted in to `chat` are told about its changes.",
)


CHAT_SAY = Request(
    name="chat.say",
    params=ChatSayParams,
    result=ChatSaid,
    does="Sends a message in a conversation: as a new turn, to the running turn, or as the turn after it.",
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
    does="Completes an `@name` or a `/command` in a message that the user is writing.",
)
