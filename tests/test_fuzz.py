"""Random patches on random files: nothing raises, and what failed changed nothing."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_random_patches_on_random_files() -> None:
    command = [sys.executable, "scripts/fuzz.py", "--seconds", "5", "--seed", "7"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
