"""
End a command that runs in the background.
"""

from __future__ import annotations

from handrail.agent.tools import call
from handrail.agent.tools.call import CommandInspection
from handrail.core.failure import Failure
from handrail.core.policy.tool_kind import ToolKind


def parse(arguments: call.Arguments) -> CommandInspection | Failure:
    """Read the arguments of a call."""
    command = call.text(arguments, "command")
    if isinstance(command, Failure) or not command.strip():
        return call.bad("command", "the id of a background command")
    return CommandInspection(command=command.strip(), stops=True)


TOOL = call.Tool(
    kind=ToolKind.COMMAND,
    offer=call.offer(
        "stop",
        "Stop a background command and everything that it started. Returns its last output and what it "
        "changed.",
        {"command": {"type": "string", "description": "Its id, such as b1."}},
        ("command",),
    ),
    parse=parse,
)
