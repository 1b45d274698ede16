"""
Documents that the server writes for people to read and act in: questions, outputs, and later reviews.

They are views: what they say is kept elsewhere, and what somebody writes into them counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Where a served document is, and what the user should know of that, once."""

    uri: str
    note: str = ""


class ServedDocuments(Protocol):
    """Writes served documents, where the client's server for the workspace is found from them."""

    def use_workspace(self, wanted: bool) -> None:
        """From now on they are in the workspace folder, or, if that is not *wanted*, in the state folder."""
        ...

    async def write(self, name: str, text: str) -> Written:
        """
        Write a document, anew if somebody removed or changed it.

        Args:
            name: The file's; no folder is in it.
            text: All of it.

        Returns:
            Where it is. Raises ServedError.
        """
        ...

    async def holds(self, uri: str, text: str) -> bool:
        """Whether the document at *uri* is there and says *text*."""
        ...

    async def remove(self, uri: str) -> None:
        """Remove a document that was written here, if it is there."""
        ...

    def close(self) -> None:
        """Let another server write here."""
        ...
