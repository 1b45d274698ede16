"""
Prepare pipelines to run without a shell: expand file patterns, follow `cd`, find programs.

The result is what is judged, and exactly that runs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from handrail.adapters.commands import expansion
from handrail.adapters.files.files import uri_of
from handrail.adapters.files.paths import inside
from handrail.core.policy.commands.known import Known, find_command
from handrail.core.policy.commands.line import NeedsShell, Pipeline, Simple
from handrail.core.policy.commands.script import Script, Stage, Step
from handrail.core.policy.commands.table import TABLE
from handrail.values import dataclass, field, replace

# Where a system keeps its programs, even if the workspace is all of the disk.
SYSTEM = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"})


@dataclass(frozen=True)
class Programs:
    """
    The programs that commands run which are known to change nothing.

    Attributes:
        path: The user's PATH, without relative folders.
        roots: The workspace folders; no program in them is run as `ls`.
    """

    path: str
    roots: tuple[Path, ...]

    @cached_property
    def search_path(self) -> str:
        """The folders of PATH outside the workspace."""
        return os.pathsep.join(each for each in self.path.split(os.pathsep) if self._is_outside(each))

    def find(self, name: str) -> str:
        """The program *name*; empty if there is none outside the workspace."""
        found = shutil.which(name, path=self.search_path) if "/" not in name else None
        return (
            found if found is not None and self._is_outside(os.path.dirname(os.path.realpath(found))) else ""
        )

    def is_in_workspace(self, name: str) -> bool:
        """Whether the user's PATH has a program *name* in the workspace."""
        return shutil.which(name, path=self.path) is not None

    def _is_outside(self, folder: str) -> bool:
        if folder in SYSTEM:
            return True
        roots = tuple(Path(os.path.realpath(root)) for root in self.roots)
        return inside(folder, self.roots) is None and inside(os.path.realpath(folder), roots) is None


def prepare(pipelines: Sequence[Pipeline], folder: Path, programs: Programs) -> Script | NeedsShell:
    """Returns what *pipelines* run in *folder*, or why only a shell can determine it."""
    walk = _Walk(here=os.fspath(folder), programs=programs)
    try:
        return Script(steps=tuple(walk.step(pipeline) for pipeline in pipelines))
    except (_LostError, expansion.TooManyError) as error:
        return NeedsShell(why=str(error))


class _LostError(Exception):
    """Only a shell can tell in which folder, or with which files, a command runs; the text says why."""

    def __init__(self, changes: str, *, what: str = "folder is") -> None:
        super().__init__(f"`{changes}`: after it, the {what} not known")


@dataclass(kw_only=True)
class _Walk:
    """
    The way through a line, in which `cd` may or may not happen.

    Attributes:
        here: The folder that the next command runs in.
        is_sure: Whether the command before, if it is `&&` that follows, is sure to have run and to succeed.
        may_stay: The `cd` before that may not have run; empty if there is none.
        changes: The command before that may change files; empty if there is none.
    """

    here: str
    programs: Programs
    is_sure: bool = False
    may_stay: str = ""
    changes: str = ""
    room: expansion.ExpansionBudget = field(default_factory=expansion.ExpansionBudget)

    def step(self, pipeline: Pipeline) -> Step:
        if pipeline.after != "&&":
            if self.may_stay:
                raise _LostError(self.may_stay)
            self.is_sure = pipeline.after == ";"
        enters = [command for command in pipeline.commands if command.words[0].text == "cd"]
        if enters and (len(pipeline.commands) > 1 or pipeline.negated):
            raise _LostError(enters[0].text)
        if enters:
            stage = self._cd(enters[0], pipeline.after)
            return Step(after=pipeline.after, negated=False, stages=(stage,))
        self.is_sure = False
        stages = tuple(self._stage(command) for command in pipeline.commands)
        return Step(after=pipeline.after, negated=pipeline.negated, stages=stages)

    def _stage(self, command: Simple) -> Stage:
        if self.changes and any(word.pattern for word in command.words):
            raise _LostError(self.changes, what="files are")
        words = expansion.expand(command.words, self.here, self.room)
        if not isinstance(find_command(words, command.text), Known):
            self.changes = self.changes or command.text
        name, why, program, failure = words[0], "", "", ""
        if name in TABLE or name == "git":
            program = self.programs.find(name)
            if not program and self.programs.is_in_workspace(name):
                why = f"`{name}` would run a program of the workspace."
            elif not program:
                failure = f"{name}: command not found"
        return Stage(
            text=command.text,
            words=words,
            folder=uri_of(self.here),
            redirects=command.redirects,
            program=program,
            failure=failure,
            code=127,
            why_not=why,
        )

    def _cd(self, command: Simple, after: str) -> Stage:
        """Follow a `cd` that stands alone."""
        stage = Stage(
            text=command.text,
            words=tuple(word.text for word in command.words),
            folder=uri_of(self.here),
            redirects=command.redirects,
        )
        if self.changes:
            raise _LostError(self.changes, what="folders are")
        words = command.words
        is_plain = len(words) == 2 and not words[1].pattern and words[1].text[:1] not in ("", "-")
        if not is_plain or after == "||":
            raise _LostError(command.text)
        raw = os.path.join(self.here, words[1].text)
        if not os.path.isdir(raw):
            self.is_sure = False
            what = "Not a directory" if os.path.lexists(raw) else "No such file or directory"
            return replace(stage, failure=f"cd: {words[1].text}: {what}")
        logical = os.path.normpath(raw)
        if os.path.realpath(raw) != os.path.realpath(logical):
            raise _LostError(command.text)
        self.here = logical
        self.may_stay = "" if self.is_sure else command.text
        return replace(stage, enters=uri_of(logical))
