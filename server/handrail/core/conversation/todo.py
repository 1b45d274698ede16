"""
The model's todo list.

Each call of the tool contains the whole list, so the list is that of the last call: it is stored nowhere
else, and can be found in any history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum

from handrail.core.conversation.message import AssistantMessage, Message
from handrail.core.failure import Code, Failure
from handrail.values import dataclass

NAME = "todo"
LIMIT_ITEMS = 50
LIMIT_CHARS = 500  # of one item


class State(StrEnum):
    """The state of an item."""

    OPEN = "open"
    ACTIVE = "active"
    DONE = "done"


MARKS: dict[State, str] = {State.OPEN: "[ ]", State.ACTIVE: "[>]", State.DONE: "[x]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing to do."""

    text: str
    state: State


def read(arguments: Mapping[str, object]) -> tuple[Item, ...] | Failure:
    """The list that the arguments of a call give; `bad-arguments` names the item that is wrong."""
    given = arguments.get("items")
    if not isinstance(given, list):
        return _bad("The argument 'items' must be a list of objects with `text` and `state`.")
    if len(given) > LIMIT_ITEMS:
        return _bad(f"There are {len(given)} items; the limit is {LIMIT_ITEMS}.")
    items: list[Item] = []
    for number, each in enumerate(given, 1):
        text = each.get("text") if isinstance(each, dict) else None
        state = each.get("state", State.OPEN) if isinstance(each, dict) else None
        if not isinstance(text, str) or not text.strip() or len(text) > LIMIT_CHARS:
            return _bad(f"The text of item {number} must have 1 to {LIMIT_CHARS} characters.")
        if state not in tuple(State):
            return _bad(f"The state of item {number} must be open, active or done.")
        items.append(Item(text=" ".join(text.split()), state=State(state)))
    return tuple(items)


def render(items: Sequence[Item]) -> str:
    """The list as the model and people read it."""
    done = sum(item.state is State.DONE for item in items)
    rows = (f"{MARKS[item.state]} {item.text}" for item in items)
    return "\n".join((f"{done} of {len(items)} done.", *rows)) if items else "Nothing to do."


def latest(messages: Sequence[Message]) -> tuple[Item, ...]:
    """The list as the last good call in a history left it; empty if there was none."""
    for message in reversed(messages):
        calls = message.calls if isinstance(message, AssistantMessage) else ()
        for call in reversed(calls):
            if call.name == NAME and not isinstance(items := _read_items(call.arguments), Failure):
                return items
    return ()


def _read_items(arguments: str) -> tuple[Item, ...] | Failure:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = None
    return read(value) if isinstance(value, dict) else _bad("The arguments must be one JSON object.")


def _bad(message: str) -> Failure:
    return Failure(
        code=Code.BAD_ARGUMENTS, message=message, steps=("Call the tool again with the whole list.",)
    )
