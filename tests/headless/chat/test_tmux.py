"""`handrail chat` in a real terminal, tmux: a turn, a question, a steer, a stop, an undo; wide and narrow."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.testing import answer, call, lay_out, script

TMUX = shutil.which("tmux")
HANGS_S = 90

pytestmark = pytest.mark.skipif(TMUX is None, reason="tmux is not installed")


class Pane:
    """A terminal, its keys, and what it shows."""

    def __init__(self, folder: Path, columns: int) -> None:
        self._socket = folder / "tmux"
        self._news = folder / "news"
        os.mkfifo(self._news)
        self._reading = os.open(self._news, os.O_RDONLY | os.O_NONBLOCK)
        self._tmux("-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", "30", "sh")
        self._tmux("set-option", "-g", "remain-on-exit", "on")
        self._tmux("pipe-pane", f"cat > {shlex.quote(str(self._news))}")

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)
        self.keys("Enter")

    @property
    def shown(self) -> str:
        """All that has been shown, with lines that were too long in one piece."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def until(self, pattern: str, times: int = 1) -> str:
        deadline = time.monotonic() + HANGS_S
        while len(re.findall(pattern, shown := self.shown, re.M)) < times:
            if time.monotonic() > deadline:
                raise AssertionError(f"no {pattern!r}:\n{shown}")
            if select.select([self._reading], [], [], 1)[0]:
                os.read(self._reading, 65536)
        return shown

    def close(self) -> None:
        self._tmux("kill-server")
        os.close(self._reading)

    def _tmux(self, *command: str) -> str:
        assert TMUX is not None
        whole = [TMUX, "-S", str(self._socket), *command]
        return subprocess.run(whole, check=True, capture_output=True, timeout=HANGS_S).stdout.decode()


@pytest.fixture(params=[80, 20])
def pane(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Pane]:
    pane = Pane(tmp_path, request.param)
    yield pane
    pane.close()


def test_in_a_real_terminal(tmp_path: Path, pane: Pane) -> None:
    root = tmp_path / "w"
    lay_out(root, {"a.txt": b"one\ntwo\n", ".env": b"KEY=1\n"})
    key = call("patch", path=".env", old_string="KEY=1", new_string="KEY=2")
    model = script(
        tmp_path / "script.json",
        answer("I edit.", call("patch", path="a.txt", old_string="two", new_string="zwei")),
        answer("Edited."),
        answer("", key),
        answer("", key),
        answer("Never."),
    )
    command = [sys.executable, "-P", "-m", "handrail", "chat", "--model", model, "--workspace", str(root)]
    variables = {
        "PS1": "$ ",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    pane.type(f"clear; {exports} {shlex.join(command)}")
    pane.until("^edit")

    pane.type("change it")
    shown = pane.until("with: */undo")
    assert "    -two\n    +zwei" in shown
    assert (root / "a.txt").read_text() == "one\nzwei\n"

    pane.type("the key")
    pane.until(r"^\[y/s/a/N\]")
    pane.keys("Tab")
    pane.until("^Tab: answer")
    pane.type("be quick")
    pane.until("The model reads this")
    pane.until(r"^\[y/s/a/N\]")
    pane.keys("Enter")
    pane.until("denied: .env")
    pane.until("Allow patch:", times=2)
    pane.until(r"^\[y/s/a/N\]")
    pane.keys("C-c")
    pane.until("^stopped")
    assert (root / ".env").read_text() == "KEY=1\n"

    pane.type("/undo")
    pane.until("now has 1 turn")
    pane.type("/undo")
    pane.until("now has 0 turns")
    assert (root / "a.txt").read_text() == "one\ntwo\n"

    pane.keys("C-d")
    shown = pane.until(r"continue with:")
    assert "handrail chat --session s-" in shown
    assert "Traceback" not in shown
