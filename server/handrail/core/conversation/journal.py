"""
What is written down of a session, one entry a line, and what a session is once its entries are read again.

An entry is written before what follows from it is done, so that after any end of the program every call
that was begun is known. Going back is an entry as well: nothing is ever cut off. What cannot be read is
skipped: at most the line that was being written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from handrail.core.conversation.message import (
    AssistantMessage,
    Excerpt,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from handrail.core.conversation.pair import paired
from handrail.core.failure import Code, Failure

UNKNOWN = Failure(
    code=Code.CUT_SHORT,
    message="handrail ended while this call ran, and whether it happened is not known.",
    steps=("Look at what it would have changed before you go on.",),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A turn has begun; or what it came to was copied from another session."""

    turn: str
    prompt: str
    mode: str
    is_copied: bool = False


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
class Over:
    """A turn has ended, and has used so much."""

    turn: str
    state: str
    reason: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """
    The session is again what it was before a turn, or before an earlier rewinding.

    Attributes:
        id: Names this event, so that it can be taken back as well.
        before: The turn, or the id of the earlier event.
        call: The first call of the step of that turn before which the session is again; empty for all of it.
    """

    id: str
    before: str
    call: str = ""


Entry = Begun | Said | Answered | Replaced | Touched | Over | Rewound


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTurn:
    """A turn as the journal knows it; a state of None is one that did not come to its end."""

    turn: str
    prompt: str
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """
    What a journal tells.

    Attributes:
        messages: The conversation, well-formed; a result that is not known has the failure `UNKNOWN`.
        turns: In order.
        touched: The paths of the documents that were changed.
        usage: Of all turns that came to their end, those that were taken back among them.
    """

    messages: tuple[Message, ...] = ()
    turns: tuple[ToldTurn, ...] = ()
    touched: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def replay(entries: Iterable[Entry], until: str | None = None) -> Told:
    """What *entries* come to; only up to the end of the turn *until*, if given."""
    turns: list[ToldTurn] = []
    touched: tuple[str, ...] = ()
    taken: list[Entry] = []
    known = list(entries if until is None else _up_to(entries, until))
    for entry in _standing(known):
        if isinstance(entry, Begun):
            turns.append(ToldTurn(turn=entry.turn, prompt=entry.prompt))
        elif isinstance(entry, Over):
            turns = [_ended(each, entry) for each in turns]
        elif isinstance(entry, Touched):
            touched = entry.paths
        else:
            taken.append(entry)
    messages = paired(_conversation(taken), UNKNOWN)
    usage = Usage()
    for entry in known:  # what was taken back was paid for all the same
        usage = usage.plus(entry.usage) if isinstance(entry, Over) else usage
    return Told(messages=messages, turns=tuple(turns), touched=touched, usage=usage)


def _up_to(entries: Iterable[Entry], turn: str) -> Iterator[Entry]:
    """The entries up to the end of a turn."""
    has_begun = False
    for entry in entries:
        if has_begun and isinstance(entry, Begun | Rewound):
            return
        has_begun = has_begun or (isinstance(entry, Begun) and entry.turn == turn)
        yield entry


def _standing(entries: Iterable[Entry]) -> list[Entry]:
    """The entries that still count; what was taken back does not, and no rewinding is left."""
    standing: list[Entry] = []
    marks: dict[str, tuple[list[Entry], int]] = {}  # so many of a list that only grows
    for entry in entries:
        if isinstance(entry, Rewound):
            then, count = marks.get(entry.before, (standing, len(standing)))
            marks[entry.id] = standing, len(standing)
            standing = then[: _place(then, count, entry.call)]
            continue
        if isinstance(entry, Begun):
            marks[entry.turn] = standing, len(standing)
        standing.append(entry)
    return standing


def _place(entries: Sequence[Entry], begin: int, call: str) -> int:
    """How many of *entries* come before the message with that call, looked for from *begin* on."""
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


def _ended(told: ToldTurn, over: Over) -> ToldTurn:
    return replace(told, state=over.state) if told.turn == over.turn else told


# ---- As JSON ----------------------------------------------------------------------------------------

Json = dict[str, object]


def line(entry: Entry) -> str:
    """An entry as one line of JSON, without its end."""
    if isinstance(entry, Replaced):  # message by message: written in one go, a long one would hold up others
        messages = ",".join(_dumped(_message(each)) for each in entry.messages)
        return f'{{"kind":"replaced","messages":[{messages}]}}'
    return _dumped(_written(entry))


