"""Commands in the background: real processes, real snapshots, scripted calls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench import Bench, Never, Yes
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.agent.turn.command import background
from handrail.core.checkpoint import Snapshot, StepId
from handrail.core.conversation.message import AssistantMessage
from handrail.core.ledger.outcome import Outcome
from handrail.core.ledger.report import CallOutput, State
from handrail.core.policy.rules import read
from handrail.ports import ALLOW, DENY, CheckpointError, Terms
from handrail.testing import answer, call, lay_out, snapshot

LONG_S = 60.0  # longer than anything here takes


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The start of a command is hardly waited for."""
    monkeypatch.setattr(background, "FIRST_S", 0.01)


def begin(line: str, **more: object) -> dict[str, object]:
    return call("terminal", command=line, background=True, **more)


async def turn(bench: Bench, *steps: object, session: str | None = None) -> list[str]:
    """The results of a turn whose steps are calls, or lists of calls."""
    said = bench.host.sessions[session].messages if session else ()
    before = [answer("Before.") for each in said if isinstance(each, AssistantMessage)]
    known = len(bench.texts(session)) if session else 0
    calls: list[Any] = [step if isinstance(step, list) else [step] for step in steps]
    bench.says(*before, *(answer("", *each) for each in calls), answer("Done."))
    report = await bench.turn(session)
    return bench.texts(report.session)[known:]


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(LONG_S):
        while not holds():  # noqa: ASYNC110  # a process and a file tell nobody
            await asyncio.sleep(0.01)


async def ended(bench: Bench) -> None:
    """Wait until no command runs."""
    await until(lambda: not any(each.is_running for each in bench.host.background.list_commands()))


@pytest.fixture
async def closing(bench: Bench) -> Any:
    yield bench
    await bench.host.close()


async def test_a_command_runs_on_and_is_read_piece_by_piece(closing: Bench) -> None:
    bench = closing
    line = "echo one; until [ -e go ]; do sleep 0.01; done; echo two; exec sleep 60"
    (begun,) = await turn(bench, begin(line))
    assert begun.startswith(f"b1: {line}\nIt is running.\n")
    assert 'read_output {"output": "b1"}' in begun
    await until(lambda: bench.host.background.list_commands()[0].unread or "New output" in begun)
    read = call("read_output", output="b1")
    first = begun + "".join(await turn(bench, read, session="s-1"))
    assert first.count("New output:\none\n") == 1
    (bench.root / "go").touch()
    await until(lambda: bench.host.background.list_commands()[0].unread)
    (second, third) = await turn(bench, read, read, session="s-1")
    assert second.endswith("It is running.\nNew output:\ntwo\n")
    assert third.endswith("It is running.\nIt has printed nothing new.")
    (stopped, again) = await turn(
        bench, call("stop", command="b1"), call("stop", command="b1"), session="s-1"
    )
    for text in (stopped, again):
        assert "It has ended. It was stopped, together with everything that it started." in text
    assert not bench.host.background.list_commands()[0].is_running


@pytest.mark.parametrize("more", [{"pattern": "one"}, {"offset": 3}, {"pattern": "(", "ignore_case": True}])
async def test_a_part_of_new_output_is_refused_and_nothing_is_lost(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, more: dict[str, object]
) -> None:
    monkeypatch.setattr(background, "FIRST_S", LONG_S)
    await turn(bench, begin("true"))
    command = bench.host.background.list_commands()[0]
    command.unread.add("one\ntwo\n")
    (refused, text, plain) = await turn(
        bench,
        call("read_output", output="b1", **more),
        call("read_output", output="b1", offset=0, pattern="", ignore_case=True),
        call("read_output", output="b1"),
        session="s-1",
    )
    assert "b1 is a background command: its new output can only be read as a whole." in refused
    assert "Call `read_output` again, without offset and pattern." in refused
    assert text.endswith("New output:\none\ntwo\n")
    assert plain.endswith("It has printed nothing new.")


