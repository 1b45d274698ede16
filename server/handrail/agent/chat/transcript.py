"""
The transcript of a session, turn by turn, from its journal.

The journal has everything: it is read when the conversation is shown, and later entries are added. A running
turn also has state that is not recorded: text that is still arriving, running calls, questions, and their
results.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from handrail.agent.questions import how_it_ended
from handrail.agent.tools import TOOLS
from handrail.agent.tools.read_file import ReadFile
from handrail.agent.tools.todo import Todo
from handrail.core.conversation import journal, todo
from handrail.core.conversation.journal import (
    Answered,
    Chosen,
    Decided,
    Entry,
    Renamed,
    Replaced,
    Returned,
    Rewound,
    Said,
    Steered,
    TurnBegun,
    TurnEnded,
)
from handrail.core.conversation.label import label_of
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from handrail.core.failure import Failure
from handrail.core.ledger.report import (
    Asked,
    CallOutput,
    CallStarted,
    Compacted,
    Ended,
    Event,
    QuestionEnd,
    Retried,
    Started,
    TextDelta,
    Used,
)
from handrail.values import dataclass, field

OUTPUT_CHARS = 4_000  # of what a running command prints, its end


@dataclass(kw_only=True)
class ModelText:
    """A text of the model's, in a turn."""

    text: str


@dataclass(kw_only=True)
class Interjection:
    """
    A message to the model while the turn ran.

    Attributes:
        is_ours: Whether it is from handrail, in the user's place; otherwise it is from the user.
    """

    text: str
    is_ours: bool = False


@dataclass(kw_only=True)
class Remark:
    """A note about the turn, for the reader only."""

    text: str


@dataclass(kw_only=True)
class Call:
    """
    A tool call.

    Attributes:
        path, line: The place that it is about, as the model wrote it, and counted from 0; or empty.
        todos: The list of things to do, if the call sets one.
        output: Its output so far, while it runs.
        has_begun: Whether it runs, or has run, in this server.
        result: Its result; None while it runs.
    """

    id: str
    tool: str
    title: str
    path: str = ""
    line: int = 0
    todos: tuple[todo.Item, ...] = ()
    output: str = ""
    has_begun: bool = False
    result: ToolResult | None = None

    @property
    def is_running(self) -> bool:
        """Whether it runs in this server."""
        return self.has_begun and self.result is None


@dataclass(kw_only=True)
class PendingQuestion:
    """A question to the user, by its id; *end* says how it ended, which is empty while it is open."""

    question: str
    subject: str
    end: str = ""


Item = ModelText | Interjection | Remark | Call | PendingQuestion


@dataclass(kw_only=True)
class TranscriptTurn:
    """
    A turn as its readers see it.

    Attributes:
        turn: Its id; of what was copied from another session, a name of its own.
        copied: Of what was copied, the turn up to which it was; else empty.
        prompt: What the user said.
        items: What came of it, in order.
        mode: What the user wanted of it.
        state: How it ended; empty while it runs, and if it did not come to its end.
        steered: What the user has said to it that the model has not read yet.
        is_running, is_elsewhere: Whether this server runs it, or another process.
        ran_here: Whether this server runs it or has run it.
        changes: Counts what was added to it, so that whoever shows it knows whether that has changed.
    """

    turn: str
    prompt: str
    copied: str = ""
    mode: str = ""
    items: list[Item] = field(default_factory=list)
    coming: str = ""
    steered: list[str] = field(default_factory=list)
    state: str = ""
    reason: str = ""
    is_running: bool = False
    is_elsewhere: bool = False
    ran_here: bool = False
    changes: int = 0


