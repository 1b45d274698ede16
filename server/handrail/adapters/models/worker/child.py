"""
The process that talks to models: it has the SDKs, and reads their streams.

It ends with its standard input. Output of models is collected for a moment, so that the server has fewer
pieces to handle.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import traceback
import warnings
from contextlib import aclosing
from typing import TYPE_CHECKING, BinaryIO

from handrail.adapters.models.sdks.loading import load, no_collections
from handrail.adapters.models.worker import frames
from handrail.adapters.models.worker.frames import Answer, Ask, Cancel, Failed, Learn, Open, Opened, Said
from handrail.core.conversation.message import Delta, Piece, Thought
from handrail.ports.errors import ProviderDown, ProviderError
from handrail.values import dataclass, field

if TYPE_CHECKING:
    from handrail.adapters.models.stream import Engine

GATHER_S = 0.04  # people do not see text move more often


@dataclass(kw_only=True)
class Gathered:
    """The part of one answer that has not been sent yet."""

    pieces: list[Piece] = field(default_factory=list)
    sent_at: float = float("-inf")
    timer: asyncio.TimerHandle | None = None

    def add(self, piece: Piece) -> None:
        """Add a piece; text goes on the text before it."""
        match self.pieces[-1:], piece:
            case [Delta(text=before)], Delta(text=text):
                self.pieces[-1] = Delta(text=before + text)
            case [Thought(text=before)], Thought(text=text):
                self.pieces[-1] = Thought(text=before + text)
            case _:
                self.pieces.append(piece)


@dataclass(kw_only=True)
class Child:
    """Does what the server asks for."""

    out: BinaryIO
    _models: dict[int, Engine] = field(default_factory=dict)
    _tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict)

    def take(self, frame: frames.Request | frames.Answer) -> None:
        """Begin what a frame asks for."""
        if isinstance(frame, Cancel):
            if frame.id in self._tasks:
                self._tasks[frame.id].cancel()
        elif isinstance(frame, Open | Learn | Ask):
            task = asyncio.ensure_future(self._run(frame))
            self._tasks[frame.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(frame.id))

    def _send(self, answer: Answer) -> None:
        self.out.write(frames.pack(answer))
        self.out.flush()

    async def _run(self, frame: Open | Learn | Ask) -> None:
        try:
            match frame:
                case Open():
                    with no_collections():
                        model = load()(frame.address, frame.default_context, frame.silence_s)
                    self._models[frame.id] = model
                case Learn():
                    model = self._models[frame.model]
                    await model.learn()
                case Ask():
                    model = self._models[frame.model]
                    await self._ask(model, frame)
            self._send(Opened(id=frame.id, context_tokens=model.context_tokens))
        except ProviderDown as error:
            self._send(Failed(id=frame.id, message=str(error), is_down=True, wait_s=error.wait_s))
        except ProviderError as error:
            self._send(Failed(id=frame.id, message=str(error)))
        except Exception:  # noqa: BLE001  # whatever it is, the server logs it, and the user is told
            self._send(Failed(id=frame.id, log=traceback.format_exc()))

    async def _ask(self, model: Engine, asked: Ask) -> None:
        gathered, now = Gathered(), asyncio.get_running_loop().time

        def send() -> None:
            if gathered.timer is not None:
                gathered.timer.cancel()
            pieces, gathered.pieces, gathered.timer = tuple(gathered.pieces), [], None
            if pieces:
                gathered.sent_at = now()
                self._send(Said(id=asked.id, pieces=pieces))

        try:
            async with aclosing(model.stream(asked.messages, asked.tools)) as pieces:
                async for piece in pieces:
                    gathered.add(piece)
                    if now() - gathered.sent_at >= GATHER_S:
                        send()
                    elif gathered.timer is None:
                        due = gathered.sent_at + GATHER_S
                        gathered.timer = asyncio.get_running_loop().call_at(due, send)
        finally:
            send()


async def attend(taken: BinaryIO, out: BinaryIO) -> None:
    """Handle what comes in, until the other side is gone."""
    loop, child, gone = asyncio.get_running_loop(), Child(out=out), asyncio.Event()

    def read_frames() -> None:
        while (frame := frames.read(taken)) is not None:
            loop.call_soon_threadsafe(child.take, frame)
        loop.call_soon_threadsafe(gone.set)

    threading.Thread(target=read_frames, daemon=True).start()
    await gone.wait()


def main() -> None:
    """Talk over the standard streams; what else is written goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to both; the server decides
    warnings.simplefilter("ignore")  # SDKs warn of what a server has sent, which `answer` checks
    taken, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        asyncio.run(attend(taken, out))
    except BrokenPipeError:
        pass  # the server has gone
    finally:
        os._exit(0)  # nothing is left to be done, and no thread is waited for
