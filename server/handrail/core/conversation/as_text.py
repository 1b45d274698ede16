"""
Find the calls that a model wrote into its answer as text: edits in any notation, and calls as JSON.

Edits are read like pasted replies; a whole file in a fence does not count as an edit, since answers quote
files. A JSON object is a call if it begins a line and names a tool that was offered. Calls that were already
made are left out, because models repeat at the end what they did; and so are quotations, because a file that
was read must not decide what is done (`quotation`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence, Set
from textwrap import dedent

from handrail.core.conversation.message import Response, StopReason, ToolCall
from handrail.core.conversation.quotation import Sources
from handrail.core.patches import reply
from handrail.core.patches.reply import Block
from handrail.core.patches.v4a import BEGIN, END
from handrail.patterns import lazy_pattern
from handrail.values import dataclass, replace

PREFIX = "text"  # the ids of such calls begin so
LIMIT_READ_CHARS = 200_000
LIMIT_OBJECTS = 50  # looked at in one answer
# What may stand between the beginning of a line and the JSON of a call.
OPENS = lazy_pattern(
    r"^[ \t]{0,20}(?:<[\w|:-]{1,40}(?:=(?P<name>[\w.-]{1,80}))?[^<>\n]{0,80}>|\[TOOL_CALLS\])?"
    r"\s{0,9}(?=[{\[])",
    re.MULTILINE,
)
CLOSES = lazy_pattern(r"\s{0,9}(?:</[\w|:-]{1,40}>)?")
# Calls with a tag for each argument, as two families of models write them.
CALL_TAG = lazy_pattern(r"<(function=|invoke\s{1,9}name=[\"']?)(?P<name>[\w.-]{1,80})[\"']?\s{0,9}>")
ARGUMENT_TAG = lazy_pattern(r"<parameter(?:=|\s{1,9}name=[\"']?)(?P<name>[\w-]{1,80})[\"']?\s{0,9}>\n?")
ARGUMENT_END = "</parameter>"
WRAPPING = lazy_pattern(r"</?(?:tool_calls?|function_calls?)>")
# Arguments that are text, whatever they look like.
TEXTS = frozenset({"content", "old_string", "new_string", "patch", "command", "pattern", "path", "question"})
SCALAR = lazy_pattern(r"true|false|\d{1,9}")
INDENTED = lazy_pattern(rf"^[ \t]{{1,20}}(?={re.escape(BEGIN)})", re.MULTILINE)
NAMED = ("name", "tool", "tool_name", "action")
GIVEN = ("arguments", "parameters", "input", "args", "tool_input", "action_input")
SPACES = ("functions.", "tools.")  # which some models put before a name
# A fence that the calls have left empty.
EMPTY_FENCE = lazy_pattern(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n\s*\1[ \t]*$", re.MULTILINE)
Found = tuple[Sequence[ToolCall], str, bool]  # calls, the text without them, and whether others are quoted
DECODER = json.JSONDecoder(strict=False)  # small models write line ends into strings


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """
    What came before an answer.

    Attributes:
        calls: The calls of the conversation.
        has_edited: Whether this turn has edited by real calls, not by calls written as text.
        texts: What the answer may quote: results, and messages of the user with what is attached to them.
    """

    calls: Collection[tuple[str, str]] = ()
    has_edited: bool = False
    texts: Sequence[str] = ()


def with_calls(response: Response, tools: Set[str], before: Written) -> Response:
    """
    *response* with the calls that are written in its text, and without them in the text.

    Args:
        response: Comes back as it is if it has calls, or none are written in it; as literal if all that are
            written in it are quotations.
        tools: The names that were offered.
        before: A diff in the answer of a model that edits by calls shows what was done.
    """
    is_whole = response.stop in (StopReason.FINISH, StopReason.TOOL_CALLS)
    if response.calls or response.is_literal or not is_whole or not response.text.strip():
        return response
    sources, text = Sources(before.texts), response.text[:LIMIT_READ_CHARS]
    calls, rest, quotes = _edits(text, before, sources) if "patch" in tools else ((), text, False)
    for read in (_objects, _read_tags):
        if not calls:
            calls, rest, found = read(text, tools, sources)
            quotes = quotes or found
    fresh = [call for call in calls if (call.name, call.arguments) not in before.calls]
    if not fresh:
        return replace(response, is_literal=True) if quotes else response
    return replace(response, text=rest, calls=tuple(fresh), stop=StopReason.TOOL_CALLS, private="")


def has_lost_edit(text: str, tools: Set[str]) -> bool:
    """Whether *text* has an edit that does not name a file, so that no one can make it."""
    if "patch" not in tools:
        return False
    blocks = reply.read(text[:LIMIT_READ_CHARS]).blocks
    return any(map(_is_lost, blocks))


def call_of(name: str, block: Block, *, partial: bool) -> ToolCall:
    """The call that an edit block stands for, by the id *name*."""
    if block.notation is None:
        written = json.dumps({"path": block.path, "content": block.text})
        return ToolCall(id=name, name="write_file", arguments=written)
    arguments: dict[str, object] = {"mode": block.notation.name, "patch": block.text, "partial": partial}
    if _needs_path(block):
        arguments["path"] = block.path
        arguments |= {"other_paths": list(block.others)} if block.others or not block.path else {}
    return ToolCall(id=name, name="patch", arguments=json.dumps(arguments))


def _edits(text: str, before: Written, sources: Sources) -> Found:
    text = _dedent(text)
    parts = reply.read(text)
    meant = [block for block in parts.blocks if _is_edit(block, before) or _is_lost(block)]
    quoted = [block for block in meant if sources.have(block.text)]
    blocks = [block for block in meant if block not in quoted and not _is_lost(block)]
    calls = [call_of(f"{PREFIX}-{n}", block, partial=False) for n, block in enumerate(blocks, 1)]
    return calls, parts.prose if len(blocks) == len(parts.blocks) else text, bool(quoted)


def _is_edit(block: Block, before: Written) -> bool:
    notation = block.notation
    if notation is None or (notation.may_report and before.has_edited):
        return False
    return notation.is_edit(block.text) and (notation.names_files or bool(block.path))


def _needs_path(block: Block) -> bool:
    return block.notation is not None and not block.notation.names_files


def _is_lost(block: Block) -> bool:
    return _needs_path(block) and not block.path


def _objects(text: str, tools: Set[str], sources: Sources) -> Found:
    """Calls as JSON, and the text without them."""
    calls: list[ToolCall] = []
    quotes = False
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
        is_quoted = bool(found) and sources.have(text[opens.end() : end])
        quotes = quotes or is_quoted
        if found and not is_quoted:
            calls += found
            end = CLOSES.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing as well
            rest.append(text[at : opens.start()])
        else:
            rest.append(text[at:end])
        at = end
    rest.append(text[at:])
    named = [replace(call, id=f"{PREFIX}-{number}") for number, call in enumerate(calls, 1)]
    return named, EMPTY_FENCE.sub("", "".join(rest)).strip(), quotes


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
    arguments = _object(next((value[key] for key in GIVEN if key in value), None))
    named = _bare(next((value[key] for key in NAMED if key in value), inner))
    if named in tools and arguments is not None:
        yield ToolCall(id="", name=named, arguments=json.dumps(arguments))


def _bare(name: object) -> str:
    """Returns the name of a tool without the prefix that all tools have; empty if it is not a name."""
    if not isinstance(name, str):
        return ""
    return next((name.removeprefix(space) for space in SPACES if name.startswith(space)), name)


def _read_tags(text: str, tools: Set[str], sources: Sources) -> Found:
    """Calls with a tag for each argument, and the text without them."""
    calls: list[ToolCall] = []
    rest, at, quotes = list[str](), 0, False
    for opens, body, end in _elements(text, CALL_TAG, "</"):
        kept = _elements(body, ARGUMENT_TAG, ARGUMENT_END)
        arguments = {each["name"]: _value(each["name"], value.removesuffix("\n")) for each, value, _ in kept}
        name = _bare(opens["name"])
        if name not in tools or not arguments:
            continue
        if sources.have(text[opens.start() : end]):
            quotes = True
        else:
            calls.append(
                ToolCall(id=f"{PREFIX}-{len(calls) + 1}", name=name, arguments=json.dumps(arguments))
            )
            rest.append(text[at : opens.start()])
            at = end
    return calls, WRAPPING.sub("", "".join([*rest, text[at:]])).strip() if calls else text, quotes


def _elements(text: str, tag: re.Pattern[str], end: str) -> Iterator[tuple[re.Match[str], str, int]]:
    """
    Yields the text between each *tag* and its *end*, and where that ends; calls may end with either of two
    names.
    """
    at = 0
    for _ in range(LIMIT_OBJECTS):
        opens = tag.search(text, at)
        if opens is None:
            return
        closes = end if end != "</" else f"</{'function' if opens[1].startswith('function') else 'invoke'}>"
        stop = text.find(closes, opens.end())
        if stop < 0:
            return
        at = stop + len(closes)
        yield opens, text[opens.end() : stop], at


def _dedent(text: str) -> str:
    """*text* without the indentation of V4A patches that are indented as a whole, as in a list."""
    for _ in range(LIMIT_OBJECTS):
        begin = INDENTED.search(text)
        stop = text.find(END, begin.end()) if begin is not None else -1
        if begin is None or stop < 0:
            break
        stop += len(END)
        text = text[: begin.start()] + dedent(text[begin.start() : stop]) + text[stop:]
    return text


def _value(name: str, text: str) -> object:
    return json.loads(text.strip()) if name not in TEXTS and SCALAR.fullmatch(text.strip()) else text


def _object(given: object) -> dict[str, object] | None:
    """Arguments as an object, or as the JSON text of one."""
    if isinstance(given, str):
        try:
            given = DECODER.decode(given)
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, dict) else None
