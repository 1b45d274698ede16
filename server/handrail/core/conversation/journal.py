"""
The journal of a session, one entry per line, and how a session is rebuilt from its entries.

An entry is written before its consequences are carried out, so that every call that was started is known,
however the program ended. A rewind is an entry too: nothing is ever cut off. Unreadable lines are skipped: at
most the line that was being written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolResult,
    Usage,
)
from handrail.core.conversation.pair import pair_results
from handrail.core.failure import Code, Failure
from handrail.values import dataclass, field, replace

UNKNOWN = Failure(
    code=Code.CUT_SHORT,
    message="handrail ended while this call was running, so it is unknown whether the call had any effect.",
    steps=("Check what it would have changed before you continue.",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBegun:
    """
    A turn has begun, or turns were copied from another session.

    Attributes:
        turn: The turn; of a copy, the last turn that was copied.
        count: How many turns it stands for; more than one only if it is a copy.
        rules: The version of what we tell models, which the model was told; 0 if it is not known.
    """

    turn: str
    prompt: str
    mode: str
    is_copied: bool = False
    count: int = 1
    rules: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The conversation has one more message."""

    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A call has its result, though others of its message may not have theirs."""

    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """From now on the conversation is this."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """These documents have been changed so far, by their paths."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The model knows these documents, by their URIs, with digests of the texts that it knows."""

    documents: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    """A turn has ended, and has used so much."""

    turn: str
    state: str
    reason: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """
    The user has sent a message to a turn that runs, or waits for another one; once the model reads it, it is
    `Said`. The first message of a turn that waits is its prompt.
    """

    turn: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The user has the messages again that a turn did not read, or has dropped them."""

    turn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """
    The session is again what it was before a turn, or before an earlier rewinding.

    Attributes:
        id: Identifies this event, so that it can be undone too.
        before: The turn, or the id of the earlier event.
        call: The first call of the step to which the turn is rewound; empty to rewind all of it.
    """

    id: str
    before: str
    call: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """The user has given the session a title."""

    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The user has chosen a mode for the turns of the session."""

    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """
    A question to the user is no longer open.

    Attributes:
        question: Its id.
        subject: What it was about, for people.
        end: How it ended, as the report of a turn names it.
        choice: The answer, or `deny` if there was none.
        asks_permission: Whether it asked for permission; otherwise it was a question by the model.
        could_last: Whether it offered a lasting yes too.
    """

    question: str
    subject: str
    end: str
    choice: str | None = None
    asks_permission: bool = True
    could_last: bool = True


Entry = (
    TurnBegun
    | Said
    | Answered
    | Replaced
    | Touched
    | Known
    | TurnEnded
    | Steered
    | Returned
    | Rewound
    | Renamed
    | Chosen
    | Decided
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalTurn:
    """
    A turn as the journal knows it, or the turns that were copied from another session.

    Attributes:
        turn: Its id; of a copy, that of the last turn, which belongs to the other session.
        state: How it ended; None if it did not come to its end.
        count: How many turns it stands for.
    """

    turn: str
    prompt: str
    state: str | None = None
    is_copied: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalContents:
    """
    The contents of a journal.

    Attributes:
        messages: The conversation, well-formed; a result that is not known has the failure `UNKNOWN`.
        turns: In order.
        touched: The paths of the documents that were changed.
        known: The documents that the model knows, as in `Known`.
        usage: The usage of all turns that ended, including those that were rewound.
        mode: The mode that the user chose last; empty if none.
    """

    messages: tuple[Message, ...] = ()
    turns: tuple[JournalTurn, ...] = ()
    touched: tuple[str, ...] = ()
    known: tuple[tuple[str, str], ...] = ()
    usage: Usage = field(default_factory=Usage)
    mode: str = ""


def replay(entries: Iterable[Entry], until: str | None = None) -> JournalContents:
    """Rebuilds a session from its *entries*; only up to the end of the turn *until*, if given."""
    turns: dict[int, JournalTurn] = {}
    numbers: dict[str, int] = {}  # the latest of each name
    touched: tuple[str, ...] = ()
    documents: tuple[tuple[str, str], ...] = ()
    taken: list[Entry] = []
    known = list(entries if until is None else _entries_to(entries, until))
    for entry in drop_rewound(known):
        if isinstance(entry, TurnBegun):
            numbers[entry.turn] = len(turns)
            turns[len(turns)] = JournalTurn(
                turn=entry.turn, prompt=entry.prompt, is_copied=entry.is_copied, count=entry.count
            )
        elif isinstance(entry, TurnEnded):
            if (number := numbers.get(entry.turn)) is not None:
                turns[number] = replace(turns[number], state=entry.state)
        elif isinstance(entry, Touched):
            touched = entry.paths
        elif isinstance(entry, Known):
            documents = entry.documents
        else:
            taken.append(entry)
    messages = pair_results(_conversation(taken), UNKNOWN)
    usage, mode = Usage(), ""
    for entry in known:  # what was taken back was paid for all the same, and chosen
        if isinstance(entry, TurnEnded) and entry.usage.steps:
            usage = usage.plus(entry.usage)
        elif isinstance(entry, Chosen):
            mode = entry.mode
    return JournalContents(
        messages=messages,
        turns=tuple(turns.values()),
        touched=touched,
        known=documents,
        usage=usage,
        mode=mode,
    )


def _entries_to(entries: Iterable[Entry], turn: str) -> Iterator[Entry]:
    """The entries up to the end of a turn."""
    has_begun = False
    for entry in entries:
        if has_begun and isinstance(entry, TurnBegun | Rewound):
            return
        has_begun = has_begun or (isinstance(entry, TurnBegun) and entry.turn == turn)
        yield entry


def drop_rewound(entries: Iterable[Entry]) -> list[Entry]:
    """Returns the entries that still count: without rewinds, and without what they removed."""
    counted: list[Entry] = []
    marks: dict[str, tuple[list[Entry], int]] = {}  # so many of a list that only grows
    for entry in entries:
        if isinstance(entry, Rewound):
            then, count = marks.get(entry.before, (counted, len(counted)))
            marks[entry.id] = counted, len(counted)
            counted = then[: _count_before(then, count, entry.call)]
            continue
        if isinstance(entry, TurnBegun):
            marks[entry.turn] = counted, len(counted)
        counted.append(entry)
    return counted


def _count_before(entries: Sequence[Entry], begin: int, call: str) -> int:
    """Returns the number of *entries* before the message with that call, looked for from *begin* on."""
    for at in range(begin, len(entries) if call else begin):
        match entries[at]:
            case Said(message=AssistantMessage(calls=calls)) if call in {each.id for each in calls}:
                return at
            case _:
                pass
    return begin


def _conversation(entries: Iterable[Entry]) -> list[Message]:
    """The messages, with results that came before their message was whole."""
    messages: list[Message] = []
    answers: list[ToolResult] = []
    for entry in entries:
        match entry:
            case Said(message=message):
                if answers and not isinstance(message, ToolMessage):
                    messages.append(ToolMessage(results=tuple(answers)))
                answers = []
                messages.append(message)
            case Replaced(messages=replaced):
                messages, answers = list(replaced), []
            case Answered(result=result):
                answers.append(result)
            case _:
                pass
    return [*messages, ToolMessage(results=tuple(answers))] if answers else messages
