"""
Tell one client when pending changes are others, or elsewhere: at most five times a second.

A keystroke only notes that its document was touched; what that means for the changes in it is worked out a
moment later, for all keystrokes until then at once. Documents without pending changes cost nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence

from pygls.lsp.server import LanguageServer

from handrail.agent.review.reviews import Reviews
from handrail.core.review.comments import Comment
from handrail.lsp import protocol, wire
from handrail.lsp.client import Client
from handrail.lsp.documents import Documents
from handrail.lsp.review.page import ReviewPage
from handrail.ports.review import Records, ReviewStore
from handrail.values import dataclass, field

AGAIN_S = 0.2
TYPING_S = 2.5  # while there is typing, an editor moves what it shows by itself
RECORDS_S = 1.0  # so often it is looked whether git's index or HEAD has changed, while something is pending
SERVICE = "review"  # what a client opts in to that is told of each change


@dataclass(kw_only=True)
class ReviewSurface:
    """
    Tells the client when pending changes have changed, so that it asks again.

    Attributes:
        reviews: All pending changes.
        spelled: Gives the URI by which the client knows a document.
        begin: Starts a background task.
        publish: Updates the diagnostics, if changes are among them.
        say: Tells the user something.
        page: The review document.
    """

    server: LanguageServer
    client: Callable[[], Client]
    documents: Documents
    reviews: Callable[[], Reviews]
    spelled: Callable[[str], str]
    begin: Callable[[Coroutine[object, object, object]], None]
    publish: Callable[[], None]
    say: Callable[[str], None]
    page: ReviewPage
    _touched: set[str] = field(default_factory=set)
    _changed: set[str] = field(default_factory=set)
    _timer: asyncio.TimerHandle | None = None
    _latest: float = 0.0
    _watching: asyncio.TimerHandle | None = None
    _has_turned: bool = False
    _told: tuple[Comment, ...] = ()

    def __post_init__(self) -> None:
        self.page.turned = self.on_comments

    def ledger(self, store: ReviewStore, records: Records, mode: Callable[[], str]) -> Reviews:
        """The ledger of pending changes, which tells this surface of each of its own."""
        store.damaged = records.unreadable = self.say
        return Reviews(store=store, records=records, held=self.held_rows, mode=mode, changed=self.on_change)

    def held_rows(self, identity: str) -> Sequence[str] | None:
        """The rows that the editor has of a document; None if it has not opened it."""
        document = next((each for each in self.documents if each.identity == identity), None)
        return None if document is None else document.rows

    def on_edit(self, identity: str) -> None:
        """A document was typed in."""
        if self.reviews().on_change(identity):
            self._touched.add(identity)
            self._pause()

    def on_change(self, identity: str, uri: str) -> None:
        """Called when the pending changes of a document have changed."""
        self._changed.add(uri)
        self._soon()
        self._watch_records()

    def on_comments(self) -> None:
        """The review document holds something else, so the comments may be others."""
        self._has_turned = True
        self._soon()

    def _watch_records(self) -> None:
        if self._watching is None:
            self._watching = asyncio.get_running_loop().call_later(RECORDS_S, self._begin_check)

    def _begin_check(self) -> None:
        self.begin(self._check_records())

    async def _check_records(self) -> None:
        """Look once, and again later as long as something is pending; never twice at the same time."""
        try:
            await self.reviews().check_records()
        finally:
            self._watching = None
            if any(known.document.hunks for known in self.reviews().pending.values()):
                self._watch_records()

    def _pause(self) -> None:
        """Tell once nothing has been typed for a moment, and now and then while there is typing."""
        loop = asyncio.get_running_loop()
        if self._timer is not None and loop.time() < self._latest - AGAIN_S:
            self._timer.cancel()
            self._timer = loop.call_later(AGAIN_S, self._tell)
        elif self._timer is None:
            self._latest = loop.time() + TYPING_S
            self._timer = loop.call_later(AGAIN_S, self._tell)

    def _soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(AGAIN_S, self._tell)

    def refresh(self) -> None:
        """Have the client ask for its lenses again."""
        if self.client().refreshes_lenses:
            self.server.workspace_code_lens_refresh(None)

    def _tell(self) -> None:
        touched, self._touched = self._touched, set()
        for identity in touched:
            if self.reviews().compare_open(identity):
                self._changed.add(self.reviews().pending[identity].uri)
        uris = sorted(map(self.spelled, self._changed))
        self._changed, self._timer = set(), None
        comments = self._comments()
        if uris or comments != self._told:
            self._told = comments
            self._notify(uris)
        if uris:
            self._show_again()

    def _comments(self) -> tuple[Comment, ...]:
        """The comments that have not been sent, where clients are told about them."""
        has_turned, self._has_turned = self._has_turned, False
        return tuple(self.page.discussion().comments()) if has_turned else self._told

    def _notify(self, uris: list[str]) -> None:
        if SERVICE not in self.client().services:
            return
        pending = sum(len(known.document.hunks) for known in self.reviews().shown)
        params = protocol.ReviewChanged(uris=uris, pending=pending, comments=len(self._told))
        self.server.protocol.notify(protocol.REVIEW_CHANGED, wire.write(params))

    def _show_again(self) -> None:
        client = self.client()
        self.refresh()
        if client.refreshes_hints:
            self.server.workspace_inlay_hint_refresh(None)
        self.page.on_change()
        self.publish()
