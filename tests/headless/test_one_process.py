"""A server in the client's process: whatever it does, the process ends, with what its client has to say."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.testing import answer, call, lay_out, script

# The server does something else when it is asked to wait for the end of a turn; nobody is patient.
DRIVER = """
import asyncio, logging, os, signal, subprocess, sys, threading, time, warnings
from handrail.agent import host
from handrail.agent.host import Host
from handrail.cli import main
from handrail.headless import client, connection
from handrail.headless.commands import turn

connection.EXIT_TIMEOUT_S = client.SHUTDOWN_TIMEOUT_S = turn.CANCEL_TIMEOUT_S = 0.2
wait, kind = Host.wait, sys.argv[1]

async def instead(self, wanted):
    report = await wait(self, wanted)
    if kind in ("sleeps", "spins", "never answers", "leaves a thread"):
        subprocess.Popen(["sleep", "600"], start_new_session=True)  # which keeps our standard output open
    if kind in ("sleeps", "spins", "never answers"):
        os.kill(os.getpid(), signal.SIGINT)
    if kind == "sleeps":
        time.sleep(600)
    while kind == "spins":
        pass
    if kind == "never answers":
        await asyncio.to_thread(time.sleep, 600)
    if kind == "leaves a thread":
        threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
    if kind == "makes a noise":
        logging.getLogger("x").error("noise")
        warnings.warn("noise")
        failing = threading.Thread(target=lambda: 1 / 0)
        failing.start()
        failing.join()
    if kind == "ends":
        logging.getLogger("x").error("I have had enough")
        sys.exit(3)
    return report

async def fail(*_):
    raise ZeroDivisionError("a fault of the server")

Host.wait = instead
if kind == "fails":
    host.run_turn = fail
sys.exit(main(["run", "-", "--json", *sys.argv[2:]]))
"""
EDIT = "a.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n"


def run(folder: Path, kind: str) -> subprocess.CompletedProcess[str]:
    """Ends when nothing holds the client's output any more: neither it nor what its server has started."""
    lay_out(folder / "work", {"a.txt": b"one\n"})
    return subprocess.run(
        [sys.executable, "-c", DRIVER, kind, "--workspace", str(folder / "work")],
        input=EDIT,
        capture_output=True,
        env={**os.environ, "XDG_STATE_HOME": str(folder / "state")},
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("kind", ["sleeps", "spins", "never answers"])
def test_a_server_that_is_stuck_does_not_keep_the_process(kind: str, tmp_path: Path) -> None:
    ended = run(tmp_path, kind)
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert "handrail: error: The" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert (tmp_path / "work" / "a.txt").read_bytes() == b"two\n"


def test_a_thread_that_is_left_does_not_keep_the_process(tmp_path: Path) -> None:
    ended = run(tmp_path, "leaves a thread")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["state"] == "finished"


def test_standard_output_and_error_are_the_clients(tmp_path: Path) -> None:
    ended = run(tmp_path, "makes a noise")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["state"] == "finished"
    assert not {"noise", "Traceback", "ZeroDivisionError"} & {*re.findall(r"\w+", ended.stderr)}


def test_a_server_that_ends_says_why(tmp_path: Path) -> None:
    ended = run(tmp_path, "ends")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "The server ended (" in ended.stderr
    assert "Its last output:\n      ERROR x: I have had enough\n" in ended.stderr


def test_a_fault_of_the_server_is_shown_from_its_log(tmp_path: Path) -> None:
    ended = run(tmp_path, "fails")
    assert ended.returncode == 2
    assert "The details are in handrail's log" in json.loads(ended.stdout)["reason"]
    assert "handrail's log ends with:\n      ERROR " in ended.stderr
    assert "ZeroDivisionError: a fault of the server" in ended.stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda stop: stop.name)
def test_a_command_ends_with_the_process(stop: signal.Signals, tmp_path: Path) -> None:
    work = tmp_path / "work"
    lay_out(work, {"hold.sh": b"echo $$ > pid.new; mv pid.new pid; exec sleep 600\n"})
    model = script(tmp_path / "script.json", answer("", call("terminal", command="sh hold.sh")))
    process = subprocess.Popen(
        [sys.executable, "-m", "handrail", "run", "Do it.", "--yes", "--model", model, "--workspace", work],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
    )
    held = work / "pid"
    while not held.exists():
        assert process.poll() is None, process.communicate()
    os.kill(process.pid, stop)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == (-stop if stop is signal.SIGKILL else 2)
    assert (b"\nstopped" in out) is (stop is not signal.SIGKILL)
    while runs(int(held.read_text())):
        pass


def runs(pid: int) -> bool:
    """Whether a process is there, and not only its end to be told."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
