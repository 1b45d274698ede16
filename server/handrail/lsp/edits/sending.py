"""
Send the edits of an open document, and determine their result from what the editor shows.

The result depends on the text before, the edit that was sent and the current text (`readback.fates`),
whatever the client answered and whenever the change shows. An edit is sent again only if it is proved
missing: the client compares versions, it shows a later version, and there the place of each edit is
unchanged. If the user typed in the same lines, it is a conflict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from handrail.core.documents import edit
from handrail.core.documents.change import Landing, Partial, Rejected, Update, rebase_update
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.readback import LANDED, Fate, which_are_intact
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure, Span
from handrail.lsp.documents import OpenDocument
from handrail.lsp.edits.answers import Answer, mismatch, offer, overwritten, refusal
from handrail.lsp.edits.apply_edit import ApplyEdit
from handrail.lsp.edits.sent import Sent, prepare
from handrail.ports import Editor
from handrail.values import dataclass, replace

TRIES = 3  # how often an edit is adapted to a text that the user keeps changing


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Sends the updates of open documents through one client."""

    wire: ApplyEdit
    disk: Editor

    async def update(self, update: Update, label: str) -> tuple[Landing, tuple[Sent, ...]]:
        """Makes an update; also returns all attempts."""
        left, lost = update, tuple[int, ...]()
        tries: tuple[Sent, ...] = ()
        landing: Landing | None = None
        for _ in range(TRIES):
            document = self._document(update.uri)
            if document is None:
                (landing,) = await self.disk.apply([update], label)
                return landing, tries
            now = replace(document.text, encoding=update.base.encoding, bom=update.base.bom)
            rebased = rebase_update(left, now.content)
            conflicts = tuple(sorted({*lost, *rebased.conflicts}))
            if conflicts and not (update.is_divisible and any(rebased.kept)):
                return _conflict(update, conflicts, document), tries
            if unsafe := self.wire.unsafe(now, rebased.edits):
                return Rejected(failure=unsafe.with_uri(document.uri)), tries
            sent = prepare(update, left, rebased, document, self.wire.documents.count)
            sent = replace(sent, base=now, conflicts=conflicts)
            tries = (*tries, sent)
            landing, absent = await self._try(sent, document, label)
            if absent is None:
                break
            lost = tuple({*lost, *set(sent.numbers) - absent})
            left = replace(left, hunks=tuple(each for each in left.hunks if (each.number or 1) in absent))
        assert landing is not None
        return landing, tries

    async def _try(
        self, sent: Sent, document: OpenDocument, label: str
    ) -> tuple[Landing, frozenset[int] | None]:
        """
        Sends it once.

        Returns:
            Its landing; and the numbers of the hunks that may be sent again, because no part of any hunk is
            or will be there. None if nothing may be sent again.
        """
        watches = not self.wire.client.compares(sent.version)
        document.seen = seen = list[str]()
        try:
            answer = await self._send_and_wait(sent, label)
            document.seen_late = seen if watches else None  # more of the edit may show late
            if watches and (told := _overwritten(sent, seen, document.text)) is not None:
                return told, None
            if self._document(sent.uri) is None:
                return await self._landing_once_gone(sent), None
        finally:
            document.seen = None
        now = self._document(sent.uri)
        assert now is not None
        fates = sent.fates(now.text.content)
        if all(fate in LANDED for fate in fates):
            return sent.landing(now.text, None), None
        landing = sent.landing(now.text, self._why(sent, now, fates, answer))
        is_undone = bool(answer.applied) and now.text.content == sent.base.content
        is_stale = self.wire.client.compares(sent.version) and now.version != sent.version
        is_proven = is_stale and not is_undone
        if not is_proven or any(fate in LANDED for fate in fates) or any(map(sent.count_in, seen)):
            return landing, None  # someone has changed what was shown before
        unclear = {number for number, fate in zip(sent.numbers, fates, strict=True) if fate is Fate.UNCLEAR}
        return landing, frozenset(sent.numbers) - unclear

    async def _send_and_wait(self, sent: Sent, label: str) -> Answer:
        """Sends it and waits until it shows, or until that can no longer be expected."""
        documents, patience = self.wire.documents, self.wire.patience

        def is_intact() -> bool:
            document = self._document(sent.uri)
            return document is not None and all(
                which_are_intact(sent.base, sent.edits, document.text.content)
            )

        def is_newer() -> bool:
            document = self._document(sent.uri)
            return document is None or document.version != sent.version

        made = self.wire.text_edit(sent.uri, sent.version, sent.base, sent.edits)
        answer = await self.wire.send(made, label, is_intact)
        can_be_stale = self.wire.client.compares(sent.version)

        def is_decided() -> bool:
            return is_intact() or (is_newer() and (can_be_stale or self._has_landed(sent)))

        await documents.until(lambda: is_newer() or is_intact(), patience.news_s(answer))
        if await documents.until(is_decided, patience.wait_s(answer)):
            # After a newer text without it, the wait is short.
            await documents.until(is_intact, 0 if self._has_landed(sent) else patience.overtaken_s)
        return answer

    def _has_landed(self, sent: Sent) -> bool:
        document = self._document(sent.uri)
        return document is not None and all(fate in LANDED for fate in sent.fates(document.text.content))

    def _document(self, uri: str) -> OpenDocument | None:
        return self.wire.documents.find(uri)

    def _why(self, sent: Sent, now: OpenDocument, fates: Sequence[Fate], answer: Answer) -> Failure:
        """Returns why edits that were sent did not land."""
        if Fate.UNCLEAR in fates and now.version != sent.version:
            lost = [at for at, fate in enumerate(fates) if fate is Fate.UNCLEAR]
            texts = edit.conflict_texts(sent.base, [sent.edits[at] for at in lost], now.text.content)
            return edit.stale("The document", texts)
        landed = [fate in LANDED for fate in fates]
        if not self.wire.client.apply_edit:
            return offer(sent.uri)
        if any(landed):
            return mismatch(sent.uri, landed)
        return refusal(sent.uri, answer, self.wire.patience.answer_s)

    async def _landing_once_gone(self, sent: Sent) -> Landing:
        """Returns the landing for a document that was renamed or closed: the new one or the disk decides."""

        def find_renamed() -> OpenDocument | None:
            return next((each for each in self.wire.documents if sent.is_in(each, is_gone=True)), None)

        await self.wire.documents.until(lambda: find_renamed() is not None, self.wire.patience.overtaken_s)
        if (there := find_renamed()) is not None:
            landed = [fate in LANDED for fate in sent.fates(there.text.content)]
            failure = None if all(landed) else mismatch(there.uri, landed)
            return sent.landing(there.text, failure, there.uri)
        saved = await self.disk.read(sent.uri)
        if not isinstance(saved, Failure) and all(fate in LANDED for fate in sent.fates(saved.text.content)):
            return sent.landing(saved.text, None)
        return Rejected(
            failure=Failure(
                code=Code.NOT_AS_WRITTEN,
                uri=sent.uri,
                message="The document was closed without saving during the edit.",
                steps=("Send the edit again.",),
            )
        )


