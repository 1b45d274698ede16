"""Scripts, which run in place of a shell: pipelines, exit codes, output; nothing of them outlives them."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.adapters.commands import ending
from handrail.adapters.commands.process import Processes
from handrail.adapters.files.files import uri_of
from handrail.core.policy.commands.script import Script
from handrail.core.policy.shell import End, Run, RunResult


class Told:
    """What a command has said so far, and who waits for more."""

    def __init__(self) -> None:
        self.text = ""
        self._news = asyncio.Event()

    def __call__(self, text: str) -> None:
        self.text += text
        self._news.set()

    async def until(self, wanted: str) -> None:
        async with asyncio.timeout(20):
            while wanted not in self.text:
                self._news.clear()
                await self._news.wait()


async def prepared(processes: Processes, folder: Path, line: str) -> Script:
    """The script of *line*, whose commands are run whatever they are."""
    parsed = await processes.parse(line)
    assert parsed.pipelines, parsed.needs_shell
    script = await processes.prepare(parsed.pipelines, uri_of(folder))
    assert isinstance(script, Script), script
    return Script(
        steps=tuple(
            replace(
                step,
                stages=tuple(
                    replace(
                        stage,
                        arguments=stage.words[1:],
                        why_not="" if stage.program or stage.enters else "rule",
                    )
                    for stage in step.stages
                ),
            )
            for step in script.steps
        )
    )


async def run(
    folder: Path,
    line: str,
    *,
    timeout_s: float = 20,
    stop: asyncio.Event | None = None,
    told: Told | None = None,
) -> RunResult:
    processes = Processes(os.environ, lambda: (folder,))
    script = await prepared(processes, folder, line)
    wanted = Run(line="exit 99", script=script, folder=uri_of(folder), timeout_s=timeout_s)
    ran = await processes.run(wanted, stop or asyncio.Event(), told or Told())
    assert isinstance(ran, RunResult), ran
    return ran


@pytest.mark.parametrize(
    ("line", "code", "output"),
    [
        ("true && echo yes || echo no", 0, "yes\n"),
        ("false && echo yes || echo no", 0, "no\n"),
        ("false || false && echo no; echo end", 0, "end\n"),
        ("false; true", 0, ""),
        ("true; false", 1, ""),
        ("! true", 1, ""),
        ("! false && echo yes", 0, "yes\n"),
        ("false | true", 0, ""),
        ("true | false", 1, ""),
        ("! false | false", 0, ""),
        ("grep x nothing", 2, "grep: nothing: No such file or directory\n"),
        ("grep x nothing 2>/dev/null", 2, ""),
        ("grep x nothing >/dev/null 2>&1", 2, ""),
        ("grep x nothing 2>&1 >/dev/null | wc -l", 0, "1\n"),
        ("echo x >&2 | wc -c", 0, "x\n0\n"),
        ("echo x | cat </dev/null", 0, ""),
        ("cat | wc -c", 0, "0\n"),
        ("seq 3 | cat | cat | tail -n 1", 0, "3\n"),
        ("seq 1000000 | head -n 1", 0, "1\n"),
        ("no-such-program x", 127, "no-such-program: command not found\n"),
        ("no-such-program x || echo other", 0, "no-such-program: command not found\nother\n"),
        ("no-such-program 2>/dev/null | wc -l", 0, "0\n"),
        ("./no-such-file", 126, "./no-such-file: No such file or directory\n"),
        ("cd nothing; pwd -P | wc -l", 0, "cd: nothing: No such file or directory\n1\n"),
        ("cd nothing 2>/dev/null && echo x", 1, ""),
        ("./plain a b", 0, "plain a b\n"),
        ("./plain a b | cat", 0, "plain a b\n"),
        ("./signal", -9, ""),
        ("./signal; true", 0, ""),
        ("true; ./signal", 137, ""),
        ("echo x | ./signal", 137, ""),
        ("printf '%s\\n' *", 0, "plain\nsignal\nsub\n"),
        ("cd sub && printf '%s\\n' * ../p*", 0, "*\n../plain\n"),
    ],
)
async def test_what_comes_of_a_script(tmp_path: Path, line: str, code: int, output: str) -> None:
    (tmp_path / "plain").write_text("echo plain $1 $2\n")  # it does not say what runs it
    (tmp_path / "signal").write_text("#!/bin/sh\nkill -9 $$\n")
    for name in ("plain", "signal"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "sub").mkdir()
    assert await run(tmp_path, line) == RunResult(end=End.EXITED, code=code, output=output)


async def test_a_message_after_much_output_does_not_block(tmp_path: Path) -> None:
    ran = await run(tmp_path, "seq 200000; cd nothing; no-such-program")
    assert ran.output.endswith(
        "200000\ncd: nothing: No such file or directory\nno-such-program: command not found\n"
    )


async def test_output_comes_as_it_is_printed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    told = Told()
    running = asyncio.create_task(run(tmp_path, "echo first; cat go; echo last", told=told))
    await told.until("first\n")
    assert not running.done()
    await asyncio.to_thread((tmp_path / "go").write_text, "second\n")
    assert (await running).output == "first\nsecond\nlast\n"


@pytest.mark.parametrize(
    "line", ["sleep 300", "sleep 300 | sleep 300", "echo x; sleep 300; echo never", "tail -f x | cat"]
)
async def test_a_script_that_takes_too_long_is_ended(tmp_path: Path, line: str) -> None:
    (tmp_path / "x").touch()
    ran = await run(tmp_path, line, timeout_s=0.3)
    assert (ran.end, ran.code) == (End.TIMED_OUT, None)
    assert "never" not in ran.output


async def test_stopping_ends_every_process_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "GRACE_S", 0.2)
    (tmp_path / "stubborn").write_text("#!/bin/sh\ntrap '' TERM\necho $$\nwhile :; do sleep 0.05; done\n")
    (tmp_path / "stubborn").chmod(0o755)
    stop, told = asyncio.Event(), Told()
    running = asyncio.create_task(run(tmp_path, "./stubborn | cat | cat", stop=stop, told=told))
    await told.until("\n")
    stop.set()
    assert (await running).end is End.STOPPED
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.text), 0)


async def test_what_a_script_leaves_behind_is_ended_and_counted(tmp_path: Path) -> None:
    (tmp_path / "leaves").write_text("#!/bin/sh\nsleep 300 >/dev/null 2>&1 &\n")
    (tmp_path / "leaves").chmod(0o755)
    ran = await run(tmp_path, "./leaves; echo end")
    assert ran == RunResult(end=End.EXITED, code=0, output="end\n", left_processes=1)


async def test_no_file_descriptor_is_left_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for line in ("echo a | cat | cat", "no-such-program | cat", "cd nothing; pwd", "sleep 9 | sleep 9"):
        await run(tmp_path, line, timeout_s=0.5)
    assert len(os.listdir("/proc/self/fd")) <= before
