"""An earlier conversation as a model is shown it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from handrail.agent.chat.earlier import LIMIT_CHARS, LIMIT_PART_CHARS, tell_turns
from handrail.core.conversation.journal import Entry, Rewound, Said, TurnBegun, TurnEnded
from handrail.core.conversation.message import AssistantMessage, UserMessage


def turn(name: str, prompt: str, *answers: str, copied: bool = False) -> list[Entry]:
    said = [Said(message=AssistantMessage(text=each)) for each in answers]
    begun = TurnBegun(turn=name, prompt=prompt, mode="edit", is_copied=copied)
    return [begun, Said(message=UserMessage(text=prompt)), *said, TurnEnded(turn=name, state="finished")]


COPY = [
    TurnBegun(turn="t1", prompt="B?", mode="edit", is_copied=True),
    *turn("", "A?", "a")[1:-1],
    *turn("", "B?", "b")[1:],
]


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ([], ""),
        (turn("t1", "A?", "I look.", "a"), "User:\nA?\n\nAnswer:\na\n"),
        (turn("t1", "A?", "a", " "), "User:\nA?\n\nAnswer:\na\n"),
        (turn("t1", "A?"), "User:\nA?\n\nAnswer:\n(no answer)\n"),
        (
            [*turn("t1", "A?", "a"), *turn("t2", "B?", "b"), Rewound(id="r", before="t2")],
            "User:\nA?\n\nAnswer:\na\n",
        ),
        ([*COPY, *turn("t2", "C?", "c")], "\n".join(f"User:\n{q}?\n\nAnswer:\n{q.lower()}\n" for q in "ABC")),
        (turn("t1", "A?", "the key is hush"), "User:\nA?\n\nAnswer:\nthe key is ****\n"),
    ],
    ids=["nothing", "the-last-answer", "no-blank-answer", "no-answer", "taken-back", "forked", "keys"],
)
def test_prompts_and_last_answers_are_told(entries: Sequence[Entry], text: str) -> None:
    assert tell_turns(entries, lambda said: said.replace("hush", "****")) == text


def test_what_is_long_is_cut_and_older_turns_are_left_out() -> None:
    long = "x" * (LIMIT_PART_CHARS + 12_345)
    text = tell_turns([each for n in range(9) for each in turn(f"t{n}", f"Question {n}?", long)], str)
    assert len(text) <= LIMIT_CHARS + 100
    assert text.startswith("(5 earlier turns are not shown.)\n\nUser:\nQuestion 5?\n")
    assert text.count("(12,345 more characters are not shown.)") == 4


def test_no_part_of_a_key_stays_where_a_text_is_cut() -> None:
    text = tell_turns(
        turn("t1", "x" * (LIMIT_PART_CHARS - 2) + "hush"), lambda said: said.replace("hush", "")
    )
    assert "hu" not in text
