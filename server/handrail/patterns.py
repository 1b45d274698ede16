"""
Regular expressions that are compiled when they are first used.

There are hundreds; to compile all of them when their modules are imported would delay every start.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Pattern:
    """Behaves like a compiled pattern; `__getattr__` is called once for each name."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._text, self._flags), name)  # `re` keeps what it has compiled
        setattr(self, name, found)
        return found


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Returns what `re.compile` would return; an expression that is wrong raises re.error when it is used."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
