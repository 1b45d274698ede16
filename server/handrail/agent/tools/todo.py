"""
Keep a todo list for work that takes several steps; the user sees it.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import call
from handrail.core.conversation import todo
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.ports import Ports
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """From now on, these are the `items`."""

    items: tuple[todo.Item, ...]

    @property
    def title(self) -> str:
        """For people: what is being done."""
        active = next((item.text for item in self.items if item.state is todo.State.ACTIVE), None)
        return f"Now: {active}" if active else "Update the todo list"

    @property
    def reads(self) -> tuple[str, ...]:
        """No path."""
        return ()

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Failure:
        """The list as it is kept."""
        return todo.render(self.items)


def parse(arguments: call.Arguments) -> Todo | Failure:
    """Read the arguments of a call."""
    items = todo.read(arguments)
    return items if isinstance(items, Failure) else Todo(items=items)


TOOL = call.Tool(
    kind=ToolKind.TALK,
    offer=call.offer(
        todo.NAME,
        "Keep a todo list for work that takes several steps; the user sees it. Give the whole list "
        "each time, and update it as soon as a step is done.",
        {
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string"},
                        "state": {"enum": [state.value for state in todo.State], "default": "open"},
                    },
                    "required": ["text"],
                },
            }
        },
        ("items",),
    ),
    parse=parse,
)
