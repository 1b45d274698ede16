"""
Where a turn takes place: the machine, its shell, the date, the workspace folders and their git branches.

A branch is read from git's own file. Uncommitted changes are not reported: only git can find them, this takes
time, and the repository's settings may make git run a program. Nothing is run here.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path, PurePath

from handrail.adapters.commands.line_run import shell
from handrail.adapters.files import setting_file
from handrail.adapters.files.files import in_thread
from handrail.core.conversation.prompt import Folder, Surroundings

READ_BYTES = 1_000  # of git's files, which hold a line
BRANCH = "ref: refs/heads/"
HASH, HASH_CHARS = re.compile("[0-9a-f]{40,64}"), 12


class LocalSurroundings:
    """Tells the surroundings of a turn."""

    def __init__(self, roots: Callable[[], Sequence[Path]], now: Callable[[], datetime]) -> None:
        self._roots, self._now = roots, now

    async def __call__(self) -> Surroundings:
        """As they are now."""
        machine = {
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "shell": PurePath(shell("")[0]).name,
            "date": self._now().date().isoformat(),
        }
        folders = await in_thread(lambda: tuple(map(_folder, self._roots())))
        return Surroundings(machine=machine, folders=folders)


def _folder(root: Path) -> Folder:
    return Folder(path=str(root), branch=branch(root))


def branch(folder: Path) -> str:
    """The git branch that *folder* is on, or the beginning of a commit's hash; empty without git."""
    for each in (folder, *folder.parents):
        if (head := _head(each / ".git")) is not None:
            if head.startswith(BRANCH):
                return head.removeprefix(BRANCH)
            return head[:HASH_CHARS] if HASH.fullmatch(head) else ""
    return ""


def _head(git: Path) -> str | None:
    """Returns the contents of git's file HEAD; *git* is its folder, or a file that names the folder."""
    if git.is_dir():
        return _line(git / "HEAD")
    link = _line(git)
    if link is None or not link.startswith("gitdir: "):
        return None
    return _line(git.parent / link.removeprefix("gitdir: ") / "HEAD")


def _line(file: Path) -> str | None:
    """The first line of one of git's files; a link might lead to a file that holds something else."""
    try:
        raw = setting_file.read_head(file, READ_BYTES)
    except OSError:
        return None
    return raw.decode("utf-8", "replace").partition("\n")[0].strip()
