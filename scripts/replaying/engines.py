"""
The engine that is replayed: in this process, or as `handrail apply --jsonl`, which is the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from replaying.notation import Fields
from replaying.verdict import Engine


@contextmanager
def here() -> Iterator[Engine]:
    """The engine in this process."""
    from handrail.core.engine import jsonl  # noqa: PLC0415  # a process of its own needs no engine here

    yield lambda fields: jsonl.answer(json.dumps(fields).encode())


@contextmanager
def process() -> Iterator[Engine]:
    """The engine as a process that reads and writes lines."""
    command = (sys.executable, "-m", "handrail", "apply", "--jsonl")
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert running.stdin is not None
    assert running.stdout is not None
    reader, writer = running.stdout, running.stdin

    def ask(fields: Fields) -> Mapping[str, object]:
        writer.write(json.dumps(fields).encode() + b"\n")
        writer.flush()
        answered = json.loads(reader.readline())
        assert isinstance(answered, dict)
        return answered

    with running:
        yield ask
        writer.close()
