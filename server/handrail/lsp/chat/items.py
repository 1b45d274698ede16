"""A conversation as values of the protocol, item by item; an unchanged item is not created again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from handrail.agent.chat.transcript import (
    Call,
    Interjection,
    Item,
    ModelText,
    PendingQuestion,
    Remark,
    Transcript,
    TranscriptTurn,
)
from handrail.agent.chat.view import (
    Answer,
    may_have_changed,
    shows_end,
    summary_and_output,
)
from handrail.core.results import sanitize
from handrail.lsp import protocol
from handrail.lsp.protocol import ChatItem
from handrail.values import dataclass, field

LIMIT_CHARS = 8_000  # of a call's output; all of it is shown on demand
STATES = ("finished", "stopped", "cancelled", "failed")


@dataclass(kw_only=True)
class LiveState:
    """
    The current state that is not in the transcript.

    Attributes:
        questions: The open questions, by id, and when they time out.
        commands: The ids of running background commands, by the call that started them.
        awaited: The calls with a command that a turn is waiting for.
        failures, hunks: The open failures of edits, and the pending changes, by turn and call.
        queued: The queued messages, by the turn that each will start; and whether it still can.
        told: The answers of slash commands.
    """

    questions: Mapping[str, tuple[protocol.Approval, str]] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    awaited: Collection[str] = ()
    failures: Mapping[tuple[str, str], Sequence[protocol.Failure]] = field(default_factory=dict)
    hunks: Mapping[tuple[str, str], Sequence[protocol.ChatHunk]] = field(default_factory=dict)
    queued: Mapping[str, tuple[str, bool]] = field(default_factory=dict)
    told: Sequence[Answer] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CallState:
    """The current state of a call: its running command, its failures, and its pending changes."""

    command: str | None
    awaited: bool
    failures: tuple[protocol.Failure, ...]
    hunks: tuple[protocol.ChatHunk, ...]


@dataclass(kw_only=True)
class Items:
    """
    Creates the items of a transcript.

    Attributes:
        redact: Removes keys from a text.
        place: Returns the URI of a path that a model wrote, if it may be opened.
    """

    redact: Callable[[str], str]
    openable_uri: Callable[[str], str | None]
    _known: dict[str, tuple[object, ChatItem]] = field(default_factory=dict)

    def make_items(self, transcript: Transcript, now: LiveState) -> list[ChatItem]:
        """Returns the current items, in order."""
        known, self._known = self._known, {}
        items = list[ChatItem]()
        for name, state, make in self._wanted_items(transcript, now):
            before, item = known.get(name, (None, None))
            if item is None or before != state:
                item = make()
            self._known[name] = (state, item)
            items.append(item)
        return items

    def _wanted_items(self, transcript: Transcript, now: LiveState) -> Iterator[_Wanted]:
        """Yields the name of each item, what it depends on, and the function that creates it."""
        for one in transcript.turns:
            yield from self._turn_items(one, now)
        begun = {one.turn for one in transcript.turns}
        for turn, (text, may_begin) in now.queued.items():
            if turn not in begun:
                state = "queued" if may_begin else "unread"
                yield self._told_item(f"{turn}:queued", turn, Interjection(text=text), state)
        for number, each in enumerate(now.told):
            name = f"note:{number}"
            yield name, each, partial(self._answer, name, each)

    def _turn_items(self, one: TranscriptTurn, now: LiveState) -> Iterator[_Wanted]:
        may_change = not one.is_running and not one.copied and may_have_changed(one)
        prompt = (one.prompt, one.state, one.reason, one.is_running, one.copied, may_change)
        yield one.turn, prompt, lambda: self._prompt(one, may_change=may_change)
        for number, item in enumerate(one.items):
            name = f"{one.turn}:{number}"
            state, make = self._item(name, one, item, now)
            yield name, state, make
        if one.coming.strip():  # the text gets this name when it is complete
            name, coming = f"{one.turn}:{len(one.items)}", one.coming
            yield name, (ModelText, coming), lambda: self._words(name, one.turn, coming)
        for number, text in enumerate(one.steered):
            state_of = "waiting" if one.is_running else "unread"
            yield self._told_item(f"{one.turn}:said:{number}", one.turn, Interjection(text=text), state_of)

    def _item(
        self, name: str, one: TranscriptTurn, item: Item, now: LiveState
    ) -> tuple[object, Callable[[], ChatItem]]:
        match item:
            case ModelText(text=text):
                return (ModelText, text), lambda: self._words(name, one.turn, text)
            case Interjection():
                _, state, make = self._told_item(name, one.turn, item, "read")
                return state, make
            case Remark(text=text):
                return (Remark, text), lambda: self._remark(name, text, one.turn)
            case PendingQuestion():
                asked = now.questions.get(item.question) if not item.end else None
                is_open = asked is not None
                return (PendingQuestion, item.question, item.end, is_open), lambda: self._question(
                    name, one, item, asked
                )
            case Call():
                beside = CallState(
                    command=now.commands.get(item.id),
                    awaited=item.id in now.awaited,
                    failures=tuple(now.failures.get((one.turn, item.id), ())),
                    hunks=tuple(now.hunks.get((one.turn, item.id), ())),
                )
                state_of = (Call, item.title, item.output, item.result, one.is_running, beside)
                return state_of, lambda: self._call(name, one, item, beside)

    def _prompt(self, one: TranscriptTurn, *, may_change: bool) -> protocol.ChatPrompt:
        state = next((each for each in STATES if each == one.state), "broken")
        return protocol.ChatPrompt(
            kind="prompt",
            id=one.turn,
            turn=one.turn,
            text=self.redact(one.prompt),
            state="running" if one.is_running else state,  # type: ignore[arg-type]  # one of them
            reason=self.redact(one.reason) or None,
            resend=not one.copied and not one.is_running,
            changes=may_change,
        )

    def _words(self, name: str, turn: str, text: str) -> protocol.ChatWords:
        return protocol.ChatWords(kind="words", id=name, turn=turn, text=self.redact(text))

    def _told_item(self, name: str, turn: str, told: Interjection, state: str) -> _Wanted:
        def make() -> protocol.ChatTold:
            return protocol.ChatTold(
                kind="told",
                id=name,
                turn=turn,
                text=self.redact(told.text.removeprefix(sanitize.PREFIX).strip()),
                state=state,  # type: ignore[arg-type]  # one of them
                sender="handrail" if told.is_ours else "user",
            )

        return name, (Interjection, told.text, told.is_ours, state), make

    def _remark(self, name: str, text: str, turn: str) -> protocol.ChatRemark:
        return protocol.ChatRemark(kind="remark", id=name, turn=turn, text=self.redact(text))

    def _answer(self, name: str, said: Answer) -> protocol.ChatRemark:
        text, session = self.redact(said.in_view or said.text), said.session or None
        checkpoint = said.checkpoint or None
        return protocol.ChatRemark(kind="remark", id=name, text=text, checkpoint=checkpoint, session=session)

    def _question(
        self,
        name: str,
        one: TranscriptTurn,
        item: PendingQuestion,
        asked: tuple[protocol.Approval, str] | None,
    ) -> protocol.ChatQuestion:
        approval, until = asked or (None, None)
        end = item.end or ("" if approval is not None else "has ended")
        return protocol.ChatQuestion(
            kind="question",
            id=name,
            turn=one.turn,
            subject=self.redact(item.subject),
            approval=approval,
            until=until,
            end=end,
        )

    def _call(self, name: str, one: TranscriptTurn, call: Call, beside: CallState) -> protocol.ChatCall:
        summary, output = summary_and_output(call, self.redact)
        shown = output[-LIMIT_CHARS:] if shows_end(call) else output[:LIMIT_CHARS]
        failure = None if call.result is None else call.result.failure
        done = "failed" if failure is not None else "lost" if call.result is None else "done"
        todos = [
            protocol.ChatTodo(text=self.redact(each.text), state=each.state.value) for each in call.todos
        ]
        return protocol.ChatCall(
            kind="call",
            id=name,
            turn=one.turn,
            call=call.id,
            tool=call.tool,
            title=self.redact(call.title),
            state="running" if call.result is None and one.is_running else done,  # type: ignore[arg-type]  # one of them
            code=None if failure is None else failure.code.value,
            summary=summary,
            output=shown,
            hidden=len(output) - len(shown),
            uri=self.openable_uri(call.path) if call.path else None,
            line=call.line,
            todos=todos or None,
            command=beside.command,
            awaited=beside.awaited,
            failures=list(beside.failures) or None,
            hunks=list(beside.hunks) or None,
        )


_Wanted = tuple[str, object, Callable[[], ChatItem]]
