"""
Find the Pythons of this machine that can run handrail: one for each version, and only those that work.

A name on the PATH proves nothing: pyenv's stand-ins fail unless their version is activated, and Debian's
own Python may lack what makes virtual environments. So each one is started and asked.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from environment import OLDEST

Version = tuple[int, int]
PROBE = "import ensurepip, sys, venv; print(*sys.version_info[:2], sys.version_info.releaselevel)"
PROBE_TIMEOUT_S = 20
# Where managers of Pythons keep them, below the home folder.
MANAGED = (".pyenv/versions/*/bin/python3", ".local/share/uv/python/*/bin/python3")


def interpreters() -> dict[Version, Path]:
    """The released Pythons from 3.11 on, oldest first. The one that runs this stands for its version."""
    found = {sys.version_info[:2]: Path(sys.executable)}
    for path in _candidates():
        version = _version(path)
        if version is not None and version >= OLDEST:
            found.setdefault(version, path)
    return dict(sorted(found.items()))


def _candidates() -> Iterator[Path]:
    """All that may be a Python 3.10 or newer by its name."""
    for folder in map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        yield from (path for path in sorted(folder.glob("python3*")) if re.fullmatch(NAMES, path.name))
        if folder.name == "shims":
            yield from sorted(folder.parent.glob("versions/*/bin/python3"))
    for pattern in MANAGED:
        yield from sorted(Path.home().glob(pattern))


NAMES = r"python3(\.\d\d+)?(\.exe)?"


def _version(path: Path) -> Version | None:
    """The version of an interpreter; None unless it is a release that can make virtual environments."""
    try:
        done = subprocess.run(
            (str(path), "-I", "-c", PROBE),
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = re.fullmatch(r"(\d+) (\d+) final\s*", done.stdout)
    return (int(told[1]), int(told[2])) if told and done.returncode == 0 else None
