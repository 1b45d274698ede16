"""Convert entries of a journal to lines of JSON, and back; unreadable lines are skipped."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from handrail.core.conversation.journal import (
    Answered,
    Chosen,
    Decided,
    Entry,
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
    read_price,
    read_tokens,
)
from handrail.core.failure import Code, Failure

Json = dict[str, object]


LIMIT_LINE = 2**31 - 1  # of a position, as clients read it
_decode = json.JSONDecoder().raw_decode  # `json.loads` does more than a line of ours needs


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
        text = text.strip()
        fields, end = _decode(text)
        return _read(fields) if isinstance(fields, dict) and end == len(text) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _entry_json(entry: Entry) -> Json:
    match entry:
        case TurnBegun(turn=turn, prompt=prompt, mode=mode, is_copied=is_copied, count=count, rules=rules):
            copied: Json = {"copied": True, "count": count} if is_copied else {}
            more: Json = {"rules": rules} if rules else {}
            return {"kind": "begun", "turn": turn, "prompt": prompt, "mode": mode, **copied, **more}
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
        case TurnEnded(turn=turn, state=state, reason=reason, usage=usage):
            used = {"usage": _usage(usage)} if usage.steps else {}
            return {"kind": "over", "turn": turn, "state": state, "reason": reason, **used}
        case Steered() | Returned() | Rewound() | Renamed() | Chosen() | Decided():
            return {"kind": type(entry).__name__.lower(), **asdict(entry)}


def _message(message: Message) -> Json:
    match message:
        case SystemMessage(text=text):
            return {"role": "system", "text": text}
        case UserMessage(text=text, context=context, pictures=pictures, instructions=instructions):
            nudges: Json = {"nudge": True} if message.is_nudge else {}
            shown = [{"path": e.path, "firstLine": e.first_line, "text": e.text} for e in context]
            pointed: Json = {"context": shown} if shown else {}
            brought: Json = {"instructions": instructions} if instructions else {}
            return {"role": "user", "text": text, **pointed, **_pictures(pictures), **brought, **nudges}
        case AssistantMessage(text=text, calls=calls, private=private):
            made = [{"id": c.id, "name": c.name, "arguments": c.arguments, "item": c.item} for c in calls]
            more = {**({"calls": made} if made else {}), **({"private": private} if private else {})}
            return {"role": "assistant", "text": text, **more}
        case ToolMessage(results=results):
            return {"role": "tool", "results": [_result(each) for each in results]}


def _result(result: ToolResult) -> Json:
    fields: Json = {"call": result.call, "text": result.text, **_pictures(result.pictures)}
    if result.failure is not None:
        fields["failure"] = {"code": result.failure.code.value, "message": result.failure.message}
    return {**fields, **({"line": result.line} if result.line else {})}


def _pictures(pictures: Sequence[Picture]) -> Json:
    json_ = [{"path": each.path, "media": each.media, "data": each.data} for each in pictures]
    return {"pictures": json_} if json_ else {}


def _usage(usage: Usage) -> Json:
    return {
        "steps": usage.steps,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cachedTokens": usage.cached_tokens,
        "costUsd": usage.cost_usd,
    }


def _read_usage(json: Mapping[str, object]) -> Usage:
    """Reads a usage; a count or price that cannot be one is unknown, because the turn ended all the same."""
    return Usage(
        steps=read_tokens(json.get("steps")),
        input_tokens=read_tokens(json.get("inputTokens")),
        output_tokens=read_tokens(json.get("outputTokens")),
        cached_tokens=read_tokens(json.get("cachedTokens")),
        cost_usd=read_price(json.get("costUsd")),
    )


def _read(json: Mapping[str, object]) -> Entry:
    match json["kind"]:
        case "begun":
            return TurnBegun(
                turn=_str(json["turn"]),
                prompt=_str(json["prompt"]),
                mode=_str(json["mode"]),
                is_copied=json.get("copied") is True,
                count=_int(json.get("count", 1)),
                rules=_int(json.get("rules", 0)),
            )
        case "said":
            return Said(message=_read_message(_object(json["message"])))
        case "answered":
            return Answered(result=_read_result(_object(json["result"])))
        case "replaced":
            return Replaced(messages=tuple(_read_message(each) for each in _objects(json["messages"])))
        case "touched":
            return Touched(paths=tuple(map(_str, _list(json["paths"]))))
        case "known":
            documents = _object(json["documents"])
            return Known(documents=tuple((uri, _str(digest)) for uri, digest in documents.items()))
        case "over":
            reason = json.get("reason")
            return TurnEnded(
                turn=_str(json["turn"]),
                state=_str(json["state"]),
                reason=None if reason is None else _str(reason),
                usage=_read_usage(_object(json["usage"])) if "usage" in json else Usage(),
            )
        case kind:
            return _read_plain(kind, json)


def _read_plain(kind: object, json: Mapping[str, object]) -> Entry:
    """An entry of texts."""
    others = ("kind", "asks_permission", "could_last")
    texts = {name: _str(value) for name, value in json.items() if name not in others and value is not None}
    match kind:
        case "steered":
            return Steered(turn=texts["turn"], text=texts["text"])
        case "returned":
            return Returned(turn=texts["turn"])
        case "rewound":
            return Rewound(id=texts["id"], before=texts["before"], call=texts.get("call", ""))
        case "renamed":
            return Renamed(title=texts["title"])
        case "chosen":
            return Chosen(mode=texts["mode"])
        case "decided":
            return Decided(
                question=texts["question"],
                subject=texts["subject"],
                end=texts["end"],
                choice=texts.get("choice"),
                asks_permission=json.get("asks_permission") is not False,
                could_last=json.get("could_last") is not False,
            )
        case _:
            raise ValueError("an entry of an unknown kind")


def _read_message(json: Mapping[str, object]) -> Message:
    match json["role"]:
        case "user":
            if len(json) == 2:  # nothing but the text, as in most of them
                return UserMessage(text=_str(json["text"]))
            context = tuple(
                Excerpt(path=_str(e["path"]), first_line=_int(e["firstLine"]), text=_str(e["text"]))
                for e in _objects(json.get("context", []))
            )
            return UserMessage(
                text=_str(json["text"]),
                context=context,
                pictures=_read_pictures(json),
                instructions=_str(json.get("instructions", "")),
                is_nudge=bool(json.get("nudge", False)),
            )
        case "assistant":
            if len(json) == 2:
                return AssistantMessage(text=_str(json["text"]))
            calls = tuple(
                ToolCall(
                    id=_str(c["id"]),
                    name=_str_or_empty(c.get("name")),
                    arguments=_str_or_empty(c.get("arguments")),
                    item=_str_or_empty(c.get("item")),
                )
                for c in _objects(json.get("calls", []))
            )
            return AssistantMessage(
                text=_str(json["text"]), calls=calls, private=_str(json.get("private", ""))
            )
        case "tool":
            return ToolMessage(results=tuple(_read_result(each) for each in _objects(json["results"])))
        case _:
            return SystemMessage(text=_str(json["text"]))


def _read_result(json: Mapping[str, object]) -> ToolResult:
    failure = None
    if "failure" in json:
        told = _object(json["failure"])
        failure = Failure(code=Code(_str(told["code"])), message=_str(told["message"]))
    line = json.get("line", 0)
    return ToolResult(
        call=_str(json["call"]),
        text=_str(json["text"]),
        failure=failure,
        pictures=_read_pictures(json),
        line=line if isinstance(line, int) and 0 <= line <= LIMIT_LINE else 0,
    )


def _read_pictures(json: Mapping[str, object]) -> tuple[Picture, ...]:
    return tuple(
        Picture(path=_str(each["path"]), media=_str(each["media"]), data=_str(each["data"]))
        for each in _objects(json.get("pictures", []))
    )


def _str(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _str_or_empty(value: object) -> str:
    """Reads what a server may have sent as anything: its call keeps its place, and so its result."""
    return value if isinstance(value, str) else ""


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