def _conflict(update: Update, conflicts: tuple[int, ...], document: OpenDocument) -> Rejected:
    """Returns the landing of an update of which some hunks conflict with the user's typing."""
    edits = [each for hunk in update.hunks if (hunk.number or 1) in conflicts for each in hunk.edits]
    texts = edit.conflict_texts(update.base, edits, document.text.content)
    failure = edit.stale("The document", texts)
    others = len(conflicts) < len(update.hunks)
    return Rejected(failure=failure.with_uri(document.uri), conflicts=conflicts if others else ())


def overwritten_late(sent: Sent, seen: Sequence[str], document: Text) -> Landing | None:
    """
    Like `_overwritten`, for an edit that shows late: by then, a formatter may have changed the text too.
    """
    typed = sent.texts_before(seen)
    if not typed or not any(each.conflict for each in edit.rebase(sent.base, sent.edits, typed[-1])):
        return None
    return _overwritten(sent, seen, document)


def _is_beside(sent: Sent, typed: Text, now: str) -> bool:
    """Whether *now* has all of an edit, and also everything that was *typed* before it showed."""
    made = edit.edits_between(sent.base.content, typed.content)
    is_kept = all(each.new.strip() in now for each in made)
    return is_kept and sent.count_in(now) == len(sent.edits) and not _has_lost_lines(sent, typed, now)


