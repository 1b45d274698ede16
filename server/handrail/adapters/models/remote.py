"""
Models behind HTTP, with pydantic-ai: OpenAI's two formats, Anthropic's, Ollama's, and compatible servers.

The SDK is imported when it is first needed: in a separate process, so that the server keeps answering, or in
a thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol, TypeVar

from handrail.adapters.models.address import Address
from handrail.adapters.models.sdks.loading import load, no_collections
from handrail.adapters.models.worker.parent import ModelWorker
from handrail.core.conversation.keyless import without_keys
from handrail.core.conversation.message import Message, Piece, ToolOffer
from handrail.ports.errors import SEE_LOG, ProviderError

if TYPE_CHECKING:
    from handrail.adapters.models.stream import Engine

DEFAULT_CONTEXT = 128_000  # tokens, of a model that nothing is known of
T = TypeVar("T")
SILENCE_S = 180.0  # a model that says nothing for so long hangs; local ones read long prompts slowly


class Ready(Protocol):
    """A model that is ready to be asked; see `stream.Engine`."""

    context_tokens: int

    async def learn(self) -> None:
        """Find out how much it reads. Raises ProviderError."""
        ...

    def stream(self, messages: Sequence[Message], tools: Sequence[ToolOffer]) -> AsyncGenerator[Piece]:
        """Ask it. Raises ProviderError."""
        ...


class Remote:
    """Provider port for one model behind HTTP; its address is asked for in a thread, when first needed."""

    def __init__(
        self,
        address: Callable[[], Address],
        silence_s: float = SILENCE_S,
        secrets: Callable[[], Sequence[str]] = tuple,
        worker: ModelWorker | None = None,
    ) -> None:
        """
        The model is sent none of the *secrets*; the SDK runs in *worker*, if given; otherwise in this
        process.
        """
        self._address, self._silence_s, self._secrets = address, silence_s, secrets
        self._worker = worker
        self._engine: Ready | None = None
        self._sent: tuple[tuple[str, ...], tuple[Message, ...], tuple[Message, ...]] = ((), (), ())

    @property
    def context_tokens(self) -> int:
        """The size of the model's context in tokens, if known."""
        return self._engine.context_tokens if self._engine is not None else DEFAULT_CONTEXT

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """Ask the model. Raises ProviderError."""
        engine = await self._open()
        keyless = self._without_keys(messages)
        async with aclosing(engine.stream(keyless, tools)) as pieces:
            async for piece in pieces:
                yield piece
                await asyncio.sleep(0)  # many come at once: others are answered between them

    def _without_keys(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages without keys; those that were sent before are not looked through again."""
        secrets = tuple(self._secrets())
        known, before, after = self._sent
        same = 0
        if known == secrets:
            pairs = zip(messages, before, strict=False)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0] == pair[1], pairs))
        redacted = (*after[:same], *without_keys(messages[same:], secrets))
        self._sent = secrets, tuple(messages), redacted
        return redacted

    async def prepare(self) -> None:
        """Find out how much the model reads, if its server tells that. Raises ProviderError."""
        engine = await self._open()
        await engine.learn()

    async def _open(self) -> Ready:
        if self._engine is not None:
            return self._engine
        if self._worker is None:
            ready: Ready = await _in_thread(self._load_engine)
        else:
            address = await _in_thread(self._address)
            ready = await self._worker.open(address, DEFAULT_CONTEXT, self._silence_s)
        self._engine = ready
        return ready

    def _load_engine(self) -> Engine:
        address = self._address()
        with no_collections():
            return load()(address, DEFAULT_CONTEXT, self._silence_s)


async def _in_thread(call: Callable[[], T]) -> T:
    """Await work in a thread that no one waits for at the end: a keyring may never answer."""
    loop = asyncio.get_running_loop()
    opened: asyncio.Future[T] = loop.create_future()

    def work() -> None:
        result: T | ProviderError = ProviderError(f"The model could not be set up. {SEE_LOG}")
        try:
            result = call()
        except ProviderError as error:
            result = error
        finally:  # what else is raised is for the log, where threads leave it
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_settle, opened, result)

    threading.Thread(target=work, name="model", daemon=True).start()
    return await opened


def _settle(opened: asyncio.Future[T], result: T | ProviderError) -> None:
    if opened.cancelled():
        return
    if isinstance(result, ProviderError):
        opened.set_exception(result)
    else:
        opened.set_result(result)
