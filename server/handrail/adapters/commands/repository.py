"""
Examine a folder's git repository before a git command does: its place, its settings, and what would be shown.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from handrail.adapters.files.files import uri_of
from handrail.adapters.git import layout, program
from handrail.core.failure import Code, Failure
from handrail.core.policy.commands import git as settings
from handrail.ports import Repository

LIMIT_S = 5.0  # beyond that, it is asked about
NONE = b"not a git repository"
# A setting of a remote's address, or of what stands for one, that lets someone in.
PASSWORD = re.compile(rb"(?:remote|url)\..*(?:https?://[^/@\s]*@|://[^/@\s]*:[^/@\s]*@)", re.DOTALL)


# The call that the names were asked for will end with the same words.
FATAL = re.compile(rb"fatal: (?:ambiguous argument|bad revision|your current branch )")


def inspect(
    git: str, environment: Mapping[str, str], folder: Path, names: Sequence[str], objects: Sequence[str]
) -> Repository | Failure | None:
    """See `Process.repository`; *git* is the program."""
    if why := layout.obstacle(folder):
        return _failure(why.encode())
    asked = partial(program.Git(limit_s=LIMIT_S, program=git, environment=environment).run, folder)
    try:
        top = asked("rev-parse", "--show-toplevel")
        if top.returncode:
            return None if NONE in top.stderr else _failure(top.stderr)
        listed = asked("config", "--list", "--show-scope", "-z")
        if listed.returncode:
            return _failure(listed.stderr)
        said = listed.stdout.split(b"\0")
        entries = [
            each for scope, each in zip(said[::2], said[1::2], strict=False) if scope != b"command"
        ]  # ours
        repository = Repository(
            top=uri_of(os.fsdecode(top.stdout.removesuffix(b"\n"))),
            settings=tuple(os.fsdecode(each.partition(b"\n")[0]) for each in entries),
            has_password=any(map(PASSWORD.match, entries)),
        )
        if settings.programs(repository.settings):
            return repository  # git would run them for the names as well
        other = tuple(each for each in objects if _is_other(each, asked))
        named = asked(*names) if names and not other else None
    except (OSError, program.LateError) as error:
        return _failure(str(error).encode())
    if named is not None and named.returncode:
        return repository if FATAL.match(named.stderr) else _failure(named.stderr)
    return replace(repository, names=() if named is None else _split(named.stdout), other=other)


def _is_other(named: str, asked: Callable[..., subprocess.CompletedProcess[bytes]]) -> bool:
    """Whether a revision, or one end of a range, names an object other than a commit."""
    verify = ("rev-parse", "--verify", "--quiet")
    for end in filter(None, re.split(r"\.{2,3}", named.removeprefix("^"))):
        if not asked(*verify, end).returncode and asked(*verify, f"{end}^{{commit}}").returncode:
            return True
    return False


def _split(raw: bytes) -> tuple[str, ...]:
    """Names that end with a zero byte each; those of commits are followed by a line end too."""
    names = (each.strip(b"\n") for each in raw.split(b"\0"))
    return tuple(dict.fromkeys(os.fsdecode(each) for each in names if each))


def _failure(said: bytes) -> Failure:
    text = said.decode("utf-8", "replace").strip().replace("\n", " ")
    return Failure(
        code=Code.TOOL_FAILED, message=f"git cannot list what it would read: {text or 'it failed'}."
    )
