"""
A command line as it will run without a shell: which programs start, with which words, in which folder.

It is judged and run exactly as it is here: patterns have been expanded, and `cd` has been followed.
"""

from __future__ import annotations

from enum import StrEnum

from handrail.core.policy.commands.line import Redirect
from handrail.values import dataclass


class Environment(StrEnum):
    """The environment of a command that is known to change nothing."""

    BARE = "bare"  # the language, the time zone, and a PATH without the workspace
    GIT = "git"  # the same, with git's settings
    PATH = "path"  # the same, with the user's PATH


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """
    One command of a pipeline.

    Attributes:
        text: As it is written.
        words: Its name and arguments.
        folder: The URI of the folder that it runs in.
        redirects: In order.
        program: The path of the program of that name outside the workspace; empty if there is none.
        arguments: What that is started with, if it is known to change nothing: ours are among them.
        environment: Which one it sees then.
        enters: For `cd`: the URI of the folder that follows.
        failure: What is printed in place of running anything.
        code: The exit code that goes with it.
        why_not: Why it is not known to be read-only; empty if it is known.
    """

    text: str
    words: tuple[str, ...]
    folder: str
    redirects: tuple[Redirect, ...] = ()
    program: str = ""
    arguments: tuple[str, ...] = ()
    environment: Environment = Environment.BARE
    enters: str = ""
    failure: str = ""
    code: int = 1
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A pipeline: its stages, and how it follows the one before: `;`, `&&` or `||`."""

    after: str
    negated: bool
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """All that a command line runs."""

    steps: tuple[Step, ...]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Every command in it, in order."""
        return tuple(stage for step in self.steps for stage in step.stages)

    @property
    def is_read_only(self) -> bool:
        """Whether all of it is known to change nothing."""
        return not any(stage.why_not for stage in self.stages)
