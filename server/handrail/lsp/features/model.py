"""List the models that can be chosen."""

from __future__ import annotations

from handrail.lsp import chosen, protocol
from handrail.lsp.features import configuration
from handrail.lsp.state import State


async def list_(state: State, params: protocol.ModelListParams) -> list[protocol.ModelInfo]:
    """The chosen model, and those beside it."""
    await configuration.settled(state)
    choice = chosen.model(state.settings)
    found = [
        protocol.ModelInfo(
            model=each.model,
            title=each.title or None,
            window=each.window,
            current=each.model == choice.model,
        )
        for each in await state.world.providers.models(choice)
    ]
    if any(each.current for each in found):
        return found
    return [protocol.ModelInfo(model=choice.model, current=True), *found]
