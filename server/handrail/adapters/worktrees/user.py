"""
Find the user's repository that contains a folder, with git.

It is only used to make the first snapshot cheap. An unusual repository, or one that cannot be examined
without waiting, does not count: then all files are read from the disk.
"""

from __future__ import annotations

import os
from pathlib import Path

from handrail.adapters.git import layout, program
from handrail.values import dataclass

ASK_S = 10.0  # what it answers from a few files


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRepository:
    """
    The repository of the user's that a folder lies in.

    Attributes:
        top: Its work tree, with every link resolved.
        index, objects: Its files; `index` need not be there.
        head: The commit that is checked out, None if there is none yet.
        attributes: Files outside the work tree that may ask for conversion.
        converts: Whether its configuration converts line ends by itself.
    """

    top: Path
    index: Path
    objects: Path
    head: str | None
    attributes: tuple[Path, ...]
    converts: bool

    def ignores(self, folder: Path) -> bool:
        """Whether *folder* lies in a part of the work tree that the user has git ignore."""
        return _ask(self.top, "check-ignore", "--quiet", "--", os.fspath(folder)) is not None


def user_repository(folder: Path) -> UserRepository | None:
    """The repository whose work tree *folder* lies in; None if it lies in none, or in one of no use to us."""
    if not layout.is_in_repository(folder) or layout.obstacle(folder):
        return None
    paths = ("--git-path", "index", "--git-path", "objects", "--git-path", "info/attributes")
    asked = ("rev-parse", "--path-format=absolute", "--show-object-format", "--show-toplevel", *paths)
    answer = _ask(folder, *asked, "HEAD") or _ask(folder, *asked)  # without a commit, there is no HEAD
    lines = os.fsdecode(answer or b"").split("\n")[:-1]
    if len(lines) not in (5, 6) or lines[0] != "sha1":
        return None
    top, index, objects, attributes = map(Path, lines[1:5])
    top = Path(os.path.realpath(top))
    # `core.worktree` may name any folder.
    if not Path(os.path.realpath(folder)).is_relative_to(top) or not os.path.lexists(top / ".git"):
        return None
    conversions = _ask(folder, "config", "-z", "--get-regexp", r"^core\.(autocrlf|attributesfile)$") or b""
    given = dict(os.fsdecode(each).lower().partition("\n")[::2] for each in conversions.split(b"\0") if each)
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return UserRepository(
        top=top,
        index=index,
        objects=objects,
        head=lines[5] if len(lines) == 6 else None,
        attributes=(attributes, home / "git" / "attributes"),
        converts=given.get("core.autocrlf", "false") != "false" or "core.attributesfile" in given,
    )


def _ask(folder: Path, *args: str) -> bytes | None:
    """Asks git about the user's repository; only for paths and settings."""
    try:
        ended = program.Git(limit_s=ASK_S, reads_users=True).run(folder, *args)
    except (OSError, program.LateError):
        return None
    return ended.stdout if ended.returncode == 0 else None
