"""The port for outputs that are too long for the model."""

from __future__ import annotations

from typing import Protocol

from handrail.core.failure import Failure
from handrail.core.results.search import Hit, Page


class Spills(Protocol):
    """Stores outputs that are too long for the model; only a limited number, for a limited time."""

    async def keep(self, output: str) -> str | None:
        """Stores *output*; returns its id, or None if it cannot be stored."""
        ...

    async def page(self, spill: str, offset: int, length: int) -> Page | Failure:
        """Returns up to *length* characters from *offset*; `no-such-file` if no output has that id."""
        ...

    async def search(
        self, spill: str, pattern: str, *, ignore_case: bool
    ) -> tuple[tuple[Hit, ...], bool] | Failure:
        """Returns the lines that match a regular expression, and whether there are more, in bounded time."""
        ...
