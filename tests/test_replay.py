"""Real text, spoiled in the ways in which models spoil it: nothing is made wrong, and what must land does."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
STDLIB = sysconfig.get_path("stdlib")
FILES = os.environ.get("HANDRAIL_REPLAY_FILES", "6")  # more with `scripts/check.py --all`


def replay(*arguments: str) -> None:
    command = [sys.executable, "scripts/replay.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_edits_of_our_own_in_the_standard_library() -> None:
    replay("--made", STDLIB, "--files", FILES, "--limit", "15", "--seed", "1")


@pytest.mark.releases
def test_releases_of_real_packages() -> None:
    replay("--packages", "--limit", "30", "--seed", "1")
