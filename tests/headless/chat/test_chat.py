"""`handrail chat` with a real server and the scripted model: what is typed, shown, and on the disk."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from handrail.adapters.state.session_log import SessionLog
from handrail.core.conversation.journal import Chosen, TurnBegun
from handrail.headless.chat.command import ChatOptions, chat
from handrail.testing import answer, call
from headless.chat.talk import ALT_ENTER, CTRL_C, ENTER, TAB, UP, Place
from stand_in import INITIALIZE, STAND_IN, STARTED, reported, update


def edit(path: str, old: str, new: str) -> Mapping[str, object]:
    return call("patch", path=path, old_string=old, new_string=new)


KEY = answer("", edit(".env", "KEY=1", "KEY=2"))  # asks, wherever it runs
QUESTION = "[y/s/a/N]"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Place(tmp_path)


async def test_turns_are_taken_and_undone_and_the_end_says_how_to_continue(place: Place) -> None:
    edits = answer("I edit.\x1b[2J", edit("a.txt", "two", "zwei"))
    async with place.chat(edits, answer("Done."), answer("Again."), columns=200) as talk:
        await talk.say("change it", "> change it")
        await talk.until("I edit.\\x1b[2J")
        await talk.until("\x1b[31m    -two")
        await talk.until("\x1b[32m    +zwei")
        await talk.until("Done.")
        await talk.until("/undo")
        assert place.file("a.txt") == "one\nzwei\n"
        await talk.say("/checkpoints", "change it")
        await talk.say("and now?", "Again.")
        await talk.say("/undo", "Undone: and now?")
        await talk.until("now has 1 turn")
        assert place.file("a.txt") == "one\nzwei\n"
        await talk.say("/undo", "Undone: change it")
        await talk.until("now has 0 turns")
        assert place.file("a.txt") == "one\ntwo\n"
        await talk.say("/undo", "nothing to undo")
        assert await talk.leave() == 0
        assert "handrail chat --session s-" in talk.shown
        assert f"--workspace {place.root} --model scripted:" not in talk.shown, "it is in no option"


async def test_only_a_session_that_could_be_stored_is_offered_for_continuing(
    place: Place, tmp_path: Path
) -> None:
    async with place.chat(answer("One."), answer("Two."), columns=200) as talk:
        await talk.say("first", "One.")
        await talk.say("/new", "to continue the previous one: /sessions s-")
        first = re.findall(r"/sessions (s-[\w-]+)", talk.shown)[-1]
        (sessions,) = (tmp_path / "state").rglob("sessions")
        apart = sessions.rename(sessions.with_name("apart"))
        sessions.write_text("No folder.")  # as if it must not be written, which root always may
        await talk.say("second", "could not be stored completely")
        await talk.say("/new", "/sessions s-")
        sessions.unlink()
        apart.rename(sessions)
        await talk.say(f"/sessions {first}", "turns: 1")
        assert await talk.leave() == 0
        assert f"handrail chat --session {first}" in talk.shown
        assert "could not be stored, so it cannot" not in talk.shown


async def test_a_turn_whose_changes_stay_is_not_said_to_be_undone(place: Place) -> None:
    async with place.chat(answer("", edit("a.txt", "two", "zwei")), answer("Done."), columns=200) as talk:
        await talk.say("change it", "Done.")
        await talk.until("/undo")
        (place.root / "a.txt").write_text("one\ndeux\n")
        await talk.say(
            "/undo",
            "The turn “change it” was removed from the conversation, but not all of its changes could be "
            "undone:",
        )
        await talk.until("conflict   a.txt")
        assert "Undone:" not in talk.shown
        assert place.file("a.txt") == "one\ndeux\n"


@pytest.mark.parametrize("of_a_fork", [False, True])
async def test_turns_that_were_copied_are_counted_and_not_undone(place: Place, *, of_a_fork: bool) -> None:
    """Nothing is undone in the session that had them, whether that was a copy itself or not."""
    answers = answer("", edit("a.txt", "two", "zwei")), answer("Done."), answer("Seen.")
    async with place.chat(*answers) as talk:
        await talk.say("change it", "undo the turn with: /undo")
        await talk.say("look", "Seen.")
        await talk.until("/help")  # it has ended
        await talk.leave()
    first = talk.shown.rpartition("--session ")[2].split()[0]
    fork = await place.fork(first)
    if of_a_fork:
        fork = await place.fork(fork)
    async with place.chat(*answers, answer("Own."), session=fork, columns=200) as talk:
        assert f"session {fork}, turns: 2" in talk.shown
        await talk.say("/undo", "The turns up to here were copied from another session. Undo them there:")
        await talk.say("one more", "Own.")
        await talk.until("/help")
        await talk.say("/undo", "Undone: one more")
        await talk.until("now has 2 turns")
        await talk.say("/undo", "copied from another session")
        await talk.say("/sessions", first)
        await talk.until(r"2 turns  change it")
        assert "now has 1 turn" not in talk.shown
        await talk.leave()
    assert place.file("a.txt") == "one\nzwei\n"
    async with place.chat(*answers, session=first) as talk:
        assert "turns: 2" in talk.shown


async def test_a_command_in_the_background_is_listed_and_ended(place: Place) -> None:
    begin = answer("", call("terminal", command="echo up; exec sleep 60", background=True))
    async with place.chat(begin, answer("It is running."), columns=200) as talk:
        await talk.say("/stop", "No commands are running in the background")
        await talk.say("start it", "[y/N]")
        await talk.say("y", "It is running.")
        await talk.say("/stop", "b1  echo up; exec sleep 60")
        await talk.say("/undo", "still running in the background")
        await talk.say("/stop b2", "Background command 'b2' does not exist. handrail knows b1")
        await talk.say("/stop b1", "It was stopped")
        await talk.say("/undo", "Undone: start it")
        assert await talk.leave() == 0


async def test_an_unknown_session_is_an_error_and_not_to_be_continued(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = {"error": {"code": -32803, "message": "No conversation has the ID 's-0'."}}
    play = [INITIALIZE, ["answer", ["handrail/session/resume", refused]]]
    server = (sys.executable, "-c", STAND_IN, json.dumps(play), os.devnull)
    with pytest.raises(AssertionError, match="the chat is over"):
        async with place.chat(session="s-0", server=server):
            pass
    told = capsys.readouterr()
    assert "No conversation has the ID 's-0'. `handrail session list` lists the sessions." in told.err
    assert "continue with" not in told.out + told.err


async def test_a_session_is_continued_and_what_was_sent_is_kept_for_its_owner_only(place: Place) -> None:
    answers = answer("First."), answer("Second.")
    async with place.chat(*answers) as talk:
        await talk.say("begin", "First.")
        await talk.until("/help")  # it has ended
        await talk.say("/cost", "not reported any tokens")
        await talk.leave()
        session = talk.shown.rpartition("--session ")[2].split()[0]
    assert [json.loads(line) for line in place.history.read_text().splitlines()] == ["begin"]
    assert stat.S_IMODE(place.history.stat().st_mode) == 0o600
    async with place.chat(*answers, session=session) as talk:
        assert "turns: 1" in talk.shown
        assert "  begin" in talk.shown
        talk.type(UP)
        await talk.until("begin")
        await talk.say(" again", "> begin again")
        await talk.until("Second.")


async def test_sessions_that_are_not_listed_are_told(place: Place) -> None:
    async with place.chat(answer("First."), columns=400) as talk:
        await talk.say("begin", "First.")
        await talk.until("/help")
        (journal,) = place.state.rglob("s-*.jsonl")
        log = SessionLog(lambda: journal.parent)
        for number in range(21):
            log.append(f"s-{number}", [TurnBegun(turn=f"t-{number}", prompt="Earlier.", mode="edit")])
            await log.wait_until_written()
            if number == 19:
                await talk.say("/sessions", "Continue one with")
                assert (talk.shown.count("Earlier."), "Older" in talk.shown) == (20, False)
        await talk.say("/sessions", "Older sessions are not shown; to list them, run in another terminal: ")
        await talk.until(f"handrail session list --all --workspace {place.root}")


async def test_a_session_has_its_own_mode_in_a_chat(place: Place) -> None:
    made = answer("I make it.", call("write_file", path="new.txt", content="new\n"))
    async with place.chat(answer("First.")) as talk:
        await talk.say("begin", "First.")
        await talk.leave()
        session = talk.shown.rpartition("--session ")[2].split()[0]
    (journal,) = place.state.rglob(f"{session}.jsonl")
    log = SessionLog(lambda: journal.parent)
    log.append(session, [Chosen(mode="ask")])
    await log.wait_until_written()
    async with place.chat(answer("First."), made, answer("Second."), session=session) as talk:
        await talk.say("/cost", "not reported any tokens")
        await talk.say("make it", "Second.")
        assert "mode: ask" in talk.shown
        await talk.say("/mode edit", "mode edit")
        await talk.leave()
        assert "--mode edit" in talk.shown.rpartition("continue with")[2]
    assert not (place.root / "new.txt").exists()
    before = [answer("First."), made, answer("Second.")]
    async with place.chat(*before, made, answer("Third."), session=session, mode="edit") as talk:
        await talk.say("make it", "Third.")
        await talk.leave()
        assert "--mode" not in talk.shown.rpartition("continue with")[2], (
            "it was given, and so is among `again`"
        )
    assert (place.root / "new.txt").read_text() == "new\n"


async def test_nothing_is_allowed_by_enter_or_by_what_was_begun_as_a_message(place: Place) -> None:
    async with place.chat(KEY, KEY, answer("Done.")) as talk:
        talk.type("go" + ENTER + "y")  # the y is typed before the question comes
        await talk.until("Allow patch: .env?")
        await talk.until("Tab: answer")
        talk.type("es" + ENTER)
        await talk.until("> yes")
        await talk.until("before its next answer")
        await talk.until(QUESTION)
        assert place.file(".env") == "KEY=1\n"
        await talk.say("", "denied")
        await talk.until("Allow patch: .env?")
        await talk.until(QUESTION)
        await talk.say("sure", "That is not an answer")
        assert place.file(".env") == "KEY=1\n"
        await talk.say("y", "allowed: ")
        await talk.until("Done.")
        assert place.file(".env") == "KEY=2\n"


async def test_tab_turns_to_the_question_and_the_message_stays(place: Place) -> None:
    async with place.chat(KEY, answer("Done.")) as talk:
        talk.type("go" + ENTER + "and th")
        await talk.until("Allow patch: .env?")
        talk.type(TAB)
        await talk.until(QUESTION)
        await talk.say("y", "allowed: ")
        await talk.until("Done.")
        assert place.file(".env") == "KEY=2\n"
        await talk.say("en", "> and then")


async def test_ctrl_c_stops_the_turn_and_keeps_what_was_said(place: Place) -> None:
    answers = answer("Look.", edit(".env", "KEY=1", "KEY=2")), answer("Later.")
    async with place.chat(*answers) as talk:
        await talk.say("go", QUESTION)
        talk.type(CTRL_C)
        await talk.until("stopped")
        assert "Look." in talk.shown
        await talk.say("and?", "Later.")
        assert place.file(".env") == "KEY=1\n"


async def test_ctrl_c_clears_the_line_and_twice_leaves(place: Place) -> None:
    async with place.chat(answer("Never.")) as talk:
        for _ in range(2):
            talk.type("half" + CTRL_C)
            talk.type(CTRL_C)
            await talk.until("Press Ctrl-C again")
        talk.type(CTRL_C)
        assert await talk.over == 0
        assert "--session" not in talk.shown, "there is none yet"


async def test_what_is_sent_while_a_turn_runs_reaches_the_model(place: Place) -> None:
    async with place.chat(KEY, answer("Done.")) as talk:
        await talk.say("go", QUESTION)
        talk.type(TAB + "see @a")
        await talk.until("a.txt")
        await talk.say(TAB + ENTER + " please", "> see @a.txt please")  # Tab completes, and does not turn
        await talk.until("before its next answer")
        await talk.until(QUESTION)
        await talk.say("n", "Done.")
        assert "see @a.txt please" in place.journal()


async def test_what_a_turn_no_longer_takes_is_the_next_message(place: Place, tmp_path: Path) -> None:
    play = [
        *STARTED,
        update(1, kind="text", delta="Working\n"),
        ["answer", ["handrail/turn/steer", {"error": {"code": -32803, "message": "It has ended."}}]],
        reported(answer="One."),
        STARTED[1],
        update(2, kind="text", delta="Again\n"),
        ["answer", ["handrail/turn/steer", {"result": None}]],
        reported("cancelled", answer="Two."),
    ]
    log = tmp_path / "log"
    server = (sys.executable, "-c", STAND_IN, json.dumps(play), str(log))
    async with place.chat(server=server) as talk:
        await talk.say("go", "Working")
        await talk.say("and then", "this message is sent next")
        await talk.until("One.")
        await talk.until("Again")
        await talk.say("quickly", "reads this before its next answer")
        await talk.until("Two.")
        await talk.until("Send it again")
    sent = [json.loads(line) for line in log.read_text().splitlines()]
    prompts = [each["params"]["prompt"] for each in sent if each.get("method") == "handrail/turn/start"]
    assert prompts == ["go", "and then"]


async def test_leaving_stops_the_turn(place: Place) -> None:
    async with place.chat(KEY) as talk:
        await talk.say("go", QUESTION)
        assert await talk.leave() == 0
        assert "stopped" in talk.shown
        assert "continue with" in talk.shown
    assert place.file(".env") == "KEY=1\n"


async def test_several_lines_are_typed_and_pasted_and_files_are_completed(place: Place) -> None:
    async with place.chat(answer("Yes.")) as talk:
        talk.type("one" + ALT_ENTER + "two \x1b[200~three\r\nfour\x1b[201~ and @.env")
        await talk.until("four and @.env")
        talk.type(" @a")
        await talk.until("a.txt")
        talk.type(TAB)
        await talk.say("" + ENTER, "> one\x1b[0m\n\x1b[1m  two three\x1b[0m\n\x1b[1m  four and @.env @a.txt")
        await talk.until("Yes.")
        assert "one\\ntwo" in place.journal(), "the file is shown to the model"
        assert "@.env is not shown to the model" in talk.shown
        assert "KEY=1" not in place.journal()


async def test_commands_say_what_they_do(place: Place) -> None:
    async with place.chat(answer("One."), answer("Two.")) as talk:
        await talk.say("/modle", "Did you mean /mode or /model?")
        await talk.say("/undo", "You have not sent a message")
        await talk.say("/cost", "No turn has ended")
        await talk.say("/mode plam", "Did you mean plan?")
        await talk.say("/mode ask", "mode ask")
        await talk.say("/help extra", "takes no arguments")
        await talk.say("/help", "Alt-Enter")
        await talk.say("/usr is a folder", "The command /usr does not exist")
        await talk.say("/usr/bin is a folder", "One.")
        await talk.say("/model paste", "model paste")
        await talk.say("a.txt\n", "> a.txt")
        await talk.leave()
        assert "--model paste --mode ask" in talk.shown


async def test_the_way_to_continue_names_each_option_once(place: Place) -> None:
    async with place.chat(answer("One."), again=("--model", "ollama:old", "--yes")) as talk:
        await talk.say("Go.", "One.")
        await talk.say("/model paste", "model paste")
        await talk.say("/mode plan", "mode plan")
        await talk.leave()
        assert "--model paste --yes --mode plan" in talk.shown


async def test_a_server_that_ends_is_started_again_with_the_session(place: Place) -> None:
    pids = place.root.parent / "pids"
    starts = (
        "import os, sys; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n"
        "');os.execv(sys.executable, [sys.executable, '-P', '-m', 'handrail', 'serve'])"
    )
    server = (sys.executable, "-P", "-c", starts, str(pids))
    async with place.chat(KEY, answer("Second."), answer("Third."), server=server) as talk:
        await talk.say("go", QUESTION)
        os.kill(int(pids.read_text().split()[-1]), 9)
        await talk.until("The server ended")
        await talk.until("continues the session")
        await talk.say("again", "restarting the server")
        await talk.until("Second.")
        await talk.until("/help")  # the turn has ended
        os.kill(int(pids.read_text().split()[-1]), 9)
        await talk.until("The server ended")
        await talk.say("once more", "Third.")
        assert talk.shown.count("restarting the server") == talk.shown.count("The server ended") == 2


async def test_two_chats_on_one_session(place: Place) -> None:
    answers = KEY, answer("Done."), answer("More.")
    async with place.chat(answer("Hello."), *answers) as first:
        await first.say("hi", "Hello.")
        (session,) = [path.stem for path in place.state.rglob("s-*.jsonl")]
        async with place.chat(answer("Hello."), *answers, session=session) as second:
            await first.say("go", QUESTION)
            await second.say("me too", "error: ")
            await first.say("n", "Done.")
            await first.until("/help")  # the turn has ended
            await second.say("now?", "More.")


async def test_a_narrow_terminal_shows_everything(place: Place) -> None:
    long = "A long line of the model's that is broken. " * 20
    async with place.chat(answer(long), KEY, answer("Done."), columns=20) as talk:
        await talk.say("go", long)
        await talk.say("next", "Allow patch: .env?")
        await talk.until(QUESTION)
        await talk.say("y", "Done.")


async def test_without_a_terminal_it_says_what_to_do(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await chat(ChatOptions(workspace=place.root, server=("never-started",))) == 2
    assert "needs a terminal on standard input and output. Use `handrail run" in capsys.readouterr().err


async def test_a_signal_ends_it_with_the_way_to_continue(place: Place) -> None:
    async with place.chat(answer("Hello."), KEY) as talk:
        await talk.say("hi", "Hello.")
        await talk.until("/help")  # the turn is over: else it would be told "go"
        await talk.say("go", QUESTION)
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        os.kill(os.getpid(), signal.SIGTERM)
        assert await asyncio.wait_for(talk.over, 90) == 2
        assert "handrail chat --session s-" in talk.shown
