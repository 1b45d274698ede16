"""The specification of the loop's decisions: one check for each of these folders of `specs`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from handrail.core.conversation import compact, guard, pair, prompt, recover
from handrail.core.conversation.compact import Facts, Gauge
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Response,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    name_calls,
)
from handrail.core.conversation.prompt import Folder, OpenDocument, Surroundings
from handrail.core.failure import Code, Failure
from handrail.core.results import sanitize
from spec import Case, cases

TOOLS = frozenset({"read_file", "write_file", "patch"})


@pytest.mark.parametrize("case", cases("conversation/recover"))
def test_recover(case: Case) -> None:
    """
    What is done with a `response` and its `call`s.

    `streak` says what went wrong before, with the text that is being continued; `earlier` is what was said
    earlier in the turn; `response tools=none` was asked for without tools.
    """
    calls = [
        ToolCall(id=f"c{number}", name=block.attributes["name"], arguments=block.text.strip())
        for number, block in enumerate((b for b in case.blocks if b.name == "call"), 1)
    ]
    response = Response(
        text=case["response"].strip("\n"),
        calls=tuple(calls),
        stop=StopReason(case.get("response", "stop", "finish")),
        reason=case.get("response", "reason").replace("_", " "),
    )
    earlier = case["earlier"].strip("\n") if case.block("earlier") else ""
    tools = frozenset[str]() if case.get("response", "tools") == "none" else TOOLS
    case.check(decision=_decision(recover.decide(response, _streak(case), earlier, tools)))


@pytest.mark.parametrize("case", cases("conversation/retry"))
def test_retry(case: Case) -> None:
    """The pause before each try anew, while the provider asks for the `wanted` ones; - is none."""
    lines = []
    for attempt, wanted in enumerate(case["wanted"].split(), 1):
        again = recover.retry(attempt, None if wanted == "-" else float(wanted))
        lines.append(f"again in {again.in_s} s\n" if again is not None else "the turn ends\n")
    case.check(pauses="".join(lines))


@pytest.mark.parametrize("case", cases("results/sanitize"))
def test_sanitize(case: Case) -> None:
    """What a model reads of an `error`: `times` says how often the text is repeated."""
    text = case["error"].removesuffix("\n") * int(case.get("error", "times", "1"))
    found = sanitize.error(text)
    assert len(found) <= sanitize.LIMIT_CHARS
    assert sanitize.error(found.removeprefix(sanitize.PREFIX)) == found
    case.check(clean=found + "\n")


@pytest.mark.parametrize("case", cases("conversation/prompt"))
def test_prompt(case: Case) -> None:
    """
    What a model is told of its surroundings.

    One a line: `folder: PATH (BRANCH)`, `document: PATH (unsaved)`, or another fact; `⏎` is a line feed in a
    name, `times=N` repeats the word before it, `each=N` the whole line. Of what is long, the end is shown.
    """
    machine, folders, documents = dict[str, str](), list[Folder](), list[OpenDocument]()
    for line in case["around"].removesuffix("\n").split("\n") if case["around"] else ():
        kind, _, rest = line.replace("⏎", "\n").partition(": ")
        rest, _, often = rest.partition(" each=")
        rest = re.sub(r"(\w+) times=(\d+)", lambda found: found[1] * int(found[2]), rest)
        path, _, more = rest.removesuffix(")").partition(" (")
        if kind == "folder":
            folders.append(Folder(path=path, branch=more))
        elif kind == "document":
            documents += [OpenDocument(path=path, unsaved=bool(more))] * int(often or 1)
        else:
            machine[kind] = rest
    around = Surroundings(machine=machine, folders=tuple(folders), documents=tuple(documents))
    told = prompt.system_text(["Rules."], around, [])
    inside = told.partition("```json\n")[2].removesuffix("\n```")
    assert "```" not in inside
    if (shown := json.loads(inside or "{}").get("workspace folders")) is not None:
        assert [each["path"] for each in shown] == [each.path for each in folders]
    case.check(told=(told if len(told) < 600 else f"{len(told)} characters, … {told[-60:]}") + "\n")


@pytest.mark.parametrize("case", cases("conversation/guard"))
def test_guard(case: Case) -> None:
    """
    Whether a turn goes in circles.

    One step a line, its calls parted by `;`: a tool, its arguments, `->` and the result; `!` before a result
    is a failure. `(go on)` is the user's leave.
    """
    recent = guard.RecentSteps()
    for line in case["steps"].splitlines():
        if line == "(go on)":
            recent = recent.allow_more()
            continue
        calls, results = zip(*(_called(part) for part in line.split(";")), strict=True)
        recent = recent.add_calls(calls, ToolMessage(results=results))
    circle = guard.check(recent)
    case.check(circle=f"{circle.subject}: {circle.detail}\n" if circle is not None else "none\n")


@pytest.mark.parametrize("case", cases("conversation/pair"))
def test_pair(case: Case) -> None:
    """The history of `said`, one message a line, once every call has its result."""
    cut = Failure(code=Code.CUT_SHORT, message="cut")
    history = pair.pair_results(_messages(case["said"]), cut)
    assert pair.pair_results(history, cut) == history
    case.check(paired="".join(_said(each) + "\n" for each in history))


@pytest.mark.parametrize("case", cases("conversation/named"))
def test_named(case: Case) -> None:
    """The ids of calls with these `ids` (a - is a missing one) where some are `taken`."""
    ids = ["" if each == "-" else each.replace("_", " ") for each in case["ids"].split()]
    taken = case["taken"].split() if case.block("taken") else []
    found = name_calls([ToolCall(id=each, name="patch", arguments="") for each in ids], taken)
    case.check(named=" ".join(call.id for call in found) + "\n")


@pytest.mark.parametrize("case", cases("conversation/compact"))
def test_compact(case: Case) -> None:
    """
    What becomes of each message of `said` in a `context` of so many tokens.

    `cut` says whether it is head, middle or tail; what is thinned before says so.
    """
    messages, context = _messages(case["said"]), int(case.get("said", "context", "1000"))
    gauge = Gauge(factor=float(case.get("said", "factor", "1")))
    thinned = compact.thin(messages, gauge, context)
    found = compact.cut(messages, gauge, context)
    lines = []
    for at, (message, thin) in enumerate(zip(messages, thinned, strict=True)):
        part = "" if found is None else _part(at, len(found.head), len(found.head) + len(found.middle))
        lines.append(f"{part:6} {_said(message)}{' (thinned)' if thin != message else ''}".strip())
    due = "due" if compact.is_due(messages, (), gauge, context) else "not due"
    case.check(cut="".join(line + "\n" for line in lines) + f"({due})\n")


@pytest.mark.parametrize("case", cases("conversation/summary"))
def test_summary(case: Case) -> None:
    """The message that takes the place of what was summarised."""
    facts = Facts(
        **{
            name: tuple(case[name].splitlines())
            for name in ("failures", "todos", "documents")
            if case.block(name)
        }
    )
    cut = compact.Cut(head=(), middle=(), tail=())
    (message,) = cut.with_summary(case["summary"], facts)
    assert isinstance(message, UserMessage)
    case.check(message=message.text + "\n")


# ---- Reading the parts of a case ------------------------------------------------------------------


def _streak(case: Case) -> recover.Streak:
    block = case.block("streak")
    if block is None:
        return recover.Streak()
    count = int(block.attributes["count"])
    return recover.Streak(
        trouble=recover.Trouble(block.attributes["trouble"]),
        count=count,
        total=int(block.attributes.get("total", count)),
        partial=block.text.strip("\n"),
    )


def _called(part: str) -> tuple[ToolCall, ToolResult]:
    call, result = (each.strip() for each in part.split("->"))
    name, _, arguments = call.partition(" ")
    failure = Failure(code=Code.NO_MATCH, message=result) if result.startswith("!") else None
    return ToolCall(id="c", name=name, arguments=arguments), ToolResult(
        call="c", text=result, failure=failure
    )


def _messages(said: str) -> list[Message]:
    return [_message(line) for line in said.splitlines()]


def _message(line: str) -> Message:
    """`user`, `assistant` or `tool`, then calls `id/item` or results `id`, each with `*N` for its size."""
    who, *words = line.split()
    sized = [word.partition("*")[::2] for word in words]
    sizes = [(name.replace("_", " "), "x" * int(size or 0)) for name, size in sized]
    match who:
        case "user":
            return UserMessage(text="".join(text for _, text in sizes))
        case "assistant":
            calls = [(name.partition("/"), text) for name, text in sizes if name]
            made = [ToolCall(id=n[0], item=n[2], name="patch", arguments=text) for n, text in calls]
            said = "".join(text for name, text in sizes if not name)
            return AssistantMessage(text=said, calls=tuple(made))
        case _:
            return ToolMessage(results=tuple(ToolResult(call=name, text=text) for name, text in sizes))


# ---- Showing what came of it ----------------------------------------------------------------------


def _decision(decision: recover.Decision) -> str:
    lines = [type(decision).__name__]
    match decision:
        case recover.Finish(answer=answer):
            lines += [f"answer: {answer}"]
        case recover.RunTools(calls=calls, streak=streak):
            lines += [f"calls: {', '.join(call.name for call in calls)}", *_streaked(streak)]
        case recover.Continue(nudge=nudge, streak=streak, without_tools=without):
            lines += [f"nudge: {nudge}", *_streaked(streak), *(["without tools"] if without else [])]
        case recover.Compact(streak=streak):
            lines += _streaked(streak)
        case recover.GiveUp(reason=reason, answer=answer):
            lines += [f"reason: {reason}", *([f"answer: {answer}"] if answer else [])]
    return "".join(line + "\n" for line in lines)


def _streaked(streak: recover.Streak) -> Sequence[str]:
    if streak.trouble is None:
        return ()
    total = f" of {streak.total} troubles" if streak.total != streak.count else ""
    partial = f", continuing {streak.partial!r}" if streak.partial else ""
    return (f"streak: {streak.trouble} x {streak.count}{total}{partial}",)


def _said(said: Message) -> str:
    match said:
        case UserMessage(text=text):
            return "user" + (
                f" *{len(text)}" if text.strip("x") == "" and text else f" {text!r}" * bool(text)
            )
        case AssistantMessage(calls=calls):
            names = (replace(call, id=call.id or "-") for call in calls)
            return " ".join(["assistant", *(c.id + (f"/{c.item}" if c.item else "") for c in names)])
        case ToolMessage(results=results):
            return " ".join(
                ["tool", *(f"{r.call}{'!' + str(r.failure.code) if r.failure else ''}" for r in results)]
            )


def _part(at: int, middle: int, tail: int) -> str:
    return "head" if at < middle else "middle" if at < tail else "tail"
