"""Turns with a model that does what real models do wrong: cut, empty, in circles, out of reach."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest

from bench import Bench
from handrail.core.conversation import recover
from handrail.core.conversation.message import (
    AssistantMessage,
    Delta,
    Message,
    Response,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolOffer,
    UserMessage,
)
from handrail.core.ledger.report import (
    CallStarted,
    Compacted,
    Ended,
    Event,
    Notice,
    Retried,
    State,
    TextDelta,
    ThoughtDelta,
)
from handrail.ports import Ports, ProviderDown
from handrail.ports.errors import INTERNAL_ERROR
from handrail.testing import answer, call, lay_out

EMPTY = "The model's answer was empty twice in a row. Send your message again, or choose another model."


@dataclass
class Told:
    """A provider that gives these answers, or raises them, and notes what it was asked."""

    answers: list[Response | Exception]
    context_tokens: int = 1_000_000
    asked: list[tuple[tuple[Message, ...], int]] = field(default_factory=list)

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Delta | Response]:
        self.asked.append((tuple(messages), len(tools)))
        found = self.answers.pop(0)
        if isinstance(found, Exception):
            raise found
        yield Delta(text=found.text)
        yield found


def said(text: str) -> Response:
    return Response(text=text)


def calls(*made: ToolCall, stop: StopReason = StopReason.TOOL_CALLS) -> Response:
    return Response(text="", calls=made, stop=stop)


def write(path: str, content: str, call_id: str = "c") -> ToolCall:
    return ToolCall(id=call_id, name="write_file", arguments=f'{{"path": "{path}", "content": "{content}"}}')


def read(path: str, call_id: str = "c") -> ToolCall:
    return ToolCall(id=call_id, name="read_file", arguments=f'{{"path": "{path}"}}')


def patch_nowhere(path: str) -> ToolCall:
    arguments = f'{{"path": "{path}", "old_string": "no such line", "new_string": "x"}}'
    return ToolCall(id="p", name="patch", arguments=arguments)


FULL = Response(text="", stop=StopReason.CONTEXT_FULL, reason="400: too long")


async def test_a_call_that_was_cut_off_is_not_run_and_the_model_is_told(bench: Bench) -> None:
    told = Told([calls(write("a.txt", "half"), stop=StopReason.LENGTH), said("Done.")])
    bench.provider = told
    report = await bench.turn()
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    assert not (bench.root / "a.txt").exists()
    nudge = told.asked[1][0][-1]
    assert isinstance(nudge, UserMessage)
    assert "write_file (36 characters arrived)" in nudge.text


async def test_after_three_cut_answers_tools_are_withheld_for_one_call(bench: Bench) -> None:
    cut = calls(write("a.txt", "half"), stop=StopReason.LENGTH)
    told = Told([cut, cut, cut, calls(read("a.txt")), said("Done.")])
    bench.provider = told
    report = await bench.turn()
    offered = [tools > 0 for _, tools in told.asked]
    assert offered == [True, True, True, False, True]
    assert report.state is State.FINISHED


async def test_text_that_was_cut_is_one_answer(bench: Bench) -> None:
    bench.provider = Told([Response(text="This is how", stop=StopReason.LENGTH), said(" it works.")])
    assert (await bench.turn()).answer == "This is how it works."


async def test_two_empty_answers_end_the_turn(bench: Bench) -> None:
    bench.provider = Told([said(""), said("")])
    report = await bench.turn()
    assert (report.state, report.reason) == (State.STOPPED, EMPTY)


async def test_ids_that_are_missing_or_come_twice_do_not_mix_results_up(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", "b.txt": b"two\n"})
    bench.provider = Told(
        [
            calls(read("a.txt", "x"), read("b.txt", "x"), read("a.txt", "")),
            calls(read("b.txt", "x")),
            said("."),
        ]
    )
    await bench.turn()
    made = [each.calls for each in bench.history() if isinstance(each, AssistantMessage)]
    results = [each.results for each in bench.history() if isinstance(each, ToolMessage)]
    assert [[call.id for call in step] for step in made] == [["x", "x-2", "call"], ["x-3"], []]
    assert [["two" in result.text for result in step] for step in results] == [[False, True, False], [True]]


async def test_a_turn_in_circles_asks_and_stops(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.approver.says = None
    bench.says(*(answer("", call("read_file", path="a.txt")) for _ in range(9)))
    report = await bench.turn()
    assert report.state is State.STOPPED
    assert report.usage.steps == 3
    (question,) = bench.approver.asked
    assert question.subject == "The model repeats itself: read_file"
    why = "The model took the same step 3 times with the same results."
    assert question.detail == f"{why} If you answer no, the turn ends."
    assert report.reason == why, "no question is open any longer"


async def test_a_turn_in_circles_ends_even_if_the_user_always_says_yes(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(*(answer("", call("read_file", path="a.txt")) for _ in range(30)))
    report = await bench.turn()
    assert (report.state, report.usage.steps, len(bench.approver.asked)) == (State.STOPPED, 12, 3)


async def test_a_call_whose_result_changes_is_no_circle(bench: Bench) -> None:
    file = bench.root / "a.txt"
    bench.says(
        *(answer("", call("read_file", path="a.txt")) for _ in range(8)),
        answer("Done."),
        acts={n: (lambda n=n: file.write_text(str(n))) for n in range(8)},
    )
    assert (await bench.turn()).state is State.FINISHED
    assert not bench.approver.asked


async def test_a_provider_that_comes_back_is_asked_again_and_the_user_sees_it(bench: Bench) -> None:
    bench.provider = Told([ProviderDown("503"), ProviderDown("429", 7.0), said("Done.")])
    report = await bench.turn()
    assert report.answer == "Done."
    told = [e for e in bench.events if isinstance(e, Retried)]
    assert [each.told for each in told] == ["Trying again: 503", "Trying again in 7 s: 429"]
    assert told == [
        Retried(reason="503", in_s=0.5),
        Retried(reason="429", in_s=7.0),
    ]
    assert bench.pauses == [0.5, 7.0]


async def test_a_provider_that_stays_away_ends_the_turn_which_can_be_gone_on_with(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.provider = Told([calls(read("a.txt")), *[ProviderDown("503")] * 6])
    report = await bench.turn()
    assert (report.state, report.reason, len(bench.pauses)) == (
        State.FAILED,
        "503. handrail tried 6 times.",
        5,
    )
    bench.provider = told = Told([said("Done.")])
    await bench.turn(report.session)
    assert [type(message).__name__ for message in told.asked[0][0]] == [
        "SystemMessage",
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "UserMessage",
    ]


async def test_a_provider_that_wants_to_be_left_alone_for_long_is_not_asked_again(bench: Bench) -> None:
    bench.provider = Told([ProviderDown("HTTP 429: Slow down.", 600.0)])
    report = await bench.turn()
    assert (report.state, bench.pauses) == (State.FAILED, [])
    assert (
        report.reason
        == "HTTP 429: Slow down. The model's server asks handrail to wait 10 minutes. Send your "
        "message again after that."
    )


@pytest.mark.parametrize(("wanted_s", "said"), [(121.0, "3 minutes"), (1e20, "more than a year")])
def test_a_long_pause_is_told_in_words_that_are_true(wanted_s: float, said: str) -> None:
    assert f"asks handrail to wait {said}." in recover.reason_to_give_up("HTTP 429: No.", 1, wanted_s)


async def test_a_full_context_of_short_messages_is_summarised(bench: Bench) -> None:
    lay_out(bench.root, {f"{n}.txt": b"x" * 300 + b"\n" for n in range(8)})
    reads = [calls(read(f"{n}.txt", f"c{n}")) for n in range(8)]
    todos = ToolCall(id="t", name="todo", arguments='{"items": [{"text": "Read them.", "state": "active"}]}')
    first = [calls(write("new.txt", "n"), patch_nowhere("0.txt"), todos)]
    bench.provider = told = Told([*first, *reads, FULL, said("It is about files."), said("Done.")])
    report = await bench.turn()
    assert report.answer == "Done."
    (full, _), (_, offered), (shorter, _) = told.asked[-3:]
    assert offered == 0, "no tools for a summary"
    summary, *kept = shorter[2:]
    assert isinstance(summary, UserMessage)
    assert len(shorter) < len(full)
    assert tuple(kept) == full[-len(kept) :], "the last of them, as they were"
    assert "It is about files." in summary.text
    assert "0.txt: The search text is not in the document." in summary.text
    assert "[>] Read them." in summary.text
    assert "Documents changed so far:\nnew.txt" in summary.text


async def test_a_conversation_that_grows_is_compacted_in_time(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", **{f"{n}.txt": b"y" * 3000 + b"\n" for n in range(12)}})
    reads = [calls(read(f"{n}.txt", f"c{n}")) for n in range(12)]
    bench.provider = told = Told(
        [calls(write("new.txt", "n"), patch_nowhere("a.txt")), *reads], context_tokens=8000
    )
    told.answers = [*told.answers, *[said("A summary, or the end.")] * 5]
    report = await bench.turn()
    assert report.state is State.FINISHED
    assert [event for event in bench.events if isinstance(event, Compacted)]
    for messages, _ in told.asked:
        size = sum(len(r.text) for m in messages if isinstance(m, ToolMessage) for r in m.results)
        assert size < 4 * 8000


@pytest.mark.parametrize("count", [200, 201, 1_000, 8_000])
async def test_only_so_many_calls_of_one_answer_are_run(count: int, bench: Bench) -> None:
    """The others have results as well, so the history stays well-formed; some models number nothing."""
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(answer("", *(call("read_file", path="a.txt") for _ in range(count))), answer("Done."))
    report = await bench.turn()
    results = bench.results()
    assert (report.state, len(results)) == (State.FINISHED, count)
    assert len({name for name, _ in results}) == count
    assert [code for _, code in results] == [""] * min(count, 200) + ["cut-short"] * max(count - 200, 0)
    told = [event.text for event in bench.events if isinstance(event, Notice)]
    rest = "The last one was" if count == 201 else f"The last {count - 200:,} were"
    assert told == [
        f"The model made more than 200 tool calls in one answer. {rest} not run, and the model is told so."
    ] * (count > 200)
    assert all("Only the first 200 calls" in text for text in bench.texts()[200:])


async def test_reasoning_in_tags_is_shown_as_such_and_no_part_of_the_answer(bench: Bench) -> None:
    bench.provider = told = Told([said("<think>I look.</think>"), said("<think>Hm.</think>\n\nDone.")])
    report = await bench.turn()
    assert (report.state, report.answer) == (State.FINISHED, "Done.")
    shown = [event.delta for event in bench.events if isinstance(event, ThoughtDelta)]
    assert shown == ["I look.", "Hm."]
    assert "think" not in repr([event for event in bench.events if isinstance(event, TextDelta)])
    assert len(told.asked) == 2, "reasoning alone is no answer"
    kept = [message.text for message in bench.history() if isinstance(message, AssistantMessage)]
    assert kept == ["Done."]


async def test_a_call_of_no_tool_is_shown(bench: Bench) -> None:
    unknown = ToolCall(id="a", name="str_replace_editor", arguments="{}")
    cut = ToolCall(id="b", name="patch", arguments='{"path": ')
    bench.provider = Told([calls(unknown, cut), said("Done.")])
    await bench.turn()
    shown = [
        (event.call, event.tool, event.title) for event in bench.events if isinstance(event, CallStarted)
    ]
    assert shown == [
        ("a", "str_replace_editor", "str_replace_editor: not a tool"),
        ("b", "patch", "patch: a call that cannot be used"),
    ]


async def test_ids_are_no_longer_than_every_server_takes(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.provider = Told([calls(read("a.txt", "x" * 90), read("a.txt", "x" * 80)), said("Done.")])
    await bench.turn()
    names = [name for name, _ in bench.results()]
    assert len(set(names)) == 2
    assert max(map(len, names)) == 40


async def test_a_fault_of_ours_ends_the_turn_as_failed_and_the_next_one_runs(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.provider = Told([RuntimeError("A fault of ours."), said("Fine.")])
    turn = bench.host.start("Do it.", None)
    waiting = bench.host.queue("And this.", turn.session)
    report = await bench.host.wait(turn.id)
    assert (report.state, report.reason) == (State.FAILED, INTERNAL_ERROR)
    assert turn.task.exception() is None
    assert turn.outcomes == ()
    assert [event.reason for event in bench.events if isinstance(event, Ended)] == [INTERNAL_ERROR]
    assert "A fault of ours." in caplog.text
    assert (await bench.host.wait(waiting.id)).state is State.CANCELLED
    assert (await bench.turn(turn.session)).answer == "Fine."


async def test_a_fault_while_a_turn_ends_is_reported_too(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def listen(session: str, turn: str, event: Event) -> None:
        if isinstance(event, Ended):
            raise RuntimeError("Nobody listens.")

    bench.host.on_event = listen
    bench.provider = Told([said("One."), said("Two.")])
    report = await bench.turn()
    assert (report.state, report.reason, report.answer) == (State.FAILED, INTERNAL_ERROR, "One.")
    assert "Nobody listens." in caplog.text
    assert (await bench.turn(report.session)).answer == "Two."


async def test_a_turn_that_cannot_be_begun_after_another_is_reported(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.provider = Told([said("One.")])
    first = bench.host.start("Do it.", None)
    second = bench.host.queue("And this.", first.session)

    def ports() -> Ports:
        raise RuntimeError("No settings.")

    await bench.host.turns.find(first.id).report()
    bench.host.ports = ports
    report = await bench.host.wait(second.id)
    assert report.state is State.CANCELLED
    assert report.reason == f"It did not start: {INTERNAL_ERROR}"
    assert "No settings." in caplog.text
