"""A conversation in a real Vim through ALE, set up exactly as docs/editors.md says."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from adapters.model_server import Say
from editors import installed
from editors.slow_model import KEY_NAME, slow_model
from editors.terminal import on_terminal
from editors.test_emacs import asked, replaced
from git_user import git

pytestmark = [pytest.mark.vim, pytest.mark.xdist_group("large")]

HERE = Path(__file__).resolve().parent / "vim"
ROOT = Path(__file__).resolve().parents[2]
ALE = ROOT / ".cache" / "editors" / "vim-ale" / "usr" / "share" / "vim-ale"

SNAKE = "\U0001f40d"
POEM = f"one\n{SNAKE} two {SNAKE}\nthree\nfour\nfive\n".encode()
TYPED = ", typed"
UNSAVED = POEM.replace(b"two", f"two{TYPED}".encode())
QUIET = f"{SNAKE} two{TYPED} {SNAKE}".encode()
TWO = f"{SNAKE}{SNAKE} TWO{TYPED} {SNAKE}\n{SNAKE}".encode()
LOUD = UNSAVED.replace(QUIET, TWO).replace(b"four", b"FOUR")
PRICES = f"def total(items):  # {SNAKE} BAD\r\n    return sum(items) * (1 + TAX)\r\n".encode()
ROUNDED = PRICES.replace(b"sum(items) * (1 + TAX)", b"round(sum(items) * (1 + TAX), 2)")


def run(folder: Path, steps: str, settings: dict[str, object], values: dict[str, object]) -> dict[str, Any]:
    """Run the file of *steps*, with *values*, in a Vim that has nothing of the user's; the record."""
    vim = shutil.which("vim")
    if vim is None or not ALE.exists():
        pytest.fail("Vim or ALE is missing: python3 scripts/install_editors.py vim", pytrace=False)
    page = (ROOT / "docs" / "editors.md").read_text()
    found = re.search(r'```vim\n(" handrail through ALE.*?)```', page, re.DOTALL)
    assert found is not None, "The documentation does not say how ALE is set up."
    settled = re.sub(r"\{'handrail': \{.*?\}\}", lambda _: json.dumps({"handrail": settings}), found[1])
    record, plan, vimrc = folder / "record.json", folder / "run.json", folder / "vimrc"
    plan.write_text(
        json.dumps(
            {
                "steps": str(HERE / f"{steps}.vim"),
                "record": str(record),
                "gate": str(folder / "gate"),
                "values": values,
            }
        )
    )
    vimrc.write_text(
        f"set nocompatible\nset runtimepath^={ALE}\nfiletype plugin on\nset encoding=utf-8\n{settled}"
    )
    environment = {
        **installed.environment(folder),
        "HOME": str(folder),
        KEY_NAME: "a-key-of-the-tests",
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "HANDRAIL_TEST": str(plan),
    }
    command = [vim, "-u", str(vimrc), "-i", "NONE", "-n", "-S", str(HERE / "drive.vim"), "poem.txt"]
    drawn = on_terminal(command, folder / "workspace", environment)
    assert record.exists(), f"Vim ended before the steps did:\n{drawn}"
    recorded: dict[str, Any] = json.loads(record.read_text())
    print(recorded["said"], *recorded["texts"], *recorded["screen"], sep="\n")
    assert recorded["problem"] is None, recorded["problem"]
    return recorded


def test_a_conversation_through_ale(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "poem.txt").write_bytes(POEM)
    (workspace / "prices.py").write_bytes(PRICES)
    git(workspace, "init", "-q")
    calls = (
        replaced("poem.txt", QUIET.decode(), TWO.decode()),
        replaced("poem.txt", "four\n", "FOUR\n"),
        replaced(
            "prices.py", "    return sum(articles) + TAX\n", "    return round(sum(items) * (1 + TAX), 2)\n"
        ),
        asked("terminal", command="touch ran.txt"),
    )
    answers = [
        Say(
            text="I look at the poem first, and then I make it louder.",
            calls=calls,
            finish="tools",
            hangs_after=4,
        ),
        Say(text="It is loud now."),
        Say(text="Nothing more."),
    ]
    values: dict[str, object] = {
        "typed": TYPED,
        "prompt": "Make it loud.",
        "begins": "I look at",
        "draft": "And what",
        "answer": "It is loud now.",
        "fix": "Apply at line 2",
        "last": "Nothing more.",
    }
    with slow_model(tmp_path / "gate", answers) as settings:
        seen = run(tmp_path, "chat", settings, values)
    assert seen["half"].endswith("## handrail\n\nI look at the poem fi\n\n## You\n\n")
    answers_offered = [each.partition(") ")[2].strip() for each in seen["offered Allow once"]]
    assert answers_offered[:2] == ["No", "Allow once"]
    rows = [row for row in seen["answered"].splitlines() if row]
    assert rows[-4:] == [
        "> A question about `touch ran.txt` was answered: Allow once.",
        *("It is loud now.", "## You", "And what"),
    ]
    assert seen["made"].encode() == LOUD
    assert seen["fixed"].encode() == ROUNDED
    assert seen["undone"].encode() == LOUD.replace(TWO, QUIET)
    assert (workspace / "poem.txt").read_bytes() == POEM
    last = [row for row in seen["last"].splitlines() if row]
    assert last[-2:] == ["Nothing more.", "## You"]
    assert last.count("And what") == 1
