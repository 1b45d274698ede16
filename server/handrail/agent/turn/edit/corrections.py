"""
Correct the outcome of edits that show up after they were reported as failed.

An editor may apply an edit long after its answer. Then the outcome and the checkpoint are corrected, and
everyone who was told about the failure is told again: the document decides, whenever it shows the edit.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial

from handrail.agent.turn.edit.outcomes import outcomes
from handrail.agent.turn.edit.partial_call import PendingRevert, revert_other_documents
from handrail.agent.turn.edit.plan import PlannedFile
from handrail.agent.turn.edit.preimage import NO_NAMES, Held, Left, names, pin_targets, results, written_texts
from handrail.agent.turn.edit.reviewed import made_changes
from handrail.core.checkpoint import StepId, Target
from handrail.core.documents import edit
from handrail.core.documents.change import (
    Applied,
    Change,
    Create,
    Delete,
    Landing,
    Update,
    with_what_was_overwritten,
)
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.ledger.outcome import Outcome
from handrail.ports import CheckpointError, Document, Ports
from handrail.values import dataclass, field, replace

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Listener:
    """
    The recipient of corrections.

    Attributes:
        tell: Called with the current outcomes of a file.
        pending: Corrections that have begun but have not been reported yet.
        one_at_a_time: Held while a correction is being reported.
        late: The number of changes of each document that may show late.
    """

    tell: Callable[[Sequence[Outcome]], None]
    pending: set[asyncio.Task[None]] = field(default_factory=set)
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    late: Counter[str] = field(default_factory=Counter)


@dataclass(kw_only=True)
class Corrections:
    """
    The edits of one batch that did not land.

    Attributes:
        step: The step whose checkpoint has the pre-images.
        before: The documents before the batch.
    """

    ports: Ports
    step: StepId
    before: Held
    listener: Listener

    def watch(
        self,
        files: Sequence[PlannedFile],
        changes: Sequence[Change],
        landings: Sequence[Landing],
        waiting: Sequence[PendingRevert],
    ) -> None:
        """
        Watches changes that may show late.

        Args:
            files: The files of a call.
            changes: Their changes that did not land, or that may show twice.
            landings: The landing of each change.
            waiting: Reverts that did not land.
        """
        at = 0
        self.listener.late.update(change.uri for change in changes)
        for file in files:
            count = len(file.changes)
            of_file = list(landings[at : at + count])
            for number, change in enumerate(changes[at : at + count]):
                tell = partial(self._on_shown, file, of_file, number, change)
                self.ports.editor.when_shown(change, tell)
                for revert in [revert for revert in waiting if revert.change is change]:
                    self._watch_revert(tell, revert)
            at += count

    def _watch_revert(self, tell: Callable[[Landing], None], revert: PendingRevert) -> None:
        self.ports.editor.when_shown(revert.update, partial(self._on_undone, tell, revert))

    def _on_undone(self, tell: Callable[[Landing], None], revert: PendingRevert, landing: Landing) -> None:
        """Called when a revert shows: the edit is reported as reverted once this is so in all documents."""
        if isinstance(revert.gone, Applied):
            return  # nothing is gone by it
        if isinstance(landing, Applied):
            self._begin(self._on_undone_everywhere(tell, revert, landing.uri))
        elif landing.has_overwritten:
            tell(replace(revert.gone, failure=with_what_was_overwritten(revert.gone.failure, landing)))

    async def _on_undone_everywhere(
        self, tell: Callable[[Landing], None], revert: PendingRevert, uri: str | None
    ) -> None:
        if revert.update.is_alone and (left := await revert_other_documents(self.ports, revert)) is not None:
            self._watch_revert(tell, left)
        else:
            tell(revert.gone if uri is None else replace(revert.gone, uri=uri))

    def _on_shown(
        self, file: PlannedFile, of_file: list[Landing], number: int, change: Change, landing: Landing
    ) -> None:
        of_file[number] = landing
        self._begin(self._correct(file, of_file, number, change))

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.ensure_future(work)
        self.listener.pending.add(task)
        task.add_done_callback(self.listener.pending.discard)

    async def _correct(self, file: PlannedFile, of_file: list[Landing], number: int, change: Change) -> None:
        async with self.listener.one_at_a_time:  # the last report has what is known by then
            also = await self._finish_move(file, of_file, number)
            now = tuple(of_file)
            corrected = [
                follow_rename(self.ports, each) for each in await outcomes(self.ports.editor, file, now)
            ]
            if change.uri in self.before:
                shown = replace(file, changes=(change, *(file.changes[at] for at in also)))
                await self._keep(shown, [now[at] for at in (number, *also)])
            self.listener.tell(corrected)

    async def _keep(self, file: PlannedFile, landings: Sequence[Landing]) -> None:
        """Adds the changes of *file* that show late to the checkpoint and to the review."""
        change, changes = file.changes[0], list(file.changes)
        before: Held = {each.uri: self.before[each.uri] for each in changes}
        if self.listener.late[change.uri] > 1 and not changes[1:]:
            before, ours = await asyncio.to_thread(_change_among_others, before, change, landings[0])
        else:
            ours = await asyncio.to_thread(written_texts, before, changes, landings)
        await keep_late(self.ports, self.step, before, ours, names(changes, landings))
        tried = ([file], changes, list(landings))
        await self.ports.review.on_landing(await made_changes(self.ports, self.step, [tried], before, ours))

    async def _finish_move(self, file: PlannedFile, of_file: list[Landing], number: int) -> list[int]:
        """
        Removes a file that shows late at its new path from its old one, if it is still there.

        Returns:
            The number of the removal, if it was tried; *of_file* has its landing.
        """
        create = file.changes[number]
        if not isinstance(create, Create) or not isinstance(of_file[number], Applied):
            return []
        for at, each in enumerate(file.changes):
            if isinstance(each, Delete) and each.uri == create.moved_from and each.uri in self.before:
                if isinstance(of_file[at], Applied):
                    return []
                pins = _past_targets({uri: self.before[uri] for uri in (create.uri, each.uri)})
                try:
                    await self.ports.checkpoints.ensure(self.step, pins)
                except CheckpointError as error:
                    logger.warning("A late move of %s was not completed: %s", each.uri, error)
                    return []
                (of_file[at],) = await self.ports.editor.apply([each], "handrail: complete a move")
                return [at]
        return []


def _lone_change(before: Held, change: Change, landing: Landing) -> tuple[Held, dict[str, Left]]:
    """Returns the texts of a document before and after the only change of it that shows late."""
    return before, written_texts(before, [change], [landing])


def _change_among_others(before: Held, change: Change, landing: Landing) -> tuple[Held, dict[str, Left]]:
    """
    Returns the texts of a document before and after a change that shows late, with all other changes by then.

    Other edits may have shown before it. If they cannot be separated, only the lines that it wrote itself
    count.
    """
    document, now = before[change.uri], None
    if isinstance(landing, Applied) and not (landing.was_doubled or landing.is_doubled):
        now = landing.text
    if isinstance(change, Update) and isinstance(document, Document) and now is not None:
        made = Text(edit.apply(change.base.content, change.edits))
        others = edit.rebase(made, edit.edits_between(made.content, now.content), change.base.content)
        if not any(each.conflict for each in others):
            without = edit.apply(change.base.content, [each.edit for each in others])
            there = replace(document, text=replace(now, content=without))
            return {change.uri: there}, {change.uri: now}
    return _lone_change(before, change, landing)


async def keep_late(
    ports: Ports, step: StepId, before: Held, ours: Mapping[str, Left], renames: Mapping[str, str]
) -> None:
    """
    Stores the result of a change that shows late in a checkpoint.

    Args:
        ports: The ports of the server.
        step: The checkpoint's step. If it was withdrawn because nothing had landed, it is taken again.
        before: The text of the document before the change.
        ours: The text that the change produced, if that can be determined.
        renames: The document's other name, if it has one by now.
    """
    try:
        await ports.checkpoints.ensure(step, _past_targets(before, renames))
        after = await results(ports.editor, before, ours, renames)
        await ports.checkpoints.record(step, after)
    except CheckpointError as error:
        logger.warning("A late change of %s could not be added to a checkpoint: %s", ", ".join(before), error)


def _past_targets(before: Held, renames: Mapping[str, str] = NO_NAMES) -> list[Target]:
    return [replace(target, renamed=renames.get(target.uri), is_past=True) for target in pin_targets(before)]


def follow_rename(ports: Ports, outcome: Outcome) -> Outcome:
    """Returns *outcome* under the document's new name, if it was renamed while it was edited."""
    mutation = outcome.mutation
    place = ports.workspace.resolve(mutation.uri)
    if isinstance(place, Failure) or place.identity == mutation.identity:
        return outcome
    return replace(outcome, mutation=replace(mutation, identity=place.identity, path=place.path))
