"""What is known of a session: from its journal at once, from it line by line, and after it went back."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest

from handrail.agent.chat import steering
from handrail.agent.chat.steering import UnreadMessage
from handrail.agent.chat.transcript import Call, Interjection, ModelText, Remark, Transcript
from handrail.agent.chat.view import View
from handrail.core import surfaces
from handrail.core.conversation import as_json
from handrail.core.conversation.journal import (
    Answered,
    Decided,
    Entry,
    Renamed,
    Replaced,
    Returned,
    Rewound,
    Said,
    Steered,
    TurnBegun,
    TurnEnded,
)
from handrail.core.conversation.message import (
    AssistantMessage,
    ToolCall,
    ToolMessage,
    ToolResult,
    Usage,
    UserMessage,
)
from handrail.core.failure import Code, Failure
from handrail.core.ledger.report import (
    Asked,
    CallOutput,
    CallStarted,
    Compacted,
    QuestionEnd,
    Started,
    TextDelta,
)

READ = ToolCall(id="c1", name="read_file", arguments='{"path": "a.txt", "start_line": 7}')
RESULT = ToolResult(call="c1", text="a.txt: 9 lines\n7|seven")


def turn(name: str, prompt: str, *messages: Entry, state: str = "finished") -> list[Entry]:
    """What a turn writes down."""
    asked = Said(message=UserMessage(text=prompt))
    return [
        TurnBegun(turn=name, prompt=prompt, mode="edit"),
        asked,
        *messages,
        TurnEnded(turn=name, state=state),
    ]


def says(text: str, *calls: ToolCall) -> Said:
    return Said(message=AssistantMessage(text=text, calls=calls))


FIRST = turn(
    "t1",
    "Read it.",
    says("I look.", READ),
    Answered(result=RESULT),
    Said(message=ToolMessage(results=(RESULT,))),
    says("It says seven."),
)
SECOND = turn("t2", "And now?", Said(message=UserMessage(text="Faster!")), says("Now."))


def of(entries: list[Entry]) -> Transcript:
    found = Transcript()
    found.add(entries)
    return found


def shown(transcript: Transcript) -> str:
    view = View(facts=lambda: ("model", "", ""), question=lambda question: None, redactor=lambda: str)
    return "".join(row for part in view.render(transcript).parts for row in part.rows)


def test_turns_have_words_calls_and_what_was_said_to_them() -> None:
    found = of([*FIRST, *SECOND])
    first, second = found.turns
    words, call, answer = first.items
    assert isinstance(words, ModelText)
    assert isinstance(call, Call)
    assert isinstance(answer, ModelText)
    assert (call.path, call.line, call.result) == ("a.txt", 6, RESULT)
    assert second.items == [Interjection(text="Faster!"), ModelText(text="Now.")]
    assert (found.title, found.turns[-1].mode, [each.state for each in found.turns]) == (
        "Read it.",
        "edit",
        ["finished"] * 2,
    )


def test_line_by_line_and_with_what_is_told_it_comes_to_the_same() -> None:
    live = Transcript()
    for entry in FIRST:
        live.add([entry], is_now=True)
        if isinstance(entry, TurnBegun):
            live.on_event("t1", Started(prompt="Read it."))
            live.on_event("t1", TextDelta(delta="I lo"))
            live.on_event("t1", TextDelta(delta="ok."))
            assert "I look." in shown(live)
        if entry == says("I look.", READ):
            live.on_event("t1", CallStarted(call="c1", tool="read_file", title="Read a.txt"))
            live.on_event("t1", CallOutput(call="c1", text="…"))
            assert "- `Read a.txt` …" in shown(live)
    assert shown(live) == shown(of(FIRST))


@pytest.mark.parametrize("text", ["FAILED [denied] The user said no.", "denied: The user said no."])
def test_the_code_of_a_failure_is_said_once(text: str) -> None:
    failure = Failure(code=Code.DENIED, message="The user said no.")
    result = ToolResult(call="c1", text=text, failure=failure)
    said = shown(of(turn("t1", "Read it.", says("", READ), Answered(result=result))))
    assert "- `Read a.txt`: **denied** The user said no.\n" in said


@pytest.mark.parametrize(
    ("end", "choice", "permission", "said"),
    [
        (QuestionEnd.ANSWERED, "allow", True, "was answered: Allow once"),
        (QuestionEnd.ANSWERED, "deny", True, "was answered: No"),
        (QuestionEnd.ANSWERED, "Tabs", False, "was answered: Tabs"),
        (QuestionEnd.ANSWERED, "deny", False, "was not answered"),
        (QuestionEnd.TIMED_OUT, "deny", True, "was not answered in time, so the answer is no"),
        (
            QuestionEnd.TIMED_OUT,
            "deny",
            False,
            "was not answered in time, so the turn continued without an answer",
        ),
        (QuestionEnd.WITHDRAWN, "deny", True, "was withdrawn"),
    ],
)
def test_how_a_question_ended_is_told_by_events_and_by_the_journal(
    end: QuestionEnd, choice: str, permission: bool, said: str
) -> None:
    asked = Asked(call="c1", subject="touch a", question="q1", asks_permission=permission)
    decided = Decided(
        question="q1", subject="touch a", end=end.value, choice=choice, asks_permission=permission
    )
    entries = turn("t1", "Touch it.", says("", READ), decided, Answered(result=RESULT))
    live = Transcript()
    for entry in entries:
        live.add([entry], is_now=True)
        if entry == says("", READ):
            live.on_event("t1", asked)
        if entry is decided:
            live.on_event("t1", replace(asked, end=end, choice=choice))
    assert shown(live) == shown(of(entries))
    assert shown(live).count(f"> A question about `touch a` {said}.\n") == 1
    again = as_json.read(as_json.line(decided))
    assert again == decided


def test_a_yes_to_a_question_without_a_lasting_one_is_told_as_yes() -> None:
    asked = Asked(call="", subject="sub/.git/", question="q1", could_last=False)
    decided = Decided(
        question="q1", subject="sub/.git/", end="answered", choice="allow", could_last=asked.could_last
    )
    live = of(turn("t1", "Touch it.", says("", READ)))
    live.on_event("t1", replace(asked, end=QuestionEnd.ANSWERED, choice="allow"))
    entries = turn("t1", "Touch it.", says("", READ), decided)
    for each in (live, of(entries), of([as_json.read(as_json.line(entry)) for entry in entries])):
        assert "> A question about `sub/.git/` was answered: Yes.\n" in shown(each)


def test_a_session_that_has_gone_back_shows_what_it_is_now() -> None:
    found = of([*FIRST, *SECOND, Rewound(id="r1", before="t2")])
    assert shown(found) == shown(of(FIRST))
    found.add([Rewound(id="r2", before="r1")])
    assert shown(found) == shown(of([*FIRST, *SECOND]))


def test_what_was_spent_on_what_was_taken_back_is_counted() -> None:
    used = Usage(steps=1, input_tokens=1_000, output_tokens=5)
    spent = [*SECOND[:-1], TurnEnded(turn="t2", state="finished", usage=used)]
    found = of([*FIRST, *spent, Rewound(id="r1", before="t2")])
    found.add(turn("t3", "Again."))
    assert found.usage == used


def test_a_summary_for_the_model_changes_nothing_that_was_said() -> None:
    summary = UserMessage(text="Summary of all before.")
    after = [*FIRST, *SECOND[:2], Replaced(messages=(summary, UserMessage(text="And now?")))]
    found = of(after)
    found.on_event("t2", Compacted(before=9, after=1))
    found.add([says("Now."), SECOND[-1]])
    assert "It says seven." in shown(found)
    assert "Summary of all before." not in shown(found)
    assert found.turns[1].items == [
        Remark(text="The earlier conversation was shortened for the model."),
        ModelText(text="Now."),
    ]


def test_what_was_copied_from_another_session_is_shown_as_what_it_was() -> None:
    copied = [TurnBegun(turn="t2", prompt="And now?", mode="edit", is_copied=True)]
    said = [each for each in [*FIRST, *SECOND] if isinstance(each, Said)]
    found = of([*copied, *said, TurnEnded(turn="t2", state="finished"), *turn("t3", "More.", says("More."))])
    assert [each.prompt for each in found.turns][:2] == ["Read it.", "And now?"]
    assert found.turns[-1].prompt == "More."


def test_a_title_is_what_the_user_has_given() -> None:
    assert of([*FIRST, Renamed(title="Mine"), *SECOND]).title == "Mine"


def test_a_turn_that_was_cut_off_says_so() -> None:
    assert "*This turn did not finish.*" in shown(of(FIRST[:-2]))
    assert "*The turn failed." in shown(of(turn("t1", "x", state="failed")))


def test_a_call_that_has_the_id_of_an_earlier_one_is_another_call() -> None:
    """Ids are free again once the model no longer knows the calls that had them."""
    again = ToolResult(call="c1", text="a.txt: 1 line")
    found = of([*FIRST, *turn("t2", "Again.", says("", READ), Answered(result=again))])
    first, second = found.turns
    assert [each.result for each in first.items if isinstance(each, Call)] == [RESULT]
    assert [each.result for each in second.items if isinstance(each, Call)] == [again]


def test_what_was_spent_is_shown_right_after_going_back() -> None:
    used = Usage(steps=1, input_tokens=1_000, output_tokens=5)
    spent = [*SECOND[:-1], TurnEnded(turn="t2", state="finished", usage=used)]
    assert of([*FIRST, *spent, Rewound(id="r1", before="t2")]).usage == used


def test_what_a_turn_did_not_read_before_its_end_is_given_back_once() -> None:
    found = Transcript()
    found.add(FIRST[:-1], is_now=True)
    found.add([Steered(turn="t1", text="Faster!")], is_now=True)
    assert "> Faster!" in shown(found)
    assert steering.take_unread(found.turns, is_loaded=True) == []
    found.add(FIRST[-1:])
    assert steering.take_unread(found.turns, is_loaded=False) == [UnreadMessage("t1", "Faster!")]
    assert steering.take_unread(found.turns, is_loaded=True) == []
    assert "Faster!" not in shown(found)


def test_what_a_turn_of_another_process_did_not_read_is_given_back_only_when_it_is_loaded() -> None:
    for over, is_elsewhere in product(([], FIRST[-1:]), (False, True)):
        found = of([*FIRST[:-1], Steered(turn="t1", text="Faster!"), *over])
        found.turns[-1].is_elsewhere = is_elsewhere
        assert steering.take_unread(found.turns, is_loaded=False) == []
        assert ("> Faster!" in shown(found)) == (not over), "no model reads it any more"
        back = [] if is_elsewhere else [UnreadMessage("t1", "Faster!")]
        assert steering.take_unread(found.turns, is_loaded=True) == back
    known = of([*FIRST[:-1], Steered(turn="t1", text="Faster!"), *FIRST[-1:], Returned(turn="t1")])
    assert steering.take_unread(known.turns, is_loaded=True) == [], "the user has it"
    told = Said(message=UserMessage(text="Faster!"))
    read = of([*FIRST[:-1], Steered(turn="t1", text="Faster!"), told])
    assert steering.take_unread(read.turns, is_loaded=True) == []


def test_messages_to_turns_that_waited_and_never_began() -> None:
    waits = [Steered(turn="t2", text="Then this."), Steered(turn="t2", text="Faster!")]
    messages = [UnreadMessage("t2", "Then this."), UnreadMessage("t2", "Faster!")]
    assert steering.never_begun([*FIRST[:-1], *waits]) == messages
    assert steering.never_begun([*FIRST[:-1], *waits, FIRST[-1]]) == messages
    begun = TurnBegun(turn="t2", prompt="Then this.", mode="edit")
    for end in ([begun], [begun, Rewound(id="r1", before="t2")], [Returned(turn="t2")]):
        assert steering.never_begun([*FIRST[:-1], *waits, *end]) == []
    assert steering.never_begun([*FIRST[:-1], *waits, Rewound(id="r1", before="t1")]) == []


@pytest.mark.parametrize(
    "text",
    [
        "vim: set ft=evil:",
        " vi:noai:",
        "vim>600: set x:",
        "kate: indent-width 8;",
        "-*- mode: lisp -*-",
        "Local Variables:\neval: (x)\nEnd:",
        "```\n# vim: set ft=evil:\n```",
        "    # ex: set ft=evil:",
    ],
)
def test_settings_for_editors_in_what_models_and_tools_say_are_taken_apart(text: str) -> None:
    transcript = Transcript()
    result = ToolResult(call="c", text=f"{text.splitlines()[0]}\n{text}")
    call = ToolCall(id="c", name="terminal", arguments=json.dumps({"command": f"echo '{text}'"}))
    transcript.add(
        [
            TurnBegun(turn="t", prompt="Go.", mode="edit"),
            Said(message=UserMessage(text="Go.")),
            Said(message=AssistantMessage(text=text, calls=(call,))),
            Said(message=ToolMessage(results=(result,))),
        ]
    )
    found = shown(transcript)
    assert not surfaces.MODELINE.search(found), found
    assert found.count("\n") > len(text.splitlines()), "and all of it is shown"
