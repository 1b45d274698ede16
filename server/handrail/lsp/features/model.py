"""List the models that can be chosen; ask the client for their keys."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging

from pygls.exceptions import JsonRpcException

from handrail.lsp import model_settings, protocol, settings, wire
from handrail.lsp.features import configuration
from handrail.lsp.settings import Settings
from handrail.lsp.state import State

logger = logging.getLogger(__name__)

SECRET = "secret"  # the client's service
PATIENCE_S = 120.0  # an editor may ask its user to unlock where it keeps secrets


async def list_(state: State, params: protocol.ModelListParams) -> list[protocol.ModelInfo]:
    """List the chosen model and the others of its server."""
    if half := wire.half_pair(params.like or ""):
        raise wire.InvalidParams(f"params.like must not contain {half}.")
    await configuration.wait_for_settings(state)
    choice = model_settings.model(_settings(state, params))
    found = [
        protocol.ModelInfo(
            model=each.model,
            title=each.title or None,
            window=each.window,
            current=each.model == choice.model,
        )
        for each in await state.backend.providers.models(choice)
    ]
    if params.like is not None or any(each.current for each in found):
        return found
    return [protocol.ModelInfo(model=choice.model, current=True), *found]


def _settings(state: State, params: protocol.ModelListParams) -> Settings:
    """The settings with the model whose server is asked, at the address that is wanted."""
    if params.like is None:
        return state.settings
    found = model_settings.with_model(state.stated, params.like)
    if params.own_address is None:
        return found
    if params.own_address:
        return model_settings.at_own_address(found)
    base_url = state.provider_settings.told.get(settings.BASE_URL.name, "")
    if base_url and (provider := model_settings.provider(found)):
        state.backend.owners.add(settings.BASE_URL.name, base_url, provider)  # the user has said so
    return model_settings.at_base_url(state.stated, params.like, base_url)


async def forget(state: State, params: protocol.ModelForgetParams) -> None:
    """Look for keys again from the next turn on."""
    state.backend.providers.forget()


# ---- Keys that the client keeps -------------------------------------------------------------------


def take_keys(state: State) -> None:
    """From now on the client is asked for keys, if it offers that."""
    if SECRET not in state.client.services:
        return
    loop = asyncio.get_running_loop()

    def find(name: str) -> str:
        """Ask for a key, in a thread that may wait."""
        try:
            return asyncio.run_coroutine_threadsafe(_secret(state, name), loop).result(PATIENCE_S)
        except (TimeoutError, concurrent.futures.CancelledError):
            logger.warning("The editor did not say whether it has the key %s", name)
            return ""

    state.backend.ask_for_keys(find)


async def _secret(state: State, name: str) -> str:
    params = wire.write(protocol.SecretParams(name=name))
    try:
        answer = await state.server.protocol.send_request_async(protocol.CLIENT_SECRET, params)
        return wire.read(protocol.SecretResult, answer).value or ""
    except (JsonRpcException, wire.InvalidParams):
        logger.warning(
            "The editor did not answer the request for the key %s", name
        )  # not what it said: that may be a key
        return ""
