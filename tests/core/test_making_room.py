"""Sentences in the place of what was removed from a conversation: they are true of what went before, too."""

from __future__ import annotations

import re

from handrail.core.conversation import compact
from handrail.core.conversation.compact import Facts, Gauge
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)

LONG = "x" * 7_600


def conversation(*later: Message) -> tuple[Message, ...]:
    call = ToolCall(id="c", name="read_file", arguments="{}")
    result = ToolResult(call="c", text=LONG)
    return (
        UserMessage(text="Go."),
        AssistantMessage(text="", calls=(call,)),
        ToolMessage(results=(result,)),
        *later,
    )


def result_of(messages: tuple[Message, ...]) -> str:
    (text,) = (result.text for each in messages if isinstance(each, ToolMessage) for result in each.results)
    return text


def counts(text: str) -> set[str]:
    return set(re.findall(r"\d[\d,]*", text))


def test_a_result_that_is_shortened_twice_does_not_count_the_second_part_alone() -> None:
    gauge = Gauge()
    once = compact.shorten_results(conversation(), gauge, enough=500)
    twice = compact.shorten_results(once, gauge, enough=300)
    assert compact.THIN_CHARS < len(result_of(twice)) < len(result_of(once)) < len(LONG)
    assert not counts(result_of(twice))


def test_a_result_that_is_removed_after_it_was_shortened_has_no_wrong_length() -> None:
    gauge = Gauge()
    once = compact.shorten_results(conversation(), gauge, enough=500)
    later = tuple(AssistantMessage(text=LONG) for _ in range(4))
    thinned = result_of(compact.thin((*once, *later), gauge, 1_000))
    assert "x" not in thinned
    assert not counts(thinned)


def test_a_message_of_which_the_beginning_stays_is_not_said_to_be_removed_whole() -> None:
    gauge, said = Gauge(), (UserMessage(text=LONG), UserMessage(text="Go."))
    shorter = compact.shorten_requests(said, said[-1], gauge, enough=10)
    assert isinstance(shorter[0], UserMessage)
    assert shorter[0].text.startswith("x" * 100)
    assert not counts(shorter[0].text)


def test_what_was_left_out_before_is_not_missing_from_a_count() -> None:
    facts = Facts(failures=(), todos=(), documents=())
    middle = (AssistantMessage(text="One."), AssistantMessage(text="Two."))
    made = compact.Cut(head=(), middle=middle, tail=()).without_middle(facts)
    assert isinstance(made[0], UserMessage)
    assert not counts(made[0].text)
