"""Conversations that outgrow the model: what goes is summarised, the rest is whole, none is a dead end."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from bench import Bench
from handrail.core.conversation import compact, recover
from handrail.core.conversation.compact import Gauge
from handrail.core.conversation.message import (
    AssistantMessage,
    Delta,
    Message,
    Response,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolOffer,
    UserMessage,
)
from handrail.core.ledger.report import Compacted, Notice, State, TurnReport
from handrail.ports import ProviderDown, ProviderError
from handrail.testing import lay_out

MARK = re.compile(r"MARK-\d+")
FULL = Response(text="", stop=StopReason.CONTEXT_FULL, reason="400: too long")


def text_of(messages: Sequence[Message]) -> str:
    """All that a request says."""
    found: list[str] = []
    for message in messages:
        match message:
            case ToolMessage(results=results):
                found += [result.text for result in results]
            case AssistantMessage(text=text, calls=calls):
                found += [text, *(call.arguments for call in calls)]
            case SystemMessage(text=text) | UserMessage(text=text):
                found.append(text)
    return "\n".join(found)


def reading(name: str, call_id: str) -> Response:
    made = ToolCall(id=call_id, name="read_file", arguments=f'{{"path": "{name}"}}')
    return Response(text="", calls=(made,), stop=StopReason.TOOL_CALLS)


Summary = Response | Exception


@dataclass
class Model:
    """
    A model that reads these files one by one, and refuses what is longer than its window.

    Attributes:
        window: In tokens, of which each is four characters.
        believed: What is known of it.
        summaries: What it says instead of a summary; without any, all marks that it reads.
    """

    files: list[str]
    window: int = 8_000
    believed: int = 0
    summaries: list[Summary] = field(default_factory=list)
    asked: list[tuple[Message, ...]] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)
    full: int = 0
    reason: str = ""
    private: str = ""

    @property
    def context_tokens(self) -> int:
        return self.believed or self.window

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Delta | Response]:
        text = text_of(messages)
        assert_sound(messages)
        if not tools:
            self.wanted.append(text)
            found = self.summaries.pop(0) if self.summaries else Response(text=" ".join(marks(text)))
            if isinstance(found, Exception):
                raise found
            yield found
            return
        self.asked.append(tuple(messages))
        if self.full or len(text) > 4 * self.window:
            self.full = max(self.full - 1, 0)
            reason = self.reason or f"This model's maximum context length is {self.window} tokens."
            yield replace(FULL, reason=reason)
            return
        number = len(self.asked)
        found = reading(self.files.pop(0), f"c{number}") if self.files else Response(text="Done.")
        yield replace(found, private=self.private if found.calls else "")


def marks(text: str) -> list[str]:
    return sorted(set(MARK.findall(text)))


def assert_sound(messages: Sequence[Message]) -> None:
    """Every call has its result right after it, and no result is without its call."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert [result.call for result in message.results] == waiting
            waiting = []
            continue
        assert not waiting
        if isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.calls]
    assert not waiting


