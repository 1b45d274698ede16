"""List, compare, restore and remove checkpoints, and the housekeeping between turns."""

from __future__ import annotations

import asyncio
import logging

from handrail.agent import restoring
from handrail.agent.restore.compare import compare, read_kept, select_document
from handrail.agent.restore.restore import RestoreRequest
from handrail.agent.restoring import Redo
from handrail.core.documents.text import Text
from handrail.core.results.redact import redact
from handrail.counts import count_of
from handrail.lsp import convert, protocol, settings
from handrail.lsp.features import virtual
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams
from handrail.ports import CheckpointError
from handrail.values import replace

logger = logging.getLogger(__name__)

CONFLICTS_SHOWN = 10  # one by one; no one reads more messages
IDLE_S = 20.0  # after the end of a turn; who reads its result seldom begins the next one sooner


async def list_(state: State, params: protocol.CheckpointListParams) -> list[protocol.Checkpoint]:
    """Checkpoints, those of the newest turn first."""
    checkpoints = await state.checkpoints.list(params.session)
    if params.uri is not None:
        checkpoints = select_document(state.host.ports(), checkpoints, params.uri)
    secrets = state.secrets()
    told = (replace(each, label=redact(each.label, secrets)) for each in checkpoints)
    return [convert.checkpoint(each) for each in told]


async def restore(state: State, params: protocol.CheckpointRestoreParams) -> protocol.RestoreReport:
    """Take a turn or a step back."""
    if not params.files and (params.uris is not None or not params.conversation):
        raise InvalidParams("params.files may be false only with params.conversation, without params.uris.")
    if params.range is not None and len(params.uris or ()) != 1:
        raise InvalidParams("params.range needs exactly one document in params.uris.")
    with state.show_slow_work("Restoring documents") as slow:
        request = RestoreRequest(
            checkpoint=params.checkpoint,
            uris=params.uris,
            following=params.following,
            files=params.files,
            conversation=params.conversation,
            lines=None if params.range is None else convert.lines(params.range),
            should_continue=slow.should_continue,
        )
        act = restoring.dry_run if params.dry_run else restoring.restore
        return convert.restore_report(await act(state.host, request))


async def redo(state: State, params: protocol.CheckpointRedoParams) -> protocol.RestoreReport:
    """Undo a restore."""
    with state.show_slow_work("Undoing a restore") as slow:
        request = await restoring.redo(
            state.host, Redo(checkpoint=params.checkpoint, should_continue=slow.should_continue)
        )
        act = restoring.dry_run if params.dry_run else restoring.restore
        return convert.restore_report(await act(state.host, request))


async def read(state: State, params: protocol.CheckpointReadParams) -> protocol.CheckpointText:
    """A text that a checkpoint keeps."""
    found = await read_kept(state.host.ports(), params.checkpoint, params.uri, after=params.after)
    return protocol.CheckpointText(
        text=found.content if isinstance(found, Text) else None, exists=found is not None
    )


async def diff(state: State, params: protocol.CheckpointDiffParams) -> protocol.CheckpointDiff:
    """Compare a checkpoint, and have a document ready that shows the difference."""
    text = await compare(state.host.ports(), params.checkpoint, params.against, params.uri)
    name = "-".join(part for part in (params.checkpoint, params.against) if part) + ".diff"
    uri = virtual.of_checkpoint(params.checkpoint, params.against, params.uri)
    return protocol.CheckpointDiff(uri=await virtual.document(state, uri, name, text), text=text)


async def prune(state: State, params: protocol.CheckpointPruneParams) -> protocol.CheckpointPruned:
    """Remove checkpoints."""
    checkpoints = await restoring.prune(state.host, params.checkpoints)
    return protocol.CheckpointPruned(removed=list(checkpoints.removed), bytes_used=checkpoints.bytes_used)


async def verify(state: State, params: protocol.CheckpointVerifyParams) -> protocol.CheckpointSoundness:
    """Look whether all is sound."""
    checkpoints = await state.checkpoints.verify()
    return protocol.CheckpointSoundness(
        checkpoints=checkpoints.checkpoints, problems=list(checkpoints.problems)
    )


def tell(state: State, report: protocol.RestoreReport) -> None:
    """Say which documents were not restored, and where the session is: editors drop a command's result."""
    if report.conversation is not None:
        turns = sum(each.copied or 1 for each in report.conversation.turns)
        state.say(f"The conversation now has {count_of(turns, 'turn')}.")
    for part in report.partial[:CONFLICTS_SHOWN]:
        state.say(f"Only a part of {state.show_path(part.uri)} was restored: {part.reason}")
    for conflict in report.conflicts[:CONFLICTS_SHOWN]:
        state.say(f"{state.show_path(conflict.uri)} was not restored: {conflict.reason}")
    if more := len(report.partial[CONFLICTS_SHOWN:]):
        state.say(f"{_more_documents(more)} restored only in part.")
    if more := len(report.conflicts[CONFLICTS_SHOWN:]):
        state.say(f"{_more_documents(more)} not restored.")


def _more_documents(count: int) -> str:
    return f"{count_of(count, 'more document')} {'was' if count == 1 else 'were'}"


def tidy_later(state: State) -> None:
    """Do the housekeeping once no turn has run for a while."""
    asyncio.get_running_loop().call_later(IDLE_S, lambda: state.begin(_tidy_if_idle(state)))


async def _tidy_if_idle(state: State) -> None:
    if not state.host.turns.running:
        await tidy(state)


async def tidy(state: State) -> None:
    """Do the housekeeping now; what goes wrong is not the user's concern yet."""
    await state.backend.reviews.expire(state.settings.number(settings.CHECKPOINTS_AGE))
    await state.host.reviews.refresh([])
    try:
        await state.checkpoints.tidy()
    except CheckpointError as error:
        logger.warning("Old checkpoints could not be removed: %s", error)
