"""Parses messages that begin with `/`: commands to handrail, which no model reads."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from handrail.values import dataclass

NAMES = {
    "compact": "summarise the conversation so far, to make room for more",
    "help": "show these commands",
    "mode": "[edit|ask|plan] show or set what turns may do; ask and plan only read",
    "model": "[MODEL] show the model, or use another one from the next turn on",
    "new": "start another conversation",
    "restore": "list the turns, restores and other changes, to see or undo them",
    "review": "show the changes that are pending",
    "sessions": "list earlier conversations and open one",
    "stop": "stop the running turn",
    "undo": "undo the last turn: its changes, and the turn itself",
}
TAKING = frozenset({"mode", "model"})  # that something may stand behind
# The commands of `handrail chat`, which has a parser of its own.
OF_TERMINAL = (
    "undo",
    "checkpoints",
    "review",
    "compact",
    "new",
    "sessions",
    "model",
    "mode",
    "stop",
    "cost",
    "help",
    "quit",
)
LIMIT_NEAR = 5
LIMIT_OWN = 20  # commands of the project's that are listed
LIKE = 0.5  # of difflib: worth being named

_NAME = r"[A-Za-z0-9][\w-]*(?::[\w-]+)*"
_COMMAND = re.compile(rf"/({_NAME})?(?:[ \t]+(.*?))?\s*")
_BEGUN = re.compile(rf"/({_NAME})(?!\S)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command, and the rest of its line."""

    name: str
    argument: str = ""


def parse(text: str, own: Sequence[str] = ()) -> Command | str | None:
    """
    Reads a message.

    Args:
        text: The message.
        own: Commands of the project's, which may be meant instead of an unknown one.

    Returns:
        A command; what is wrong with one, as a sentence; None for a message to the model, such as
        `/usr is full`, or several lines.
    """
    found = _COMMAND.fullmatch(text.strip())
    if found is None or "\n" in text.strip():
        return None
    name, argument = (found[1] or "").lower(), found[2] or ""
    if name not in NAMES:
        near = _near(name, (*NAMES, *own))
        if argument and not near:
            return None
        return f"`/{name}` is not a command. {_hint(near, own)}"
    if argument and name not in TAKING:
        return f"`/{name}` takes no arguments. To send this text to the model, begin with something else."
    return Command(name=name, argument=argument)


def why_not_prompt(text: str, own: Sequence[str]) -> str:
    """
    Returns why a command is not a prompt, where only commands of the project are.

    Args:
        text: What `parse` reads as a command, and which is not one of the project's.
        own: Commands of the project.
    """
    found = _COMMAND.fullmatch(text.strip())
    name = ((found and found[1]) or "").lower()
    if name in NAMES:
        return (
            f"`/{name}` is a command of conversations, and not a prompt for the model. Send it in a "
            "conversation in your editor; `handrail chat` has commands of its own, which its `/help` lists."
        )
    near = difflib.get_close_matches(name, own, 2, LIKE)
    listed = ", ".join(f"`/{each}`" for each in own[:LIMIT_OWN])
    hint = (
        f". Did you mean {' or '.join(f'`/{each}`' for each in near)}?" if near else f", which has {listed}."
    )
    return (
        f"`/{name}` is not a command of this project{hint if own else ', which has none.'} "
        f"To send this text to the model, begin with something else."
    )


def why_sent(text: str, *, in_terminal: bool = False) -> str:
    """
    Returns why a message goes to the model although it begins like a command; empty if it does not.

    Args:
        text: A message for which `parse` gives None, and which is not a command of the project's.
        in_terminal: Whether it comes from `handrail run` or `handrail chat`.
    """
    found = _BEGUN.match(text.strip())
    if found is None:
        return ""
    name = found[1].lower()
    where = ""
    if not in_terminal and name in NAMES:
        where = "It is a command only in a conversation, alone on one line."
    elif in_terminal and name in OF_TERMINAL:
        where = "`handrail chat` runs its commands only if they are alone on one line."
    elif name in NAMES:
        where = "It is a command only in an editor's conversation."
    if where:
        return f"`/{name}` was sent to the model as text. {where}"
    near = _near(name, OF_TERMINAL if in_terminal else (*NAMES,))
    hint = f" {_hint(near)}" if near else ""
    return f"`/{name}` is not a command, so the message was sent to the model unchanged.{hint}"


def _near(name: str, known: Sequence[str]) -> list[str]:
    begun = [each for each in known if name and each.startswith(name)]
    return begun[:LIMIT_NEAR] or difflib.get_close_matches(name, known, 2, LIKE)


def _hint(near: Sequence[str], own: Sequence[str] = ()) -> str:
    if near:
        return f"Did you mean {' or '.join(f'`/{each}`' for each in near)}?"
    listed = ", ".join(f"`/{each}`" for each in (*NAMES, *own[:LIMIT_OWN]))
    return f"Commands are {listed}."
