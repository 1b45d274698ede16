"""
Which clients are laid over a test: others with each commit.

`pytest --clients=null+text` lays one pair over every test, `--clients=all` each of them;
`handrail.testing.variations` has what there is.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from handrail.testing.variations import ANSWERING, TELLING

T = TypeVar("T")


@cache
def commit() -> str:
    """The commit that is tested; nothing outside a repository."""
    asked = ("git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD")
    try:
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _number(*words: str) -> int:
    return int.from_bytes(sha256(" ".join(words).encode()).digest()[:4], "big")


def some_of(test: str, commit: str, found: Sequence[T], count: int) -> Sequence[T]:
    """At most *count* of the variants of a test; others with the next commit."""
    first = _number(test, commit) % len(found)
    return [*found[first:], *found[:first]][:count]


def two_of(test: str, commit: str) -> tuple[str, str]:
    """Two clients for a test, which share neither way; others with the next commit."""
    number = _number(commit, test)
    answering, telling = list(ANSWERING), list(TELLING)
    first = number % len(answering), number // 16 % len(telling)
    second = (
        (first[0] + 1 + number // 64 % (len(answering) - 1)) % len(answering),
        (first[1] + 1 + number // 256 % (len(telling) - 1)) % len(telling),
    )
    one, other = (f"{answering[a]}+{telling[t]}" for a, t in (first, second))
    return one, other
