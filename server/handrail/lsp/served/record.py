"""
The record of a served document, so that after a kill of the server every line still has its owner.

The whole document is recorded now and then. Before each update, the difference to it is recorded, because
a client may or may not make an edit whose server is killed.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence

from handrail.core.documents import page_json
from handrail.core.documents.page import Page, Part
from handrail.ports.served import ServedDocuments
from handrail.values import dataclass, field

STATE = re.compile(r', ("(?:[^"\\]|\\.)*")\]\s*\Z')
LONGEST_STATE = 1_000
NEXT = "next-{}"  # the name under which differences are recorded


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """
    A record.

    Attributes:
        page: The document.
        saved: As the client has saved it; None if that is not known.
        state: The state that its owner has recorded with it.
        sent: Later texts that it may have, if the server was killed during an update; first that before it.
    """

    page: Page
    saved: Page | None
    state: str
    sent: Sequence[Page]

    @property
    def latest(self) -> Page:
        """The document before the last update, if the server was killed during one."""
        return self.sent[0] if self.sent else self.page


@dataclass
class PageRecord:
    """The record of one document."""

    served: ServedDocuments
    _note: str = ""
    _page: Page = field(default_factory=Page)
    _rest: tuple[Page | None, str] | None = None

    async def read(self, name: str, parts: Sequence[Part]) -> Recorded | None:
        """Returns the record; None if there is none, or it is not ours. Lines of *parts* are reused."""
        note = await self.served.kept_note(name) or ""
        try:
            latest, saved, state = json.loads(note)
            page = page_json.read(latest, parts)
            as_saved = page if saved is None else page_json.read(saved, parts)
        except (ValueError, TypeError, RecursionError):
            return None
        if page is None or not isinstance(state, str):
            return None
        self._note, self._page, self._rest = note, page, (as_saved, state)
        return Recorded(page=page, saved=as_saved, state=state, sent=await self._read_sent(name, parts))

    async def _read_sent(self, name: str, parts: Sequence[Part]) -> list[Page]:
        note = await self.served.kept_note(NEXT.format(name))
        try:
            stamp, *differences = json.loads(note or "")
            if stamp != _stamp(self._note):
                return []
            found = [page_json.read_difference(self._page, each, parts) for each in differences]
        except (ValueError, TypeError, RecursionError):
            return []
        return [page for page in found if page is not None]

    async def write(self, name: str, page: Page, saved: Page | None, state: str) -> None:
        """Records the whole document, unless that is recorded already."""
        rest = (page if saved is None else saved, state)
        if self._note and page == self._page and rest == self._rest:
            return  # as is found out much faster than what it would be as JSON
        latest = page_json.as_json(page)
        note = json.dumps(
            [latest, None if saved in (None, page) else page_json.as_json(saved or Page()), state]
        )
        if note != self._note:
            self._note, self._page, self._rest = note, page, rest
            await self.served.keep(name, note)

    async def write_next(self, name: str, *pages: Page) -> None:
        """Records the document before an update, and as the client may have it from now on."""
        differences = [page_json.difference(self._page, each) for each in pages]
        await self.served.keep(NEXT.format(name), json.dumps([_stamp(self._note), *differences]))


def state_of(note: str) -> str | None:
    """Returns the state in a record as it was written; it is at the end, so the document need not be read."""
    found = STATE.search(note, max(len(note) - LONGEST_STATE, 0))
    try:
        return str(json.loads(found[1])) if found is not None else None
    except ValueError:
        return None


async def forget(served: ServedDocuments, name: str) -> None:
    """Removes a document, and all that is recorded of it."""
    await served.forget(NEXT.format(name))
    await served.forget(name)


def _stamp(note: str) -> int:
    return zlib.crc32(note.encode("utf-8", "surrogatepass"))
