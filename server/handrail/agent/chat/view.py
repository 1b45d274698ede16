"""
The conversation as people read it: parts of Markdown, of which each is known by its key.

What models, files, tools and commands say is shown so that it cannot be taken for ours: its headings, quotes
and rules are escaped, a fenced block ends with the text in which it began, links and HTML are taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from handrail.agent import tools
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
from handrail.core import surfaces
from handrail.core.conversation import todo
from handrail.core.conversation.message import ToolResult, Usage
from handrail.core.conversation.prompt import Mode
from handrail.core.documents import layout
from handrail.core.documents.page import Part
from handrail.core.ledger.report import STATE_WORDS
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import sanitize
from handrail.counts import count_of
from handrail.values import dataclass, field

ASK = "ask"  # the part below which the user writes
SENT = "sent:"  # prefix of the keys of parts of lines that were sent, and are not removed yet
TITLE = "title"
YOU, OURS = "## You", "## handrail"
COMING, END = "coming:", "end:"  # prefixes of the keys of parts: what the model is saying, how a turn ended
SAID = "You sent this while the turn was running; the model reads it before its next step:"
NEW = "New conversation"
TITLE_CHARS = 120
SUMMARY_CHARS = 200
LIMIT_ROWS = 15  # of what a call has printed; all of it is shown on demand
LIMIT_CHARS = 6_000  # of it
KINDS: dict[type[object], str] = {PendingQuestion: "asked", Remark: "remark"}  # of which no journal tells
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
RUN = re.compile(r"`+")
OURS_LIKE = re.compile(r"^( {0,3})(?=#{1,6}(?:\s|$)|>|(?:=+|-{2,}|\*\*\*+|___+)\s*$)")
FACTS = re.compile(
    rf"\s*\S.* · (?:{'|'.join(Mode)})(?: · \d+% of the context)?(?: · [\d,]+ tokens)?(?: · \$\d+\.\d\d)?\s*"
)
MARKS = (" ", "#", ">", "=", "-", "*", "_")  # with which such rows begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """
    The result of a command of the user, as Markdown.

    Attributes:
        in_view: The text in a view of the client's own, if that is another one than in a document: a view has
            buttons at what it shows, and a document has code actions.
        checkpoint, session, model: What it is about, if it is about one.
    """

    text: str
    in_view: str = ""
    checkpoint: str = ""
    session: str = ""
    model: str = ""


@dataclass(kw_only=True)
class Shown:
    """
    The conversation, ready to be written.

    Attributes:
        parts: In order.
        calls: The call that a part is about, by the part's key.
        turns: The turn that a part belongs to, by the part's key.
        questions: The question that a part asks, by the part's key.
        messages: The part that shows what the user said, by turn.
        folds: From which row of a part on it can be folded, by its key.
        checkpoints, sessions, models: The one that a part is about, by the part's key.
    """

    parts: list[Part] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    turns: dict[str, TranscriptTurn] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    messages: dict[str, Part] = field(default_factory=dict)
    folds: dict[str, int] = field(default_factory=dict)
    checkpoints: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class View:
    """
    Shows a transcript; parts that have not changed since the last time are reused.

    Attributes:
        facts: The line below the title: the model, the mode of the turn that runs or comes next, how full the
            context is.
        question: The open question of an id as Markdown; None if it is no longer open.
        redactor: Removes the keys that are known by now from a text.
    """

    facts: Callable[[], tuple[str, str, str]]
    question: Callable[[str], str | None]
    redactor: Callable[[], Callable[[str], str]]
    redact: Callable[[str], str] = field(init=False)
    _known: dict[str, tuple[int, Shown]] = field(default_factory=dict)

    def render(self, transcript: Transcript, told: Sequence[Answer] = ()) -> Shown:
        """The conversation as it is now; what is *told* stands at its end."""
        rendered, self.redact = Shown(), self.redactor()
        title = next(escape(surfaces.line(self.redact(transcript.title), TITLE_CHARS)), "") or NEW
        model, mode, share = self.facts()
        title = "".join(surfaces.without_settings(title, is_code=False))
        facts = (model, mode, share, *_render_usage(transcript.usage))
        rendered.parts.append(_part(TITLE, f"# {title}", "", " · ".join(filter(None, facts)), ""))
        known, self._known = self._known, {}
        for each in transcript.turns:
            changes, shown = known.get(each.turn, (-1, Shown()))
            if changes != each.changes or each.is_running:
                shown = self._render_turn(each)
            self._known[each.turn] = (each.changes, shown)
            rendered.parts += shown.parts
            rendered.calls |= shown.calls
            rendered.turns |= shown.turns
            rendered.questions |= shown.questions
            rendered.folds |= shown.folds
            rendered.messages |= shown.messages
        for number, answer in enumerate(told):
            rows = [*escape(self.redact(answer.text)), *([""] if number == len(told) - 1 else [])]
            rendered.parts.append(_inert(_part(f"told:{number}", *rows)))
            if answer.checkpoint:
                rendered.checkpoints[f"told:{number}"] = answer.checkpoint
            if answer.session:
                rendered.sessions[f"told:{number}"] = answer.session
            if answer.model:
                rendered.models[f"told:{number}"] = answer.model
        rendered.parts.append(_part(ASK, YOU, ""))
        return rendered

    def _render_turn(self, one: TranscriptTurn) -> Shown:
        shown = Shown()
        prompt = surfaces.prose(self.redact(one.prompt)).strip("\n")
        shown.parts.append(_part(f"you:{one.turn}", YOU, "", *prompt.split("\n"), ""))
        shown.messages[one.turn] = shown.parts[-1]
        shown.parts.append(_part(f"ours:{one.turn}", OURS, ""))
        lists = [item.id for item in one.items if isinstance(item, Call) and item.todos]
        numbers = dict[str, int]()  # apart, as only some of the items are written down
        for item in one.items:
            kind = KINDS.get(type(item), "item")
            number = numbers[kind] = numbers.get(kind, -1) + 1
            key = f"{kind}:{one.turn}:{number}"
            if isinstance(item, Call) and item.todos and item.id == lists[-1]:
                rows = list(self._todos(item))
            else:
                rows = list(self._item(item))
            shown.parts.append(_part(key, *rows, ""))
            if isinstance(item, Call):
                shown.calls[key] = item
                if len(rows) > 1:
                    shown.folds[key] = 0
            elif isinstance(item, PendingQuestion) and not item.end:
                shown.questions[key] = item.question
        if one.coming.strip():
            shown.parts.append(_part(f"{COMING}{one.turn}", *escape(self.redact(one.coming)), ""))
        for number, text in enumerate(() if one.state else one.steered):
            rows = [f"> {surfaces.prose(row)}".rstrip() for row in self.redact(text).split("\n")]
            shown.parts.append(_part(f"said:{one.turn}:{number}", f"> {SAID}", ">", *rows, ""))
        if end := _render_end(one):
            shown.parts.append(
                _part(f"{END}{one.turn}", surfaces.inert(surfaces.visible(self.redact(end))), "")
            )
        you, *others = shown.parts  # what the user wrote stays as it is
        shown.parts = [you, *map(_inert, others)]
        shown.turns = {part.key: one for part in shown.parts}
        return shown

    def _item(self, item: Item) -> Iterator[str]:
        match item:
            case ModelText(text=text):
                yield from escape(self.redact(text))
            case Remark(text=text):
                yield f"*{surfaces.message(self.redact(text))}*"
            case Interjection(text=text, is_ours=is_ours):
                rows = self.redact(text).strip().split("\n")
                yield f"> While this turn was running, {'handrail' if is_ours else 'you'} told the model:"
                yield ">"
                yield from (
                    f"> {surfaces.inert(surfaces.visible(row))}".rstrip() for row in rows[:LIMIT_ROWS]
                )
                if len(rows) > LIMIT_ROWS:
                    yield f"> … {count_of(len(rows) - LIMIT_ROWS, 'more line')}"
            case Call():
                yield from self._call(item)
            case PendingQuestion():
                yield from self._render_question(item)

    def _todos(self, call: Call) -> Iterator[str]:
        """Yields the current list of things to do."""
        yield f"- {surfaces.code(self.redact(call.title), TITLE_CHARS)}"
        for each in call.todos:
            text = surfaces.markdown(self.redact(each.text))
            what = f"**{text}**" if each.state is todo.State.ACTIVE else text
            yield f"  - [{'x' if each.state is todo.State.DONE else ' '}] {what}"

    def _call(self, call: Call) -> Iterator[str]:
        what = surfaces.code(self.redact(call.title), TITLE_CHARS)
        first, output = summary_and_output(call, self.redact)
        if call.result is None:
            yield f"- {what} …"
        else:
            failed = f"**{call.result.failure.code}** " if call.result.failure is not None else ""
            yield f"- {what}: {failed}{surfaces.message(first, SUMMARY_CHARS)}"
        yield from self._render_output(output, is_end=shows_end(call))

    def _render_output(self, text: str, *, is_end: bool) -> Iterator[str]:
        text = self.redact(text).strip("\n")
        if not text.strip():
            return
        cut = text[-LIMIT_CHARS:] if is_end else text[:LIMIT_CHARS]
        rows = cut.split("\n")
        shown = rows[-LIMIT_ROWS:] if is_end else rows[:LIMIT_ROWS]
        hidden = text.count("\n") + 1 - len(shown)
        yield ""
        if hidden and is_end:
            yield f"  … {count_of(hidden, 'line')} before these"
            yield ""
        yield from (f"  {row}" for row in surfaces.block("\n".join(shown), "text").split("\n"))
        if hidden and not is_end:
            yield ""
            yield f"  … {count_of(hidden, 'more line')}"

    def _render_question(self, item: PendingQuestion) -> Iterator[str]:
        document = self.question(item.question) if not item.end else None
        if document is None:
            what = surfaces.code(self.redact(item.subject), TITLE_CHARS)
            yield f"> A question about {what} {surfaces.message(item.end or 'has ended')}."
            return
        heading, _, rest = document.strip("\n").partition("\n")
        yield f"> **{heading.removeprefix('# ')}**"
        yield from (f"> {row}".rstrip() for row in rest.split("\n"))


def summary_and_output(call: Call, redact: Callable[[str], str]) -> tuple[str, str]:
    """Returns the first line of a call's result, empty while it runs, and the output to show below it."""
    if call.result is None:
        return "", redact(call.output).strip("\n")
    first, more = _headline(call.result, redact)
    if call.output:  # it continues in the background
        return first, redact(call.output).strip("\n")
    says_enough = call.result.failure is None and (_needs_one_line(call.tool) or bool(call.todos))
    return first, "" if says_enough else more.strip("\n")


