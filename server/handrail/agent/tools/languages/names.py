"""
Ask the editor's language servers where a name is defined, or where it is used.

The model says in which line of which file it sees the name; the column is found here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from handrail.agent.tools import call
from handrail.agent.tools.languages import spots
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import sanitize
from handrail.ports import Ports
from handrail.ports.languages import DEFINITION, REFERENCES, Target, Unwatched
from handrail.values import dataclass

LIMIT_LINES = 10  # that are named where the name is not in the line given
NAME_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Ask by *tool* about the *name* in a line of `path`; None for the first line that has it."""

    tool: str
    path: str
    name: str
    line_number: int | None

    @property
    def title(self) -> str:
        """For people: what is being done."""
        what = "Find the definition of" if self.tool == DEFINITION else "Find the uses of"
        return f"{what} {self.name}"

    @property
    def reads(self) -> tuple[str, ...]:
        """The file in which the name stands."""
        return (self.path,)

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Failure:
        """The lines of the places that the language server names."""
        document = await ports.editor.read(places[self.path].uri)
        if isinstance(document, Failure):
            return document
        offset = self._offset(document.text)
        if isinstance(offset, Failure):
            return offset
        target = Target(uri=document.uri, text=document.text, offset=offset)
        match await ports.languages.spots(self.tool, target, spots.WAIT_S):
            case Unwatched():
                return f"Unknown: no language server in the editor covers {self.path}. Use search."
            case None:
                return spots.NO_ANSWER
            case found:
                return await spots.list_spots(found, ports)

    def _offset(self, text: Text) -> int | Failure:
        """Returns the offset of the name; of a name such as `a.b`, that of its last part, which is meant."""
        pattern = re.compile(rf"(?<!\w){re.escape(self.name)}(?!\w)")
        lines = [at for at, row in enumerate(text.rows) if self.name in row and pattern.search(row)]
        wanted = lines[0] if self.line_number is None and lines else (self.line_number or 0) - 1
        if wanted not in lines:
            return self._missing_failure(lines)
        found = pattern.search(text.rows[wanted])
        assert found is not None
        last = re.search(r"\w+\W*\Z", self.name)
        return text.starts[wanted] + found.start() + (last.start() if last is not None else 0)

    def _missing_failure(self, lines: list[int]) -> Failure:
        name, path = (sanitize.clean(each, NAME_CHARS) for each in (self.name, self.path))
        if not lines:
            return Failure(
                code=Code.BAD_ARGUMENTS,
                message=f"The name {name!r} does not occur in {path}.",
                steps=("Give a file and a line where it occurs; search finds them.",),
            )
        near = sorted(sorted(lines, key=lambda at: abs(at + 1 - (self.line_number or 0)))[:LIMIT_LINES])
        numbers = ", ".join(str(at + 1) for at in near)
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"The name {name!r} is not on line {self.line_number} of {path}; it is on: {numbers}.",
            steps=("Call the tool again with one of these line numbers.",),
        )


def parse(arguments: call.Arguments, tool: str) -> Asking | Failure:
    """Read the arguments of a call."""
    path, name = call.path(arguments), call.text(arguments, "name")
    line_number = call.line_number(arguments, "line")
    for value in (path, name, line_number):
        if isinstance(value, Failure):
            return value
    assert isinstance(path, str)
    assert isinstance(name, str)
    assert not isinstance(line_number, Failure)
    name = name.strip()
    if not name or "\n" in name or len(name) > NAME_CHARS:
        return call.bad("name", "a name as it is written on the line")
    return Asking(tool=tool, path=path, name=name, line_number=line_number)


def _tool(name: str, description: str) -> call.Tool:
    return call.Tool(
        kind=ToolKind.READ,
        offer=call.offer(
            name,
            description,
            {
                "path": {"type": "string", "description": "A file in which the name occurs."},
                "name": {"type": "string", "description": "The name."},
                "line": {
                    "type": "integer",
                    "description": "The line where it occurs, counted from 1. Default: its first occurrence.",
                },
            },
            ("path", "name"),
        ),
        parse=partial(parse, tool=name),
        needs=name,
    )


DEFINITION_TOOL = _tool(DEFINITION, "Find where a name is defined, with the editor's language server.")
REFERENCES_TOOL = _tool(REFERENCES, "Find all uses of a name, with the editor's language server.")
