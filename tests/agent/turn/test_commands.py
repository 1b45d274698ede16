"""Commands and checkpoints: the order of verdict, approval, snapshot and run, with real programs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.kit import git_that_hangs_once, wait_for
from bench import Bench, Yes
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.worktrees import stats
from handrail.agent.tools import TOOLS
from handrail.agent.tools import call as tool
from handrail.core.checkpoint import Snapshot, StepId
from handrail.core.documents.change import Status
from handrail.core.failure import Failure
from handrail.core.ledger.report import CallOutput, Event, Notice, State
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.ports import DENY, Ports, Terms
from handrail.testing import answer, call, lay_out, snapshot


def parse(arguments: tool.Arguments) -> tool.Command | Failure:
    """A tool that runs a command line; the last word of what it needs is that it is a real program."""
    line = tool.text(arguments, "line")
    if isinstance(line, Failure):
        return line

    async def run(places: Mapping[str, Place], ports: Ports, console: tool.Console) -> tool.CommandReport:
        running = await asyncio.create_subprocess_shell(
            line, cwd=str(Path(places["."].identity.removeprefix("file://"))), stdout=asyncio.subprocess.PIPE
        )
        said, _ = await running.communicate()
        return tool.CommandReport(text=said.decode())

    return tool.Command(title=line, line=line, run=run, reads=(".",))


@pytest.fixture(autouse=True)
def shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool `shell`, which runs any command line."""
    offer = tool.offer("shell", "Runs a command line.", {"line": {"type": "string"}}, ("line",))
    monkeypatch.setitem(TOOLS, "shell", tool.Tool(kind=ToolKind.COMMAND, offer=offer, parse=parse))


