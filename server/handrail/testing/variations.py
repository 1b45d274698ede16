"""
Variations of clients under which a sound server must still land every edit, and tell the truth about it.

They can be laid over any profile, two at a time: how the client tells of its changes, and how it answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Shape(Enum):
    """The ways to put pending changes into `didChange`."""

    TOGETHER = "one message, one content change for each change"
    SINGLE = "one message for each change"
    SPAN = "one message with one range from the first difference to the last, as Neovim has it"
    TEXT = "one message with the whole text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """
    A way in which clients differ in their messages about edits.

    Attributes:
        tells_after_s: How long after an edit was applied the server is told about it.
        answers_after_s: How long after an edit was applied it is answered.
        answers_null: Whether an edit that was applied is answered with null.
    """

    shape: Shape = Shape.TOGETHER
    tells_after_s: float = 0
    answers_after_s: float = 0
    answers_null: bool = False


PLAIN = Variation()
WHILE_S = 0.08  # long beside what an editor waits before it tells of a change, short beside any time limit

TELLING = {
    "single": Variation(shape=Shape.SINGLE),
    "span": Variation(shape=Shape.SPAN),
    "text": Variation(shape=Shape.TEXT),
}
ANSWERING = {
    "late": Variation(tells_after_s=WHILE_S),
    "slow": Variation(answers_after_s=WHILE_S),
    "null": Variation(answers_null=True),
    "null-late": Variation(answers_null=True, tells_after_s=WHILE_S),
}


def variation_of(name: str) -> Variation:
    """The variation of a name such as `text`, `null` or `null+text`."""
    if name == "plain":
        return PLAIN
    answering, _, telling = name.rpartition("+")
    if telling in ANSWERING and not answering:
        answering, telling = telling, ""
    one, other = ANSWERING.get(answering, PLAIN), TELLING.get(telling, PLAIN)
    if (answering and one is PLAIN) or (telling and other is PLAIN):
        raise ValueError(f"{name!r} is not a client; use one of {', '.join(NAMES)}")
    return Variation(
        shape=other.shape,
        tells_after_s=one.tells_after_s,
        answers_after_s=one.answers_after_s,
        answers_null=one.answers_null,
    )


NAMES = tuple(f"{answering}+{telling}" for answering in ANSWERING for telling in TELLING)
