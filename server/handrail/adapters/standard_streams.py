"""
Keep the standard streams usable, whatever the parent process does with them.

A stream that was closed before the start is replaced by the null device, so that no file opened later gets
its number. Output without a reader (`handrail doctor | head -1`) is dropped: the exit code says how the
command ended, not who read what it printed.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

NAMES = ("stdin", "stdout", "stderr")  # in the order of their file descriptors


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Provides all three streams for the block, and flushes what it printed while errors can be caught."""
    _open_missing()
    try:
        yield
    finally:
        flush_all()


def flush_all() -> None:
    """Flushes what was printed."""
    for stream in (sys.stdout, sys.stderr):
        _flush(stream)


def _open_missing() -> None:
    """Opens the streams that Python found closed: it has None for them then."""
    if all(getattr(sys, name) for name in NAMES):
        return
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < len(NAMES):  # the lowest free number each time
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for number, name in enumerate(NAMES):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


def _flush(stream: TextIO) -> None:
    """Flushes *stream*; Python does so again at its own end, and would turn a failure into exit code 120."""
    if stream.closed:
        return
    try:
        stream.flush()
    except BrokenPipeError:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())