async def test_what_ends_at_once_is_told_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "FIRST_S", LONG_S)
    (text,) = await turn(bench, begin("echo bad; touch made; exit 3"))
    assert text == (
        "b1: echo bad; touch made; exit 3\nIt has ended. Exit code 3.\n"
        "Files that changed while the command was running: made (created).\nNew output:\nbad\n"
    )
    assert "".join(bench.host.steered.get("s-1", [])) == "", "nobody has to be told again"


async def test_it_is_always_asked_about_whatever_was_allowed(bench: Bench) -> None:
    bench.approver = Yes(DENY)
    allowed = Terms(rules=terms_allowing("true"))
    bench.terms = allowed
    (text,) = await turn(bench, begin("true"))
    (asked,) = bench.approver.asked
    assert asked.choices == (DENY, ALLOW)
    assert asked.rules == ()
    assert "runs in the background" in asked.detail
    assert "with all your permissions" in asked.detail
    assert "did not allow" in text
    assert bench.host.background.list_commands() == ()


def terms_allowing(line: str) -> Any:
    return read([{"tool": "terminal", "verdict": "allow", "match": line}])


async def test_a_question_that_nobody_answers_is_a_no(bench: Bench) -> None:
    bench.approver = Yes(None)
    await turn(bench, begin("touch made"))
    assert bench.host.background.list_commands() == ()
    assert snapshot(bench.root) == {}


async def test_a_rule_that_blocks_wins(bench: Bench) -> None:
    rules = read([{"tool": "terminal", "verdict": "block", "match": "sleep *"}])
    assert isinstance(rules, tuple)
    bench.terms = Terms(rules=rules)
    await turn(bench, begin("sleep 60"))
    assert bench.approver.asked == []
    assert [code for _, code in bench.results()] == ["blocked"]


@pytest.mark.parametrize("given", ["yes", "", 1, 0, []])
async def test_what_is_no_yes_or_no_is_refused(bench: Bench, given: object) -> None:
    await turn(bench, call("terminal", command="true", background=given))
    assert [code for _, code in bench.results()] == ["bad-arguments"]


async def test_one_that_ignores_the_first_signal_and_leaves_daemons_is_ended(closing: Bench) -> None:
    bench = closing
    line = (
        "trap '' TERM; echo $$ > first; (setsid sh -c 'trap \"\" TERM; echo $$ > second; sleep 60') & "
        "while :; do sleep 0.05; done"
    )
    await turn(bench, begin(line))
    pids = [bench.root / name for name in ("first", "second")]
    await until(lambda: all(path.exists() and path.read_text().strip() for path in pids))
    (text,) = await turn(bench, call("stop", command="b1"), session="s-1")
    assert "It was stopped" in text
    for path in pids:
        assert not runs(int(path.read_text()))


def runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


async def test_it_has_no_more_time_than_it_asks_for(bench: Bench) -> None:
    await turn(bench, begin("exec sleep 60", timeout_s=1))
    await ended(bench)
    (text,) = await turn(bench, call("read_output", output="b1"), session="s-1")
    assert "It has ended. The command took longer than 1 s" in text


async def test_what_it_leaves_when_it_returns_is_ended(bench: Bench) -> None:
    await turn(bench, begin("setsid sh -c 'echo $$ > pid; sleep 60' & until [ -s pid ]; do sleep 0.01; done"))
    await ended(bench)
    assert not runs(int((bench.root / "pid").read_text()))
    (text,) = await turn(bench, call("read_output", output="b1"), session="s-1")
    assert (
        "still running and had to be stopped. A background command ends when its first process ends. Start "
        "no others with `&`, unless the command waits for them (`wait`)." in text
    )


async def test_many_that_only_read_look_for_what_has_appeared_without_a_quarrel(closing: Bench) -> None:
    bench = closing
    await turn(bench, begin("exec sleep 60"), [call("terminal", command="pwd") for _ in range(12)])
    assert [code for _, code in bench.results()] == [""] * 13


async def test_a_flood_is_bounded_and_what_is_lost_is_said(closing: Bench) -> None:
    bench = closing
    await turn(bench, begin("until [ -e go ]; do sleep 0.01; done; yes handrail | head -c 3000000; echo end"))
    (bench.root / "go").touch()
    await ended(bench)
    (text,) = await turn(bench, call("read_output", output="b1"), session="s-1")
    assert "earlier characters were not stored]" in text
    assert text.endswith("end\n")
    assert len(text) < 250_000


