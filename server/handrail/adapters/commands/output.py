"""
The output of a command: passed on as it arrives, and kept up to a limit, beyond which the middle is dropped.
"""

from __future__ import annotations

import asyncio
import codecs
import os
from collections import deque
from collections.abc import Callable

from handrail.counts import count_of
from handrail.values import dataclass, field

HEAD_CHARS, TAIL_CHARS = 4_000_000, 6_000_000  # of the output that is kept
CHUNK_BYTES = 1 << 16
PAUSE_S = 0.01  # after so much at once of what no one waits for: a flood must not take a processor for ever


@dataclass(kw_only=True)
class Output:
    """The output of a command: its head and, once that is full, its tail."""

    tell: Callable[[str], None]
    head_chars: int = field(default_factory=lambda: HEAD_CHARS)
    tail_chars: int = field(default_factory=lambda: TAIL_CHARS)
    head: list[str] = field(default_factory=list)
    tail: deque[str] = field(default_factory=deque)
    head_size: int = 0
    tail_size: int = 0
    lost: int = 0

    def add(self, text: str) -> None:
        """Take what was printed."""
        if not text:
            return
        self.tell(text)
        room = self.head_chars - self.head_size
        first, rest = text[:room], text[room:]
        if first:
            self.head.append(first)
            self.head_size += len(first)
        if rest:
            self.tail.append(rest)
            self.tail_size += len(rest)
        while self.tail and self.tail_size - len(self.tail[0]) >= self.tail_chars:
            gone = len(self.tail.popleft())
            self.tail_size, self.lost = self.tail_size - gone, self.lost + gone

    def text(self) -> str:
        """All that is kept."""
        were = "was" if self.lost == 1 else "were"
        note = f"\n[{count_of(self.lost, 'character')} of this output {were} not stored]\n"
        lost = note if self.lost else ""
        return "".join(self.head) + lost + "".join(self.tail)


async def read(pipe: int, output: Output, pause_s: float = 0.0) -> None:
    """Read what is printed until every writer has closed the pipe; after each full chunk, pause."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
    )
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            output.add(decoder.decode(chunk))
            if pause_s and len(chunk) == CHUNK_BYTES:
                await asyncio.sleep(pause_s)
    finally:
        output.add(decoder.decode(b"", final=True))
        transport.close()
