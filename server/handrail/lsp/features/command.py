"""List and end the commands that run in the background."""

from __future__ import annotations

from handrail.agent.turn.command.running import BackgroundCommand
from handrail.lsp import protocol
from handrail.lsp.state import State


async def list_(state: State, params: protocol.CommandListParams) -> list[protocol.BackgroundCommand]:
    """The commands that are known, in the order in which they began."""
    return [_to_protocol(each) for each in state.host.background.list_commands(params.session)]


async def stop(state: State, params: protocol.CommandStopParams) -> protocol.BackgroundCommand:
    """End a command."""
    command = state.host.background.of_id(params.command)
    await state.host.background.end(command)
    return _to_protocol(command)


async def interrupt(state: State, params: protocol.CommandInterruptParams) -> None:
    """End a command that a turn waits for."""
    state.host.background.stop_awaited(params.session, params.call)


def tell(state: State, command: protocol.BackgroundCommand) -> None:
    """Say that a command has ended: editors drop a command's result."""
    state.say(f"{command.command} ({command.line}): {command.state}")


def _to_protocol(command: BackgroundCommand) -> protocol.BackgroundCommand:
    return protocol.BackgroundCommand(
        command=command.id,
        session=command.session,
        turn=command.turn,
        call=command.call,
        line=command.line,
        folder=command.folder,
        running=command.is_running,
        state=command.state,
    )
