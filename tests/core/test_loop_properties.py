"""What holds of the loop's decisions for any conversation: found by chance, not by cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from core.test_properties import quick
from handrail.agent.turn.session import Session
from handrail.core.conversation import compact, pair, recover
from handrail.core.conversation.compact import Facts, Gauge
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Response,
    StopReason,
    ToolCall,
    ToolMessage,
    ToolOffer,
    ToolResult,
    UserMessage,
    name_calls,
)
from handrail.core.conversation.recover import Continue, RunTools
from handrail.core.failure import Code, Failure
from handrail.core.results import sanitize

CUT = Failure(code=Code.CUT_SHORT, message="cut")
OFFERS = tuple(ToolOffer(name=name, description="", schema="{}") for name in ("read_file", "patch"))

ids = st.sampled_from(["a", "b", "c", " a", "b ", "", "fc"])
texts = st.text("xy<>` \n", max_size=12)
sizes = st.integers(0, 3000).map("x".__mul__)
calls = st.builds(
    ToolCall, id=ids, item=st.sampled_from(["", "fc", "a", "i1"]), name=st.just("patch"), arguments=texts
)
results = st.builds(ToolResult, call=ids, text=texts)
messages = st.one_of(
    st.builds(UserMessage, text=texts),
    st.builds(AssistantMessage, text=texts, calls=st.lists(calls, max_size=4).map(tuple)),
    st.builds(ToolMessage, results=st.lists(results, min_size=1, max_size=4).map(tuple)),
)


def is_well_formed(history: Sequence[Message]) -> bool:
    """Every message with calls is followed by exactly its results, and nothing else has results."""
    open_calls: list[str] = []
    for message in history:
        if isinstance(message, ToolMessage):
            if [result.call for result in message.results] != open_calls or not open_calls:
                return False
            open_calls = []
        elif open_calls:
            return False
        elif isinstance(message, AssistantMessage):
            open_calls = [call.id for call in message.calls]
    return not open_calls


def said(history: Sequence[Message]) -> str:
    """All texts of results, wherever they stand."""
    parts = [result.text for each in history if isinstance(each, ToolMessage) for result in each.results]
    return "\0".join([*parts, *(each.text for each in history if isinstance(each, UserMessage))])


@quick
@given(st.lists(messages, max_size=12))
def test_the_repair_makes_any_history_well_formed_and_loses_no_result(history: list[Message]) -> None:
    numbered = [number_results(message, f"{at}.") for at, message in enumerate(history)]
    mended = pair.pair_results(numbered, CUT)
    assert is_well_formed(mended)
    assert pair.pair_results(mended, CUT) == mended
    shown = said(mended)
    for message in numbered:
        if isinstance(message, ToolMessage):
            assert all(shown.count(result.text) == 1 for result in message.results)
    kept = [message for message in mended if isinstance(message, AssistantMessage)]
    assert kept == [message for message in numbered if isinstance(message, AssistantMessage)]


def number_results(message: Message, at: str) -> Message:
    if not isinstance(message, ToolMessage):
        return message
    return ToolMessage(
        results=tuple(
            ToolResult(call=result.call, text=f"<{at}{n}>") for n, result in enumerate(message.results)
        )
    )


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """A well-formed conversation, with texts of any size, perhaps with calls in flight at its end."""
    found: list[Message] = []
    number = 0
    for kind in draw(st.lists(st.sampled_from("uact"), max_size=25)):
        if kind == "u":
            found.append(UserMessage(text=draw(sizes)))
        elif kind == "a":
            found.append(AssistantMessage(text=draw(sizes)))
        else:
            made = [f"c{number + n}" for n in range(draw(st.integers(1, 7)))]
            number += len(made)
            parts = tuple(ToolCall(id=name, name="patch", arguments=draw(sizes)) for name in made)
            found.append(AssistantMessage(text="", calls=parts))
            found.append(ToolMessage(results=tuple(ToolResult(call=c, text=draw(sizes)) for c in made)))
    if found and isinstance(found[-1], ToolMessage) and draw(st.booleans()):
        found.pop()
    return tuple(found)


@quick
@given(histories(), st.integers(50, 20_000), st.sampled_from([0.25, 1.0, 3.0]))
def test_compaction_never_orphans_never_reorders_never_loses(
    history: tuple[Message, ...], context: int, factor: float
) -> None:
    gauge = Gauge(factor=factor)
    assert [message for group in compact.groups(history) for message in group] == list(history)
    thinned = compact.thin(history, gauge, context)
    assert [type(message) for message in thinned] == [type(message) for message in history]
    assert [calls_of(message) for message in thinned] == [calls_of(message) for message in history]
    cut = compact.cut(thinned, gauge, context)
    if cut is None:
        return
    assert cut.head + cut.middle + cut.tail == thinned
    flying = bool(history) and isinstance(history[-1], AssistantMessage) and bool(history[-1].calls)
    for part in (cut.head, cut.middle, cut.tail[:-1] if flying else cut.tail):
        assert is_well_formed(part)
    assert cut.tail[-1] == history[-1]
    facts = Facts(failures=("F",), todos=("T",), documents=("D",))
    whole = cut.with_summary("S", facts)
    assert is_well_formed(whole[:-1] if flying else whole)
    assert all(line in said(whole) for line in "FTDS")


def calls_of(message: Message) -> list[str]:
    match message:
        case AssistantMessage(calls=made):
            return [call.id + call.arguments for call in made]
        case ToolMessage(results=found):
            return [result.call for result in found]
        case _:
            return []


responses = st.builds(
    Response,
    text=st.sampled_from(["", " ", "Well.", "<tool_call>read_file</tool_call>"]),
    calls=st.lists(
        st.builds(
            ToolCall,
            id=ids,
            name=st.sampled_from(["read_file", "patch", "browse", ""]),
            arguments=st.sampled_from(["", "{}", '{"path": ', "[]", '{"a": 1}']),
        ),
        max_size=3,
    ).map(tuple),
    stop=st.sampled_from(list(StopReason)),
)


@quick
@given(st.lists(responses, max_size=12))
def test_whatever_a_provider_sends_the_history_is_well_formed(answers: list[Response]) -> None:
    session = Session(id="s").begin(UserMessage(text="x"), OFFERS)
    troubles = 0
    for answer in answers:
        own = Response(text=answer.text, calls=name_calls(answer.calls, session.call_ids), stop=answer.stop)
        offered = frozenset(offer.name for offer in session.offered)
        decision = recover.decide(own, session.streak, session.text, offered)
        session = session.add_response(own, decision, OFFERS)
        if isinstance(decision, RunTools):
            assert own.stop not in (StopReason.LENGTH, StopReason.REFUSED)
            done = tuple(ToolResult(call=call.id, text="done") for call in decision.calls)
            session = session.with_results(decision.calls, ToolMessage(results=done), [])
        assert is_well_formed(session.messages)
        if not isinstance(decision, RunTools | Continue | recover.Compact):
            break
        troubles = troubles + 1 if session.streak.trouble else 0
        assert troubles <= recover.LIMIT_TROUBLES
    every = Counter(
        call.id for each in session.messages if isinstance(each, AssistantMessage) for call in each.calls
    )
    assert all(count == 1 and name.strip() == name != "" for name, count in every.items())


@quick
@given(st.text('<>/system|[]`~ ="\x00\x1b\u200b', max_size=80), st.integers(1, 60))
def test_no_framing_survives_in_an_error(text: str, times: int) -> None:
    found = sanitize.error(text * times)
    assert len(found) <= sanitize.LIMIT_CHARS
    assert not sanitize.FRAMING.search(found.removeprefix(sanitize.PREFIX))
    assert not sanitize.CONTROLS.search(found)
