"""
Record sessions as they happen, and resume them: after a restart, or from an earlier turn.

If the result of a call was lost, the documents show what it did: an edit that they contain has landed, one
that would still fit has not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from handrail.agent.tools import TOOLS
from handrail.agent.tools.call import Edits
from handrail.agent.turn import seen
from handrail.agent.turn.edit.plan import Planner
from handrail.agent.turn.session import Session
from handrail.core.conversation import journal, todo
from handrail.core.conversation.journal import (
    UNKNOWN,
    Answered,
    Chosen,
    Decided,
    Entry,
    JournalContents,
    JournalTurn,
    Known,
    Renamed,
    Replaced,
    Returned,
    Rewound,
    Said,
    Steered,
    Touched,
    TurnBegun,
    TurnEnded,
)
from handrail.core.conversation.label import shorten
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
)
from handrail.core.conversation.prompt import Mode
from handrail.core.documents.change import PlannedHunk
from handrail.core.failure import Failure
from handrail.core.ledger.outcome import Mutation
from handrail.core.ledger.report import Asked, Event
from handrail.core.policy.place import Place
from handrail.core.results import redact, sanitize
from handrail.ports import HandrailError, Ports
from handrail.ports.sessions import NoSessions, Release, Sessions
from handrail.values import dataclass, field, replace


class UnknownSession(HandrailError):
    """A client named a session or turn that no journal holds."""


class Busy(HandrailError):
    """Another process is running a turn in the session."""


Documents = tuple[tuple[str, str], ...]  # URIs and digests


@dataclass(kw_only=True)
class Archive:
    """
    The journals of all sessions, and what has already been written to them.

    Attributes:
        modes: The modes that the user chose for sessions.
    """

    journals: Sessions = field(default_factory=NoSessions)
    modes: dict[str, Mode] = field(default_factory=dict)
    _written: dict[str, Session] = field(default_factory=dict)
    _known: dict[str, Documents] = field(default_factory=dict)

    def begin(self, session: Session, entry: TurnBegun) -> None:
        """Records that a turn has begun; the session's last message is the user's."""
        mode = self.modes.get(session.id)
        is_first = session.id not in self._written
        self.journals.append(session.id, [entry, *([Chosen(mode=mode.value)] if mode and is_first else [])])
        self.keep(session)

    async def choose(self, session: str, mode: Mode) -> None:
        """Records the mode that the user has chosen; of a new session, its first turn does so."""
        self.modes[session] = mode
        if await self.journals.load(session):
            self.journals.append(session, [Chosen(mode=mode.value)])
            await self.journals.wait_until_written()

    async def save(self, session: Session) -> None:
        """Records what is new in a session; it is written when this returns."""
        self.keep(session)
        await self.journals.wait_until_written()

    def keep(self, session: Session) -> None:
        """Records what is new in a session, without waiting until it is written."""
        before = self._written.get(session.id, Session(id=session.id))
        known, entries = len(before.messages), list[Entry]()
        if _begins_with(session.messages, before.messages):
            entries += [Said(message=message) for message in session.messages[known:]]
        else:
            entries.append(Replaced(messages=session.messages))
        if session.touched != before.touched:
            entries.append(Touched(paths=session.touched))
        documents = tuple((each.place.uri, each.read_digest) for each in session.seen.values())
        if documents != self._known.get(session.id, ()):
            entries.append(Known(documents=documents))
            self._known[session.id] = documents
        self.journals.append(session.id, entries)
        self._written[session.id] = session

    async def add_result(self, session: str, result: ToolResult) -> None:
        """Records the result of a call; it is written when this returns."""
        self.journals.append(session, [Answered(result=result)])
        await self.journals.wait_until_written()

    def record_event(self, session: str, event: Event) -> Event:
        """Records an event of a turn that no message contains; returns the event."""
        if isinstance(event, Asked) and event.end is not None:
            entry = Decided(
                question=event.question,
                subject=event.subject,
                end=event.end.value,
                choice=event.choice,
                asks_permission=event.asks_permission,
                could_last=event.could_last,
            )
            self.journals.append(session, [entry])
        return event

    def steer(self, session: str, entry: Steered | Returned) -> None:
        """Records a message to a turn that runs or waits, or that the user has it again."""
        self.journals.append(session, [entry])

    def end(self, session: str, entry: TurnEnded) -> None:
        """Records the end of a turn."""
        self.journals.append(session, [entry])

    def claim(self, session: str) -> Release:
        """Prevents other processes from running turns in a session until it is released. Raises Busy."""
        release = self.journals.claim(session)
        if release is None:
            raise Busy(
                f"Another window or process is working in the conversation (session {session}). "
                "Wait until that has finished, then try again."
            )
        return release

    # ---- Taking up again --------------------------------------------------------------------------

    async def resume(self, session: str, ports: Ports) -> tuple[Session, JournalContents]:
        """Rebuilds a session from its journal. Raises UnknownSession."""
        told = journal.replay(await self._entries(session))
        messages = await _settle(told.messages, ports)
        self._written[session] = _session(session, told.messages, told)  # the next `keep` writes what differs
        self._known[session] = told.known
        self._take_mode(session, told.mode)
        session_ = _session(session, messages, told)
        return replace(session_, seen=seen.known_documents(told.known, ports.workspace)), told

    def learn_mode(self, session: str, mode: str) -> None:
        """Takes over the mode that a journal has for a session of which none is known."""
        if session not in self.modes:
            self._take_mode(session, mode)

    def _take_mode(self, session: str, mode: str) -> None:
        with suppress(ValueError):  # none, or one of a later version
            self.modes[session] = Mode(mode)

    async def changes(self, session: str, wanted: Rewound) -> bool:
        """Whether a rewind changes the session; not if the turn was already undone. Raises UnknownSession."""
        entries = await self._entries(session)
        begun = {each.turn for each in entries if isinstance(each, TurnBegun)}
        rewound = {each.id for each in entries if isinstance(each, Rewound)}
        if wanted.before not in begun | rewound:
            raise UnknownSession(
                f"The conversation (session {session}) does not have the turn {wanted.before!r}, so it "
                "cannot be rewound to before that turn. Restore the documents without the conversation (in a "
                "terminal, without `--conversation`)."
            )
        return wanted.before in rewound | {each.turn for each in journal.replay(entries).turns}

    async def turns_left(self, session: str, wanted: Rewound) -> tuple[JournalTurn, ...]:
        """Returns the turns that a session would have after a rewind. Raises UnknownSession."""
        entries = await self._entries(session)
        changes = await self.changes(session, wanted)
        return journal.replay([*entries, wanted] if changes else entries).turns

    async def is_rewound_by(self, session: str, restore: str) -> bool:
        """Whether a session was rewound by the restore with this checkpoint."""
        entries = await self.journals.load(session) or ()
        return any(isinstance(each, Rewound) and each.id == restore for each in entries)

    async def rewound(self, session: str, wanted: Rewound, ports: Ports) -> tuple[Session, JournalContents]:
        """Rewinds a session. Raises UnknownSession if that cannot be recorded."""
        if await self.changes(session, wanted):
            self.journals.append(session, [wanted])
            if wanted not in await self._entries(session):
                raise UnknownSession(
                    f"The conversation (session {session}) was not rewound, because the change cannot be "
                    f"stored. {self._what_to_check}"
                )
        return await self.resume(session, ports)

    async def is_unstored(self, session: str) -> bool:
        """Whether nothing of a session could be stored, so that it ends with this process."""
        await self.journals.wait_until_written()
        if not self.journals.lacks_entries(session):
            return False
        return session not in {each.id for each in await self.journals.list()}

    async def fork(self, session: str, turn: str, name: str, ports: Ports) -> Session:
        """Creates a session *name* with the conversation up to the end of *turn*. Raises UnknownSession."""
        entries = await self._entries(session)
        told = journal.replay(entries, until=turn)
        if turn not in {each.turn for each in told.turns}:
            raise UnknownSession(f"The conversation (session {session}) has no turn {turn!r}.")
        forked = _session(name, await _settle(told.messages, ports), replace(told, usage=Usage()))
        forked = replace(forked, seen=seen.known_documents(told.known, ports.workspace))
        last = told.turns[-1]
        self._take_mode(name, journal.replay(entries).mode)
        count = sum(each.count for each in told.turns)
        copy = TurnBegun(turn=last.turn, prompt=last.prompt, mode="edit", is_copied=True, count=count)
        self.begin(forked, copy)
        self.end(name, TurnEnded(turn=last.turn, state=last.state or "stopped"))
        if await self.is_unstored(name):
            await self.journals.remove(name)
            raise UnknownSession(
                f"The conversation (session {session}) could not be forked. {self._what_to_check}"
            )
        return forked

    @property
    def _what_to_check(self) -> str:
        return f"Check the free space and the permissions of {self.journals.folder}."

    async def rename(self, session: str, title: str) -> None:
        """Gives a session another title. Raises UnknownSession."""
        await self._entries(session)
        self.journals.append(session, [Renamed(title=shorten(" ".join(title.split())))])
        await self.journals.wait_until_written()
        if self.journals.lacks_entries(session):
            raise UnknownSession(
                f"The new title of the conversation (session {session}) could not be stored. "
                f"{self._what_to_check}"
            )

    async def delete(self, session: str) -> None:
        """Removes a session's journal permanently. Raises UnknownSession, Busy."""
        await self._entries(session)  # to claim a journal makes it
        release = self.claim(session)
        try:
            if not await self.journals.remove(session):
                raise UnknownSession(
                    f"The conversation (session {session}) was not deleted, because its file cannot be "
                    f"removed. Check the permissions of {self.journals.folder}."
                )
            self._written.pop(session, None)
            self._known.pop(session, None)
        finally:
            release()

    async def of_turn(self, turn: str) -> tuple[str, list[str]] | None:
        """Returns the session in which a turn was started, and all its turns, in order."""
        session = await self.journals.of_turn(turn)
        if session is None:
            return None
        return session, [each.turn for each in await self._entries(session) if isinstance(each, TurnBegun)]

    async def prompt(self, turn: str) -> str | None:
        """Returns the prompt of a turn; None if no journal has it."""
        session = await self.journals.of_turn(turn)
        if session is None:
            return None
        begun = (each for each in await self._entries(session) if isinstance(each, TurnBegun))
        return next((each.prompt for each in begun if each.turn == turn), None)

    async def _entries(self, session: str) -> tuple[Entry, ...]:
        entries = await self.journals.load(session)
        if entries is None:
            raise UnknownSession(f"This workspace has no conversation with the session ID {session!r}.")
        return entries


