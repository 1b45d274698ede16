"""
Find the calls that a model wrote into its answer as text: edits in any notation, and calls as JSON.

Edits are read as pasted replies are; a whole file in a fence is not taken for one, since answers quote files.
A JSON object is a call if it begins a line and names a tool that was offered. What has been called already
is not found again: models repeat at the end what they did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from handrail.core.conversation.message import Response, StopReason, ToolCall
from handrail.core.patches import reply
from handrail.core.patches.reply import Block, Notation
from handrail.core.patches.v4a import END

PREFIX = "text"  # the ids of such calls begin so
LOOKED_AT_CHARS = 200_000
LIMIT_OBJECTS = 50  # looked at in one answer
NAMES_FILE = re.compile(r"^(?:--- |\+\+\+ |diff --git |rename )\S", re.MULTILINE)
# What may stand between the beginning of a line and the JSON of a call.
OPENS = re.compile(
    r"^[ \t]*(?:<[\w|:-]{1,40}(?:=(?P<name>[\w.-]{1,80}))?[^<>\n]{0,80}>|\[TOOL_CALLS\])?\s*(?=[{\[])",
    re.MULTILINE,
)
CLOSES = re.compile(r"\s*(?:</[\w|:-]{1,40}>)?")
# A fence that the calls have left empty.
EMPTY_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n\s*\1[ \t]*$", re.MULTILINE)
DECODER = json.JSONDecoder(strict=False)  # small models write line ends into strings


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The calls of the conversation, and whether this turn has edited by calls that were none of text."""

    calls: Collection[tuple[str, str]] = ()
    has_edited: bool = False


def with_calls(response: Response, tools: Set[str], before: Written) -> Response:
    """
    *response* with the calls that are written in its text, and without them in the text.

    Args:
        response: Comes back as it is if it has calls, or none are written in it.
        tools: The names that were offered.
        before: A diff in the answer of a model that edits by calls shows what was done.
    """
    is_whole = response.stop in (StopReason.FINISH, StopReason.TOOL_CALLS)
    if response.calls or response.is_literal or not is_whole or not response.text.strip():
        return response
    text = response.text[:LOOKED_AT_CHARS]
    calls, rest = _edits(text, before) if "patch" in tools else ((), text)
    if not calls:
        calls, rest = _objects(text, tools)
    fresh = [call for call in calls if (call.name, call.arguments) not in before.calls]
    if not fresh:
        return response
    return replace(response, text=rest, calls=tuple(fresh), stop=StopReason.TOOL_CALLS, private="")


def has_lost_edit(text: str, tools: Set[str]) -> bool:
    """Whether *text* has an edit that names no file, so that nobody can make it."""
    if "patch" not in tools or "SEARCH" not in text:
        return False
    blocks = reply.read(text[:LOOKED_AT_CHARS]).blocks
    return any(block.notation is Notation.SEARCH_REPLACE and not block.path for block in blocks)


def call_of(name: str, block: Block, *, partial: bool) -> ToolCall:
    """The call that an edit block stands for, by the id *name*."""
    if block.notation is Notation.WHOLE_FILE:
        written = json.dumps({"path": block.path, "content": block.text})
        return ToolCall(id=name, name="write_file", arguments=written)
    arguments: dict[str, object] = {"mode": block.notation.value, "patch": block.text, "partial": partial}
    if block.notation is Notation.SEARCH_REPLACE:
        arguments["path"] = block.path
        arguments |= {"other_paths": list(block.others)} if block.others else {}
    return ToolCall(id=name, name="patch", arguments=json.dumps(arguments))


def _edits(text: str, before: Written) -> tuple[Sequence[ToolCall], str]:
    found = reply.read(text)
    blocks = [block for block in found.blocks if _is_edit(block, before)]
    calls = [call_of(f"{PREFIX}-{n}", block, partial=False) for n, block in enumerate(blocks, 1)]
    return calls, found.prose if len(blocks) == len(found.blocks) else text


def _is_edit(block: Block, before: Written) -> bool:
    match block.notation:
        case Notation.V4A:
            return END in block.text  # without it, it may be a file that was quoted
        case Notation.SEARCH_REPLACE:
            return bool(block.path)
        case Notation.UNIFIED:
            return not before.has_edited and NAMES_FILE.search(block.text) is not None
        case Notation.WHOLE_FILE:
            return False


def _objects(text: str, tools: Set[str]) -> tuple[Sequence[ToolCall], str]:
    """Calls as JSON, and the text without them."""
    calls: list[ToolCall] = []
    rest, at = list[str](), 0
    for _ in range(LIMIT_OBJECTS):
        opens = OPENS.search(text, at)
        if opens is None:
            break
        try:
            value, end = DECODER.raw_decode(text, opens.end())
        except (ValueError, RecursionError):
            value, end = None, opens.end() + 1
        found = list(_calls(value, opens["name"] or "", tools))
        if found:
            calls += found
            end = CLOSES.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing as well
            rest.append(text[at : opens.start()])
        else:
            rest.append(text[at:end])
        at = end
    rest.append(text[at:])
    named = [replace(call, id=f"{PREFIX}-{number}") for number, call in enumerate(calls, 1)]
    return named, EMPTY_FENCE.sub("", "".join(rest)).strip()


def _calls(value: object, name: str, tools: Set[str]) -> Iterator[ToolCall]:
    """The calls that a JSON value is: one, some, or none; *name* is that of a tag around it."""
    if isinstance(value, list):
        for each in value:
            yield from _calls(each, "", tools)
        return
    if not isinstance(value, dict):
        return
    if isinstance(value.get("tool_calls"), list):
        yield from _calls(value["tool_calls"], "", tools)
        return
    inner = value.get("function")
    if isinstance(inner, dict):
        yield from _calls(inner, "", tools)
        return
    if name in tools:
        yield ToolCall(id="", name=name, arguments=json.dumps(value))
        return
    given = next((value[key] for key in ("arguments", "parameters", "input", "args") if key in value), None)
    named = value.get("name") or value.get("tool") or inner
    arguments = _object(given)
    if isinstance(named, str) and named in tools and arguments is not None:
        yield ToolCall(id="", name=named, arguments=json.dumps(arguments))


def _object(given: object) -> dict[str, object] | None:
    """Arguments as an object, or as the JSON text of one."""
    if isinstance(given, str):
        try:
            given = DECODER.decode(given)
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, dict) else None
