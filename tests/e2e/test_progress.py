"""What is told while a turn runs, and stopping it."""

from __future__ import annotations

import asyncio

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits, opt_in
from e2e.prompts import block, patch, statuses
from handrail.testing import answer, behaviours, call
from handrail.testing.texts import Json

vscode = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
TEXT = "one\ntwo\nthree\n"


def told(editor: Editor, turn: str) -> list[Json]:
    """The progress of a turn, which is all there is once its last word has come."""
    return [each for each in editor.progressed if each["token"] == turn]


async def sound(editor: Editor, turn: str) -> list[Json]:
    """The progress of a turn that has ended: one begin, reports, one end, and a token made before."""
    if not editor.habits.shows_progress:
        assert editor.progressed == []
        return []
    await editor.until(lambda: any(each["kind"] == "end" for each in told(editor, turn)))
    kinds = [each["kind"] for each in told(editor, turn)]
    assert (kinds[0], kinds[-1], kinds.count("begin"), kinds.count("end")) == ("begin", "end", 1, 1)
    assert all(each.get("cancellable") for each in told(editor, turn)[:-1])
    assert turn in editor.progress_reports, "the token was made by a request"
    return told(editor, turn)


def seqs(editor: Editor, turn: str) -> list[int]:
    return [each["seq"] for each in editor.updates if each["turn"] == turn]


