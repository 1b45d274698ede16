"""The examples of docs/testing.md run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`(\S+\.py)`:\n\n```python\n(.*?)^```$", PAGE, re.M | re.S))


def run(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run the documentation's files in *folder* with pytest, apart from our own configuration."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server"), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *argv]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "passed"), [("test_words.py", 2 * 7 + 6 + 2), ("test_workflow.py", 1), ("test_plugin.py", 1)]
)
def test_an_example_passes(tmp_path: Path, name: str, passed: int) -> None:
    done = run(tmp_path, name)
    assert f"{passed} passed" in done.stdout.splitlines()[-1], done.stdout + done.stderr
    assert done.returncode == 0


def test_a_failed_test_shows_the_session(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text("async def test_wrong(editor):\n    assert not editor.traffic\n")
    done = run(tmp_path, "test_wrong.py", "--client-profiles=helix")
    assert "1 failed" in done.stdout.splitlines()[-1], done.stdout + done.stderr
    assert "session of helix" in done.stdout
    assert '→ {"jsonrpc": "2.0"' in done.stdout


def test_an_unknown_profile_is_said(tmp_path: Path) -> None:
    done = run(tmp_path, "--client-profiles=notepad")
    assert done.returncode != 0
    assert "there is no client profile 'notepad'" in done.stderr + done.stdout
