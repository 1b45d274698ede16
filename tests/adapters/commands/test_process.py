"""Commands: how their lines are taken apart, and that nothing of them outlives them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.adapters.commands import ending, environment, output
from handrail.adapters.commands.process import Processes
from handrail.adapters.files.files import uri_of
from handrail.core.failure import Code, Failure
from handrail.core.policy.shell import End, Run, RunResult
from handrail.core.results import key_names

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can find what has left its group")


class Told:
    """What a command has said so far, and who waits for more."""

    def __init__(self) -> None:
        self.text = ""
        self._news = asyncio.Event()

    def __call__(self, text: str) -> None:
        self.text += text
        self._news.set()

    async def until(self, wanted: str) -> str:
        async with asyncio.timeout(20):
            while wanted not in self.text:
                self._news.clear()
                await self._news.wait()
        return self.text


async def run(
    folder: Path,
    line: str,
    *,
    timeout_s: float = 20,
    stop: asyncio.Event | None = None,
    told: Told | None = None,
) -> RunResult:
    wanted = Run(line=line, folder=uri_of(folder), timeout_s=timeout_s)
    ran = await Processes(os.environ).run(wanted, stop or asyncio.Event(), told or Told())
    assert isinstance(ran, RunResult), ran
    return ran


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


async def test_output_and_exit_code(tmp_path: Path) -> None:
    ran = await run(tmp_path, "echo out; echo err >&2; pwd -P; exit 3")
    assert ran == RunResult(end=End.EXITED, code=3, output=f"out\nerr\n{tmp_path.resolve()}\n")


async def test_output_comes_as_it_is_printed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    told = Told()
    running = asyncio.create_task(run(tmp_path, "echo first; cat go; echo last", told=told))
    await told.until("first\n")
    assert not running.done()
    await asyncio.to_thread((tmp_path / "go").write_text, "second\n")
    assert (await running).output == "first\nsecond\nlast\n"


async def test_a_command_reads_nothing_and_never_waits_for_a_person(tmp_path: Path) -> None:
    ran = await run(tmp_path, 'read -r x; echo "[$x]"; cat')
    assert ran.output == "[]\n"


async def test_output_is_read_as_utf_8_and_as_a_terminal_shows_it(tmp_path: Path) -> None:
    ran = await run(tmp_path, r"printf 'caf\xc3\xa9 \xff\r\n\033[31mred\033[0m\n 10%%\r 90%%\r100%%\n'")
    assert ran.output == "café \ufffd\nred\n100%\n"


async def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    ran = await run(tmp_path, "echo begun; sleep 60; echo never", timeout_s=1.5)
    assert (ran.end, ran.code, ran.output) == (End.TIMED_OUT, None, "begun\n")


async def test_a_command_that_does_not_want_to_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "GRACE_S", 0.2)
    stop, told = asyncio.Event(), Told()
    running = asyncio.create_task(
        run(tmp_path, "trap '' TERM; echo $$; while :; do sleep 0.05; done", stop=stop, told=told)
    )
    pid = int(await told.until("\n"))
    stop.set()
    assert (await running).end is End.STOPPED
    assert not is_running(pid)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("sleep 300 & echo $!; wait", id="child"),
        pytest.param("(sleep 300 & echo $!; wait) & wait", id="grandchild"),
        pytest.param("sh -c 'sleep 300 & echo $!; wait'", id="other shell"),
        pytest.param("setsid sleep 300 & echo $!; wait", id="session of its own", marks=linux),
        pytest.param("(setsid sh -c 'echo $$; exec sleep 300' &) ; sleep 300", id="daemon", marks=linux),
        pytest.param("env -i setsid sh -c 'echo $$; exec sleep 300' & wait", id="no mark", marks=linux),
        pytest.param(
            "(env -i setsid sh -c 'echo $$; exec sleep 300' &) ; sleep 300", id="unmarked daemon", marks=linux
        ),
    ],
)
async def test_stopping_a_command_ends_everything_it_has_started(tmp_path: Path, line: str) -> None:
    stop, told = asyncio.Event(), Told()
    running = asyncio.create_task(run(tmp_path, line, stop=stop, told=told))
    pid = int(await told.until("\n"))
    assert is_running(pid)
    stop.set()
    assert (await running).end is End.STOPPED
    assert not is_running(pid)


async def test_what_a_command_leaves_behind_is_ended_and_counted(tmp_path: Path) -> None:
    ran = await run(tmp_path, "sleep 300 & echo $!")
    assert (ran.end, ran.code) == (End.EXITED, 0)
    assert not is_running(int(ran.output))
    if sys.platform == "linux":
        assert ran.left_processes == 1


@linux
async def test_what_has_left_its_session_and_its_environment_is_ended_and_counted(tmp_path: Path) -> None:
    """The shell that started it has ended by then."""
    ran = await run(tmp_path, "(env -i setsid sh -c 'echo $$; exec sleep 300' & )")
    assert (ran.end, ran.code, ran.left_processes) == (End.EXITED, 0, 1)
    assert not is_running(int(ran.output))


SERVER = """
import asyncio, os, sys
from handrail.adapters.commands.process import Processes
from handrail.core.policy.shell import Run
run = Run(line=sys.argv[2], folder=sys.argv[1], timeout_s=1000)
asyncio.run(Processes(os.environ).run(run, asyncio.Event(), lambda text: print(text, end="", flush=True)))
"""


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("echo $$; exec sleep 300", id="the command"),
        pytest.param("sleep 300 & echo $!; wait", id="child"),
        pytest.param("trap '' TERM HUP INT; echo $$; while :; do sleep 0.1; done", id="does not want to"),
        pytest.param("setsid sh -c 'echo $$; exec sleep 300' & wait", id="session of its own", marks=linux),
        pytest.param(
            "(env -i setsid sh -c 'echo $$; exec sleep 300' &) ; sleep 300", id="no mark", marks=linux
        ),
    ],
)
def test_nothing_of_a_command_outlives_a_server_that_is_killed(tmp_path: Path, line: str) -> None:
    command = [sys.executable, "-c", SERVER, uri_of(tmp_path), line]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        pid = int(server.stdout.readline())
        assert is_running(pid)
        os.kill(server.pid, signal.SIGKILL)
    while is_running(pid):
        os.sched_yield()


async def test_a_command_sees_and_does_what_it_would_without_a_keeper(tmp_path: Path) -> None:
    """Python adds to its environment, and ignores signals that others do not."""
    given = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    wanted = Run(line="env; kill -PIPE $$; echo no", folder=uri_of(tmp_path), timeout_s=20)
    ran = await Processes(given).run(wanted, asyncio.Event(), Told())
    assert isinstance(ran, RunResult)
    assert ran.code == -signal.SIGPIPE
    names = {row.partition("=")[0] for row in ran.output.splitlines()}
    assert names - {"_", "SHLVL", "PWD", "OLDPWD"} == set(environment.of_commands(given)) | {ending.MARK}


async def test_a_cancelled_wait_ends_the_command(tmp_path: Path) -> None:
    told = Told()
    running = asyncio.create_task(run(tmp_path, "echo $$; sleep 300", told=told))
    pid = int(await told.until("\n"))
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    assert not is_running(pid)


async def test_of_very_long_output_head_and_tail_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "HEAD_CHARS", 1000)
    monkeypatch.setattr(output, "TAIL_CHARS", 70_000)
    ran = await run(tmp_path, "seq 100000")
    assert ran.output.startswith("1\n2\n")
    assert ran.output.endswith("\n99999\n100000\n")
    assert "characters of this output were not stored]" in ran.output
    assert len(ran.output) < 250_000


async def test_what_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    processes = Processes(os.environ)
    for line, folder, code in (
        ("echo a\0b", tmp_path, Code.TOOL_FAILED),
        ("echo", tmp_path / "nowhere", Code.NO_SUCH_FILE),
        ("x" * 3_000_000, tmp_path, Code.TOOL_FAILED),
    ):
        ran = await processes.run(Run(line=line, folder=uri_of(folder), timeout_s=5), asyncio.Event(), Told())
        assert isinstance(ran, Failure)
        assert ran.code is code


# ---- The environment --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "PGPASSWORD",
        "NPM_TOKEN",
        "MY_SECRET",
        "db_password",
        "API_KEYS",
        "OPENAI_APIKEY",
        "GH_PAT",
    ],
)
def test_keys_are_told_by_their_names(name: str) -> None:
    found = environment.of_commands({name: "sk-0123456789", "PATH": "/bin"})
    assert name not in found
    assert key_names.secrets({name: "sk-0123456789"}) == ("sk-0123456789",)


@pytest.mark.parametrize(
    "name",
    [
        "DATABASE_URL",
        "JWT",
        "COOKIE",
        "MYSQL_PWD",
        "SSHPASS",
        "GOOGLE_CREDENTIALS",
        "SENTRY_DSN",
        "SLACK_WEBHOOK_URL",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "KUBECONFIG",
        "DOCKER_HOST",
        "LD_PRELOAD",
        "GIT_SSH_COMMAND",
        "GIT_CONFIG_PARAMETERS",
        "HANDRAIL_X",
        "LESSOPEN",
        "MY_OWN",
        "PATH_X",
        "XPATH",
        "BASH_ENV",
        "PS4",
    ],
)
def test_what_no_table_knows_stays_outside(name: str) -> None:
    assert name not in environment.of_commands({name: "/value"})


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "TZ",
        "TMPDIR",
        "VIRTUAL_ENV",
        "PYTHONPATH",
        "JAVA_HOME",
        "CARGO_HOME",
        "GOPATH",
        "NODE_OPTIONS",
        "npm_config_cache",
        "http_proxy",
        "NVM_DIR",
        "CFLAGS",
        "CI",
        "SystemRoot",
        "PROGRAMFILES(X86)",
    ],
)
def test_language_paths_and_toolchains_stay(name: str) -> None:
    assert environment.of_commands({name: "/value"})[name] == "/value"
    assert key_names.secrets({name: "/value-of-it"}) == ()


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "GOPROXY", "PIP_INDEX_URL"])
def test_a_login_in_a_variable_stays_outside(name: str) -> None:
    held = {name: "https://me:hunter2-hunter2@example.com/simple"}
    assert name not in environment.of_commands(held)
    assert key_names.secrets(held) == ("hunter2-hunter2",)


async def test_no_command_sees_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "hostile"))
    (tmp_path / "hostile").write_text("echo hostile\n")
    ran = await run(tmp_path, "env; echo done")
    assert ran.output.endswith("done\n")
    assert "sk-very-secret" not in ran.output
    assert "hostile" not in ran.output


async def test_a_command_is_not_looked_for_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f".::{os.environ['PATH']}:")
    (tmp_path / "ls").write_text("#!/bin/sh\necho hostile\n")
    (tmp_path / "ls").chmod(0o755)
    assert "hostile" not in (await run(tmp_path, "ls")).output
