"""Git, as a user of it runs it in a test: without anybody's settings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHO = ("-c", "user.name=u", "-c", "user.email=e")


def git(folder: Path, *arguments: str, given: str = "") -> str:
    """Run git in a folder; what it prints."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ("git", *WHO, *arguments),
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
