"""List and restore checkpoints."""

from __future__ import annotations

import asyncio
import logging

from handrail.lsp import convert, protocol
from handrail.lsp.state import State, Wrong
from handrail.ports import CheckpointError

logger = logging.getLogger(__name__)

IDLE_S = 20.0  # after the end of a turn; who reads its result seldom begins the next one sooner


async def list_(state: State, params: protocol.CheckpointListParams) -> list[protocol.Checkpoint]:
    """All checkpoints, those of the newest turn first."""
    return [convert.checkpoint(each) for each in await state.checkpoints.list(params.session)]


async def restore(state: State, params: protocol.CheckpointRestoreParams) -> protocol.RestoreReport:
    """Take a turn or a step back."""
    if params.conversation:
        raise Wrong("params.conversation is not offered by this version; leave it out.")
    return convert.restore_report(await state.host.restore(params.checkpoint, params.uris))


def tell(state: State, report: protocol.RestoreReport) -> None:
    """Say which documents were not restored: editors drop the result of a command."""
    for conflict in report.conflicts:
        state.say(f"{state.shown(conflict.uri)} was not restored: {conflict.reason}")


def tidy_later(state: State) -> None:
    """Do the housekeeping once no turn has run for a while."""
    asyncio.get_running_loop().call_later(IDLE_S, lambda: state.begin(_tidy_if_idle(state)))


async def _tidy_if_idle(state: State) -> None:
    if all(turn.task.done() for turn in state.host.turns.values()):
        await tidy(state)


async def tidy(state: State) -> None:
    """Do the housekeeping now; what goes wrong is not the user's concern yet."""
    try:
        await state.checkpoints.tidy()
    except CheckpointError as error:
        logger.warning("The checkpoints could not be tidied up: %s", error)
