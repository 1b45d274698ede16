"""
Documents that the server writes for people to read and act in: questions, outputs, reviews.

They are views: what they say is kept elsewhere, also what of it the user wrote.
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
        Writes a document, anew if someone removed or changed it.

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

    async def read(self, name: str) -> tuple[str, str] | None:
        """The URI and the text of a document; None if it is not there, or not where ours are."""
        ...

    async def keep(self, name: str, note: str) -> None:
        """Keeps a note about a document, out of the workspace; not if another server writes here."""
        ...

    async def kept_note(self, name: str) -> str | None:
        """The note about a document that was kept last; None if there is none, or it is not ours."""
        ...

    async def rename(self, name: str, to: str) -> str | None:
        """
        Gives a document another name; a document of that name is replaced.

        Returns:
            Its URI; None if it cannot be renamed.
        """
        ...

    async def remove(self, uri: str) -> None:
        """Removes a document that was written here, if it is there."""
        ...

    def close(self) -> None:
        """Lets another server write here."""
        ...
