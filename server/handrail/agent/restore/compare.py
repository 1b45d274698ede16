"""
Compare a checkpoint with what its turn left, with another checkpoint, or with the current state.

The result is a unified diff for people. The editor's text counts as the document. A file that is not text, or
whose mode alone differs, is named without its content.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from handrail.agent.restore.document import revert_edits
from handrail.agent.restore.names import identity
from handrail.agent.restore.renamed import follow
from handrail.core.checkpoint import Checkpoint, Image, KeptDocument, Restoration
from handrail.core.documents import diff, edit
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.ports import CheckpointError, Document, Ports

NOW = "now"


async def compare(ports: Ports, checkpoint: str, against: str | None, uri: str | None) -> str:
    """
    Compares a checkpoint.

    Args:
        ports: The ports of the server.
        checkpoint: The id of a turn or a step; the diff starts from the state before it.
        against: Another checkpoint, up to whose beginning the diff goes; `now`; or None for what the turn, or
            the step and the later ones of its turn, left.
        uri: The only document to compare; None: all.

    Returns:
        A unified diff, empty if nothing differs. That of a turn has only its own changes, unless others have
        changed the same lines. Raises CheckpointError.
    """
    pairs = (
        await _pairs_of_turn(ports, checkpoint, own=True)
        if against is None
        else await _between(ports, checkpoint, against)
    )
    wanted = None if uri is None else identity(ports, uri)
    shown = (
        _show(ports, *pair)
        for pair in pairs
        if wanted is None or wanted in (identity(ports, pair[0].uri), identity(ports, pair[3]))
    )
    return "".join(shown)


def select_document(ports: Ports, checkpoints: Sequence[Checkpoint], uri: str) -> tuple[Checkpoint, ...]:
    """
    Returns the *checkpoints* that have a document, however its URI is spelled, reduced to that document.
    """
    name = identity(ports, uri)
    narrowed = (
        replace(each, paths=tuple(path for path in each.paths if identity(ports, path.uri) == name))
        for each in checkpoints
    )
    return tuple(each for each in narrowed if each.paths)


async def read_kept(ports: Ports, checkpoint: str, uri: str, *, after: bool) -> Text | bytes | None:
    """
    Returns the contents of a document before a turn or step, or as the turn left it.

    Returns:
        A text, the bytes of a file that is not text, or None if there was no document. Raises CheckpointError
        if the checkpoint does not have the document.
    """
    name = identity(ports, uri)
    for kept, before, left, _ in await _pairs_of_turn(ports, checkpoint):
        if identity(ports, kept.uri) == name:
            return left if after else before
    raise CheckpointError(f"The document {uri} is not in checkpoint {checkpoint}.")


Side = Text | bytes | None  # a text, a file that is not text, nothing
Pair = tuple[KeptDocument, Side, Side, str]  # before, after, and its URI after


async def _pairs_of_turn(ports: Ports, checkpoint: str, *, own: bool = False) -> Sequence[Pair]:
    """
    Pairs the contents before the turn with those that it left, as far as they are known.

    Args:
        own: Whether the contents before are to have what others changed between two of its steps, so that the
            pairs differ only in its own changes.
    """
    pairs: list[Pair] = []
    paths = {each.uri: each for each in await ports.checkpoints.kept_documents(checkpoint)}
    for each in await ports.checkpoints.restore_plan(checkpoint):
        before, after = _side(each.before), None if each.after is None else _side(each.after)
        if each.after is None or not each.is_seen:
            now = await _current_document(ports, each.uri)
            after = now if each.after is None or now == before else after  # killed before it was written
        if own and each.gaps and isinstance(before, Text) and isinstance(after, Text):
            before = await asyncio.to_thread(_add_gaps, each, before, after)
        pairs.append((paths[each.uri], before, after, each.uri))
    return pairs


def _add_gaps(each: Restoration, before: Text, after: Text) -> Text:
    """Returns *after* without the turn's own changes; *before* if others have changed the same lines."""
    edits = revert_edits(each, after, before)
    return before if edits is None else replace(after, content=edit.apply(after.content, edits))


async def _between(ports: Ports, checkpoint: str, against: str) -> Sequence[Pair]:
    """Pairs the stored contents at two moments; a document that was not changed since is as it is now."""
    first = {each.uri: each for each in await ports.checkpoints.kept_documents(checkpoint)}
    other = {} if against == NOW else {e.uri: e for e in await ports.checkpoints.kept_documents(against)}
    renamed = await _find_renamed(ports, checkpoint) if against == NOW else {}
    pairs: list[Pair] = []
    for uri, document in {**first, **other}.items():
        if uri in renamed.values():
            continue  # it is compared with what it was under its old name
        at = renamed.get(uri, uri)
        now = None if uri in first and uri in other else await _current_side(ports, at, document.image)
        sides = [_side(kept[uri].image) if uri in kept else now for kept in (first, other)]
        pairs.append((document, sides[0], sides[1], at))
    return pairs


async def _find_renamed(ports: Ports, checkpoint: str) -> dict[str, str]:
    """Returns the current URIs of documents that the user has renamed since, by those that they had."""
    plan = await follow(ports, await ports.checkpoints.restore_plan(checkpoint, following=True))
    return {each.renamed_from: each.uri for each in plan if each.renamed_from}


async def _current_side(ports: Ports, uri: str, kept: Image) -> Side:
    """Returns the current counterpart of what was *kept*: a document, or a file or link at a place."""
    image = await ports.editor.read_image(uri) if kept.is_link else None
    return await _current_document(ports, uri) if image is None else _side(image)


def _side(image: Image) -> Side:
    if image.unsaved is not None:
        return image.unsaved.text
    if image.raw is None:
        return None
    text = Text.parse(image.raw, image.encoding)
    return image.raw if isinstance(text, Failure) else text


async def _current_document(ports: Ports, uri: str) -> Side:
    document = await ports.editor.read(uri)
    if isinstance(document, Document):
        return document.text
    return None if document.code is Code.NO_SUCH_FILE else b""


def _show(ports: Ports, document: KeptDocument, before: Side, after: Side, uri: str) -> str:
    """Returns one document's part of the diff."""
    path, place = document.path, ports.workspace.resolve(uri)
    to = path if uri == document.uri or isinstance(place, Failure) else place.path
    if isinstance(before, bytes) or isinstance(after, bytes):
        return (
            ""
            if before == after
            else f"Binary files {diff.side('a', path)} and {diff.side('b', to)} differ\n"
        )
    if before is None:
        return "" if after is None else diff.creation_diff(to, after)
    if after is None:
        return diff.deletion_diff(path, before)
    return diff.unified_diff(path, before, edit.edits_between(before.content, after.content), to=to)