@dataclass(kw_only=True)
class Transcript:
    """
    A session.

    Attributes:
        title: The title that the user gave, or the first line of its first prompt.
        chosen: The mode that the user chose for its turns; empty if none.
        usage: Of all turns.
    """

    turns: list[TranscriptTurn] = field(default_factory=list)
    title: str = ""
    chosen: str = ""
    usage: Usage = field(default_factory=Usage)
    _entries: list[Entry] = field(default_factory=list)
    _messages: list[Message] = field(default_factory=list)
    _calls: dict[str, Call] = field(default_factory=dict)
    _ended: Usage = field(default_factory=Usage)
    _is_named: bool = False
    _copied: str = ""  # the turn up to which the entries are a copy that come now

    # ---- What the journal tells -------------------------------------------------------------------

    def add(self, entries: Iterable[Entry], *, is_now: bool = False) -> None:
        """Takes over what was written down; what was written *now* is of a turn that runs here."""
        for entry in entries:
            self._entries.append(entry)
            if isinstance(entry, Chosen):
                self.chosen = entry.mode
            elif isinstance(entry, Rewound):
                self._begin_anew()
            else:
                self._add(entry)
            if is_now and isinstance(entry, TurnBegun) and not entry.is_copied:
                self.turns[-1].is_running = self.turns[-1].ran_here = True

    @property
    def count(self) -> int:
        """The number of journal entries that it has taken over."""
        return len(self._entries)

    def runs(self, turns: Iterable[str]) -> None:
        """These turns run in this server."""
        known = set(turns)
        for each in self.turns:
            each.is_running = each.is_running or each.turn in known
            each.ran_here = each.ran_here or each.is_running

    def _begin_anew(self) -> None:
        """The session has gone back: some of it never happened, though it was paid for."""
        running = {each.turn for each in self.turns if each.is_running}
        spent, self._ended = self._ended, Usage()
        self.turns, self._messages, self._calls = [], [], {}
        for entry in journal.drop_rewound(self._entries):
            self._add(entry)
        self.usage = self._ended = spent
        for each in self.turns:
            each.is_running = each.turn in running

    def _add(self, entry: Entry) -> None:
        match entry:
            case TurnBegun():
                self._copied = entry.turn if entry.is_copied else ""
                if not self._is_named:
                    self.title = self.title or label_of(entry.prompt)
                if not entry.is_copied:
                    self.turns.append(TranscriptTurn(turn=entry.turn, prompt=entry.prompt, mode=entry.mode))
            case Said(message=message):
                self._messages.append(message)
                self._say(message)
            case Replaced(messages=messages):
                self._replace(messages)
            case Answered() | Decided():
                self._close(entry)
            case TurnEnded() | Steered() | Returned():
                self._add_to_turn(entry)
            case Renamed(title=title):
                self.title, self._is_named = title, True
            case _:
                pass
        if self.turns:
            self.turns[-1].changes += 1

    def _say(self, message: Message) -> None:
        match message:
            case UserMessage(text=text, is_ours=False) if self._copied:
                name = f"copy-{len(self.turns)}"
                copy = TranscriptTurn(turn=name, prompt=text, copied=self._copied, state="finished")
                self.turns.append(copy)
            case _ if not self.turns:
                pass
            case UserMessage(text=text, is_ours=is_ours) if (
                self.turns[-1].items or text != self.turns[-1].prompt
            ):
                self.turns[-1].items.append(Interjection(text=text, is_ours=is_ours))
                if text in self.turns[-1].steered and not is_ours:
                    self.turns[-1].steered.remove(text)
            case AssistantMessage():
                self.turns[-1].coming = ""
                if message.text.strip():
                    self.turns[-1].items.append(ModelText(text=message.text))
                for call in message.calls:
                    self._call(call)
            case ToolMessage(results=results):
                for result in results:
                    self._answer(result)
            case _:
                pass

    def _replace(self, messages: Sequence[Message]) -> None:
        """The model is told something else of what was before; what was not yet told here is new."""
        known = {id(each) for each in self._messages}
        new = [each for each in messages if id(each) not in known and each not in self._messages]
        self._messages = list(messages)
        for message in new:
            if isinstance(message, AssistantMessage | ToolMessage):
                self._say(message)

    def _call(self, call: ToolCall) -> None:
        known = self._calls[call.id] = _describe(call)  # an id may have been another call's before
        self.turns[-1].items.append(known)

    def _close(self, entry: Answered | Decided) -> None:
        """A call has its result, or a question its answer."""
        if isinstance(entry, Answered):
            self._answer(entry.result)
        elif self.turns and entry.end in set(QuestionEnd):
            known = self._question(self.turns[-1], entry.question, entry.subject)
            known.end = how_it_ended(QuestionEnd(entry.end), entry)

    def _answer(self, result: ToolResult) -> None:
        call = self._calls.get(result.call)
        if call is not None:
            call.result, call.output = result, ""
            call.line = result.line or call.line

    def _add_to_turn(self, entry: TurnEnded | Steered | Returned) -> None:
        each = next((each for each in reversed(self.turns) if each.turn == entry.turn), None)
        match entry:
            case TurnEnded(usage=usage):
                self.usage = self._ended = self._ended.plus(usage)
                if each is not None:
                    each.state, each.reason, each.coming = entry.state, entry.reason or "", ""
                    each.is_running = False
            case Steered(text=text) if each is not None:
                each.steered.append(text)
            case Returned() if each is not None:
                each.steered.clear()
            case _:
                pass

    # ---- What is not written down -----------------------------------------------------------------

    def on_event(self, turn: str, event: Event) -> None:
        """Called with an event of a turn that runs."""
        one = next((each for each in reversed(self.turns) if each.turn == turn), None)
        if one is None:
            return
        one.changes += 1
        match event:
            case Started():
                one.is_running = True
            case TextDelta(delta=delta):
                one.coming += delta
            case CallStarted() | CallOutput():
                self._works(one, event)
            case Asked():
                self._ask(one, event)
            case Used(turn=used):
                self.usage = self._ended.plus(used)
            case Ended(state=state, reason=reason):
                one.state, one.reason = state.value, reason or ""
                one.is_running, one.coming = False, ""
            case Retried() | Compacted():
                one.coming = ""
                one.items.append(Remark(text=_remark(event)))
            case _:
                pass

    def _works(self, one: TranscriptTurn, event: CallStarted | CallOutput) -> None:
        known = self._calls.get(event.call)
        if isinstance(event, CallOutput):
            if known is not None:
                known.output = (known.output + event.text)[-OUTPUT_CHARS:]
        elif known is not None:
            known.title, known.has_begun = event.title, True

    def _ask(self, one: TranscriptTurn, event: Asked) -> None:
        known = self._question(one, event.question, event.subject)
        if event.end is not None:
            known.end = how_it_ended(event.end, event)

    @staticmethod
    def _question(one: TranscriptTurn, question: str, subject: str) -> PendingQuestion:
        """Returns the item that a turn shows for a question."""
        asked = (
            each for each in one.items if isinstance(each, PendingQuestion) and each.question == question
        )
        known = next(asked, None)
        if known is None:
            known = PendingQuestion(question=question, subject=subject)
            one.items.append(known)
        return known

    @property
    def running(self) -> TranscriptTurn | None:
        """The turn that runs."""
        return next((each for each in self.turns if each.is_running), None)


def _remark(event: Retried | Compacted) -> str:
    if isinstance(event, Compacted):
        return "The earlier conversation was shortened for the model."
    return event.told


def _describe(call: ToolCall) -> Call:
    """Returns a title for a call, and the place that it is about."""
    described, tool = Call(id=call.id, tool=call.name, title=call.name), TOOLS.get(call.name)
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return described
    action = tool.parse(arguments) if tool is not None and isinstance(arguments, dict) else None
    if action is None or isinstance(action, Failure):
        return described
    described.title = action.title
    described.todos = action.items if isinstance(action, Todo) else ()
    described.path = next(_paths(action), "")
    described.line = max(action.start_line - 1, 0) if isinstance(action, ReadFile) else 0
    return described


def _paths(action: object) -> Iterator[str]:
    yield from getattr(action, "changes", ())
    if isinstance(action, ReadFile):
        yield action.path
