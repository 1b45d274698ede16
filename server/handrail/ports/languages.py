"""
What the editor's language servers know of documents: problems, and where names are defined and used.

A server cannot see what other servers tell the editor; a client that offers to passes it on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from handrail.core.documents.text import Text
from handrail.core.ledger.problems import Problem

# The names of the tools, each of which needs the service of that name.
PROBLEMS = "problems"
DEFINITION = "definition"
REFERENCES = "references"
SYMBOLS = "symbols"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """
    The problems of one document.

    Attributes:
        text: The text that they are of.
        problems: All of them that are known.
        missing: Why others are not known, in sentences; empty if these are all.
    """

    text: str
    problems: tuple[Problem, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unwatched:
    """No program reports on the document, as far as is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """
    It is not known which problems the document has.

    Attributes:
        why: A sentence for the model and the user.
        is_final: Whether nothing will be known in this turn.
        is_passing: Whether asking once more may tell, though the text is the same.
    """

    why: str
    is_final: bool = False
    is_passing: bool = False


LATE = Unknown(why="No report came in time.")
UNFINISHED = Unknown(why="The language servers did not finish in time.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """
    A place that a language server names; the document need not be one that may be read.

    Attributes:
        line: Counted from 0.
        name: The name that is defined there, and what it is, such as `class Shop`; empty if not told.
    """

    uri: str
    line: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spots:
    """Places that a language server names; `more` says that there are places beyond these."""

    spots: tuple[Spot, ...]
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A name in a document: `offset` counts in *text*, the text that the document had."""

    uri: str
    text: Text
    offset: int


class Languages(Protocol):
    """Passes on what language servers say."""

    @property
    def offers(self) -> frozenset[str]:
        """What can be asked for: the names of the tools that need it."""
        ...

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """
        The problems of documents as they are now, by URI.

        Args:
            wait_s: How long to wait at most for reports on the present text.
            others: Documents in which a change of *uris* may have caused problems: errors and warnings that
                are known once language servers have nothing more to report.

        Returns:
            Nothing for a document on which no report came in time: its problems are not known then. Of
            *others* those are left out that nothing is known of; all are unknown if servers still reported.
        """
        ...

    async def known_problems(self) -> Mapping[str, tuple[Problem, ...]]:
        """All problems that are known at this moment, by URI, of whatever text."""
        ...

    async def spots(self, tool: str, target: Target, wait_s: float) -> Spots | Unwatched | None:
        """
        Where a name is defined or used.

        Args:
            tool: `DEFINITION` or `REFERENCES`.

        Returns:
            None if no answer on the present text came in time.
        """
        ...

    async def symbols(self, uri: str, query: str, wait_s: float) -> Spots | Unwatched | None:
        """
        What is defined in a document, or in all if *uri* is empty.

        Args:
            query: What names are to resemble; a server decides what does. Only asked of all documents.

        Returns:
            None if no answer came in time.
        """
        ...


class NoLanguages:
    """Knows nothing."""

    offers: frozenset[str] = frozenset()

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """Nothing reports on any document."""
        return {uri: Unwatched() for uri in uris}

    async def known_problems(self) -> Mapping[str, tuple[Problem, ...]]:
        """None."""
        return {}

    async def spots(self, tool: str, target: Target, wait_s: float) -> Spots | Unwatched | None:
        """No program answers."""
        return Unwatched()

    async def symbols(self, uri: str, query: str, wait_s: float) -> Spots | Unwatched | None:
        """No program answers."""
        return Unwatched()
