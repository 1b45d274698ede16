"""The names that the user gives documents once the agent has changed them, as far as this server sees."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from urllib.parse import quote

from handrail.core.failure import Failure
from handrail.core.policy.place import Place

REMEMBERED = 1_000  # renames


class Renames:
    """
    The renames, openings and changes of documents, in order.

    A name may belong to one document after another. So a rename counts for a document only if the agent has
    not changed a document of its old name since, and a document that was open before cannot be a new name.
    """

    def __init__(self) -> None:
        self._numbers = count(1)
        self._renamed: list[tuple[int, str, str]] = []
        self._changed: dict[str, int] = {}
        self._opened: dict[str, int] = {}

    def on_rename(self, identity: str, uri: str) -> None:
        """Called when a document or a folder has got another name: its identity before, and its new URI."""
        self._renamed.append((next(self._numbers), identity, uri))
        del self._renamed[:-REMEMBERED]

    def on_agent_change(self, identity: str) -> None:
        """Called when the agent has changed a document."""
        self._changed[identity] = next(self._numbers)

    def on_open(self, identity: str) -> None:
        """Called when the editor has opened a document."""
        self._opened[identity] = next(self._numbers)

    def on_close(self, identity: str) -> None:
        """Called when the editor has closed a document."""
        self._opened.pop(identity, None)

    def was_open(self, identity: str, changed: str) -> bool:
        """Whether a document has been open since before the agent last changed the other one, *changed*."""
        return self._opened.get(identity, 0) < self._changed.get(changed, 0) and identity in self._opened

    def find(self, identity: str, resolve: Callable[[str], Place | Failure]) -> Place | None:
        """Returns the place that a document or a folder was renamed to; None if it was not."""
        now, since = identity, self._changed.get(identity, 0)
        last: Place | None = None
        for number, old, uri in self._renamed:
            below = path_below(now, old) if number > since else None
            place = None if below is None else resolve(uri.rstrip("/") + below)
            if isinstance(place, Place):
                now, last = place.identity, place
        return last if now != identity else None


def path_below(identity: str, folder: str) -> str | None:
    """Returns the rest of a document's path in *folder* as in a URI; None if it is not there."""
    if identity == folder:
        return ""
    rest = identity.removeprefix(folder.rstrip("/\\"))
    is_below = rest != identity and rest.startswith(("/", "\\"))
    return quote(rest.replace("\\", "/")) if is_below else None
