"""
A model whose SDK runs in another process, so that neither importing it nor reading a stream blocks an editor.

The process is started with the first model, serves all of them, and ends with this process, however that
ends. If it ends earlier, a request can be repeated with a new process.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from itertools import count

from handrail.adapters.files.failure import in_words
from handrail.adapters.models.address import Address
from handrail.adapters.models.worker import frames
from handrail.adapters.models.worker.frames import Answer, Ask, Cancel, Failed, Learn, Open, Opened, Said
from handrail.core.conversation.message import Message, Piece, ToolOffer
from handrail.ports.errors import SEE_LOG, ProviderDown, ProviderError
from handrail.values import dataclass, field

logger = logging.getLogger(__name__)

BEGIN = """import json, sys
sys.path[:] = json.loads(sys.argv[1])
from handrail.adapters.models.worker.child import main
main()
"""
PATH = [os.path.abspath(each) for each in sys.path if each]  # as it is before a folder can have changed
GONE = "The process that talks to the model has ended."
BROKEN = f"Internal error in handrail while it was talking to the model. {SEE_LOG}"


@dataclass(kw_only=True)
class Running:
    """A process that runs, and who waits for what of it."""

    process: asyncio.subprocess.Process
    loop: asyncio.AbstractEventLoop
    waiting: dict[int, asyncio.Queue[Answer]] = field(default_factory=dict)
    listener: asyncio.Task[None] | None = None

    async def listen(self) -> None:
        """Pass on what it says, until it ends."""
        assert self.process.stdout is not None
        try:
            while True:
                frame = await frames.receive(self.process.stdout)
                if isinstance(frame, Opened | Said | Failed) and frame.id in self.waiting:
                    self.waiting[frame.id].put_nowait(frame)
        except (asyncio.IncompleteReadError, OSError):
            for name, queue in self.waiting.items():
                queue.put_nowait(Failed(id=name, message=GONE, is_down=True))

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        is_here = self.loop is asyncio.get_running_loop()
        return is_here and self.process.returncode is None and not (self.listener and self.listener.done())


@dataclass(kw_only=True)
class ModelWorker:
    """The process that talks to models."""

    _running: Running | None = None
    _numbers: count[int] = field(default_factory=lambda: count(1))
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def open(self, address: Address, default_context: int, silence_s: float) -> Model:
        """Have a model ready. Raises ProviderError."""
        model = Model(worker=self, address=address, context_tokens=default_context, silence_s=silence_s)
        await model.open()
        return model

    async def ensure_running(self) -> Running:
        """The process, started if it does not run. Raises ProviderError."""
        async with self._one_at_a_time:
            if self._running is None or not self._running.is_alive:
                self._running = await _start()
        return self._running

    async def ask(self, running: Running, request: Open | Learn | Ask) -> AsyncGenerator[Answer]:
        """Ask, and give what is answered to the end. Raises ProviderError."""
        queue = running.waiting[request.id] = asyncio.Queue[Answer]()
        is_over = False
        try:
            await _send(running, request)
            while not is_over:
                answer = await queue.get()
                is_over = not isinstance(answer, Said)
                if isinstance(answer, Failed):
                    raise _error(answer)
                yield answer
        finally:
            del running.waiting[request.id]
            if not is_over:
                with suppress(ProviderError):
                    await _send(running, Cancel(id=request.id))

    def number(self) -> int:
        """An id for a request."""
        return next(self._numbers)


@dataclass(kw_only=True)
class Model:
    """
    A model that is ready to be asked.

    Attributes:
        context_tokens: How much it can read, as far as that is known.
    """

    worker: ModelWorker
    address: Address
    context_tokens: int
    silence_s: float
    _opened: tuple[Running, int] | None = None

    async def open(self) -> tuple[Running, int]:
        """Returns the process that has the model, and the model's number there. Raises ProviderError."""
        running = await self.worker.ensure_running()
        if self._opened is None or self._opened[0] is not running:
            number = self.worker.number()
            await self._ask(
                running,
                Open(
                    id=number,
                    address=self.address,
                    default_context=self.context_tokens,
                    silence_s=self.silence_s,
                ),
            )
            self._opened = running, number
        return self._opened

    async def learn(self) -> None:
        """Find out how much it reads. Raises ProviderError."""
        running, number = await self.open()
        await self._ask(running, Learn(id=self.worker.number(), model=number))

    async def stream(self, messages: Sequence[Message], tools: Sequence[ToolOffer]) -> AsyncGenerator[Piece]:
        """Ask it. Raises ProviderError."""
        running, number = await self.open()
        request = Ask(id=self.worker.number(), model=number, messages=tuple(messages), tools=tuple(tools))
        async with aclosing(self.worker.ask(running, request)) as answers:
            async for answer in answers:
                if isinstance(answer, Said):
                    for piece in answer.pieces:
                        yield piece
                elif isinstance(answer, Opened):
                    self.context_tokens = answer.context_tokens

    async def _ask(self, running: Running, request: Open | Learn) -> None:
        async with aclosing(self.worker.ask(running, request)) as answers:
            async for answer in answers:
                if isinstance(answer, Opened):
                    self.context_tokens = answer.context_tokens


async def _start() -> Running:
    """Start the process. It finds its modules where this one does, and nothing in the folder it is in."""
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-c",
            BEGIN,
            json.dumps(PATH),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ProviderError(
            f"The process that talks to models could not be started: {in_words(error)}."
        ) from error
    running = Running(process=process, loop=asyncio.get_running_loop())
    running.listener = asyncio.create_task(running.listen())
    return running


async def _send(running: Running, request: frames.Request) -> None:
    assert running.process.stdin is not None
    try:
        running.process.stdin.write(frames.pack(request))
        await running.process.stdin.drain()
    except (OSError, RuntimeError) as error:
        raise ProviderDown(GONE) from error


def _error(failed: Failed) -> ProviderError:
    if failed.is_down:
        return ProviderDown(failed.message, failed.wait_s)
    if failed.log:
        logger.error("%s", failed.log)
    return ProviderError(failed.message or BROKEN)
