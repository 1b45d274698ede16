"""
Serve requests that arrive as lines on a binary stream: one reply line for each, in order, flushed.

Neither an invalid line nor an internal error ends this; the end of the input does, and so does a reader that
has gone away. A line that is too long is skipped without being held in memory. The meaning of lines is
unknown here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import BinaryIO

from handrail.core.engine import jsonl
from handrail.core.failure import Code

logger = logging.getLogger(__name__)

LIMIT_LINE_BYTES = 100_000_000  # base64 of a file that is beyond the limit for editing already
CHUNK_BYTES = 1_000_000

Answer = Callable[[bytes], dict[str, object]]


def serve(requests: BinaryIO, replies: BinaryIO, answer: Answer = jsonl.answer) -> None:
    """Answer every line of *requests* on *replies*, with the milliseconds that it took as `ms`."""
    while line := requests.readline(LIMIT_LINE_BYTES + 1):
        began = time.perf_counter()
        if len(line) > LIMIT_LINE_BYTES:
            _pass_over(requests, line)
            reply = jsonl.refusal(f"The line has more than {LIMIT_LINE_BYTES:,} bytes, which is the limit.")
        else:
            reply = _answer(line, answer)
        reply["ms"] = round((time.perf_counter() - began) * 1000, 3)
        try:
            replies.write(jsonl.encode(reply))
            replies.flush()
        except BrokenPipeError:
            return


def _pass_over(requests: BinaryIO, line: bytes) -> None:
    """Read to the end of a line of which *line* is the beginning."""
    while line and not line.endswith(b"\n"):
        line = requests.readline(CHUNK_BYTES)


def _answer(line: bytes, answer: Answer) -> dict[str, object]:
    try:
        return answer(line)
    except Exception as error:  # our own fault must not end a harness's run
        logger.exception("A request could not be answered")
        why = f"Internal error in handrail: {type(error).__name__}: {error}. Nothing was changed."
        return jsonl.refusal(why, code=Code.TOOL_FAILED.value)