async def test_no_more_than_so_many_run_at_once(closing: Bench) -> None:
    bench = closing
    lines = [f"exec sleep 6{number}" for number in range(background.LIMIT_RUNNING + 1)]
    *_, last = await turn(bench, *map(begin, lines))
    assert "running in the background: b1 (exec sleep 60)" in last
    assert len(bench.approver.asked) == background.LIMIT_RUNNING, "nobody is asked in vain"
    (listed,) = await turn(bench, call("read_output"), session="s-1")
    assert [row for row in listed.splitlines() if row.startswith("b")] == [
        f"b{number}: {line}" for number, line in enumerate(lines[:-1], 1)
    ]


@pytest.mark.parametrize("name", ["b7", "b0", "", "o-0000000000000000", "all"])
async def test_what_is_not_there_cannot_be_stopped(bench: Bench, name: str) -> None:
    await turn(bench, call("stop", command=name))
    assert [code for _, code in bench.results()] == ["bad-arguments"]


async def test_another_session_sees_nothing_of_it(closing: Bench) -> None:
    bench = closing
    await turn(bench, begin("exec sleep 60"))
    bench.says(
        answer("", call("read_output", output="b1"), call("stop", command="b1"), call("read_output")),
        answer("Done."),
    )
    report = await bench.turn()
    first, second, third = bench.texts(report.session)
    assert "This conversation has no background command 'b1'. It has none that handrail remembers." in first
    assert "This conversation has no background command 'b1'." in second
    assert (
        "If you started it earlier, it has ended: only the last 8 commands that ended are remembered, and a "
        "restart of handrail ends all commands." in second
    )
    assert third == "There are no background commands."
    assert bench.host.background.list_commands()[0].is_running


async def test_stopping_the_turn_does_not_end_it_but_deleting_the_session_does(closing: Bench) -> None:
    bench = closing
    bench.says(answer("", begin("echo $$ > pid; exec sleep 60")))
    scripted, never = bench.provider, Never()

    class Then:
        context_tokens = 1_000_000

        def complete(self, messages: Any, tools: Any) -> Any:
            has_run = any(isinstance(each, AssistantMessage) for each in messages)
            return (never if has_run else scripted).complete(messages, tools)

    bench.provider = Then()
    started = bench.host.start("Do it.", None)
    await never.asked.wait()
    await bench.host.cancel(started.id)
    (known,) = bench.host.background.list_commands()
    assert known.is_running
    await until(lambda: (bench.root / "pid").exists() and (bench.root / "pid").read_text())

    async def entries(session: str) -> tuple[()]:
        return ()

    bench.host.archive._entries = entries  # type: ignore[method-assign]  # nothing is written in this bench
    await bench.host.delete("s-1")
    assert bench.host.background.list_commands() == ()
    assert not runs(int((bench.root / "pid").read_text()))
    (kept,) = await bench.repo.list()
    assert [each.path for each in kept.paths] == ["pid"], "what it changed is kept all the same"


async def test_one_that_changes_nothing_leaves_no_checkpoint(bench: Bench) -> None:
    await turn(bench, begin("until [ -e ../go ]; do sleep 0.01; done"))
    (bench.root.parent / "go").touch()
    await ended(bench)
    assert await bench.repo.list() == ()


async def test_it_does_not_begin_once_the_turn_is_stopped(bench: Bench) -> None:
    stopping = []

    class Late(ShadowRepo):
        """The user stops the turn when the snapshot has been taken."""

        async def before_command(
            self, step: StepId, stop: asyncio.Event | None = None, since: Snapshot | None = None
        ) -> Snapshot:
            taken = await super().before_command(step, None, since)
            stopping.append(asyncio.ensure_future(bench.host.cancel(step.turn)))
            assert stop is not None
            await stop.wait()
            return taken

    bench.repo = Late(bench.state, lambda: bench.folders.roots, lambda: datetime.now(UTC))
    bench.says(answer("", begin("touch made; exec sleep 60")), answer("Done."))
    report = await bench.turn()
    assert report.state is State.CANCELLED
    assert bench.host.background.list_commands() == ()
    assert await bench.repo.list() == ()
    assert snapshot(bench.root) == {}