async def test_progress_of_a_turn_that_edits(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", TEXT)
    report = await editor.turn(block("a.txt", "one", "1") + block("a.txt", "none", "0"))
    shown = await sound(editor, report["turn"])
    if shown:
        assert (shown[0]["title"], shown[0]["message"]) == ("handrail", "a.txt")
        assert "a.txt" in shown[1]["message"]
        assert shown[-1]["message"] == "1 edit landed, 1 did not"


async def test_what_is_not_about_a_call_stands_behind_no_title(stage: Stage) -> None:
    stage.put("a.txt", TEXT)
    written = call("write_file", path="b.txt", content="made\n")
    model = stage.script(answer("", written, call("read_file", path="a.txt")), answer("Done."))
    editor = await stage.start(VSCODE, settings=model, options=opt_in("save", untrusted=True))
    shown = [each["message"] for each in await sound(editor, (await editor.turn("Go."))["turn"])]
    assert shown[1].startswith("You have not trusted this workspace")
    assert "Nothing was changed in this turn: no edit or command succeeded." in shown


async def test_what_a_command_changed_is_not_counted_as_edits(stage: Stage, habits: Habits) -> None:
    stage.put("a.txt", TEXT)
    command = call("terminal", command="touch b.txt c.txt")
    allowed = {"approvals": [{"tool": "terminal", "match": "touch *", "verdict": "allow"}]}
    model = stage.script(answer("", patch("a.txt", "one", "1")), answer("", command), answer("Done."))
    editor = await stage.start(habits, settings={**model, **allowed})
    shown = await sound(editor, (await editor.turn("Go."))["turn"])
    assert not shown or shown[-1]["message"] == "1 edit landed, commands changed 2 files"


async def test_progress_ends_on_every_path(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    report = await editor.turn("No edit blocks here.")
    assert report["state"] == "stopped"
    shown = await sound(editor, report["turn"])
    assert not shown or shown[-1]["message"].startswith("ended early: ")
    editor = await stage.start(habits, settings={"model": "scripted:/none"})
    report = await editor.turn("Edit.")
    assert report["state"] == "failed"
    shown = await sound(editor, report["turn"])
    assert not shown or shown[-1]["message"].startswith("failed: ")


async def test_progress_of_a_client_that_refuses_the_token(stage: Stage, editor: Editor) -> None:
    editor.protocol.fm.features.pop("window/workDoneProgress/create")
    stage.put("a.txt", TEXT)
    assert statuses(await editor.turn(block("a.txt", "one", "1"))) == ["landed"]
    editor.errors.clear()


async def test_updates_have_no_gaps_and_tell_all(stage: Stage, habits: Habits) -> None:
    calls = (patch("a.txt", "one", "1"), {"name": "read_file", "arguments": {"path": "a.txt"}})
    settings = stage.script(
        answer("I look.", *calls), answer("", patch("a.txt", "none", "0")), answer("Done.")
    )
    stage.put("a.txt", TEXT)
    editor = await stage.start(habits, settings=settings)
    report = await editor.turn("Edit.")
    if not habits.has_extension:
        assert editor.updates == []
        return
    turn = report["turn"]
    await editor.until(lambda: any(each["event"]["kind"] == "ended" for each in editor.updates))
    assert seqs(editor, turn) == list(range(1, len(editor.updates) + 1))
    events = [each["event"] for each in editor.updates]
    kinds = [each["kind"] for each in events]
    assert (kinds[0], kinds[-1]) == ("started", "ended")
    assert events[0]["prompt"] == "Edit."
    assert events[-1]["state"] == "finished"
    assert [each["delta"] for each in events if each["kind"] == "text"] == ["I look.", "Done."]
    started = [each["call"] for each in events if each["kind"] == "toolCall"]
    ended = [each["call"] for each in events if each["kind"] == "toolResult"]
    assert sorted(started) == sorted(ended)
    assert len(set(started)) == 3
    outcomes = [each for each in events if each["kind"] == "outcome"]
    assert [each["status"] for each in outcomes] == ["landed", "failed"]
    assert [each["id"] for each in outcomes] == [each["id"] for each in report["outcomes"]]
    assert all({"session", "turn", "seq", "event"} == set(each) for each in editor.updates)


@vscode
async def test_updates_tell_what_a_later_step_mends(stage: Stage, habits: Habits) -> None:
    settings = stage.script(
        answer("", patch("a.txt", "twoo", "2")), answer("", patch("a.txt", "two", "2")), answer("Done.")
    )
    editor = await stage.start(habits, settings=settings)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    report = await editor.turn("Edit.")
    assert statuses(report) == ["no-match", "landed"]
    events = [each["event"] for each in editor.updates]
    (mended,) = [each["failure"] for each in events if each["kind"] == "superseded"]
    assert mended == report["outcomes"][0]["failure"]["id"]
    assert editor.shown_diagnostics(uri) == []


# ---- Stopping -------------------------------------------------------------------------------------


@pytest.fixture
async def stoppable(stage: Stage, habits: Habits) -> Editor:
    """An editor with two documents whose turn has three calls in one step and one in the next."""
    settings = stage.script(
        answer("", patch("a.txt", "one", "1"), patch("b.txt", "one", "1"), patch("a.txt", "two", "2")),
        answer("", patch("a.txt", "three", "3")),
        answer("Done."),
    )
    editor = await stage.start(habits, settings=settings, timeout_s=5)
    for name in ("a.txt", "b.txt"):
        editor.desk.open(stage.put(name, TEXT))
    return editor


async def begun(editor: Editor, gate: asyncio.Event) -> str:
    """A turn whose first edit waits for *gate*."""
    editor.behaviours = [behaviours.wait_for(gate)]
    started = await editor.start_turn("Edit.")
    await editor.until(lambda: editor.edits)
    turn: str = started["turn"]
    return turn


async def stopped(editor: Editor, turn: str) -> Json:
    """The report of a turn that was stopped in its first call; nothing is edited any more."""
    held = {uri: document.text for uri, document in editor.desk.documents.items()}
    edits = len(editor.edits)
    report: Json = await editor.request("turn.wait", turn=turn)
    assert report["state"] == "cancelled"
    assert await editor.request("failure.list") == []
    assert len(editor.edits) == edits
    assert {uri: document.text for uri, document in editor.desk.documents.items()} == held
    await sound(editor, turn)
    return report


async def test_nothing_is_edited_after_a_stop_is_answered(stoppable: Editor) -> None:
    gate = asyncio.Event()
    turn = await begun(stoppable, gate)
    stop = asyncio.ensure_future(stoppable.request("turn.cancel", turn=turn))
    await stoppable.request("failure.list")
    assert not stop.done(), "an edit is under way"
    gate.set()
    assert await stop is None
    report = await stopped(stoppable, turn)
    assert statuses(report) == ["landed"], "what was under way is told as it is"
    assert len(stoppable.edits) == 1
    assert report["checkpoint"] == turn
    await stoppable.request("checkpoint.restore", checkpoint=turn)
    assert {document.text for document in stoppable.desk.documents.values()} == {TEXT}


async def test_stopping_twice_waits_as_well(stoppable: Editor) -> None:
    gate = asyncio.Event()
    turn = await begun(stoppable, gate)
    stops = [asyncio.ensure_future(stoppable.request("turn.cancel", turn=turn)) for _ in range(3)]
    await stoppable.request("failure.list")
    assert not any(stop.done() for stop in stops), "an edit is under way"
    gate.set()
    await asyncio.gather(*stops)
    report = await stopped(stoppable, turn)
    assert statuses(report) == ["landed"]


async def test_stopping_from_the_progress(stoppable: Editor) -> None:
    gate = asyncio.Event()
    turn = await begun(stoppable, gate)
    stoppable.notify("window/workDoneProgress/cancel", {"token": turn})
    await stoppable.request("failure.list")
    gate.set()
    await stoppable.request("turn.wait", turn=turn)
    report = await stopped(stoppable, turn)
    assert statuses(report) == ["landed"]
    stoppable.notify("window/workDoneProgress/cancel", {"token": "none"})
    stoppable.notify("window/workDoneProgress/cancel", {"token": 7})
    stoppable.notify("window/workDoneProgress/cancel", {"token": turn})
    assert await stoppable.request("failure.list") == []
    assert stoppable.messages == []


async def test_a_session_goes_on_after_a_stop(stoppable: Editor) -> None:
    """Every call has a result, so the history is one that a model takes."""
    gate = asyncio.Event()
    turn = await begun(stoppable, gate)
    stop = asyncio.ensure_future(stoppable.request("turn.cancel", turn=turn))
    await stoppable.request("failure.list")
    gate.set()
    await stop
    report = await stopped(stoppable, turn)
    again = await stoppable.turn("Go on.", session=report["session"])
    assert (again["state"], statuses(again)) == ("finished", ["landed"])
    if stoppable.habits.has_extension:
        calls = [each["event"] for each in stoppable.updates if each["turn"] == turn]
        ended = [each["call"] for each in calls if each["kind"] == "toolResult"]
        assert sorted(ended) == ["c1-1", "c1-2", "c1-3"]


async def test_stopping_while_the_client_never_answers(stage: Stage, habits: Habits) -> None:
    settings = stage.script(answer("", patch("a.txt", "one", "1")), answer("Done."))
    editor = await stage.start(habits, settings=settings, timeout_s=0.3)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    editor.behaviours = [behaviours.hang]
    started = await editor.start_turn("Edit.")
    await editor.until(lambda: editor.edits)
    await editor.request("turn.cancel", turn=started["turn"])
    report = await editor.request("turn.wait", turn=started["turn"])
    assert (report["state"], statuses(report)) == ("cancelled", ["edit-rejected"])
    assert editor.desk[uri] == TEXT


async def test_stopping_while_the_user_is_asked(stage: Stage, habits: Habits) -> None:
    """A yes that comes after the stop changes nothing."""
    path = stage.put(".env", "KEY=one\n")
    editor = await stage.start(habits)
    gate, asked = asyncio.Event(), asyncio.Event()

    async def ask(params: object) -> Json:
        asked.set()
        await gate.wait()
        return {"title": "Allow"}

    editor.handle("window/showMessageRequest", ask)
    started = await editor.start_turn(block(".env", "KEY=one", "KEY=two"))
    await asyncio.wait_for(asked.wait(), 10)
    await editor.request("turn.cancel", turn=started["turn"])
    gate.set()
    report = await editor.request("turn.wait", turn=started["turn"])
    assert report["state"] == "cancelled"
    assert await editor.request("failure.list") == []
    assert path.read_text() == "KEY=one\n"
    assert not editor.edits


async def test_stopping_a_turn_that_has_ended(stage: Stage, editor: Editor) -> None:
    stage.put("a.txt", TEXT)
    report = await editor.turn(block("a.txt", "one", "1"))
    assert await editor.request("turn.cancel", turn=report["turn"]) is None
    assert await editor.request("turn.wait", turn=report["turn"]) == report
