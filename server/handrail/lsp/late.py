"""
Edits that were told not to stand, for as long as they may show after all.

A client may answer null, refuse or say nothing, and show the edit a minute later. Each edit that did not land
waits here for the next changes of its document; once the document shows more of it than was told, whoever
has told it is told better. A new edit of the same document ends that: what stands then stands by that one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from handrail.core.documents.change import Applied, Landing, Partial, Update
from handrail.core.documents.readback import LANDED
from handrail.core.failure import Code, Failure
from handrail.lsp.documents import Documents, OpenDocument
from handrail.lsp.sending import Sent

LIMIT = 50  # edits that are waited for; each holds a document's text


@dataclass(kw_only=True)
class _Awaited:
    update: Update
    sent: Sent
    failure: Failure
    count: int
    tell: Callable[[Landing], None] | None = None


class Late:
    """The edits of one client that did not land."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._awaited: list[_Awaited] = []

    def add(self, update: Update, sent: Sent, landing: Landing) -> None:
        """Wait for an edit whose *landing* was not what was asked for; a conflict is judged for good."""
        if isinstance(landing, Applied) or landing.failure.code is Code.STALE_DOCUMENT:
            return
        count = sum(landing.stands) if isinstance(landing, Partial) else 0
        each = _Awaited(update=update, sent=sent, failure=landing.failure, count=count)
        self._awaited = [*self._awaited, each][-LIMIT:]

    def when_shown(self, update: Update, tell: Callable[[Landing], None]) -> None:
        """Have *tell* called whenever more of *update* shows than was told before."""
        for each in list(self._awaited):
            if each.update is update:
                each.tell = tell
                if (document := self._documents.find(each.sent.uri)) is not None:
                    self.look(document)

    def forget(self, uri: str) -> None:
        """Stop waiting for edits of a document: it is edited anew."""
        self._awaited = [each for each in self._awaited if each.sent.uri != uri]

    def look(self, document: OpenDocument) -> None:
        """A document has changed, or was opened."""
        for each in [each for each in self._awaited if each.sent.uri == document.uri and each.tell]:
            found = each.sent.fates(document.text.content)
            count = sum(fate in LANDED for fate in found)
            if count <= each.count:
                continue
            each.count = count
            failure = each.failure if count < len(found) else None
            landing = each.sent.landing(replace(document.text), failure)
            if isinstance(landing, Applied):
                self._awaited.remove(each)
            assert each.tell is not None
            each.tell(landing)
