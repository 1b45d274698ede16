"""Renders the changes that a message names as `@diff`: those pending, or else those not committed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from handrail.core import surfaces
from handrail.core.conversation.message import Excerpt
from handrail.core.documents.diff import creation_diff, deletion_diff, unified_diff
from handrail.core.documents.edit import edits_between
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place
from handrail.lsp.features import prompts
from handrail.lsp.features.turn import LIMIT_EXCERPTS_CHARS
from handrail.lsp.state import State
from handrail.ports import Document

PENDING, UNCOMMITTED = "Changes that are pending", "Changes that are not committed"
LIMIT_UNREAD = 5  # paths that are named
NOTHING = (
    "matches nothing: no text file that the model may see has pending changes, or is tracked by git and has "
    "uncommitted ones. To send a new file, name it with @path."
)


async def show_changes(state: State) -> tuple[Excerpt | None, str]:
    """
    Returns the text for the model, None if there is none; and why it is not complete, ending a sentence.
    """
    await state.host.reviews.refresh()
    texts = [
        f"{each.path}:{each.line_numbers}\n{each.diff}\n"
        for each in state.discussion.pending_subjects()
        if each.has_text
    ]
    if texts:
        return Excerpt(path=PENDING, first_line=0, text="\n".join(texts)), ""
    text, unread = await _uncommitted_diff(state)
    named = ", ".join(map(surfaces.line, unread[:LIMIT_UNREAD]))
    named += f" and {len(unread) - LIMIT_UNREAD} more" if unread[LIMIT_UNREAD:] else ""
    if not text:
        return None, f"was not sent: git's record of {named} cannot be read." if unread else NOTHING
    its = "their" if unread[1:] else "its"
    why = f"is not complete: git's record of {named} cannot be read, so {its} changes were not sent."
    return Excerpt(path=UNCOMMITTED, first_line=0, text=text), why if unread else ""


async def _uncommitted_diff(state: State) -> tuple[str, list[str]]:
    """
    Returns the differences between the last commits and what the editor holds, of files that prompts may
    name; and the paths of which git's files cannot be read.
    """
    records = state.backend.records
    known = await records.uncommitted_files(state.folders)
    files, unread = dict(known.files), list(known.unread)
    files |= await _open(state, files)
    shown, room = list[str](), LIMIT_EXCERPTS_CHARS
    for uri, blob in sorted(files.items()):
        place = state.workspace.resolve(uri)
        if room <= 0 or not isinstance(place, Place) or prompts.why_not_sent(state, place) is not None:
            continue
        raw = await records.content(uri, blob) if blob else b""
        if raw is None:
            unread.append(place.path)
            continue
        text = await _difference(state, place, raw, is_new=not blob)
        shown.append(text)
        room -= len(text)
    return "".join(shown), unread


async def _open(state: State, files: Mapping[str, str]) -> dict[str, str]:
    """Open documents that git tracks; they may differ although their files do not."""
    known = {document.identity for uri in files if (document := state.documents.find(uri)) is not None}
    uris = [each.uri for each in state.documents if each.identity not in known]
    recorded = await state.backend.records.recorded_ids(uris, again=True) if uris else {}
    return {uri: committed for uri, (staged, committed) in recorded.items() if staged or committed}


async def _difference(state: State, place: Place, raw: bytes, *, is_new: bool) -> str:
    """
    Returns the difference of a document from its committed contents; empty if there is none, or it is not
    text.
    """
    now = await state.editor.read(place.uri)
    before = Text.parse(raw, now.text.encoding if isinstance(now, Document) else None)
    if isinstance(before, Failure):
        return ""
    if isinstance(now, Failure):
        return deletion_diff(place.path, before) if now.code is Code.NO_SUCH_FILE and not is_new else ""
    if is_new:
        return creation_diff(place.path, now.text)
    old, new = to_lf(before.content), to_lf(now.text.content)
    return await asyncio.to_thread(lambda: unified_diff(place.path, Text(old), edits_between(old, new)))
