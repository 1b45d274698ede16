"""Entries of a journal as lines of JSON, and back; what cannot be read is no entry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from handrail.core.conversation.journal import (
    Answered,
    Begun,
    Decided,
    Entry,
    Known,
    Over,
    Renamed,
    Replaced,
    Rewound,
    Said,
    Touched,
)
from handrail.core.conversation.message import (
    AssistantMessage,
    Excerpt,
    Message,
    Picture,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from handrail.core.failure import Code, Failure

Json = dict[str, object]


def line(entry: Entry) -> str:
    """An entry as one line of JSON, without its end."""
    if isinstance(entry, Replaced):  # message by message: written in one go, a long one would hold up others
        messages = ",".join(_dump(_message(each)) for each in entry.messages)
        return f'{{"kind":"replaced","messages":[{messages}]}}'
    return _dump(_entry_json(entry))


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def read(text: str) -> Entry | None:
    """The entry that a line holds; None if it holds none."""
    try:
        found = json.loads(text)
        return _read(found) if isinstance(found, dict) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _entry_json(entry: Entry) -> Json:
    match entry:
        case Begun(turn=turn, prompt=prompt, mode=mode, is_copied=is_copied, rules=rules):
            more: Json = {**({"copied": True} if is_copied else {}), **({"rules": rules} if rules else {})}
            return {"kind": "begun", "turn": turn, "prompt": prompt, "mode": mode, **more}
        case Said(message=message):
            return {"kind": "said", "message": _message(message)}
        case Answered(result=result):
            return {"kind": "answered", "result": _result(result)}
        case Replaced(messages=messages):
            return {"kind": "replaced", "messages": [_message(each) for each in messages]}
        case Touched(paths=paths):
            return {"kind": "touched", "paths": list(paths)}
        case Known(documents=documents):
            return {"kind": "known", "documents": dict(documents)}
        case Over(turn=turn, state=state, reason=reason, usage=usage):
            used = {"usage": _usage(usage)} if usage.steps else {}
            return {"kind": "over", "turn": turn, "state": state, "reason": reason, **used}
        case Rewound() | Renamed() | Decided():
            return {"kind": type(entry).__name__.lower(), **asdict(entry)}


def _message(message: Message) -> Json:
    match message:
        case SystemMessage(text=text):
            return {"role": "system", "text": text}
        case UserMessage(text=text, context=context, pictures=pictures, instructions=instructions):
            shown = [{"path": e.path, "firstLine": e.first_line, "text": e.text} for e in context]
            pointed: Json = {"context": shown} if shown else {}
            brought: Json = {"instructions": instructions} if instructions else {}
            return {"role": "user", "text": text, **pointed, **_pictures(pictures), **brought}
        case AssistantMessage(text=text, calls=calls, private=private):
            made = [{"id": c.id, "name": c.name, "arguments": c.arguments, "item": c.item} for c in calls]
            more = {**({"calls": made} if made else {}), **({"private": private} if private else {})}
            return {"role": "assistant", "text": text, **more}
        case ToolMessage(results=results):
            return {"role": "tool", "results": [_result(each) for each in results]}


def _result(result: ToolResult) -> Json:
    found: Json = {"call": result.call, "text": result.text, **_pictures(result.pictures)}
    if result.failure is not None:
        found["failure"] = {"code": result.failure.code.value, "message": result.failure.message}
    return {**found, **({"line": result.line} if result.line else {})}


def _pictures(pictures: Sequence[Picture]) -> Json:
    found = [{"path": each.path, "media": each.media, "data": each.data} for each in pictures]
    return {"pictures": found} if found else {}


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
                rules=_int(found.get("rules", 0)),
            )
        case "said":
            return Said(message=_read_message(_object(found["message"])))
        case "answered":
            return Answered(result=_read_result(_object(found["result"])))
        case "replaced":
            return Replaced(messages=tuple(_read_message(each) for each in _objects(found["messages"])))
        case "touched":
            return Touched(paths=tuple(map(_str, _list(found["paths"]))))
        case "known":
            documents = _object(found["documents"])
            return Known(documents=tuple((uri, _str(digest)) for uri, digest in documents.items()))
        case "over":
            reason = found.get("reason")
            return Over(
                turn=_str(found["turn"]),
                state=_str(found["state"]),
                reason=None if reason is None else _str(reason),
                usage=_read_usage(_object(found["usage"])) if "usage" in found else Usage(),
            )
        case kind:
            return _read_plain(kind, found)


def _read_plain(kind: object, found: Mapping[str, object]) -> Entry:
    """An entry of texts."""
    texts = {name: _str(value) for name, value in found.items() if name != "kind" and value is not None}
    match kind:
        case "rewound":
            return Rewound(id=texts["id"], before=texts["before"], call=texts.get("call", ""))
        case "renamed":
            return Renamed(title=texts["title"])
        case "decided":
            return Decided(
                question=texts["question"],
                subject=texts["subject"],
                end=texts["end"],
                choice=texts.get("choice"),
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
            return UserMessage(
                text=_str(found["text"]),
                context=context,
                pictures=_read_pictures(found),
                instructions=_str(found.get("instructions", "")),
            )
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
    line = found.get("line", 0)
    return ToolResult(
        call=_str(found["call"]),
        text=_str(found["text"]),
        failure=failure,
        pictures=_read_pictures(found),
        line=line if isinstance(line, int) else 0,
    )


def _read_pictures(found: Mapping[str, object]) -> tuple[Picture, ...]:
    return tuple(
        Picture(path=_str(each["path"]), media=_str(each["media"]), data=_str(each["data"]))
        for each in _objects(found.get("pictures", []))
    )


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