def shows_end(call: Call) -> bool:
    """Whether the end of a call's output is shown if it is too long, as with all that programs print."""
    return call.result is None or tools.kind_of(call.tool) in (ToolKind.COMMAND, ToolKind.OUTPUT)


def _headline(result: ToolResult, redact: Callable[[str], str]) -> tuple[str, str]:
    """Returns the first line of a call's result, without the code of its failure, and the rest."""
    text = redact(result.text.removeprefix(sanitize.PREFIX).strip())
    first, _, more = text.partition("\n")
    if result.failure is not None:
        code = result.failure.code
        first = first.removeprefix(f"FAILED [{code}] ").removeprefix(f"{code}: ")
    return first, more


def _needs_one_line(tool: str) -> bool:
    """Whether the title of a call of *tool* says enough, without its result."""
    return tools.kind_of(tool) is ToolKind.READ


def escape(text: str) -> Iterator[str]:
    """The rows of a text of the model's, as Markdown that is not taken for ours."""
    text = surfaces.prose(text).strip("\n")
    if "`" in text or "~~~" in text:
        yield from _escape_with_code(text)
    else:
        for row in surfaces.inert(text).split("\n"):
            yield _escape_ours(row) if row.startswith(MARKS) else row


def _escape_with_code(text: str) -> Iterator[str]:
    fence, is_plain = "", True
    for row in text.split("\n"):
        found = FENCE.match(row)
        if fence:
            is_end = found is not None and found[1].startswith(fence) and not row.strip().strip(fence[0])
            fence = "" if is_end else fence
            yield row
        elif found is not None:
            fence, is_plain = found[1], True
            yield surfaces.inert(row)
        else:
            parts = _spans(row) if is_plain or not row.strip() else None
            is_plain = parts is not None
            yield _escape_ours(surfaces.inert(row) if parts is None else "".join(parts))
    if fence:
        yield fence


