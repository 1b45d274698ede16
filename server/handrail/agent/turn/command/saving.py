"""
Decide which unsaved documents to save before a command, and what the command sees of the others.

Nothing is saved before a read-only command: in the sandbox it sees copies of the editor's text in place of
the files, otherwise the files on disk. Before any other command, documents whose unsaved text is only the
agent's are saved. Those with unsaved text of the user's own, even if the agent has edited them too, are saved
only after a yes, once per session, or as `handrail.terminal.save` says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from handrail.agent.turn.edit.corrections import keep_late
from handrail.agent.turn.edit.unsaved import has_agents_text, has_only_agents_text
from handrail.core.checkpoint import StepId
from handrail.core.documents.reading_back.on_save import may_be_typed
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Failure
from handrail.core.policy.containment import Profile
from handrail.core.policy.place import Place, PlaceKind
from handrail.ports import Document, Ports
from handrail.values import dataclass


@dataclass(kw_only=True)
class Saver:
    """
    Saves documents before a command runs, as far as the turn may.

    Attributes:
        asks: Asks the user whether the documents of these paths may be saved.
    """

    asks: Callable[[Sequence[str]], Awaitable[bool]]
    _has_refused: bool = False

    async def may_save(self, uris: Sequence[str], ports: Ports) -> bool:
        """Whether the user's own unsaved text may be saved; a no holds for the turn."""
        if ports.terms.saves != "ask":
            return ports.terms.saves == "always"
        if not self._has_refused:
            self._has_refused = not await self.asks(labels(uris, ports))
        return not self._has_refused


async def save(ports: Ports, saver: Saver, step: StepId) -> list[str]:
    """
    Saves documents, because a command reads the disk.

    What formatters change when a document is saved that the agent has edited becomes part of *step*.

    Returns:
        The URIs of those that could not be saved.
    """
    unsaved = await _unsaved_documents(ports)
    files = [document for document in unsaved if document.has_file]
    edited = [document for document in files if has_agents_text(ports, document)]
    wanted = [document.uri for document in edited if await has_only_agents_text(ports, document)]
    others = [document.uri for document in files if document.uri not in wanted]
    if others and await saver.may_save(others, ports):
        wanted += others
    saved = await ports.editor.save(wanted)
    await _keep_formatting(ports, step, [document for document in edited if document.uri in saved])
    return [document.uri for document in unsaved if document.uri not in saved]


async def _keep_formatting(ports: Ports, step: StepId, saved: Sequence[Document]) -> None:
    """Adds to the checkpoint what formatters have changed in documents since these were *saved*."""
    for before in saved:
        now = await ports.editor.read(before.uri)
        if isinstance(now, Failure) or now.unsaved or to_lf(now.text.content) == to_lf(before.text.content):
            continue
        if not may_be_typed(before.text.content, now.text.content):
            await keep_late(ports, step, {before.uri: before}, {before.uri: now.text}, {})


async def editor_texts(ports: Ports, profile: Profile) -> tuple[tuple[tuple[str, bytes], ...], list[str]]:
    """
    Returns the editor's text of unsaved documents, for a read-only command.

    Returns:
        The text to show in place of each file, by URI; and the URIs of those whose file on disk is shown.
    """
    unsaved = await _unsaved_documents(ports)
    if profile is not Profile.LOOK or not (await ports.process.available()).mounts:
        return (), [document.uri for document in unsaved]
    seen = {}
    for each in unsaved:
        if each.has_file and await ports.editor.read_bytes(each.uri) is not None:  # it may be empty
            seen[each.uri] = each.text.encode(each.text.content)
    copied = tuple((uri, raw) for uri, raw in seen.items() if isinstance(raw, bytes))
    return copied, [each.uri for each in unsaved if each.uri not in dict(copied)]


async def _unsaved_documents(ports: Ports) -> list[Document]:
    """Returns the unsaved documents, except removed ones, handrail's own and those outside the workspace."""
    documents = await ports.editor.open_documents()
    differing = [document for document in documents if document.unsaved and not document.is_removed]
    unsaved = [document for document in differing if not await hides_line_ends(document, ports)]
    places = [(document, ports.workspace.resolve(document.uri)) for document in unsaved]
    apart = (PlaceKind.OWN, PlaceKind.OUTSIDE)
    return [each for each, place in places if not (isinstance(place, Place) and place.kind in apart)]


async def hides_line_ends(document: Document, ports: Ports) -> bool:
    """
    Whether a document differs from the disk only in its line ends: Emacs holds LF for all, and writes the
    file's own.
    """
    text, raw = document.text, await ports.editor.read_bytes(document.uri)
    saved = Text.parse(raw, text.encoding) if raw is not None else None
    return isinstance(saved, Text) and saved.has_one_eol and to_lf(saved.content) == text.content


def labels(uris: Sequence[str], ports: Ports) -> list[str]:
    """Returns the display names of documents."""
    places = [ports.workspace.resolve(uri) for uri in uris]
    return [place.path if isinstance(place, Place) else uri for uri, place in zip(uris, places, strict=True)]