def _dumped(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def read(text: str) -> Entry | None:
    """The entry that a line holds; None if it holds none."""
    try:
        found = json.loads(text)
        return _read(found) if isinstance(found, dict) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _written(entry: Entry) -> Json:
    match entry:
        case Begun(turn=turn, prompt=prompt, mode=mode, is_copied=is_copied):
            copied = {"copied": True} if is_copied else {}
            return {"kind": "begun", "turn": turn, "prompt": prompt, "mode": mode, **copied}
        case Said(message=message):
            return {"kind": "said", "message": _message(message)}
        case Answered(result=result):
            return {"kind": "answered", "result": _result(result)}
        case Replaced(messages=messages):
            return {"kind": "replaced", "messages": [_message(each) for each in messages]}
        case Touched(paths=paths):
            return {"kind": "touched", "paths": list(paths)}
        case Over(turn=turn, state=state, reason=reason, usage=usage):
            used = {"usage": _usage(usage)} if usage.steps else {}
            return {"kind": "over", "turn": turn, "state": state, "reason": reason, **used}
        case Rewound(id=name, before=before, call=call):
            return {"kind": "rewound", "id": name, "before": before, "call": call}


def _message(message: Message) -> Json:
    match message:
        case SystemMessage(text=text):
            return {"role": "system", "text": text}
        case UserMessage(text=text, context=context):
            shown = [{"path": e.path, "firstLine": e.first_line, "text": e.text} for e in context]
            return {"role": "user", "text": text, **({"context": shown} if shown else {})}
        case AssistantMessage(text=text, calls=calls, private=private):
            made = [{"id": c.id, "name": c.name, "arguments": c.arguments, "item": c.item} for c in calls]
            more = {**({"calls": made} if made else {}), **({"private": private} if private else {})}
            return {"role": "assistant", "text": text, **more}
        case ToolMessage(results=results):
            return {"role": "tool", "results": [_result(each) for each in results]}


def _result(result: ToolResult) -> Json:
    found: Json = {"call": result.call, "text": result.text}
    if result.failure is not None:
        found["failure"] = {"code": result.failure.code.value, "message": result.failure.message}
    return found


def _usage(usage: Usage) -> Json:
    return {
        "steps": usage.steps,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cachedTokens": usage.cached_tokens,
        "costUsd": usage.cost_usd,
    }


def _read_usage(found: Mapping[str, object]) -> Usage:
    cost = found["costUsd"]
    if not isinstance(cost, int | float | None):
        raise TypeError("not a price")
    return Usage(
        steps=_int(found["steps"]),
        input_tokens=_int(found["inputTokens"]),
        output_tokens=_int(found["outputTokens"]),
        cached_tokens=_int(found["cachedTokens"]),
        cost_usd=cost,
    )


def _read(found: Mapping[str, object]) -> Entry:
    match found["kind"]:
        case "begun":
            return Begun(
                turn=_str(found["turn"]),
                prompt=_str(found["prompt"]),
                mode=_str(found["mode"]),
                is_copied=found.get("copied") is True,
            )
        case "said":
            return Said(message=_read_message(_object(found["message"])))
        case "answered":
            return Answered(result=_read_result(_object(found["result"])))
        case "replaced":
            return Replaced(messages=tuple(_read_message(each) for each in _objects(found["messages"])))
        case "touched":
            return Touched(paths=tuple(map(_str, _list(found["paths"]))))
        case "over":
            reason = found.get("reason")
            return Over(
                turn=_str(found["turn"]),
                state=_str(found["state"]),
                reason=None if reason is None else _str(reason),
                usage=_read_usage(_object(found["usage"])) if "usage" in found else Usage(),
            )
        case "rewound":
            return Rewound(
                id=_str(found["id"]), before=_str(found["before"]), call=_str(found.get("call", ""))
            )
        case _:
            raise ValueError("an entry of an unknown kind")


def _read_message(found: Mapping[str, object]) -> Message:
    match found["role"]:
        case "user":
            context = tuple(
                Excerpt(path=_str(e["path"]), first_line=_int(e["firstLine"]), text=_str(e["text"]))
                for e in _objects(found.get("context", []))
            )
            return UserMessage(text=_str(found["text"]), context=context)
        case "assistant":
            calls = tuple(
                ToolCall(
                    id=_str(c["id"]),
                    name=_str(c["name"]),
                    arguments=_str(c["arguments"]),
                    item=_str(c.get("item", "")),
                )
                for c in _objects(found.get("calls", []))
            )
            return AssistantMessage(
                text=_str(found["text"]), calls=calls, private=_str(found.get("private", ""))
            )
        case "tool":
            return ToolMessage(results=tuple(_read_result(each) for each in _objects(found["results"])))
        case _:
            return SystemMessage(text=_str(found["text"]))


def _read_result(found: Mapping[str, object]) -> ToolResult:
    failure = None
    if "failure" in found:
        told = _object(found["failure"])
        failure = Failure(code=Code(_str(told["code"])), message=_str(told["message"]))
    return ToolResult(call=_str(found["call"]), text=_str(found["text"]), failure=failure)


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("not a whole number")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value


def _objects(value: object) -> list[Mapping[str, object]]:
    return [_object(each) for each in _list(value)]
