"""Keep changes that the user stages or commits, by comparing them with what version control has recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from handrail.core.documents.text import Text, split_lines
from handrail.core.failure import Failure
from handrail.core.review import document as one
from handrail.core.review.pending import Kind, Pending
from handrail.core.review.recorded import keep_recorded
from handrail.ports import Editor
from handrail.ports.review import Records


async def drop_recorded(records: Records, editor: Editor, documents: Iterable[Pending]) -> list[Pending]:
    """Those of the documents of which the record has changed, without what is on record by now."""
    of = {known.uri: known for known in documents}
    news = await records.recorded_ids(list(of)) if of else {}
    result = []
    for uri, blobs in news.items():
        known = of[uri]
        if blobs != known.recorded:
            # A commit or a branch that was checked out changes both; only staging changes the index alone.
            is_staged = blobs[0] != blobs[1] or blobs[1] == known.recorded[1]
            for was, blob, by_rows in zip(known.recorded, blobs, (is_staged, False), strict=True):
                if was != blob:
                    known = await _drop_blob(records, editor, known, (was, blob), by_rows=by_rows)
            result.append(replace(known, recorded=blobs))
    return result


async def note_records(records: Records, documents: Iterable[Pending]) -> list[Pending]:
    """The documents, with what is on record by now taken for what was there when their hunks landed."""
    of = {known.uri: known for known in documents}
    news = await records.recorded_ids(list(of), again=True) if of else {}
    return [replace(of[uri], recorded=blobs) for uri, blobs in news.items()]


async def _drop_blob(
    records: Records, editor: Editor, known: Pending, blobs: tuple[str, str], *, by_rows: bool
) -> Pending:
    """
    A document after its record has changed.

    Args:
        blobs: What was recorded, and what is now.
        by_rows: See `keep_recorded`.
    """
    was, blob = blobs
    nothing = replace(known, document=one.keep(known.document, known.document.ids()))
    if known.kind is Kind.DELETED or not blob:
        return nothing if known.kind is Kind.DELETED and not blob else known
    raw = await records.content(known.uri, blob)
    if raw is None:
        return known
    if known.kind is Kind.WHOLE:
        now = await editor.read_bytes(known.uri)
        return nothing if now is not None and records.is_recorded(now, blob) else known
    text = Text.parse(raw)
    old = await records.content(known.uri, was) if was else None
    before = Text.parse(old) if old is not None else None
    if isinstance(text, Failure) or isinstance(before, Failure):
        return known
    rows = split_lines(before.content) if before is not None else None
    recorded = split_lines(text.content)
    found = await asyncio.to_thread(keep_recorded, known.document, rows, recorded, by_rows=by_rows)
    return replace(known, document=found)
