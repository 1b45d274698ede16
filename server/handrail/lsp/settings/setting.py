"""
What a setting is: its name and default, what it does, and who may set it.

A machine setting is read only at global scope or from `initializationOptions`, so that a cloned folder cannot
choose the model.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from handrail.core.policy.checks import Check
from handrail.core.policy.rules import Rule
from handrail.values import dataclass

Listed = tuple[Rule, ...] | tuple[str, ...] | tuple[Check, ...]
Value = str | bool | int | Listed


class Scope(StrEnum):
    """The sources from which a setting is accepted."""

    MACHINE = "machine"
    WINDOW = "window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """
    One setting.

    Attributes:
        choices: The allowed strings; empty if any string is allowed.
        bounds: The smallest and the largest number allowed.
        reads: Parses a list, or returns a message that says what is wrong with it.
    """

    name: str
    default: Value
    scope: Scope
    does: str
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    reads: Callable[[object], Listed | str] | None = None
