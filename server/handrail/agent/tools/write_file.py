"""
Write a whole document: a new one, or all of one that is there.

Lines that stay keep their bytes, and the document keeps its encoding and line ends.
"""

from __future__ import annotations

from handrail.agent.tools import call
from handrail.core.failure import Failure
from handrail.core.patches.notations import FilePatch, Operation
from handrail.core.policy.tool_kind import ToolKind


def parse(arguments: call.Arguments) -> call.Edits | Failure:
    """Read the arguments of a call."""
    path = call.path(arguments)
    if isinstance(path, Failure):
        return path
    patch = FilePatch(path=path, operation=Operation.WRITE)
    content = call.text(arguments, "content")
    if isinstance(content, Failure):
        return call.Edits(title=f"Write {path}", patches=(patch,), wrong=content)
    patch = FilePatch(path=path, operation=Operation.WRITE, content=content)
    return call.Edits(title=f"Write {path}", patches=(patch,))


TOOL = call.Tool(
    kind=ToolKind.EDIT,
    offer=call.offer(
        "write_file",
        "Create a file, with its folders, or replace the whole text of an existing file. Give the complete "
        "text and never leave lines out. To change part of a file, use patch.",
        {
            "path": {"type": "string", "description": "The file."},
            "content": {"type": "string", "description": "The complete text of the file."},
        },
        ("path", "content"),
    ),
    parse=parse,
)
