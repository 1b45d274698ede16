"""
The tools that a model can call; `TOOLS` is the only registry.

To add a tool, write a module with a `TOOL` and name it below. All else follows from its `kind`.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import (
    ask_user,
    list_files,
    patch,
    read_file,
    read_output,
    search,
    stop,
    terminal,
    todo,
    write_file,
)
from handrail.agent.tools.call import Tool
from handrail.agent.tools.languages import names, problems, symbols
from handrail.core.policy.tool_kind import ToolKind

TOOLS: Mapping[str, Tool] = {
    tool.offer.name: tool
    for tool in (
        read_file.TOOL,
        list_files.TOOL,
        search.TOOL,
        problems.TOOL,
        names.DEFINITION_TOOL,
        names.REFERENCES_TOOL,
        symbols.TOOL,
        read_output.TOOL,
        write_file.TOOL,
        patch.TOOL,
        terminal.TOOL,
        stop.TOOL,
        ask_user.TOOL,
        todo.TOOL,
    )
}


def kind_of(name: str) -> ToolKind | None:
    """The kind of the tool called *name*; None if it does not exist."""
    tool = TOOLS.get(name)
    return tool.kind if tool is not None else None


def changes(name: str) -> bool:
    """Whether the tool called *name* may change something."""
    kind = kind_of(name)
    return kind is not None and kind.changes
