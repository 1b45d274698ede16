"""
Have the client save documents, and add to the landing of an edit how the save changed the text.

Whether an edit has landed is decided by the text before the save: a formatter that runs then changes lines
that have landed. Its changes are part of the landing, because the turn left them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pygls.exceptions import JsonRpcException

from handrail.core.documents.change import Applied, Update
from handrail.core.documents.readback import LANDED, Fate, fates
from handrail.core.documents.reading_back.on_save import may_be_typed
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Failure
from handrail.lsp import protocol, wire
from handrail.lsp.edits.apply_edit import ApplyEdit
from handrail.ports import Editor
from handrail.values import dataclass, field, replace


@dataclass(kw_only=True)
class Saving:
    """
    Saves documents through one client.

    Attributes:
        uris: What the client is currently saving for us.
    """

    wire: ApplyEdit
    disk: Editor
    uris: set[str] = field(default_factory=set)

    async def save(self, uris: Sequence[str]) -> frozenset[str]:
        """Asks the client to save *uris*, if it offers to."""
        if not self.wire.client.saves or not uris:
            return frozenset()
        params = wire.write(protocol.SaveParams(uris=list(uris)))
        self.uris |= set(uris)
        try:
            sent = self.wire.server.protocol.send_request_async(protocol.CLIENT_SAVE, params)
            await asyncio.wait([sent], timeout=self.wire.patience.answer_s)
        finally:
            self.uris -= set(uris)
        if not sent.done():
            return frozenset()
        try:
            return frozenset(wire.read(protocol.SaveResult, sent.result()).saved)
        except (JsonRpcException, wire.InvalidParams):
            return frozenset()

    async def save_landed(self, update: Update, landing: Applied) -> Applied:
        """Has the document of an update saved, and adds to its landing how the save changed the text."""
        before = landing.text
        await self.save([update.uri])
        if before is None or (saved := await self._saved_text(update.uri)) is None:
            return landing
        if to_lf(saved.content) == to_lf(before.content):
            return landing
        of_each = fates(update.base, update.edits, saved.content, update.numbers)
        return replace(
            landing,
            saved=None if may_be_typed(before.content, saved.content) else saved,
            is_reformatted=landing.is_reformatted or Fate.REFORMATTED in of_each,
            was_changed_on_save=any(fate not in LANDED for fate in of_each),
        )

    async def _saved_text(self, uri: str) -> Text | None:
        """Returns the text of a saved document; None if the editor does not hold that of the file."""
        saved = await self.disk.read(uri)
        if isinstance(saved, Failure):
            return None
        content = to_lf(saved.text.content)

        def is_held() -> bool:
            document = self.wire.documents.find(uri)
            return document is None or to_lf(document.text.content) == content

        return (
            saved.text if await self.wire.documents.until(is_held, self.wire.patience.overtaken_s) else None
        )
