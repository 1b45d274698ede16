"""The texts of a served document that its client may hold, each with the owners of its lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handrail.core.documents import page_reading
from handrail.core.documents.page import Page
from handrail.core.documents.page_reading import Reading
from handrail.values import dataclass, field

LIMIT_STATES = 50  # earlier texts that are kept
RECENT = 3  # of these, and of texts that were sent, that are compared with a new one


@dataclass
class KnownTexts:
    """
    Earlier texts of one document.

    Attributes:
        saved: As the client has saved it last; None if that is not known.
        sent: The latest that were sent to the client, and may show at any time.
    """

    saved: Page | None = None
    sent: list[Page] = field(default_factory=list)
    _states: dict[int, Page] = field(default_factory=dict)

    def remember(self, page: Page) -> None:
        """Keeps a text that the client has, or may have."""
        key = hash(page.rows)
        self._states.pop(key, None)
        self._states[key] = page
        for old in list(self._states)[:-LIMIT_STATES]:
            del self._states[old]

    def note_sent(self, page: Page) -> None:
        """Notes that a text was sent to the client."""
        self.sent = [*self.sent, page][-RECENT:]

    def find(self, rows: tuple[str, ...]) -> Page | None:
        """Returns the text that has these rows, if it is known."""
        page = self._states.get(hash(rows))
        return page if page is not None and page.rows == rows else None

    def read(self, current: Page, rows: Sequence[str], *, owns_copies: bool, reading: Reading) -> Page:
        """Returns the text that has these rows, as a change of the *current* one or of another."""
        saved = [] if self.saved is None else [self.saved]
        known = [current, *list(self._states.values())[-RECENT:], *saved]
        return page_reading.read_page(known, rows, self.sent, owns_copies=owns_copies, reading=reading)

    def revise(self, change: Callable[[Page], Page]) -> None:
        """Changes the owners of lines in all texts; their rows stay as they are."""
        self.saved = None if self.saved is None else change(self.saved)
        self.sent = [change(page) for page in self.sent]
        self._states = {key: change(page) for key, page in self._states.items()}
