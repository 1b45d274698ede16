"""
What the editor's language servers know about documents: problems, and where names are defined and used.

A server cannot see what other servers send to the editor; a client that supports it passes that on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from handrail.core.documents.text import Text
from handrail.core.ledger.problems import Problem
from handrail.values import dataclass

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
        text: The text in which they were found.
        problems: All of them that are known.
        missing: Sentences that say why other problems are unknown; empty if these are all.
    """

    text: str
    problems: tuple[Problem, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unwatched:
    """As far as is known, no program reports on the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """
    It is not known which problems the document has.

    Attributes:
        why: A sentence for the model and the user.
        is_final: Whether nothing will be known in this turn.
        is_passing: Whether asking again may give an answer, even if the text has not changed.
    """

    why: str
    is_final: bool = False
    is_passing: bool = False


LATE = Unknown(why="No report came in time.")
UNFINISHED = Unknown(why="The language servers did not finish in time.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """
    A place that a language server names. The model may not be allowed to read its document.

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
        """Returns the services that are offered, as the names of the tools that need them."""
        ...

    async def problems(
        self, uris: Sequence[str], wait_s: float, others: Sequence[str] = ()
    ) -> Mapping[str, Report | Unwatched | Unknown]:
        """
        Returns the problems in the current text of documents, by URI.

        Args:
            wait_s: The maximum time to wait for reports on the current text.
            others: Documents in which a change of *uris* may have caused problems: errors and warnings that
                are known once language servers have nothing more to report.

        Returns:
            No entry for a document on which no report came in time: its problems are unknown. Of *others*,
            documents about which nothing is known are left out; all are unknown if servers were still
            reporting.
        """
        ...

    async def known_problems(self) -> Mapping[str, tuple[Problem, ...]]:
        """Returns all problems known at this moment, by URI, even those of earlier texts."""
        ...

    async def spots(self, tool: str, target: Target, wait_s: float) -> Spots | Unwatched | None:
        """
        Finds where a name is defined or used.

        Args:
            tool: `DEFINITION` or `REFERENCES`.

        Returns:
            None if no answer for the current text came in time.
        """
        ...

    async def symbols(self, uri: str, query: str, wait_s: float) -> Spots | Unwatched | None:
        """
        Lists what a document defines, or what all define if *uri* is empty.

        Args:
            query: Text that names must resemble, as the server decides. Used only for all documents.

        Returns:
            None if no answer came in time.
        """
        ...


class NoLanguages:
    """Languages port without language servers."""

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