def _is_as_typed(base: Text, planned: TextEdit, typed: Text, now: str) -> bool:
    """Whether the lines that an edit of *base* changes are now as the user *typed* them since."""
    there = edit.carry(edit.whole_lines(base, planned), edit.edits_between(base.content, typed.content))
    here = edit.carry(there, edit.edits_between(typed.content, now))
    lines = typed.content[there.start : there.end]
    return bool(lines) and lines == now[here.start : here.end]  # of deleted lines, the edit hits the next


def _has_lost_lines(sent: Sent, typed: Text, now: str) -> bool:
    """Whether *now* lacks lines of *typed* that the edit does not change."""
    made = edit.edits_between(sent.base.content, typed.content)
    changed = [edit.carry(edit.whole_lines(sent.base, each), made) for each in sent.edits]
    starts = zip(typed.starts, typed.rows, strict=False)
    others = [row for at, row in starts if not any(each.start <= at < each.end for each in changed)]
    return bool(Counter(map(_bare, others)) - Counter(map(_bare, Text(now).rows)) - Counter([""]))


def _made_blindly(sent: Sent, there: Text) -> str:
    """
    Returns the result if a client applies an edit of another text to *there*, at the same lines and columns.
    """

    def offset_there(offset: int) -> int:
        line = sent.base.line_at(offset)
        if line >= len(there.starts):
            return len(there.content)
        return min(there.row_end(line), there.starts[line] + offset - sent.base.starts[line])

    moved = [
        replace(each, span=Span(start=offset_there(each.span.start), end=offset_there(each.span.end)))
        for each in sent.edits
    ]
    return edit.apply(there.content, moved)


def _bare(row: str) -> str:
    return "".join(row.split())


def _overwritten(sent: Sent, seen: Sequence[str], document: Text) -> Landing | None:
    """
    Returns the failure if a client that does not compare versions applied the edit over simultaneous typing.

    Args:
        sent: The edit.
        seen: The document's texts since then, in order.
        document: The document with its current text.
    """
    now = document.content
    typed = sent.texts_before(seen)
    if not typed or typed[-1] == now:
        return None
    last = Text(typed[-1])
    moved = edit.rebase(sent.base, sent.edits, last.content)
    met = [each for each, there in zip(sent.edits, moved, strict=True) if there.conflict]
    if met:
        if all(_is_as_typed(sent.base, each, last, now) for each in met):
            return None  # of edits that show one by one, these may follow
        if any(_is_beside(sent, last, text) for text in (*seen[len(typed) :], now)):
            return None
    else:
        made = _bare(edit.apply(last.content, [each.edit for each in moved]))
        if _bare(_made_blindly(sent, last)) == made:  # what was typed has moved no line that it names
            return None
        later = (*seen[len(typed) :], now)
        if any(_bare(text) == made or _is_beside(sent, last, text) for text in later):
            return None  # a formatter may have changed the text too
    failure = overwritten(sent.uri, *_differing_lines(last.content, now))
    landed = [fate in LANDED and not each.conflict for fate, each in zip(sent.fates(now), moved, strict=True)]
    if not met or not any(landed):
        return Rejected(failure=failure, has_overwritten=True)
    each = iter(landed)
    of_all = tuple(keep and next(each) for keep in sent.kept)
    return Partial(landed=of_all, failure=failure, has_overwritten=True)


def _differing_lines(one: str, other: str) -> tuple[str, str]:
    """Returns the lines from the first to the last difference of two texts, in both, for people."""
    made = edit.edits_between(one, other)
    if not made:
        return "", ""
    text, growth = Text(one), sum(each.growth for each in made)
    first, last = made[0].span.start, made[-1].span.end
    lines = edit.whole_lines(text, TextEdit(span=replace(made[0].span, start=first, end=last), new=""))
    there = other[lines.start : lines.end + growth]
    return edit.quote(one[lines.start : lines.end]), edit.quote(there)
