"""Reasoning between tags is no part of the answer, however it comes in pieces."""

from __future__ import annotations

import pytest

from handrail.core.conversation import thinking
from handrail.core.conversation.message import Delta, Thought

CASES: dict[str, tuple[str, str, str]] = {
    "none": ("It is so.\n", "", "It is so.\n"),
    "at the beginning": ("<think>Hm.\nYes.</think>\n\nIt is so.", "Hm.\nYes.", "It is so."),
    "behind blanks": ("\n  <think>Hm.</think>It is so.", "Hm.", "It is so."),
    "by another name": ("<thinking>Hm.</thinking>It is so.", "Hm.", "It is so."),
    "in brackets": ("[THINK]Hm.[/THINK]It is so.", "Hm.", "It is so."),
    "empty": ("<think>\n\n</think>\n\nIt is so.", "\n\n", "It is so."),
    "twice": ("<think>A</think>One.\n<think>B</think>Two.", "AB", "One.\nTwo."),
    "never ended": ("<think>Hm. It goes on", "Hm. It goes on", ""),
    "within a line": ("The tag <think> opens it.", "", "The tag <think> opens it."),
    "in code": ("So:\n```\n<think>Hm.</think>\n```\n", "", "So:\n```\n<think>Hm.</think>\n```\n"),
    "another tag": ("<thinker>Hm.</thinker>", "", "<thinker>Hm.</thinker>"),
    "less than": ("a < b, and\n< c\n[1]\n[x", "", "a < b, and\n< c\n[1]\n[x"),
}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(("text", "thought", "said"), CASES.values(), ids=CASES.keys())
def test_reasoning_is_told_from_the_answer(text: str, thought: str, said: str, size: int) -> None:
    assert thinking.answer_of(text) == said
    stream, pieces = thinking.Stream(), list[Delta | Thought]()
    for at in range(0, len(text), size):
        pieces += stream.add(text[at : at + size])
    pieces += stream.end()
    assert "".join(each.text for each in pieces if isinstance(each, Thought)) == thought
    assert "".join(each.text for each in pieces if isinstance(each, Delta)).strip() == said.strip()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hm.\nYes.\n</think>\n\nIt is so.", "It is so."),
        ("Hm.</think>\nIt is so.", "It is so."),
        ("Use </think> for that.", "Use </think> for that."),
        ("So:\n```\n</think>\n```\n", "So:\n```\n</think>\n```\n"),
    ],
)
def test_an_end_without_a_beginning(text: str, said: str) -> None:
    assert thinking.answer_of(text) == said


def test_text_that_can_be_no_tag_is_not_held_back() -> None:
    stream = thinking.Stream()
    assert stream.add("It is") == [Delta(text="It is")]
    assert stream.add(" <") == [Delta(text=" <")]
    assert stream.add("\n") == [Delta(text="\n")]
    assert stream.add("<thi") == []
    assert stream.add("s>") == [Delta(text="<this>")]
