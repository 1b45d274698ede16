"""
Start git: the one place for all git that the server runs for itself.

Nothing that a repository configures is run: no hooks, external diffs, text conversions, signatures, editors,
transports or fetches. Git asks nothing at a terminal, and gets none of our variables that begin with `GIT_`.
Every run of git has a time limit, after which it is stopped with its children.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from handrail.adapters.files import stopping
from handrail.core.policy.commands import git as settings
from handrail.core.policy.environment import inherited_variables
from handrail.values import dataclass

PATIENCE_S = 2.0  # then it is looked whether it can end at all
NICE = 10  # what a build is given that is not to be felt
OF_THE_USER = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM")


class LateError(Exception):
    """A git did not end within its time, and was stopped; the text says which one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """
    The configuration with which git is started.

    Attributes:
        limit_s: How long it may run.
        program: The program; found on PATH if it is a name.
        environment: What it is given of an environment; that of the server if nothing is said.
        own: Variables of git's that we set, such as GIT_DIR.
        reads_users: Whether it reads the settings of the user and the system, as well as the repository's.
        gives_way: Whether it lets go first whoever answers the editor: it may keep all processors busy.
        waits_for: Says, when it has not ended at once, what it would wait for without end.
    """

    limit_s: float
    program: str = "git"
    environment: Mapping[str, str] | None = None
    own: Mapping[str, str] | None = None
    reads_users: bool = False
    gives_way: bool = False
    waits_for: Callable[[], str] | None = None

    def run(self, at: Path, *args: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """
        Runs git with *args* in the folder *at*; returns its output. Raises OSError, LateError, StoppedError.
        """
        stopping.raise_if_stopped()
        process = subprocess.Popen(
            (self.program, *settings.options(), *args),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=at,
            env=self._environment(at),
            start_new_session=True,  # ended as a group; and processors are given out by session
        )
        with process:
            if self.gives_way:
                _lower_priority(process)
            try:
                said, complained = self._communicate(process, given)
            except subprocess.TimeoutExpired as error:
                name = next((each for each in args if not each.startswith("-")), "")
                raise LateError(f"git {name} did not end within {self.limit_s:g} s") from error
            finally:
                _end(process)
        return subprocess.CompletedProcess(process.args, process.returncode, said, complained)

    def _communicate(self, process: subprocess.Popen[bytes], given: bytes) -> tuple[bytes, bytes]:
        """Returns its output once it has ended. Raises TimeoutExpired, LateError, StoppedError."""
        until = time.monotonic() + self.limit_s
        if self.waits_for is None or self.limit_s <= PATIENCE_S:
            return _communicate(process, given, until)
        with suppress(subprocess.TimeoutExpired):
            return _communicate(process, given, time.monotonic() + PATIENCE_S)
        if why := self.waits_for():
            raise LateError(why)
        return _communicate(process, b"", until)

    def _environment(self, at: Path) -> dict[str, str]:
        given = inherited_variables(os.environ if self.environment is None else self.environment)
        kept = {name: value for name, value in given.items() if not name.upper().startswith("GIT_")}
        fixed = dict(settings.ENVIRONMENT)
        if self.reads_users:
            for name in OF_THE_USER:
                del fixed[name]
        return {**kept, **fixed, "LC_ALL": "C", "PWD": os.fspath(at), **(self.own or {})}


def find() -> str:
    """The git on PATH; empty if there is none."""
    return shutil.which("git") or ""


def _communicate(process: subprocess.Popen[bytes], given: bytes, until: float) -> tuple[bytes, bytes]:
    """Returns its output once it has ended, unless that is stopped. Raises TimeoutExpired, StoppedError."""
    if not stopping.can_be_stopped():
        return process.communicate(given, timeout=max(0, until - time.monotonic()))
    while True:
        left = until - time.monotonic()
        try:
            return process.communicate(given, timeout=max(0, min(left, stopping.PAUSE_S)))
        except subprocess.TimeoutExpired:
            given = b""  # it has been taken
            stopping.raise_if_stopped()
            if left <= stopping.PAUSE_S:
                raise


def _lower_priority(process: subprocess.Popen[bytes]) -> None:
    """Has a git that was just started let others go first; `nice` would be another program to start."""
    if sys.platform != "win32":
        with suppress(OSError):  # it has ended
            wanted = os.getpriority(os.PRIO_PROCESS, 0) + NICE
            os.setpriority(os.PRIO_PROCESS, process.pid, wanted)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a git that still runs, with what it has started."""
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