def _escape_ours(row: str) -> str:
    """A row that could be taken for ours has a backslash at its beginning."""
    likes = OURS_LIKE.match(row)
    return row if likes is None else f"{likes[1]}\\{row[likes.end() :]}"


def _spans(row: str) -> list[str] | None:
    """
    A row with what is not code in it taken apart; None if the row alone does not show what is code.

    Then the same goes for what follows in its paragraph: a span may go on there.
    """
    if "`" not in row:
        return [surfaces.inert(row)]
    result, at = list[str](), 0
    while (begin := RUN.search(row, at)) is not None:
        end = next((each for each in RUN.finditer(row, begin.end()) if each[0] == begin[0]), None)
        if end is None or row[: begin.start()].endswith("\\"):
            return None
        result += (surfaces.inert(row[at : begin.start()]), row[begin.start() : end.end()])
        at = end.end()
    return [*result, surfaces.inert(row[at:])]


def _render_end(one: TranscriptTurn) -> str:
    if one.is_running or one.state == "finished":
        return ""
    if one.is_elsewhere:
        return "*Another window or process is running this turn. Its progress appears here.*"
    if not one.state:
        return "*This turn did not finish.*"
    what = "was stopped" if one.state == "cancelled" else STATE_WORDS.get(one.state, one.state)
    return f"*The turn {what}{f': {one.reason}' if one.reason else '.'}*"


