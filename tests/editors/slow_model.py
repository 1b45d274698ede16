"""A model whose answers stand still in the middle until a file is there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.model_server import ModelServer, Say, events

KEY_NAME = "HANDRAIL_TEST_KEY"
LOOK_S = 0.01  # a file tells no one that it is there


@dataclass
class SlowModel(ModelServer):
    """
    A model's server that waits.

    Attributes:
        gate: The file for which an answer with `hangs_after` waits after so many events.
    """

    gate: Path = field(default_factory=Path)

    async def _say(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, say: Say, kind: str
    ) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
            b"Connection: close\r\n\r\n"
        )
        for number, event in enumerate(events(say, kind)):
            if number == say.hangs_after:
                await writer.drain()
                while not self.gate.exists():  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_S)
            raw = event.encode()
            writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        writer.write(b"0\r\n\r\n")


@contextmanager
def slow_model(gate: Path, answers: Sequence[Say]) -> Iterator[dict[str, object]]:
    """A running server, and the settings with which it answers."""
    found = SlowModel(list(answers), gate=gate)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(found.serve, "127.0.0.1", 0))
    found.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield {"model": "openai-chat:m", "baseUrl": found.url("openai-chat"), "keyName": KEY_NAME}
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
