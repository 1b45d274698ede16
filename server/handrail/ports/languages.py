"""
What other programs know of documents, the editor's language servers above all.

A server cannot see what other servers tell the editor; a client that offers to passes it on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from handrail.core.ledger.problems import Problem

PROBLEMS = "problems"  # the name of the service, and of the tool that needs it


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """
    The problems of one document.

    Attributes:
        text: The text that they are of.
        problems: All of them.
    """

    text: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Unwatched:
    """No program reports on the document, as far as is known."""


class Languages(Protocol):
    """Passes on what language servers say."""

    @property
    def offers(self) -> frozenset[str]:
        """What can be asked for: the names of the tools that need it."""
        ...

    async def problems(self, uris: Sequence[str], wait_s: float) -> Mapping[str, Report | Unwatched]:
        """
        The problems of documents as they are now, by URI.

        Args:
            wait_s: How long to wait at most for reports on the present text.

        Returns:
            Nothing for a document on which no report came in time: its problems are not known then.
        """
        ...

    async def known_problems(self) -> Mapping[str, tuple[Problem, ...]]:
        """All problems that are known at this moment, by URI, of whatever text."""
        ...


class NoLanguages:
    """Knows nothing."""

    offers: frozenset[str] = frozenset()

    async def problems(self, uris: Sequence[str], wait_s: float) -> Mapping[str, Report | Unwatched]:
        """Nothing reports on any document."""
        return {uri: Unwatched() for uri in uris}

    async def known_problems(self) -> Mapping[str, tuple[Problem, ...]]:
        """None."""
        return {}
