"""Note what edits make of open documents, to tell the agent's unsaved text from the user's before a save."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from handrail.agent.turn.edit.preimage import Held, Left, edits_made
from handrail.core.documents.change import Change, Delete, Landing, Rejected
from handrail.core.documents.reading_back.agent_text import AgentText
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Failure
from handrail.ports import Document, Ports


async def note(
    ports: Ports,
    before: Held,
    made: Sequence[tuple[Change, Landing]],
    ours: Mapping[str, Left],
    names: Mapping[str, str],
) -> None:
    """
    Notes edits that were made.

    Args:
        ports: The ports of the server.
        before: The documents before them.
        made: The changes in order, each with its landing.
        ours: The texts that they have left, without what others did since, where these are known.
        names: The new names of documents that were renamed in the meantime.
    """
    landed = {
        change.uri: before[change.uri]
        for change, landing in made
        if not isinstance(change, Delete) and not isinstance(landing, Rejected)
    }
    for uri, was in landed.items():
        now = await ports.editor.read(names.get(uri, uri))
        if not isinstance(now, Document) or not now.is_open:
            continue
        known = ports.agent_texts.get(was.uri) if isinstance(was, Document) and was.unsaved else None
        if known is None or not isinstance(was, Document) or known.saved is not was.saved:
            known = await _begin(ports, was, now)
        left = ours.get(uri)
        after = left.content if isinstance(left, Text) else None
        edits = edits_made(was, [pair for pair in made if pair[0].uri == uri])
        content = was.text.content if isinstance(was, Document) else ""
        ports.agent_texts[now.uri] = await asyncio.to_thread(known.add_edit, content, after, edits)


async def _begin(ports: Ports, was: Document | Failure, now: Document) -> AgentText:
    """Returns the text on disk of a document that the agent has not edited since its last save."""
    if not isinstance(was, Document):
        return AgentText(saved=now.saved, texts=("",))
    saved = was.saved if was.is_open else now.saved
    if not was.unsaved:
        return AgentText(saved=saved, texts=(was.text.content,))
    raw = await ports.editor.read_bytes(was.uri)
    if raw is None:
        return AgentText(saved=saved, texts=("",))
    text = Text.parse(raw, was.text.encoding)
    if not isinstance(text, Text):
        return AgentText(saved=saved, texts=())
    hides_line_ends = text.has_one_eol and "\r" not in was.text.content
    return AgentText(saved=saved, texts=(to_lf(text.content) if hides_line_ends else text.content,))


async def has_only_agents_text(ports: Ports, document: Document) -> bool:
    """Whether all unsaved text of a document is the agent's."""
    known = ports.agent_texts.get(document.uri)
    if (
        known is None
        or not has_agents_text(ports, document)
        or not await _is_first_on_disk(ports, known, document)
    ):
        return False
    return await asyncio.to_thread(known.is_all_of, document.text.content)


async def _is_first_on_disk(ports: Ports, known: AgentText, document: Document) -> bool:
    """Whether the file still has the text before the edits; an editor may save without a message."""
    raw = await ports.editor.read_bytes(document.uri)
    if raw is None:
        return True  # it was removed, and not saved since
    text = Text.parse(raw, document.text.encoding)
    return isinstance(text, Text) and bool(known.texts) and to_lf(text.content) == to_lf(known.texts[0])


def has_agents_text(ports: Ports, document: Document) -> bool:
    """Whether the agent has edited a document since it was last saved."""
    known = ports.agent_texts.get(document.uri)
    return known is not None and known.saved is document.saved
