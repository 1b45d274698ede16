"""What the tests of the adapters share: changes of files, a full disk, a repository as git sees it."""

from __future__ import annotations

import os
import resource
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.core.checkpoint import CommandEffects, Kind, Restoration, StepId, Target
from handrail.core.documents.change import (
    Create,
    Delete,
    Landing,
    Partial,
    PlannedHunk,
    Rejected,
    Tier,
    Update,
)
from handrail.core.documents.edit import edits_between
from handrail.core.documents.text import Text
from handrail.core.failure import Code
from handrail.ports import Checkpoints, Document, Editor

Act = Callable[[], object]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

# ---- Files ------------------------------------------------------------------------------------------


def written(folder: Path, raw: bytes, charset: str | None) -> Path:
    """A file with an `.editorconfig` beside it that names its *charset*."""
    if charset:
        (folder / ".editorconfig").write_text(f"root = true\n[*.txt]\ncharset = {charset}\n")
    (folder / "a.txt").write_bytes(raw)
    return folder / "a.txt"


def large(path: Path, size_bytes: int) -> None:
    """A file of that size that takes no room."""
    path.touch()
    os.truncate(path, size_bytes)


def stamp(path: Path) -> tuple[int, ...]:
    """What stays the same as long as a file is not written, replaced or given other rights."""
    found = path.stat()
    return (found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns)


def names(folder: Path) -> list[str]:
    """Everything below a folder, so that a temporary file left behind is seen."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@contextmanager
def full_disk(limit_bytes: int) -> Iterator[None]:
    """No file may grow beyond *limit_bytes*: a write fails halfway, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# ---- Documents --------------------------------------------------------------------------------------


def update(path: Path, base: Text, *wanted: tuple[str, str]) -> Update:
    """An update of *base* with one hunk for each pair of old and new text."""
    hunks = []
    for number, (old, new) in enumerate(wanted, 1):
        assert base.content.count(old) == 1
        edits = edits_between(base.content, base.content.replace(old, new))
        hunks.append(PlannedHunk(number=number, tier=Tier.SAFE, edits=edits))
    return Update(uri=uri_of(path), base=base, hunks=tuple(hunks))


async def read(disk: Editor, path: Path) -> Text:
    document = await disk.read(uri_of(path))
    assert isinstance(document, Document), document
    return document.text


async def one(disk: Editor, change: Update | Create | Delete) -> Landing:
    (landing,) = await disk.apply([change], "test")
    return landing


def code(landing: Landing) -> Code:
    assert isinstance(landing, Rejected | Partial), landing
    assert landing.failure.uri
    return landing.failure.code


# ---- Checkpoints ------------------------------------------------------------------------------------


def shadow(state: Path, *roots: Path, clock: Callable[[], datetime] = lambda: NOON) -> ShadowRepo:
    return ShadowRepo(state, lambda: roots, clock)


def run(*command: str, given: str = "", **environment: str) -> bytes:
    """What a command says, on both channels; it must not fail."""
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": "/nonexistent",
        **environment,
    }
    ended = subprocess.run(command, input=given.encode(), capture_output=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def git(repo: ShadowRepo, *args: str) -> str:
    return run("git", "--git-dir", str(repo.folder), *args).decode("utf-8", "replace")


def loosened(repo: ShadowRepo) -> list[Path]:
    """Give every object a file of its own, so that each can be damaged; returns those files."""
    for pack in (repo.folder / "objects" / "pack").glob("*.pack"):
        aside = pack.rename(repo.folder.parent / pack.name)
        pack.with_suffix(".idx").unlink()
        run("sh", "-ec", 'git unpack-objects -q < "$0"', str(aside), GIT_DIR=str(repo.folder))
        aside.unlink()
    found = [path for path in (repo.folder / "objects").glob("??/*") if path.is_file()]
    for path in found:
        path.chmod(0o600)
    return found


def step(number: int = 1, turn: str = "t-1", session: str = "s-1", label: str = "Patch a file") -> StepId:
    return StepId(session=session, turn=turn, number=number, label=label)


def targets(*paths: Path) -> list[Target]:
    return [Target(uri=uri_of(path)) for path in paths]


async def change(repo: Checkpoints, step: StepId, path: Path, raw: bytes | None) -> None:
    """What a mutating tool does: keep, write, record."""
    await repo.ensure(step, targets(path))
    hold(path, raw)
    await repo.record(step, targets(path))


def hold(path: Path, raw: bytes | None) -> None:
    """Make the file hold *raw*; None removes it."""
    if raw is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


async def plan(repo: Checkpoints, checkpoint: str = "t-1") -> dict[str, Restoration]:
    return {each.uri: each for each in await repo.restore_plan(checkpoint)}


# ---- Commands ---------------------------------------------------------------------------------------


async def during(repo: ShadowRepo, act: Act) -> CommandEffects:
    """What became of the workspace while *act* ran."""
    snapshot = await repo.before_command(step())
    act()
    return await repo.after_command(step(), snapshot)


def changed(effects: CommandEffects) -> dict[str, Kind]:
    return {each.path: each.change for each in effects.changes}


def left_out(effects: CommandEffects) -> dict[str, str]:
    return {each.path: each.reason for each in effects.not_covered}


def raws(restoration: Restoration) -> tuple[bytes | None, bytes | None]:
    assert restoration.after is not None
    return restoration.before.raw, restoration.after.raw


def user_git(root: Path, *args: str) -> str:
    named = ("-c", "user.name=u", "-c", "user.email=u@localhost", "-c", "init.defaultBranch=main")
    return run("git", "-C", str(root), *named, *args).decode()


def git_that_hangs_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """
    Put a git on PATH that never ends when it looks at a work tree for the first time.

    Returns:
        A file that is there from then on, with the number of that process.
    """
    folder.mkdir()
    mark, real = folder / "mark", shutil.which("git")
    (folder / "git").write_text(
        f"""#!/bin/sh
case " $* " in *" status "*)
  if ! test -e {mark}; then echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 600; fi;;
esac
exec {real} "$@"
"""
    )
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return mark


def wait_for(path: Path) -> None:
    """Wait until something lies at *path*; blocks, so it is called in a thread."""
    while not path.exists():
        os.sched_yield()


def access_list(user: int) -> bytes:
    """What Linux keeps of `u::rwx,u:USER:rwx,g::rwx,m::rwx,o::r-x`: pairs of a kind and rights, and whose."""
    entries = ((1, 7, -1), (2, 7, user), (4, 7, -1), (16, 7, -1), (32, 5, -1))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *each) for each in entries)
