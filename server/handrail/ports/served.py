"""
Documents that the server writes for people to read and act in: questions, outputs, reviews.

They are views: their contents are stored elsewhere, including what the user wrote.
"""

from __future__ import annotations

from typing import Protocol

from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The URI of a served document, and a notice about its place that the user should see once."""

    uri: str
    note: str = ""


class ServedDocuments(Protocol):
    """Writes served documents to a place from which editors find the workspace's server."""

    def use_workspace(self, wanted: bool) -> None:
        """Chooses the workspace folder for them or, if that is not *wanted*, the state folder."""
        ...

    async def write(self, name: str, text: str) -> Written:
        """
        Writes a document, even if someone removed or changed it.

        Args:
            name: The file's name, without a folder.
            text: All of it.

        Returns:
            Where it is. Raises ServedError.
        """
        ...

    async def holds(self, uri: str, text: str) -> bool:
        """Whether the document at *uri* exists and contains *text*."""
        ...

    async def read(self, name: str) -> tuple[str, str] | None:
        """Returns the URI and the text of a document; None if it does not exist in our folder."""
        ...

    async def keep(self, name: str, note: str) -> None:
        """Stores a note about a document, outside the workspace, unless another server writes here."""
        ...

    async def kept_note(self, name: str) -> str | None:
        """Returns the last stored note about a document; None if there is none, or it is not ours."""
        ...

    async def names_with_notes(self) -> tuple[str, ...]:
        """Returns the names of the documents with a stored note; none if another server writes here."""
        ...

    async def forget(self, name: str) -> None:
        """Removes the note about a document, and its file in our folder, if they exist."""
        ...

    async def rename(self, name: str, to: str) -> str | None:
        """
        Gives a document another name; a document of that name is replaced.

        Returns:
            Its URI; None if it cannot be renamed.
        """
        ...

    async def remove(self, uri: str) -> None:
        """Removes a document that was written here, if it exists."""
        ...

    def close(self) -> None:
        """Lets another server write here."""
        ...
