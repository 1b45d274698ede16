"""Events of a session that come before its journal is read to be shown, and are not in the journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from handrail.core.conversation.journal import Entry, Said
from handrail.core.conversation.message import AssistantMessage
from handrail.core.ledger.report import CallOutput, CallStarted, Event, TextDelta
from handrail.values import dataclass, field

LIMIT = 5_000  # events and entries; of the events the latest


@dataclass(kw_only=True)
class Backlog:
    """
    Entries and events of a session that its reader has not seen yet.

    Attributes:
        entries: What was written to the journal; it may be in there already when that is read.
        events: What has happened in turns, and is in no journal.
    """

    entries: deque[Entry] = field(default_factory=lambda: deque(maxlen=LIMIT))
    events: deque[tuple[str, Event]] = field(default_factory=lambda: deque(maxlen=LIMIT))

    def on_entries(self, entries: Sequence[Entry]) -> None:
        """Called when entries are written to the journal, which is about to be read."""
        self.entries += entries
        self.drop_recorded_text(entries)

    def drop_recorded_text(self, entries: Sequence[Entry]) -> None:
        """Drops streamed text that these entries, just written to the journal, have."""
        if any(isinstance(each, Said) and isinstance(each.message, AssistantMessage) for each in entries):
            left = [each for each in self.events if not isinstance(each[1], TextDelta)]
            self.events = deque(left, maxlen=LIMIT)  # an entry has the words

    def on_event(self, turn: str, event: Event) -> None:
        """Called with an event of a turn."""
        if isinstance(event, TextDelta | CallStarted | CallOutput):
            self.events.append((turn, event))

    def entries_since(self, read: Sequence[Entry]) -> list[Entry]:
        """Returns the entries that were written after the journal was read as *read*."""
        written = list(self.entries)
        known = next((n for n in range(len(written), 0, -1) if list(read[-n:]) == written[:n]), 0)
        return written[known:]