def _render_usage(usage: Usage) -> tuple[str, ...]:
    tokens = usage.input_tokens + usage.output_tokens
    if not tokens:
        return ()
    cost = () if usage.cost_usd is None else (f"${usage.cost_usd:.2f}",)
    return f"{tokens:,} tokens", *cost


def _part(key: str, *rows: str) -> Part:
    return Part(key=key, rows=tuple([f"{row}\n" for row in "\n".join(rows).split("\n")]))


def _inert(part: Part) -> Part:
    """Returns a part without settings that Vim, Kate or Emacs would apply when the document is opened."""
    if not surfaces.may_set("".join(part.rows)) or not any(map(surfaces.may_set, part.rows)):
        return part
    rows = ((line.text[:-1], line.is_code) for line in part.lines)
    shown = (each for row, is_code in rows for each in surfaces.without_settings(row, is_code=is_code))
    return Part(key=part.key, rows=tuple(f"{row}\n" for row in shown))


def facts_key(row: str) -> str:
    """Returns the same text for every line of facts, whatever they were, and the letters of other lines."""
    return "facts" if FACTS.fullmatch(row) else layout.letters(row)


def heading(parts: Sequence[Part], key: str) -> str:
    """The first row of a part that says something, for lists."""
    part = next((each for each in parts if each.key == key), None)
    rows = part.rows if part is not None else ()
    said = [row.strip() for row in rows if row.strip() and not row.startswith("## ")]
    return surfaces.line(said[0], TITLE_CHARS) if said else ""


def may_have_changed(one: TranscriptTurn) -> bool:
    """Whether a turn may have changed documents."""
    calls = (each for each in one.items if isinstance(each, Call))
    return any(tools.changes(each.tool) and each.result is not None for each in calls)
