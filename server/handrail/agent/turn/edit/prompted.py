"""
Remove the prompts that a turn answers, as part of its first edit of their document.

Both are one change of the document, so a single undo restores the comment too. If the user types in the
comment while the edit is on its way, the edit is made without the removal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from handrail.agent.turn.edit.plan import PlannedFile
from handrail.core.checkpoint import StepId
from handrail.core.documents import edit
from handrail.core.documents.change import Change, Create, Delete, Landing, Rejected, Update
from handrail.core.documents.in_code.removal import SentPrompt, removal_edit, with_removals
from handrail.ports import Ports
from handrail.values import dataclass, replace


async def add_removals(ports: Ports, step: StepId, files: Sequence[PlannedFile]) -> tuple[PlannedFile, ...]:
    """Returns the files of a call with changes that also remove the prompts that the turn answers."""
    result = []
    for file in files:
        sent = ports.removals.sent_prompts(step.turn, _identity(file)) if file.changes else ()
        result.append(await asyncio.to_thread(_add_removal, file, sent) if sent else file)
    return tuple(result)


def _identity(file: PlannedFile) -> str:
    return file.parts[0].mutation.identity


def _add_removal(file: PlannedFile, sent: Sequence[SentPrompt]) -> PlannedFile:
    match file.changes:
        case (Update() as update,):
            return replace(file, changes=(with_removals(update, sent),))
        case (Create() as moved, Delete() as delete):
            content = moved.text.content
            for each in sent:
                gone = removal_edit(each, content)
                content = content if gone is None else edit.apply(content, [gone])
            return replace(file, changes=(replace(moved, text=replace(moved.text, content=content)), delete))
        case _:
            return file


@dataclass(frozen=True, slots=True, kw_only=True)
class SentCall:
    """The files of a call as they were sent, their changes in order, and the landing of each."""

    files: tuple[PlannedFile, ...]
    changes: tuple[Change, ...]
    landings: tuple[Landing, ...]


async def apply_planned(
    ports: Ports, planned: Sequence[PlannedFile], files: Sequence[PlannedFile], label: str, *, partial: bool
) -> SentCall:
    """
    Makes the changes of a call through the editor.

    Args:
        ports: The ports of the server.
        planned: The files as the model planned them.
        files: The same files, with the removals by handrail.
        label: The label for the user's undo list.
        partial: Whether edits that fit may stay if others do not fit.
    """
    plain, changes = _changes(planned, partial=partial), _changes(files, partial=partial)
    landings = await _apply(ports, changes, label)
    for at, (own, sent) in enumerate(zip(plain, changes, strict=True)):
        landing = landings[at]
        if own != sent and isinstance(landing, Rejected) and landing.conflicts:
            changes[at] = own
            (landings[at],) = await ports.editor.apply([own], label)
    rest = iter(changes)
    sent_files = tuple(replace(file, changes=tuple(next(rest) for _ in file.changes)) for file in files)
    return SentCall(files=sent_files, changes=tuple(changes), landings=tuple(landings))


async def _apply(ports: Ports, changes: Sequence[Change], label: str) -> list[Landing]:
    """Makes changes in order; a file that is moved is removed only if it has landed at its new path."""
    moves = {each.moved_from: at for at, each in enumerate(changes) if isinstance(each, Create)}
    if not moves.keys() - {None}:
        return list(await ports.editor.apply(changes, label))
    landings = list[Landing]()
    for change in changes:
        created = moves.get(change.uri) if isinstance(change, Delete) else None
        landing = landings[created] if created is not None else None
        if isinstance(landing, Rejected):
            landings.append(Rejected(failure=landing.failure))
        else:
            landings += await ports.editor.apply([change], label)
    return landings


def _changes(files: Sequence[PlannedFile], *, partial: bool) -> list[Change]:
    return [
        replace(change, is_divisible=partial) if isinstance(change, Update) else change
        for file in files
        for change in file.changes
    ]


def settle(ports: Ports, step: StepId, files: Sequence[PlannedFile], landings: Sequence[Landing]) -> None:
    """Notes which documents have been edited: prompts that are still in them stay."""
    rest = iter(landings)
    for file in files:
        of_file = [next(rest) for _ in file.changes]
        if any(not isinstance(each, Rejected) for each in of_file):
            ports.removals.on_edit(step.turn, _identity(file))
