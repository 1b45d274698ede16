"""
Have the editor load open documents again whose files a command changed.

Some editors do so by themselves, others only when asked. Without it, the model would read and edit outdated
text, and saving that text would overwrite the command's changes. Unsaved text is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.agent.tools.call import Console
from handrail.agent.turn.command import notes, saving
from handrail.core.policy.place import Place, PlaceKind
from handrail.ports import Document, Ports
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTexts:
    """
    Documents of the workspace that have no unsaved text, before a command.

    Attributes:
        texts: Their texts, by URI.
        clean: The URIs of those that had the line ends of their files, too; some editors hold LF for all.
    """

    texts: Mapping[str, str]
    clean: frozenset[str]


async def saved_texts(documents: Sequence[Document], ports: Ports) -> SavedTexts:
    """Returns the documents of the workspace that have no unsaved text."""
    texts = {
        each.uri: each.text.content
        for each in documents
        if each.has_file
        and _is_of_workspace(each, ports)
        and not (each.unsaved and not await saving.hides_line_ends(each, ports))
    }
    clean = frozenset(each.uri for each in documents if not each.unsaved and each.uri in texts)
    return SavedTexts(texts=texts, clean=clean)


async def reload(before: SavedTexts, ports: Ports, console: Console) -> str:
    """
    Has those documents loaded again that are not as their files are, and tells the user what still is not.

    Args:
        before: The documents without unsaved text before the command.

    Returns:
        A note for the model; empty if there is nothing to say.
    """
    now = [each for each in await ports.editor.open_documents() if each.unsaved]
    kept = [each for each in now if before.texts.get(each.uri) == each.text.content]  # else someone has typed
    hidden = {each.uri for each in kept if await saving.hides_line_ends(each, ports)}
    old = [each.uri for each in kept if each.uri not in hidden or each.uri in before.clean]
    left = await ports.editor.reload(old) if old else ()
    if not left:
        return ""
    labels = saving.labels(sorted(left), ports)
    console.notice(notes.not_reloaded_notice(labels), True)
    return notes.not_reloaded_note(labels)


def _is_of_workspace(document: Document, ports: Ports) -> bool:
    place = ports.workspace.resolve(document.uri)
    return isinstance(place, Place) and place.kind not in {PlaceKind.OWN, PlaceKind.OUTSIDE}
