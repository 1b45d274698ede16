"""The outputs of commands that the sessions of a server remember."""

from __future__ import annotations

import json
from collections.abc import Iterable

from handrail.core.conversation.message import AssistantMessage, Message, ToolMessage
from handrail.ports import HandrailError
from handrail.values import dataclass

COMMANDS = "terminal"  # the tool whose results are outputs


class NoOutputError(HandrailError):
    """A client named a call that is not a command or has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A command line and its result, as the model read it."""

    line: str
    text: str


def output(messages: Iterable[Message], call: str | None) -> Output:
    """Returns the output of the command of *call*, or of the last command. Raises NoOutputError."""
    lines: dict[str, str] = {}
    latest: Output | None = None
    for message in messages:
        if isinstance(message, AssistantMessage):
            lines |= {each.id: _line(each.arguments) for each in message.calls if each.name == COMMANDS}
        if isinstance(message, ToolMessage):
            for result in message.results:
                if result.call in lines and call in (None, result.call):
                    latest = Output(line=lines[result.call], text=result.text)
    if latest is None:
        raise NoOutputError(
            "No command has finished yet." if call is None else f"This server has no output of call {call!r}."
        )
    return latest


def _line(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    line = given.get("command") if isinstance(given, dict) else None
    return line if isinstance(line, str) else ""
