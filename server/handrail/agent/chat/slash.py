"""What a message means that begins with `/`: a command to handrail, and nothing that a model reads."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

NAMES = {
    "compact": "summarise the conversation so far to make room for more",
    "help": "show these commands",
    "mode": "[edit|ask|plan] show what turns may do, or change it; ask and plan change nothing",
    "model": "[MODEL] show the model, or use another one from the next turn on",
    "new": "begin another conversation",
    "restore": "list what turns have changed, so that it can be looked at and taken back",
    "review": "show the changes that are pending",
    "sessions": "list earlier conversations and open one",
    "stop": "stop the turn that runs",
    "undo": "take the last turn back: its changes, and the turn itself",
}
TAKING = frozenset({"mode", "model"})  # that something may stand behind
LIKE = 0.5  # of difflib: worth being named

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z-]*)?(?:[ \t]+(.*?))?\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command, and the rest of its line."""

    name: str
    argument: str = ""


def parse(text: str) -> Command | str | None:
    """
    Read a message.

    Returns:
        A command; what is wrong with one, as a sentence; None for a message to the model, such as
        `/usr is full`, or several lines.
    """
    found = _COMMAND.fullmatch(text.strip())
    if found is None or "\n" in text.strip():
        return None
    name, argument = (found[1] or "").lower(), found[2] or ""
    if name not in NAMES:
        near = _near(name)
        if argument and not near:
            return None
        return f"`/{name}` is not a command. {_hint(near)}"
    if argument and name not in TAKING:
        return f"`/{name}` takes nothing after it. To say it to the model, begin with another word."
    return Command(name=name, argument=argument)


def _near(name: str) -> list[str]:
    begun = [each for each in NAMES if name and each.startswith(name)]
    return begun or difflib.get_close_matches(name, NAMES, 2, LIKE)


def _hint(near: Sequence[str]) -> str:
    if near:
        return f"Did you mean {' or '.join(f'`/{each}`' for each in near)}?"
    return f"Commands are {', '.join(f'`/{each}`' for each in NAMES)}."
