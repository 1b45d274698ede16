"""The tool `terminal` and the user's leave for it: real programs, real snapshots, scripted calls."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from bench import Bench, Yes
from handrail.agent.tools.terminal import denial_note
from handrail.core.conversation.message import AssistantMessage
from handrail.core.ledger.report import Asked, CallOutput, State
from handrail.core.policy.containment import Contained, Need, Profile
from handrail.core.policy.rules import Rule, read
from handrail.ports import ALLOW, ALWAYS, DENY, FOR_SESSION, Question, Terms
from handrail.testing import answer, call, lay_out, snapshot


def terms(*rules: tuple[str, str, str], **more: object) -> Terms:
    """Terms with rules: tool, verdict, pattern."""
    found = read([{"tool": tool, "verdict": verdict, "match": match} for tool, verdict, match in rules])
    assert isinstance(found, tuple)
    assert all(isinstance(each, Rule) for each in found)
    return Terms(rules=found, **more)  # type: ignore[arg-type]  # the names are those of Terms


async def run(bench: Bench, *lines: str, session: str | None = None, **more: object) -> list[str]:
    """The results of the command lines *lines*, called at once in one turn."""
    said = bench.host.sessions[session].messages if session else ()
    before = [answer("Before.") for message in said if isinstance(message, AssistantMessage)]
    calls = [call("terminal", command=line, **more) for line in lines]
    bench.says(*before, answer("", *calls), answer("Done."))
    report = await bench.turn(session)
    return bench.texts(report.session)[-len(lines) :]


def codes(bench: Bench, session: str) -> list[str]:
    return [code for _, code in bench.results(session)]


async def test_a_command_runs_in_the_workspace_and_says_how_it_ended(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    assert await run(bench, "pwd -P; exit 3") == [f"Exit code 3.\n{bench.root.resolve()}\n"]
    assert await run(bench, "pwd -P", folder="sub") == [f"Exit code 0.\n{bench.root.resolve()}/sub\n"]
    assert await run(bench, "kill -9 $$") == ["Ended by signal 9.\n"]


async def test_what_a_command_changes_is_listed_and_can_be_taken_back(bench: Bench) -> None:
    before = {"a.txt": b"one\n", "sub/b.txt": b"two\n"}
    lay_out(bench.root, before)
    change = call("terminal", command="echo ONE > a.txt; rm sub/b.txt; touch c.txt")
    bench.says(answer("", change), answer("Done."))
    report = await bench.turn()
    (text,) = bench.texts()
    assert text == "\n".join(
        (
            "Exit code 0.",
            "Files that changed while the command was running: a.txt (changed), c.txt (created), "
            "sub/b.txt (deleted).",
        )
    )
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert snapshot(bench.root) == before


async def test_only_what_is_known_to_change_nothing_runs_without_leave(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", ".env": b"KEY=1\n"})
    bench.approver.says = DENY
    lines = [
        "cat a.txt | head -n 1",
        "cat a.txt > b.txt",
        "cat .env",
        "cat /etc/hostname",
        "cat a.txt; touch c",
    ]
    texts = await run(bench, *lines)
    assert texts[0] == "Exit code 0.\none\n"
    assert codes(bench, "s-1") == ["", "denied", "denied", "denied", "denied"]
    assert [question.subject for question in bench.approver.asked] == lines[1:]
    assert snapshot(bench.root) == {"a.txt": b"one\n", ".env": b"KEY=1\n"}
    assert await bench.repo.list() == ()


async def test_a_path_is_judged_by_the_folder_in_which_the_command_runs(bench: Bench, tmp_path: Path) -> None:
    lay_out(tmp_path, {"secret.txt": b"secret\n", "work/sub/secret.txt": b"harmless\n"})
    bench.approver.says = DENY
    assert await run(bench, "cat secret.txt", folder="sub") == ["Exit code 0.\nharmless\n"]
    await run(bench, "cat ../secret.txt", "cat ../../secret.txt", folder="sub")
    assert [question.subject for question in bench.approver.asked] == ["cat ../../secret.txt"]


async def test_a_command_that_runs_elsewhere_is_asked_about(bench: Bench, tmp_path: Path) -> None:
    bench.approver.says = DENY
    await run(bench, "ls", folder=str(tmp_path))
    (question,) = bench.approver.asked
    assert "outside the workspace" in question.detail


async def test_a_link_out_of_the_workspace_is_asked_about(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret\n")
    (bench.root / "harmless.txt").symlink_to(tmp_path / "secret.txt")
    bench.approver.says = DENY
    (text,) = await run(bench, "cat harmless.txt")
    assert "secret\n" not in text
    assert len(bench.approver.asked) == 1


@pytest.mark.parametrize("line", ["", "   ", 7, None])
async def test_what_is_no_command_line_is_refused(bench: Bench, line: object) -> None:
    bench.says(
        answer("", call("terminal", command=line), call("terminal", command="ls", folder=1)), answer("Done.")
    )
    await bench.turn()
    assert codes(bench, "s-1") == ["bad-arguments", "bad-arguments"]


def test_what_a_sandbox_denied_is_told_as_far_as_it_was_denied() -> None:
    denied = "touch: cannot touch '/etc/a': Permission denied"
    plain = denial_note(denied, Contained(profile=Profile.WORK))
    assert "no network" in plain
    assert ".git and files that other programs run later could not be changed" in plain
    assert "opened" not in plain
    needs = frozenset({Need.NETWORK, Need.REPOSITORY})
    granted = denial_note(denied, Contained(profile=Profile.WORK, needs=needs, opened=("file:///srv",)))
    assert "no network" not in granted
    assert ".git" not in granted
    assert "did not apply to the paths that were opened for it" in granted
    assert denial_note("make: *** [all] Error 1", Contained(profile=Profile.WORK)) == ""


async def test_a_command_that_takes_too_long_is_told_so(bench: Bench) -> None:
    bench.terms = Terms(timeout_s=1.5)
    (text,) = await run(bench, "echo begun; touch made.txt; sleep 60")
    assert text.startswith("[TOOL_ERROR] timed-out: The command took longer than 1.5 s")
    assert (
        "\nIt had printed:\nbegun\nFiles that changed while the command was running: made.txt (created)."
        in text
    )
    assert codes(bench, "s-1") == ["timed-out"]


@pytest.mark.parametrize(("asked", "given"), [(1, "1 s"), (3600, "2 s")])
async def test_a_command_gets_the_time_that_it_asks_for_up_to_a_limit(
    bench: Bench, asked: int, given: str
) -> None:
    bench.terms = Terms(timeout_s=0.1, longest_s=2)
    (text,) = await run(bench, "sleep 60", timeout_s=asked)
    assert f"took longer than {given}, so" in text
    assert ("give it more time with `timeout_s`, at most 2" in text) is (asked == 1)


@pytest.mark.parametrize("time", [0, -1, 1.5, "60", True])
async def test_a_time_that_is_none_is_refused(bench: Bench, time: object) -> None:
    bench.says(answer("", call("terminal", command="true", timeout_s=time)), answer("Done."))
    await bench.turn()
    assert codes(bench, "s-1") == ["bad-arguments"]
    (told,) = bench.texts()
    assert "must be a whole number of seconds, 1 or more" in told


async def test_a_command_that_takes_too_long_and_prints_nothing(bench: Bench) -> None:
    bench.terms = Terms(timeout_s=0.3)
    (text,) = await run(bench, "sleep 60")
    assert text.endswith("It had printed nothing.")


async def test_what_a_command_left_running_is_said(bench: Bench) -> None:
    (text,) = await run(bench, "sleep 60 & echo started")
    assert "started" in text
    if sys.platform == "linux":
        assert text.startswith("Exit code 0. 1 process was still running")


async def test_long_output_is_kept_aside_without_keys(bench: Bench) -> None:
    bench.terms = Terms(output_chars=2_000)
    bench.secrets = ("sk-very-secret",)
    (text,) = await run(bench, "seq 5000; echo sk-very-'secret'")
    assert "are left out at <<cut-1>>" in text
    assert text.endswith("4999\n5000\n[key removed by handrail]\n")
    spill = text.partition('{"output": "')[2].partition('"')[0]
    page = await bench.spills.page(spill, 0, 1_000_000)
    assert "sk-very-secret" not in str(page)


async def test_output_is_told_while_it_comes(bench: Bench) -> None:
    bench.secrets = ("sk-very-secret",)
    await run(bench, "echo sk-very-secret")
    told = [event for event in bench.events if isinstance(event, CallOutput)]
    assert [event.text for event in told] == ["[key removed by handrail]\n"]


async def test_cancelling_the_turn_ends_the_command_and_all_its_children(
    bench: Bench, tmp_path: Path
) -> None:
    pipe = tmp_path / "pid"
    os.mkfifo(pipe)
    waits = call("terminal", command=f"touch a.txt; sh -c 'sleep 300 & echo $! > \"{pipe}\"; wait'")
    bench.says(answer("", waits, call("write_file", path="never.txt", content="x")))
    turn = bench.host.start("Do it.", None)
    async with asyncio.timeout(20):
        pid = await asyncio.to_thread(pipe.read_text)
        await bench.host.cancel(turn.id)
    report = await bench.host.wait(turn.id)
    assert report.state is State.CANCELLED
    running = Path(f"/proc/{pid.strip()}/stat")
    assert not running.exists() or running.read_text().rpartition(")")[2].split()[0] in "ZX"
    assert not (bench.root / "never.txt").exists()
    assert bench.texts(turn.session)[0].startswith("[TOOL_ERROR] cut-short: The turn was stopped")
    assert codes(bench, turn.session) == ["cut-short", "cut-short"]
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert snapshot(bench.root) == {}


async def test_cancelling_the_turn_waits_for_no_answer(bench: Bench) -> None:
    asked = asyncio.Event()

    class Silent(Yes):
        async def ask(self, question: Question) -> str | None:
            asked.set()
            await asyncio.Event().wait()
            return ALLOW

    for name, arguments in (
        ("terminal", {"command": "touch a.txt"}),
        ("ask_user", {"question": "Which?", "choices": ["a", "b"]}),
    ):
        asked.clear()
        bench.approver = Silent()
        bench.says(answer("", call(name, **arguments)))
        turn = bench.host.start("Do it.", None)
        async with asyncio.timeout(20):
            await asked.wait()
            await bench.host.cancel(turn.id)
        assert codes(bench, turn.session) == ["cut-short"]
    assert snapshot(bench.root) == {}


async def test_a_link_that_a_command_makes_leads_no_later_call_of_the_step_astray(
    bench: Bench, tmp_path: Path
) -> None:
    """All calls of a step are judged before the first one runs."""
    lay_out(bench.root, {"a.txt": b"one\n"})
    (tmp_path / "secret.txt").write_text("one\n")
    bench.says(
        answer(
            "",
            call("terminal", command="ln -sf ../secret.txt a.txt"),
            call("patch", path="a.txt", old_string="one", new_string="two"),
            call("terminal", command="cat a.txt"),
            call("terminal", command="ls"),
        ),
        answer("Done."),
    )
    await bench.turn()
    assert codes(bench, "s-1") == ["", "stale-document", "stale-document", ""]
    assert (tmp_path / "secret.txt").read_text() == "one\n"
    assert len(bench.approver.asked) == 1


# ---- Leave ------------------------------------------------------------------------------------------


async def test_leave_for_once_is_asked_again(bench: Bench) -> None:
    await run(bench, "touch a.txt", "touch a.txt")
    assert len(bench.approver.asked) == 2


async def test_leave_for_a_session_ends_with_it(bench: Bench) -> None:
    bench.approver.says = FOR_SESSION
    await run(bench, "touch a.txt", "touch a.txt")
    await run(bench, "touch a.txt", session="s-1")
    assert len(bench.approver.asked) == 1
    await run(bench, "touch a.txt; touch b.txt", session="s-1")
    await run(bench, "touch a.txt")
    assert len(bench.approver.asked) == 3


async def test_leave_for_good_holds_in_this_workspace_alone(bench: Bench, tmp_path: Path) -> None:
    bench.approver.says = ALWAYS
    await run(bench, "touch a.txt")
    again = Bench(bench.root, bench.state)
    again.approver.says = DENY
    await run(again, "touch a.txt")
    assert not again.approver.asked
    (tmp_path / "other").mkdir()
    elsewhere = Bench(tmp_path / "other", bench.state)
    elsewhere.approver.says = DENY
    await run(elsewhere, "touch a.txt")
    assert [question.subject for question in elsewhere.approver.asked] == ["touch a.txt"]
    assert not (tmp_path / "other" / "a.txt").exists()


async def test_leave_is_for_the_folder_in_which_the_command_ran(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    bench.approver.says = FOR_SESSION
    await run(bench, "make test")
    await run(bench, "make test", folder="sub", session="s-1")
    assert len(bench.approver.asked) == 2


async def test_leave_for_a_document_is_for_one_tool(bench: Bench) -> None:
    lay_out(bench.root, {".env": b"KEY=1\n"})
    bench.approver.says = FOR_SESSION
    calls = [call("read_file", path=path) for path in (".env", "./.env", str(bench.root / ".env"))]
    edit = call("patch", path=".env", old_string="KEY=1", new_string="KEY=2")
    bench.says(answer("", *calls, edit), answer("Done."))
    await bench.turn()
    assert [question.tool for question in bench.approver.asked] == ["read_file", "patch"]
    assert (bench.root / ".env").read_bytes() == b"KEY=2\n"


@pytest.mark.parametrize("said", [None, "yes", "Allow", "", DENY])
async def test_everything_else_is_no(bench: Bench, said: str | None) -> None:
    bench.approver.says = said
    await run(bench, "touch a.txt")
    assert snapshot(bench.root) == {}
    assert codes(bench, "s-1") == ["denied"]
    (event,) = [each for each in bench.events if isinstance(each, Asked) and each.choice]
    assert event.choice == DENY


async def test_what_lies_outside_is_blocked_where_nobody_answers(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    edit = call("patch", path=str(tmp_path / "a.txt"), old_string="one", new_string="two")
    bench.approver.says = None
    bench.says(answer("", edit), answer("Done."))
    report = await bench.turn()
    (failure,) = [outcome.failure for outcome in report.outcomes if outcome.failure is not None]
    assert failure.steps == ("Continue without it, and say at the end what you did not do.",), "no one to ask"
    bench.approver.says = ALLOW
    bench.says(answer("", edit), answer("Done."))
    report = await bench.turn()
    assert codes(bench, "s-1") == ["outside-workspace"]
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert (tmp_path / "a.txt").read_text() == "one\n", (
        "its pre-image is in the checkpoint of the first folder"
    )


async def test_rules_allow_ask_and_block(bench: Bench) -> None:
    lay_out(bench.root, {"vendor/a.txt": b"one\n", "b.txt": b"one\n"})
    bench.approver.says = DENY
    bench.terms = terms(
        ("terminal", "allow", "touch *"), ("edit", "block", "vendor/**"), ("read", "ask", "b.txt")
    )
    bench.says(
        answer(
            "",
            call("terminal", command="touch c.txt && touch d.txt"),
            call("terminal", command="touch e.txt && rm b.txt"),
            call("write_file", path="vendor/a.txt", content="two\n"),
            call("read_file", path="vendor/a.txt"),
            call("read_file", path="b.txt"),
        ),
        answer("Done."),
    )
    await bench.turn()
    assert codes(bench, "s-1") == ["", "denied", "blocked", "", "denied"]
    assert set(snapshot(bench.root)) == {"vendor/a.txt", "b.txt", "c.txt", "d.txt"}


async def test_a_file_of_grants_that_cannot_be_read_grants_nothing(bench: Bench) -> None:
    bench.approver.says = ALWAYS
    await run(bench, "touch a.txt")
    (file,) = bench.state.parent.rglob("grants.json")
    for broken in (b"{", b"[1]", b'[["terminal"]]', b"[[1, 2]]", b"\xff", b"null"):
        file.write_bytes(broken)
        asked = len(bench.approver.asked)
        bench.approver.says = DENY
        await run(bench, "touch a.txt")
        assert len(bench.approver.asked) == asked + 1


async def test_a_line_with_a_nul_character_is_refused(bench: Bench) -> None:
    bench.says(answer("", call("terminal", command="ls\0work")), answer("Done."))
    report = await bench.turn()
    assert bench.approver.asked == []
    assert "must be a command line without NUL characters" in bench.texts(report.session)[-1]