async def test_what_a_command_changes_is_said_listed_and_taken_back(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", "b.txt": b"two\n"})
    before = snapshot(bench.root)
    bench.says(answer("", call("shell", line="echo ONE > a.txt; rm b.txt; echo > c.txt")), answer("Done."))
    report = await bench.turn()
    (text,) = bench.texts()
    assert text == (
        "Files that changed while the command was running: a.txt (changed), b.txt (deleted), c.txt (created)."
    )
    assert [(each.mutation.path, each.status) for each in report.outcomes] == [
        ("a.txt", Status.LANDED),
        ("b.txt", Status.LANDED),
        ("c.txt", Status.LANDED),
    ]
    assert report.checkpoint is not None
    restored = await bench.restore(report.checkpoint)
    assert not restored.conflicts
    assert snapshot(bench.root) == before


async def test_a_command_that_is_denied_or_only_reads_leaves_no_trace(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.approver = Yes(says=DENY)
    bench.says(answer("", call("shell", line="rm a.txt"), call("shell", line="cat a.txt")), answer("Done."))
    report = await bench.turn()
    assert (bench.root / "a.txt").exists()
    assert report.checkpoint is None
    assert not bench.state.exists()
    assert bench.texts()[1] == "one\n"
    assert [each.subject for each in bench.approver.asked] == ["rm a.txt"]


async def test_a_denied_command_beside_an_allowed_write(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.approver = Yes(says=DENY)
    bench.says(
        answer("", call("shell", line="rm a.txt"), call("write_file", path="a.txt", content="two\n")),
        answer("Done."),
    )
    report = await bench.turn()
    assert report.checkpoint is not None
    (restoration,) = await bench.repo.restore_plan(report.checkpoint)
    assert restoration.before.raw == b"one\n"
    assert not (bench.repo.folder.parent / "trees").exists()


async def test_without_a_snapshot_no_command_runs(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.state.write_bytes(b"a file where the state folder should be")
    bench.says(answer("", call("shell", line="rm a.txt")), answer("Done."))
    report = await bench.turn()
    assert (bench.root / "a.txt").exists()
    assert "Nothing was changed. " in bench.texts()[0]
    assert report.checkpoint is None
    # The attempt has used up nothing.
    bench.state.unlink()
    bench.says(answer("", call("shell", line="rm a.txt")), answer("Done."))
    report = await bench.turn()
    assert report.checkpoint is not None
    assert not (bench.root / "a.txt").exists()


async def test_without_a_snapshot_it_runs_if_the_user_has_set_so(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.state.write_bytes(b"a file where the state folder should be")
    bench.terms = Terms(needs_checkpoint=False)
    bench.says(
        answer("", call("write_file", path="a.txt", content="two\n"), call("shell", line="cp a.txt b.txt")),
        answer("Done."),
    )
    report = await bench.turn()
    assert snapshot(bench.root) == {"a.txt": b"two\n", "b.txt": b"two\n"}
    assert report.checkpoint is None
    (outcome,) = report.outcomes
    assert outcome.uncovered is not None
    edited, ran = bench.texts()
    assert edited == f"Landed: a.txt. It cannot be undone: {outcome.uncovered}"
    assert "The command's changes cannot be undone: The checkpoints in" in ran
    told = [event for event in bench.events if isinstance(event, Notice)]
    assert [each.is_warning for each in told] == [True, True]
    assert "a.txt was changed without a checkpoint, so the change cannot be undone" in told[0].text
    # What can be kept is.
    bench.state.unlink()
    bench.says(answer("", call("write_file", path="a.txt", content="three\n")), answer("Done."))
    report = await bench.turn()
    assert report.outcomes[0].uncovered is None
    assert report.checkpoint is not None


async def test_that_permissions_of_many_files_are_not_kept_is_told_apart_and_once(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "LIMIT_FILES", 1)
    lay_out(bench.root, {"a.txt": b"one\n", "b.txt": b"two\n"})
    lines = ("echo three > a.txt", "echo four > b.txt")
    bench.says(*(answer("", call("shell", line=line)) for line in lines), answer("Done."))
    report = await bench.turn()
    assert [event.text for event in bench.events if isinstance(event, Notice)] == [
        "There are too many files in the workspace folder to record every change of permissions. If a "
        "command changes nothing else of a file, the checkpoint only has whether the file can be executed."
    ]
    assert [outcome.uncovered for outcome in report.outcomes] == [None, None]


async def test_what_no_snapshot_covers_is_told_before_the_command_and_once(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    with (bench.root / "large").open("wb") as file:
        file.truncate(20_000_001)
    os.mkfifo(bench.root / "pipe")
    bench.says(answer("", call("shell", line="echo two > a.txt; echo x >> large")), answer("Done."))
    await bench.turn()
    told = [(type(event), event.text) for event in bench.events if isinstance(event, Notice | CallOutput)]
    # git does not list what is no file and no folder, so the pipe is nothing that a command could lose
    warning = (
        "Not covered by the checkpoint: large (it has 20,000,001 bytes, more than the limit of 20,000,000)."
    )
    assert told == [(Notice, warning)]
    names = [type(event).__name__ for event in bench.events]
    assert names.index("CallStarted") < names.index("Notice") < names.index("Outcome")
    assert (
        "large (changed by the command, and it has 20,000,003 bytes, more than the limit of 20,000,000)"
        in bench.texts()[0]
    )
    bench.events.clear()
    bench.says(answer("", call("shell", line="echo three > a.txt")), answer("Done."))
    await bench.turn()
    assert not [event for event in bench.events if isinstance(event, Notice)]


async def test_a_snapshot_that_takes_long_is_told(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    told = asyncio.Event()

    class Slow(ShadowRepo):
        """Takes its time: until somebody has been told."""

        async def before_command(
            self, step: StepId, stop: asyncio.Event | None = None, since: Snapshot | None = None
        ) -> Snapshot:
            await told.wait()
            return await super().before_command(step, stop, since)

    class Events(list[Event]):
        def append(self, event: Event) -> None:
            super().append(event)
            if isinstance(event, Notice):
                told.set()

    bench.repo = Slow(bench.state, lambda: bench.folders.roots, lambda: datetime.now(UTC))
    bench.events = Events()
    bench.says(answer("", call("shell", line="echo two > a.txt")), answer("Done."))
    assert (await bench.turn()).checkpoint is not None
    (notice,) = [event for event in bench.events if isinstance(event, Notice)]
    assert (notice.text, notice.is_warning) == ("Taking the checkpoint before the command ...", False)


async def test_a_snapshot_is_stopped_with_its_turn_and_the_command_does_not_run(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = git_that_hangs_once(tmp_path / "stuck", monkeypatch)
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(answer("", call("shell", line="echo two > a.txt")), answer("Done."))
    turn = bench.host.start("Run it.", None)
    await asyncio.to_thread(wait_for, hangs)
    await bench.host.cancel(turn.id)
    assert (await bench.host.wait(turn.id)).state is State.CANCELLED
    assert (bench.root / "a.txt").read_bytes() == b"one\n"


async def test_a_command_runs_alone_between_edits(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(
        answer(
            "",
            call("write_file", path="a.txt", content="two\n"),
            call("shell", line="cp a.txt b.txt; echo three > a.txt"),
            call("write_file", path="a.txt", content="four\n"),
        ),
        answer("Done."),
    )
    report = await bench.turn()
    assert snapshot(bench.root) == {"a.txt": b"four\n", "b.txt": b"two\n"}
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert snapshot(bench.root) == {"a.txt": b"one\n"}