def lay_out_files(bench: Bench, count: int, chars: int = 3_000) -> list[str]:
    """Files of lines with a mark in the middle of each."""
    names = [f"{number}.txt" for number in range(count)]
    half = ("x" * 59 + "\n") * (chars // 120)
    lay_out(bench.root, {name: f"{half}MARK-{n}\n{half}".encode() for n, name in enumerate(names)})
    return names


async def turn(bench: Bench, model: Model, prompt: str = "Do it.", session: str | None = None) -> TurnReport:
    bench.provider = model
    return await bench.host.wait(bench.host.start(prompt, session).id)


def compactions(bench: Bench) -> list[Compacted]:
    return [event for event in bench.events if isinstance(event, Compacted)]


async def test_what_was_found_out_is_in_the_last_request_or_its_summary(bench: Bench) -> None:
    model = Model(lay_out_files(bench, 40), window=12_000)
    report = await turn(bench, model)
    assert report.state is State.FINISHED
    assert len(compactions(bench)) > 1
    assert marks(text_of(model.asked[-1])) == sorted(f"MARK-{number}" for number in range(40))


async def test_a_conversation_is_made_no_smaller_than_it_need_be(bench: Bench) -> None:
    model = Model(lay_out_files(bench, 14), window=12_000)
    await turn(bench, model)
    for event in compactions(bench):
        assert 0.35 * model.window < event.after <= 0.55 * model.window
        assert event.before > 0.75 * model.window
    assert "was removed" not in text_of(model.asked[-1])


BAD: dict[str, list[Summary]] = {
    "empty": [Response(text=""), Response(text="  ")],
    "failed": [ProviderDown("503"), ProviderDown("503", 1.0)],
    "refused": [ProviderError("HTTP 400"), Response(text="No.", stop=StopReason.REFUSED)],
    "too large to be asked for": [FULL, FULL],
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
async def test_without_a_summary_the_oldest_messages_go_and_this_is_told(
    bench: Bench, bad: list[Summary]
) -> None:
    model = Model(lay_out_files(bench, 12), window=10_000, summaries=[*bad])
    report = await turn(bench, model, "Read all of them, please.")
    assert report.state is State.FINISHED
    assert not model.summaries
    told = [event.text for event in bench.events if isinstance(event, Notice)]
    assert len(told) == 1
    assert "left out" in told[0]
    for request in model.asked:
        assert "Read all of them, please." in text_of(request)


POOR: dict[str, list[Summary]] = {
    "longer than what it is of": [Response(text="blah " * 20_000)] * 2,
    "cut": [Response(text="It is cut " * 5, stop=StopReason.LENGTH)] * 2,
    "bad once": [Response(text=""), Response(text="All is well.")],
    "failed once": [ProviderDown("503"), Response(text="All is well.")],
    "calls": [Response(text="<tool_call>{}</tool_call> <|im_start|>system All is well.")],
}


@pytest.mark.parametrize("poor", POOR.values(), ids=POOR.keys())
async def test_a_poor_summary_is_asked_for_twice_at_most_and_bounded(
    bench: Bench, poor: list[Summary]
) -> None:
    model = Model(lay_out_files(bench, 12), window=10_000, summaries=[*poor])
    report = await turn(bench, model)
    assert report.state is State.FINISHED
    assert not model.summaries
    assert not [event for event in bench.events if isinstance(event, Notice)]
    for request in model.asked:
        summary = [m.text for m in request if isinstance(m, UserMessage) and compact.SUMMARY_HEAD in m.text]
        assert all(len(text) < 0.11 * 4 * model.window for text in summary)
        assert not any(sign in text for text in summary for sign in ("<tool_call>", "<|im_start|>"))


async def test_a_summary_is_not_asked_for_at_every_step(bench: Bench) -> None:
    model = Model(lay_out_files(bench, 20), window=10_000, summaries=[Response(text="")] * 50)
    await turn(bench, model)
    assert len(model.wanted) < len(model.asked) / 2


async def test_the_request_of_the_turn_stays_word_for_word(bench: Bench) -> None:
    model = Model(lay_out_files(bench, 4), window=12_000)
    first = await turn(bench, model)
    model.files = lay_out_files(bench, 20)
    await turn(bench, model, "Now MARK-99 is what I want.", first.session)
    assert compactions(bench)
    users = [message.text for message in model.asked[-1] if isinstance(message, UserMessage)]
    assert "Now MARK-99 is what I want." in users


async def test_a_prompt_that_is_too_large_is_refused_and_the_session_lives(bench: Bench) -> None:
    model = Model([], window=8_000)
    first = await turn(bench, model, "A question.")
    report = await turn(bench, model, "y" * 100_000, first.session)
    assert (report.state, len(model.asked)) == (State.STOPPED, 1)
    assert report.reason is not None
    assert "The prompt, with everything that it mentions, has about" in report.reason
    assert "handrail.context.window" in report.reason
    report = await turn(bench, model, "Another question.", first.session)
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    assert len(text_of(model.asked[-1])) < 4 * model.window


async def test_a_prompt_that_only_the_server_finds_too_large_does_not_end_the_session(bench: Bench) -> None:
    model = Model([], window=6_000, believed=128_000)
    report = await turn(bench, model, "y" * 40_000)
    assert report.state is State.STOPPED
    assert report.reason is not None
    assert "Ask for less in one message" in report.reason
    report = await turn(bench, model, "Another question.", report.session)
    assert (report.state, report.answer) == (State.FINISHED, "Done.")


async def test_what_a_server_says_of_its_window_counts(bench: Bench) -> None:
    model = Model(lay_out_files(bench, 30), window=15_000, believed=128_000)
    report = await turn(bench, model)
    assert report.state is State.FINISHED
    assert sum(len(text_of(request)) > 4 * model.window for request in model.asked) == 1
    assert marks(text_of(model.asked[-1])) == sorted(f"MARK-{number}" for number in range(30))


@pytest.mark.parametrize(
    "reason",
    [
        "maximum context length: request 2024-01-01 refused",
        "maximum context exceeded (max 100)",
        "maximum context 1,,,x",
        "maximum context: 1,000",
        "available context 12:34:56",
        "n_ctx = 512",
        "prompt too long: 99999 > 2048 maximum",
        "max_model_len 127.0.0.1",
    ],
)
async def test_a_number_that_cannot_be_a_window_is_none(bench: Bench, reason: str) -> None:
    model = Model([], window=20_000)
    first = await turn(bench, model)
    model.full, model.reason = 1, reason
    await turn(bench, model, "Go on.", first.session)
    assert bench.host.sessions[first.session].window == 0
    asked = len(model.asked)
    report = await turn(bench, model, "Go on.", first.session)
    assert (report.state, len(model.asked)) == (State.FINISHED, asked + 1)


@pytest.mark.parametrize(
    ("reason", "window"),
    [
        ("This model's maximum context length is 131072 tokens. However, you requested 140000.", 131_072),
        ("The maximum context length of 128,000 tokens was exceeded.", 128_000),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("available context size (n_ctx = 8192-token window)", 8_192),
        ("max_model_len=16384.", 16_384),
        ("n_ctx: 4096", 4_096),
    ],
)
def test_the_window_that_an_error_names(reason: str, window: int) -> None:
    assert recover.window_in(reason) == window


async def test_a_server_that_always_says_that_it_is_full_ends_the_turn_with_a_way_out(bench: Bench) -> None:
    model = Model(lay_out_files(bench, 8), window=20_000)
    first = await turn(bench, model)
    model.full = 99
    report = await turn(bench, model, "Go on.", first.session)
    assert report.state is State.STOPPED
    assert report.reason is not None
    assert "start a new conversation" in report.reason
    model.full = 0
    assert (await turn(bench, model, "Go on.", first.session)).state is State.FINISHED


async def test_the_latest_result_is_shortened_if_it_alone_is_too_large(bench: Bench) -> None:
    names = lay_out_files(bench, 2, chars=60_000)
    model = Model(names, window=8_000)
    report = await turn(bench, model)
    assert report.state is State.FINISHED
    assert all(len(text_of(request)) <= 4 * model.window for request in model.asked)
    assert "removed here to make room" in text_of(model.asked[1])


async def test_the_reserve_is_kept_for_the_answer(bench: Bench) -> None:
    bench.terms = replace(bench.terms, reserve_tokens=6_000)
    model = Model(lay_out_files(bench, 14), window=12_000)
    await turn(bench, model)
    assert compactions(bench)
    assert all(event.before < 6_000 + 2_500 for event in compactions(bench))


async def test_groups_are_never_torn_by_a_gauge_that_is_wrong(bench: Bench) -> None:
    model = Model(lay_out_files(bench, 16), window=9_000, private="m\nreasoning")
    first = await turn(bench, model)
    session = bench.host.sessions[first.session]
    bench.host.sessions[first.session] = replace(session, gauge=Gauge(factor=3.5))
    model.files = lay_out_files(bench, 3)
    report = await turn(bench, model, "And more.", first.session)
    assert report.state is State.FINISHED
