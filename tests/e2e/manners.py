"""
Manners of clients under which a sound server must still land every edit, and tell the truth about it.

They can be laid over any editor and any test, two at a time: how the editor tells of its changes, and how it
answers. `pytest --clients=null+text` lays one pair over every test, `--clients=all` each of them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


class Shape(Enum):
    """How pending changes are put into `didChange`."""

    TOGETHER = "one message, one content change for each change"
    SINGLE = "one message for each change"
    SPAN = "one message with one range from the first difference to the last, as Neovim has it"
    TEXT = "one message with the whole text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """
    One way to talk.

    Attributes:
        tells_after_s: How long after an edit was applied the server is told of it.
        answers_after_s: How long after an edit was applied it is answered.
        answers_null: Whether an edit that was applied is answered with null.
    """

    shape: Shape = Shape.TOGETHER
    tells_after_s: float = 0
    answers_after_s: float = 0
    answers_null: bool = False


PLAIN = Manner()
WHILE_S = 0.08  # long beside what an editor waits before it tells of a change, short beside any time limit

TELLING = {
    "single": Manner(shape=Shape.SINGLE),
    "span": Manner(shape=Shape.SPAN),
    "text": Manner(shape=Shape.TEXT),
}
ANSWERING = {
    "late": Manner(tells_after_s=WHILE_S),
    "slow": Manner(answers_after_s=WHILE_S),
    "null": Manner(answers_null=True),
    "null-late": Manner(answers_null=True, tells_after_s=WHILE_S),
}


def named(name: str) -> Manner:
    """The manner of a name such as `text`, `null` or `null+text`."""
    if name == "plain":
        return PLAIN
    answering, _, telling = name.rpartition("+")
    if telling in ANSWERING and not answering:
        answering, telling = telling, ""
    one, other = ANSWERING.get(answering, PLAIN), TELLING.get(telling, PLAIN)
    if (answering and one is PLAIN) or (telling and other is PLAIN):
        raise ValueError(f"{name!r} is no client; there are {', '.join(NAMES)}")
    return Manner(
        shape=other.shape,
        tells_after_s=one.tells_after_s,
        answers_after_s=one.answers_after_s,
        answers_null=one.answers_null,
    )


NAMES = tuple(f"{answering}+{telling}" for answering in ANSWERING for telling in TELLING)


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


def one_of(test: str, commit: str, found: Sequence[T]) -> T:
    """One of the variants of a test; another one with the next commit."""
    return found[_number(test, commit) % len(found)]


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
