"""
Report what is installed and configured on this machine, and which features lack something.

Nothing is changed: a file without a name shows whether the state folder can be written.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from handrail import __version__
from handrail.adapters.commands import shell_parser
from handrail.adapters.git.program import Git, LateError
from handrail.core.policy.containment import Available
from handrail.core.policy.environment import inherited_variables
from handrail.ports import CheckpointError

TIMEOUT_S = 10.0

GIT = "git"  # started in one place
# Programs that features use, and what is worse without them.
PROGRAMS: tuple[tuple[str, str], ...] = (
    (GIT, "no checkpoint covers what commands change in a workspace with more than 2,000 files or 5 MB"),
    ("rg", "search in large workspaces is slower"),
)
ASKED = " that it does not know to be read-only"  # where it knows commands


def report(
    state: Callable[[], Path],
    settings: Sequence[str],
    environment: Mapping[str, str | None],
    containment: Available,
) -> tuple[list[str], bool]:
    """
    Look at everything.

    Args:
        state: Finds the state folder; may raise CheckpointError.
        settings: What the settings are, in lines.
        environment: Variables that change what settings say, with their values.
        containment: What contains commands in this folder.

    Returns:
        The lines to print, and whether handrail can work here.
    """
    sound = sys.version_info >= (3, 11)
    lines = [
        f"handrail {__version__}",
        f"{_mark(sound)} Python {platform.python_version()} ({sys.executable})",
    ]
    for program, lack in PROGRAMS:
        found, is_usable = _version(program)
        lines.append(f"{_mark(True)} {found}" if is_usable else f"-  {found}. Without it, {lack}.")
    folder, usable = _state_folder(state)
    lines += [
        f"{_mark(usable)} state folder: {folder}",
        _describe_containment(containment),
        "",
        *settings,
    ]
    lines += [
        f"   {name}={value} in the environment" for name, value in environment.items() if value is not None
    ]
    return lines, sound and usable


def _describe_containment(available: Available) -> str:
    asked = f"handrail asks before every command{ASKED if shell_parser.HAS_COMMANDS else ''}"
    if not available.by:
        return f"-  commands are not contained: {available.why_not}; {asked}"
    if not available.works:
        return (
            f"-  only commands that are known to be read-only are contained here (by {available.by}): "
            f"{available.why_not}; handrail asks before all others, and runs them without a sandbox"
        )
    if available.is_weak:
        why = f", because {available.why_not}" if available.why_not else ""
        more = f"{why}; {asked}"
    else:
        more = f": {available.why_not}" if available.why_not else ""
    return f"{_mark(True)} commands are contained by {available.by}{more}"


def _mark(good: bool) -> str:
    return "ok" if good else "!!"


def _version(program: str) -> tuple[str, bool]:
    """The first line of what a program says of its version, or what is wrong; and whether it can be run."""
    path = shutil.which(program)
    if path is None:
        return f"{program} is missing", False
    with contextlib.suppress(OSError, subprocess.SubprocessError, LateError):
        done = _ask_version(program, path)
        if not done.returncode:
            return f"{done.stdout.decode('utf-8', 'replace').partition(os.linesep)[0].strip()} ({path})", True
    return f"{program} ({path}) is installed, but `{program} --version` fails", False


def _ask_version(program: str, path: str) -> subprocess.CompletedProcess[bytes]:
    """Returns the version that a program prints."""
    if program == GIT:
        return Git(limit_s=TIMEOUT_S, program=path).run(Path(path).parent, "--version")
    return subprocess.run(
        [path, "--version"],
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        env=inherited_variables(os.environ),
    )


def _state_folder(state: Callable[[], Path]) -> tuple[str, bool]:
    """Describes where checkpoints are stored, and whether that is possible."""
    try:
        folder = state()
    except CheckpointError as error:
        return str(error), False
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    with contextlib.suppress(OSError), tempfile.TemporaryFile(dir=there):
        return str(folder), True
    wrong = (
        "not writable, so handrail takes no checkpoints, and refuses edits and most commands unless "
        "handrail.checkpoints.required is false"
    )
    return f"{folder} ({wrong}; make it writable, or set XDG_STATE_HOME to another folder)", False
