"""Import the SDKs: late, because that takes seconds, and without collections of garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from handrail.ports.errors import ProviderError

if TYPE_CHECKING:
    from handrail.adapters.models.stream import Engine


@contextmanager
def no_collections() -> Iterator[None]:
    """
    Import SDKs in the block.

    They make a million objects that are never garbage. A full collection among them would hold up every other
    thread for a quarter of a second, now and each time later; so there is none now, and none looks at them.
    """
    had_collections = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if had_collections:
            gc.enable()


def load() -> type[Engine]:
    """Import the SDK; takes seconds the first time, and is for a thread. Raises ProviderError."""
    try:
        from handrail.adapters.models.stream import Engine
    except ImportError as error:
        raise ProviderError(
            f"The package {error.name or 'pydantic-ai-slim'} is missing or damaged. Install it with "
            f"`pip install 'pydantic-ai-slim[openai,anthropic]'`."
        ) from error
    return Engine
