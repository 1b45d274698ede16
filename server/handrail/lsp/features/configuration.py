"""Pull the settings, and ask to be told when they or the workspace folders change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from handrail.lsp import model_settings, protocol, settings
from handrail.lsp.features import actions
from handrail.lsp.settings import Settings
from handrail.lsp.state import State

TIMEOUT_S = 5.0
SETTLE_S = 90.0  # a turn goes on with what is known if the client has not told its settings by then
POLL_S = 0.1  # how soon it is seen that the user has stopped waiting
SETS_MODELS = "chat"  # the service of clients in which models and addresses are chosen from lists
KNOWN = "Until it does, handrail keeps the last known settings."
STRICTLY = (
    "Until it does, handrail uses the defaults, and asks before every edit and command. Restart the "
    "editor. If that does not help, check how its configuration starts handrail."
)
NOT_INHERITED = (
    "No command inherits {name}, which the setting handrail.terminal.environment names: its value is the key "
    "of a model that handrail uses."
)


async def wait_for_settings(state: State) -> None:
    """Wait, visibly, until the client has told its settings; then continue with what is known."""
    if state.settled.is_set():
        return
    waiting = asyncio.ensure_future(state.settled.wait())
    timer = asyncio.ensure_future(state.backend.clock.sleep(SETTLE_S))
    both = (waiting, timer)
    try:
        with state.show_slow_work("Waiting for the editor's settings") as slow:
            while not (waiting.done() or timer.done() or slow.is_stopped):
                await asyncio.wait(both, timeout=POLL_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        timer.cancel()
    if not state.settled.is_set():
        give_up(state, "has not sent handrail's settings")


def give_up(state: State, why: str) -> None:
    """Ends the wait of turns for the settings; a late answer still counts."""
    state.settled.set()
    state.say(f"The editor {why}. {KNOWN if state.has_settled else STRICTLY}")


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
        answer = await state.server.protocol.send_request_async(
            lsp.WORKSPACE_CONFIGURATION, lsp.ConfigurationParams(items=items)
        )
    except JsonRpcException as error:
        give_up(state, f"did not send handrail's settings ({error.message})")
        return
    if not isinstance(answer, list | tuple) or not answer:
        give_up(state, "did not send handrail's settings (its answer was empty)")
    elif number > state.pulled:
        state.pulled = number
        settle(state, answer[0], answer[1] if len(answer) > 1 else None)


def settle(state: State, pulled: object, scoped: object) -> None:
    """Put the settings in force; say what was wrong with a value."""
    _put_in_force(
        state, settings.settle(state.client.settings, pulled, None if state.client.untrusted else scoped)
    )


def _put_in_force(state: State, settled: Settings) -> None:
    before, state.provider_settings.settled = state.settings, settled
    if state.has_settled and settled.text(settings.MODEL) != state.stated.text(settings.MODEL):
        state.model = ""  # the user has changed the setting since, so it counts again
    state.stated = _own(state, settled)
    state.settings = model_settings.with_model(state.stated, state.model)
    problems = (*state.stated.problems, *_add_to_environment(state))
    state.stated, state.settings = (
        replace(each, problems=problems) for each in (state.stated, state.settings)
    )
    for problem in problems:
        if problem not in before.problems:
            state.say(problem)
    state.refresh()


def _add_to_environment(state: State) -> list[str]:
    """Has commands inherit the variables that the user has named; returns, for the user, which stay out."""
    names = state.settings.names(settings.TERMINAL_ENVIRONMENT)
    left_out = state.backend.add_to_environment(names, state.model_keys())
    return [NOT_INHERITED.format(name=name) for name in left_out]


def _own(state: State, settings: Settings) -> Settings:
    """
    The settings without an address and a key's name that were set for another provider.

    A value belongs to the provider that was chosen when it was set. The user is told once of each that is
    ignored. Where settings are written in a file or as options, not in an editor's list, a value that is
    there at the start counts for the provider next to it: no one could set it again. The user is told that.
    """
    provider, owners, own = (
        model_settings.provider(settings),
        state.backend.owners,
        state.provider_settings,
    )
    before, own.told = own.told, {each.name: settings.text(each) for each in model_settings.OF_A_PROVIDER}
    counts_at_once = not before and SETS_MODELS not in state.client.services
    foreign: dict[str, str] = {}
    for name, value in own.told.items():
        known = owners.providers_of(name, value) if value and provider else frozenset()
        if not value or not provider or provider in known:
            continue
        if not known or before.get(name, value) != value:
            owners.add(name, value, provider)
        else:
            foreign[name] = " and ".join(sorted(known))
    if foreign and counts_at_once:
        state.say(model_settings.report_taken_over(settings, list(foreign), next(iter(foreign.values()))))
        for name in foreign:
            owners.add(name, own.told[name], provider)
        return settings
    new = [name for name in foreign if (provider, name, own.told[name]) not in own.pointed_out]
    if new:
        _point_out(state, settings, new, foreign[new[0]])
    own.pointed_out |= {(provider, name, own.told[name]) for name in new}
    return model_settings.drop_settings(settings, foreign) if foreign else settings


def _point_out(state: State, settings: Settings, names: Sequence[str], owner: str) -> None:
    """
    Tell the user which settings are ignored.

    Where models are chosen from lists, a button has exactly these values count for this provider, whatever
    the settings are by the time it is clicked.
    """
    has_button = SETS_MODELS in state.client.services
    report = model_settings.report_ignored(settings, names, owner, has_button=has_button)
    if not has_button:
        state.say(report)
        return
    provider, values = model_settings.provider(settings), {name: str(settings.values[name]) for name in names}

    async def use() -> None:
        for name, value in values.items():
            state.backend.owners.add(name, value, provider)
        _put_in_force(state, state.provider_settings.settled)

    handlers = {model_settings.name_use(settings, names): use}
    state.begin(actions.offer(state, actions.Offered(report, handlers)))


async def did_change(state: State, params: lsp.DidChangeConfigurationParams) -> None:
    """Pull the settings again; a client that cannot be asked sends the values along."""
    if state.client.configuration:
        state.settled.clear()  # a turn that begins now waits for them
        await pull(state)
    elif isinstance(params.settings, dict):
        settle(state, params.settings.get(settings.SECTION), None)


async def change_folders(state: State, uris: list[str]) -> None:
    """From now on these are the workspace folders; the settings of another first one are pulled."""
    is_same = uris[:1] == state.folders[:1]
    state.set_folders(uris)
    if not is_same and state.client.configuration:
        state.settled.clear()  # a turn that begins now waits for them
        await pull(state)


async def trust(state: State, params: protocol.WorkspaceTrustParams) -> None:
    """The user trusts the workspace: its settings count from now on."""
    state.client = replace(state.client, untrusted=False)
    await pull(state)


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
