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
from functools import cache
from pathlib import Path

from environment import OLDEST

Version = tuple[int, int]
Patch = tuple[int, int, int]
PROBE = "import ensurepip, sys, venv; print(*sys.version_info[:3], sys.version_info.releaselevel)"
PROBE_TIMEOUT_S = 20
# Where managers of Pythons keep them, below the home folder.
MANAGED = (".pyenv/versions/*/bin/python3", ".local/share/uv/python/*/bin/python3")


def interpreters() -> dict[Version, Path]:
    """The released Pythons from 3.11 on, oldest first. The one that runs this stands for its version."""
    found = {sys.version_info[:2]: Path(sys.executable)}
    for path in _candidates():
        version = _version(path)
        if version is not None and version >= OLDEST:
            found.setdefault(version[:2], path)
    return dict(sorted(found.items()))


def oldest() -> tuple[Patch, Path] | None:
    """The oldest Python from 3.11 on, if it is older than that which runs this."""
    known = ((version, path) for path in _candidates() if (version := _version(path)) is not None)
    found = min((each for each in known if each[0] >= OLDEST), default=None)
    return found if found is not None and found[0] < sys.version_info[:3] else None


def _candidates() -> Iterator[Path]:
    """All that may be a Python 3.10 or newer by its name."""
    for folder in map(Path, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        yield from (path for path in sorted(folder.glob("python3*")) if re.fullmatch(NAMES, path.name))
        if folder.name == "shims":
            yield from sorted(folder.parent.glob("versions/*/bin/python3"))
    for pattern in MANAGED:
        yield from sorted(Path.home().glob(pattern))


NAMES = r"python3(\.\d\d+)?(\.exe)?"


@cache
def _version(path: Path) -> Patch | None:
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
    told = re.fullmatch(r"(\d+) (\d+) (\d+) final\s*", done.stdout)
    return (int(told[1]), int(told[2]), int(told[3])) if told and done.returncode == 0 else None
