"""Turns that wait for those of their session before them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from bench import Bench
from handrail.adapters.state.session_log import SessionLog
from handrail.agent.archive import Archive
from handrail.agent.queue import LIMIT_WAITING
from handrail.core.conversation.message import Delta, Message, Response, ToolOffer, UserMessage
from handrail.core.ledger.report import Ended, Started, State
from handrail.ports import HandrailError, ProviderError
from handrail.testing import answer, call, lay_out


class OneByOne:
    """Answers with all that the user has said, each time once `go` is set; fails if told to *fail*."""

    context_tokens = 1_000_000

    def __init__(self) -> None:
        self.go = asyncio.Semaphore(0)
        self.asked = 0
        self.fails = False

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Delta | Response]:
        self.asked += 1
        await self.go.acquire()
        if self.fails:
            raise ProviderError("The model is gone.")
        yield Response(text="; ".join(each.text for each in messages if isinstance(each, UserMessage)))


@pytest.fixture
def model(bench: Bench) -> OneByOne:
    model = bench.provider = OneByOne()
    return model


async def test_turns_begin_one_after_the_other(bench: Bench, model: OneByOne) -> None:
    first = bench.host.queue("first", None)
    others = [bench.host.queue(prompt, first.session) for prompt in ("second", "third")]
    assert [turn.session for turn in others] == [first.session] * 2
    for number, turn in enumerate((first, *others), 1):
        model.go.release()
        report = await bench.host.wait(turn.id)
        assert report.state is State.FINISHED
        assert report.answer == "; ".join(("first", "second", "third")[:number])
        assert model.asked <= number + 1
    begun = [event.prompt for event in bench.events if isinstance(event, Started)]
    assert begun == ["first", "second", "third"]


async def test_without_a_turn_before_it_it_begins_at_once(bench: Bench, model: OneByOne) -> None:
    model.go.release()
    first = await bench.host.wait(bench.host.start("first", None).id)
    model.go.release()
    report = await bench.host.wait(bench.host.queue("second", first.session).id)
    assert (report.state, report.answer) == (State.FINISHED, "first; second")


async def test_one_begins_in_the_very_moment_in_which_the_one_before_it_has_ended(bench: Bench) -> None:
    bench.host.archive = Archive(journals=SessionLog(lambda: bench.state.parent / "sessions"))
    bench.says(answer("One."), answer("Two."))
    first = bench.host.start("first", None)
    while not first.task.done():  # noqa: ASYNC110  not told by a callback: the moment before them is meant
        await asyncio.sleep(0)
    second = bench.host.start("second", first.session)
    assert (await bench.host.wait(second.id)).answer == "Two."


@pytest.mark.parametrize("how", ["stopped", "failed"])
async def test_none_begins_after_one_that_did_not_finish(bench: Bench, model: OneByOne, how: str) -> None:
    first = bench.host.start("first", None)
    waiting = [bench.host.queue(prompt, first.session) for prompt in ("second", "third")]
    if how == "stopped":
        await bench.host.cancel(first.id)
    else:
        model.fails = True
        model.go.release()
    reports = [await bench.host.wait(turn.id) for turn in waiting]
    ended = "was stopped" if how == "stopped" else "failed"
    assert (
        reports[0].reason == f"The previous turn {ended}, so this one did not start. "
        "Send the message of this turn again."
    )
    assert [report.state for report in reports] == [State.CANCELLED] * 2
    assert all("did not start" in (report.reason or "") for report in reports)
    assert [report.answer for report in reports] == ["", ""]
    assert sum(isinstance(event, Ended) for event in bench.events) == 3
    model.fails = False
    model.go.release()
    report = await bench.host.wait(bench.host.queue("fourth", first.session).id)
    assert report.state is State.FINISHED
    assert "second" not in report.answer, "what did not begin is no part of the conversation"


async def test_one_that_waits_is_stopped_alone(bench: Bench, model: OneByOne) -> None:
    first = bench.host.start("first", None)
    second = bench.host.queue("second", first.session)
    await bench.host.cancel(second.id)
    report = await bench.host.wait(second.id)
    assert (report.state, report.reason) == (State.CANCELLED, "It was stopped before it started.")
    model.go.release()
    assert (await bench.host.wait(first.id)).state is State.FINISHED


async def test_what_is_said_to_one_that_waits_reaches_it(bench: Bench, model: OneByOne) -> None:
    first = bench.host.start("first", None)
    second = bench.host.queue("second", first.session)
    await bench.host.steer(second.id, UserMessage(text="In French, please."))
    for turn in (first, second):
        model.go.release()
        report = await bench.host.wait(turn.id)
    assert report.answer.startswith("first; second")
    assert "In French, please." in report.answer


async def test_a_turn_that_waited_counts_as_later_than_all_before_it(bench: Bench) -> None:
    """What failed in it is closed when an earlier turn is taken back with all that follows."""
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(
        answer("", call("write_file", path="made.txt", content="made\n")),
        answer("First."),
        answer("", call("patch", path="a.txt", old_string="nowhere", new_string="x")),
        answer("Second."),
    )
    first = bench.host.start("first", None)
    second = bench.host.queue("second", first.session)
    await bench.host.wait(second.id)
    assert len(bench.host.ledger.open) == 1
    await bench.restore(first.id, following=True)
    assert bench.host.ledger.open == ()


async def test_a_session_in_which_a_turn_waits_is_not_at_rest(bench: Bench, model: OneByOne) -> None:
    first = bench.host.start("first", None)
    bench.host.queue("second", first.session)
    with pytest.raises(HandrailError, match="has a running turn"):
        bench.host.start("third", first.session)
    await bench.host.close()
    assert all(turn.task.done() for turn in bench.host.turns.values())


async def test_no_more_wait_than_anybody_can_want(bench: Bench, model: OneByOne) -> None:
    first = bench.host.start("first", None)
    for number in range(LIMIT_WAITING):
        bench.host.queue(f"{number}", first.session)
    with pytest.raises(HandrailError, match="already waiting"):
        bench.host.queue("one more", first.session)
    await bench.host.close()