async def test_its_end_is_told_to_the_model_before_its_next_step(bench: Bench) -> None:
    await turn(bench, begin("until [ -e go ]; do sleep 0.01; done; rm go; touch made; exit 4"))
    (bench.root / "go").touch()
    await ended(bench)
    await turn(bench, session="s-1")
    said = [getattr(each, "text", "") for each in bench.history()]
    (told,) = [each for each in said if "The background command b1 has ended" in each]
    assert "Exit code 4." in told
    assert "made (created)" in told


# ---- Whose changes are whose ------------------------------------------------------------------------


async def test_what_it_changed_is_taken_back_with_its_turn(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    await turn(bench, begin("echo two > a.txt; touch new; until [ -e go ]; do sleep 0.01; done; rm go"))
    with pytest.raises(CheckpointError, match="still running in the background: b1"):
        await bench.restore("t-2")
    (bench.root / "go").touch()
    await ended(bench)
    (kept,) = await bench.repo.list()
    assert kept.id == "t-2"
    assert {each.path for each in kept.paths} == {"a.txt", "new"}
    found = [each for each in bench.events if isinstance(each, Outcome)]
    assert {each.mutation.path for each in found} == {"a.txt", "new"}
    report = await bench.restore("t-2")
    assert report.conflicts == ()
    assert snapshot(bench.root) == {"a.txt": b"one\n"}


async def test_what_calls_edit_meanwhile_is_theirs(closing: Bench) -> None:
    bench = closing
    lay_out(bench.root, {"a.txt": b"one\n", "b.txt": b"one\n"})
    await turn(bench, begin("echo log > log; until [ -e go ]; do sleep 0.01; done; exec sleep 60"))
    await until((bench.root / "log").exists)
    edit = call("patch", path="a.txt", old_string="one", new_string="TWO")
    await turn(bench, edit, session="s-1")
    (bench.root / "go").touch()
    (text,) = await turn(bench, call("stop", command="b1"), session="s-1")
    assert "Files that changed while the command was running: go (created), log (created)." in text
    assert (
        "Edits changed this file while the command was running, so it is unclear what the command itself "
        "changed in it: a.txt." in text
    )
    kept = {each.id: {path.path for path in each.paths} for each in await bench.repo.list()}
    assert [paths for paths in kept.values() if "log" in paths] == [{"go", "log"}]
    assert [paths for paths in kept.values() if "a.txt" in paths] == [{"a.txt"}]
    assert [each.paths[0].path for each in await bench.repo.list()] == ["a.txt", "go"], "as they began"
    await bench.restore("t-2")
    assert (bench.root / "a.txt").read_bytes() == b"TWO\n", "what another turn did stays"
    assert not (bench.root / "log").exists()


async def test_a_file_that_it_writes_all_the_time_is_taken_back_to_nothing(closing: Bench) -> None:
    """Other commands run meanwhile, in the same turn and in another one: each change is kept once."""
    bench = closing
    lay_out(bench.root, {"a.txt": b"one\n"})
    ticking = "while :; do echo tick >> log; sleep 0.01; done"
    log = bench.root / "log"

    def size() -> int:
        return log.stat().st_size if log.exists() else 0

    await turn(bench, begin(ticking), call("terminal", command=f"{grows(1)}; echo two > a.txt"))
    await turn(bench, call("terminal", command=f"{grows(3)}; echo three > a.txt"), session="s-1")
    before = size()
    await until(lambda: size() > before + 20)
    await turn(bench, call("stop", command="b1"), session="s-1")
    first, *_ = [each.id for each in reversed(await bench.repo.list())]
    report = await bench.restore(first, following=True)
    assert report.conflicts == ()
    assert snapshot(bench.root) == {"a.txt": b"one\n"}


def grows(rows: int) -> str:
    """A shell loop that waits until the log has so many more rows."""
    return f'n=$(wc -l < log || echo 0); until [ "$(wc -l < log)" -gt $((n + {rows})) ]; do sleep 0.01; done'


async def test_what_a_command_changed_beside_it_is_that_commands(closing: Bench) -> None:
    bench = closing
    lay_out(bench.root, {"a.txt": b"one\n"})
    await turn(bench, begin("touch started; exec sleep 60"))
    await until((bench.root / "started").exists)
    (text,) = await turn(bench, call("terminal", command="echo two > a.txt"), session="s-1")
    assert "a.txt (changed)" in text
    assert "started" not in text
    (stopped,) = await turn(bench, call("stop", command="b1"), session="s-1")
    assert "a.txt" not in stopped
    assert "started (created)" in stopped
    await bench.restore("t-2")
    assert snapshot(bench.root) == {"a.txt": b"two\n"}


async def test_what_a_restore_writes_meanwhile_is_not_its_own(closing: Bench) -> None:
    bench = closing
    lay_out(bench.root, {"a.txt": b"one\n"})
    edit = call("patch", path="a.txt", old_string="one", new_string="TWO")
    await turn(bench, edit)
    await turn(bench, begin("touch started; exec sleep 60"), session="s-1")
    await until((bench.root / "started").exists)
    first = (await bench.repo.list())[-1].id
    await bench.restore(first)
    assert (bench.root / "a.txt").read_bytes() == b"one\n"
    (stopped,) = await turn(bench, call("stop", command="b1"), session="s-1")
    assert "Files that changed while the command was running: started (created)." in stopped


async def test_of_two_the_one_that_started_last_has_the_changes(closing: Bench) -> None:
    bench = closing
    await turn(bench, begin("touch one; exec sleep 60"))
    await until((bench.root / "one").exists)
    await turn(bench, begin("touch two; exec sleep 61"), session="s-1")
    await until((bench.root / "two").exists)
    (second,) = await turn(bench, call("stop", command="b2"), session="s-1")
    assert "Files that changed while the command was running: two (created)." in second
    (bench.root / "three").touch()
    (first,) = await turn(bench, call("stop", command="b1"), session="s-1")
    assert "Files that changed while the command was running: one (created), three (created)." in first


async def test_output_is_told_as_it_comes_while_its_turn_runs(closing: Bench) -> None:
    bench = closing
    line = "echo live; until [ -e go ]; do sleep 0.01; done; echo late; exec sleep 60"

    async def note_output() -> None:
        await until(lambda: any(isinstance(each, CallOutput) for each in bench.events))
        (bench.root / "seen").touch()

    waits = call("terminal", command="until [ -e seen ]; do sleep 0.01; done")
    await asyncio.gather(turn(bench, begin(line), waits), note_output())
    heard = [each.text for each in bench.events if isinstance(each, CallOutput)]
    assert "".join(heard) == "live\n"
    (bench.root / "go").touch()
    await until(lambda: bench.host.background.list_commands()[0].unread)
    assert [each.text for each in bench.events if isinstance(each, CallOutput)] == heard


async def test_keys_are_in_none_of_its_outputs(closing: Bench) -> None:
    bench = closing
    bench.secrets = ("s3cr3t-value-of-a-key",)
    line = "printf s3cr3t-val; until [ -e go ]; do sleep 0.01; done; echo ue-of-a-key; exec sleep 60"
    (begun,) = await turn(bench, begin(line))
    read = call("read_output", output="b1")
    (first,) = await turn(bench, read, session="s-1")
    (bench.root / "go").touch()
    await until(lambda: bench.host.background.list_commands()[0].unread)
    (second,) = await turn(bench, read, session="s-1")
    assert "s3cr3t" not in re.sub(re.escape(line), "", begun + first + second)
    assert "ue-of-a-key" not in re.sub(re.escape(line), "", second)


async def test_closing_the_host_ends_all_of_them(bench: Bench) -> None:
    await turn(bench, begin("echo $$ > pid; exec sleep 60"))
    await until(lambda: (bench.root / "pid").exists() and (bench.root / "pid").read_text())
    await bench.host.close()
    assert not runs(int((bench.root / "pid").read_text()))
    assert [each.path for each in (await bench.repo.list())[0].paths] == ["pid"]
