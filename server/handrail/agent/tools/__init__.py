"""The tools that a model can call; `TOOLS` is the only registry."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import (
    ask_user,
    list_files,
    patch,
    problems,
    read_file,
    read_output,
    search,
    stop,
    terminal,
    todo,
    write_file,
)
from handrail.agent.tools.call import Tool

CHANGING = frozenset({"write_file", "patch", "terminal", "stop"})  # offered only where documents may change
TOOLS: Mapping[str, Tool] = {
    tool.offer.name: tool
    for tool in (
        read_file.TOOL,
        list_files.TOOL,
        search.TOOL,
        problems.TOOL,
        read_output.TOOL,
        write_file.TOOL,
        patch.TOOL,
        terminal.TOOL,
        stop.TOOL,
        ask_user.TOOL,
        todo.TOOL,
    )
}
