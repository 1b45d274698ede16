"""Pull the settings, and ask to be told when they or the workspace folders change."""

from __future__ import annotations

import asyncio

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from handrail.lsp import settings
from handrail.lsp.state import State

TIMEOUT_S = 5.0


async def pull(state: State) -> None:
    """
    Ask the client for the settings, once for the global scope and once for the first folder.

    An answer counts whenever it comes, unless one to a later question was there first. An error and silence
    leave the last known settings in force.
    """
    if not state.client.configuration:
        settle(state, None, None)
        return
    items = [lsp.ConfigurationItem(section=settings.SECTION)]
    items += [lsp.ConfigurationItem(section=settings.SECTION, scope_uri=uri) for uri in state.folders[:1]]
    state.pulls += 1
    number = state.pulls
    try:
        found = await state.server.protocol.send_request_async(
            lsp.WORKSPACE_CONFIGURATION, lsp.ConfigurationParams(items=items)
        )
    except JsonRpcException as error:
        state.give_up(f"did not tell its settings ({error.message})")
        return
    if not isinstance(found, list | tuple) or not found:
        state.give_up("answered workspace/configuration with nothing")
    elif number > state.pulled:
        state.pulled = number
        settle(state, found[0], found[1] if len(found) > 1 else None)


def settle(state: State, pulled: object, scoped: object) -> None:
    """Put the settings in force; say what was wrong with a value."""
    before = state.settings
    state.settings = settings.settle(state.client.settings, pulled, scoped)
    for problem in state.settings.problems:
        if problem not in before.problems:
            state.say(problem)
    state.refresh()


async def did_change(state: State, params: lsp.DidChangeConfigurationParams) -> None:
    """Pull anew; a client that cannot be asked sends the values along."""
    if state.client.configuration:
        state.unsettle()
        await pull(state)
    elif isinstance(params.settings, dict):
        settle(state, params.settings.get(settings.SECTION), None)


async def register(state: State, capabilities: lsp.ClientCapabilities) -> None:
    """Register what only the client can tell: changes of settings."""
    workspace = capabilities.workspace
    configuration = workspace.did_change_configuration if workspace is not None else None
    if configuration is None or not configuration.dynamic_registration:
        return
    wanted = lsp.Registration(
        id="handrail-configuration",
        method=lsp.WORKSPACE_DID_CHANGE_CONFIGURATION,
        register_options=lsp.DidChangeConfigurationRegistrationOptions(section=settings.SECTION),
    )
    sent = state.server.protocol.send_request_async(
        lsp.CLIENT_REGISTER_CAPABILITY, lsp.RegistrationParams(registrations=[wanted])
    )
    await asyncio.wait([sent], timeout=TIMEOUT_S)
