"""
Make the picture of `handrail chat` in the documentation, `docs/chat.svg`, from a real terminal (tmux).

    python scripts/picture.py

The model is scripted; all else is what a user has.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from handrail.testing import answer, call, lay_out, script

COLUMNS, LINES = 124, 49
PRICES = b"""def total(prices):
    return sum(prices)


def with_tax(prices, rate):
    return total(prices) * (1 + rate)
"""
WORKFLOW = b"jobs:\n  test:\n    steps:\n      - run: pytest -q\n"
FORMAT = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
{styles}
.{unique_id}-matrix {{
  font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px;
}}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#0c0c0c"/>
<g transform="translate(9, 9)"><g class="{unique_id}-matrix">{backgrounds}{matrix}</g></g>
</svg>
"""


class Pane:
    """A terminal that no one looks at."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._tmux("-f", os.devnull, "new-session", "-d", "-x", str(COLUMNS), "-y", str(LINES), "sh")

    def type(self, text: str, awaits: str) -> None:
        """Type a line, and wait until the screen shows a pattern."""
        self._tmux("send-keys", "-l", text)
        self._tmux("send-keys", "Enter")
        deadline = time.monotonic() + 60
        while not re.search(awaits, self._tmux("capture-pane", "-p"), re.M):
            if time.monotonic() > deadline:
                raise SystemExit(f"The screen never shows {awaits!r}:\n{self._tmux('capture-pane', '-p')}")
            time.sleep(0.1)

    def screen(self) -> str:
        """What it shows, with colours."""
        return self._tmux("capture-pane", "-e", "-p").rstrip("\n")

    def leave(self) -> None:
        """Press Ctrl-D, and wait until the program has ended, and with it the terminal."""
        while True:
            try:
                self._tmux("send-keys", "C-d")
                time.sleep(0.2)
            except subprocess.CalledProcessError:
                return

    def _tmux(self, *command: str) -> str:
        whole = ["tmux", "-S", str(self._socket), *command]
        return subprocess.run(whole, check=True, capture_output=True).stdout.decode()


def session(folder: Path) -> str:
    """The screen after a turn with a question, and after it was taken back."""
    root = folder / "shop"
    lay_out(root, {"prices.py": PRICES, ".github/workflows/test.yml": WORKFLOW})
    model = script(
        folder / "script.json",
        answer("I read `prices.py` before I change it.", call("read_file", path="prices.py")),
        answer(
            "",
            call(
                "patch",
                path="prices.py",
                old_string="    return total(prices) * (1 + rate)",
                new_string="    return round(total(prices) * (1 + rate), 2)",
            ),
            call(
                "patch",
                path=".github/workflows/test.yml",
                old_string="pytest -q",
                new_string="pytest -q --strict-markers",
            ),
        ),
        answer("`with_tax` now gives whole cents. I left the workflow as it was."),
    )
    command = [sys.executable, "-P", "-m", "handrail", "chat", "--model", model, "--workspace", str(root)]
    variables = {
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "PS1": "",
        "TERM": "screen-256color",
    }
    assigned = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    pane = Pane(folder / "tmux")
    try:
        pane.type(f"clear; exec env {assigned} {shlex.join(command)}", r"/help")
        pane.type("Round what with_tax gives to cents. @prices.py", r"yes")
        pane.type("n", r"landed")
        pane.type("/undo", r"[Rr]estored")
        return pane.screen()
    finally:
        pane.leave()


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        screen = session(Path(folder)).replace(folder, "~")
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen))
    console.save_svg("docs/chat.svg", theme=MONOKAI, code_format=FORMAT, title="handrail chat")


if __name__ == "__main__":
    main()
