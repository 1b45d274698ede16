"""List and restore checkpoints."""

from __future__ import annotations

from handrail.lsp import convert, protocol
from handrail.lsp.state import State, Wrong


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
