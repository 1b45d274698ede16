"""Finds the user's typing and saves while a command ran: they are not changes by the command."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.agent.turn.edit.preimage import read_held, targets
from handrail.core.checkpoint import EditorActivity
from handrail.ports import Document, Ports


async def editor_activity_since(
    typed: Sequence[str], began: Sequence[Document], ports: Ports
) -> EditorActivity:
    """
    Returns what the editor did since a command began.

    Args:
        typed: The URIs of the documents that had unsaved text then.
        began: The documents that were open then.
    """
    beneath = targets(await read_held(ports.editor, typed))
    kept = [each for each in beneath if each.unsaved is not None]
    return EditorActivity(unsaved=kept, saved=_saved_since(began, await ports.editor.open_documents()))


def _saved_since(began: Sequence[Document], ended: Sequence[Document]) -> list[str]:
    """Returns the documents with text that the user has typed and saved since *began*."""
    known = {document.uri: document for document in began}
    return [now.uri for now in ended if _is_saved(known.get(now.uri), now)]


def _is_saved(then: Document | None, now: Document) -> bool:
    if now.saved is None or now.unsaved or now.saved.content != now.text.content:
        return False
    # A save that we requested may be reported late; then it is of the earlier text.
    return then is None or (now.saved is not then.saved and now.saved.content != then.text.content)