def _session(name: str, messages: tuple[Message, ...], told: JournalContents) -> Session:
    return Session(
        id=name,
        messages=messages,
        touched=told.touched,
        todos=todo.latest(told.messages),
        earlier=told.usage,
    )


def _begins_with(messages: tuple[Message, ...], known: tuple[Message, ...]) -> bool:
    if len(messages) < len(known):
        return False
    return all(now is before or now == before for now, before in zip(messages, known, strict=False))


async def _settle(messages: tuple[Message, ...], ports: Ports) -> tuple[Message, ...]:
    """Completes *messages* with unknown results, which are found by looking at the documents."""
    calls: Mapping[str, ToolCall] = {}
    collected: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls = {call.id: call for call in message.calls}
        if isinstance(message, ToolMessage):
            results = [
                await _find_result(calls[result.call], ports) if result.failure == UNKNOWN else result
                for result in message.results
            ]
            collected.append(replace(message, results=tuple(results)))
        else:
            collected.append(message)
    return tuple(collected)


async def _find_result(call: ToolCall, ports: Ports) -> ToolResult:
    unknown = ToolResult(call=call.id, text=sanitize.result_text(UNKNOWN), failure=UNKNOWN)
    tool = TOOLS.get(call.name)
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return unknown
    action = tool.parse(arguments) if tool is not None and isinstance(arguments, dict) else None
    if not isinstance(action, Edits) or action.wrong is not None:
        return unknown
    places: dict[str, Place] = {}
    for path in action.changes:
        place = ports.workspace.resolve(path)
        if isinstance(place, Failure):
            return unknown
        places[path] = place
    planner = Planner(
        editor=ports.editor,
        places=places,
        mutation=_pattern(call),
        find_keys=partial(redact.find_keys, secrets=ports.secrets()),
    )
    lines = ["handrail ended while this call was running. The documents show what it did:"]
    for file in await planner.plan(replace(action, partial=True)):
        there = all(isinstance(part.planned, PlannedHunk) and not part.planned.edits for part in file.parts)
        open_still = all(isinstance(part.planned, PlannedHunk) for part in file.parts)
        if there and not file.changes:
            lines.append(f"{file.path}: the edit landed.")
        elif open_still:
            lines.append(f"{file.path}: the edit did not land, or landed only in part.")
        else:
            lines.append(f"{file.path}: it is unknown whether the edit landed. Read the document.")
    return ToolResult(call=call.id, text="\n".join(lines))


def _pattern(call: ToolCall) -> Mutation:
    return Mutation(id=call.id, turn="", call=call.id, tool=call.name, order=0, uri="", identity="", path="")
