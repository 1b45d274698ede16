"""
Find the protected files that a command reaches through a path that it names: those below a folder, or with
another name by a hard link; and files there that the user's rules ask about or block.

The number of examined files is limited. Nothing is opened, and links are not followed.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from functools import cache
from pathlib import Path

from handrail.adapters.files.paths import INTERNAL
from handrail.adapters.workspace.ripgrep import IGNORE_FILES
from handrail.core.policy.commands.options import Below
from handrail.core.policy.rules import Decision
from handrail.values import dataclass

LIMIT_ENTRIES = 50_000
LIMIT_FOUND = 5  # one is enough to ask, and a few show what it is about
LIMIT_LINKS = 1_000  # that a command follows: each of them is judged
CONTENTS = (Below.VISIBLE, Below.CONTENTS, Below.LINKED)

Identity = tuple[int, int]  # of a file on this machine: its device and number


class TooManyError(Exception):
    """There are more files than can be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedFiles:
    """
    The protected files of the workspace: their patterns, and the folders to search for them.

    Attributes:
        roots: The workspace folders, with every link resolved.
        keys: Files and folders elsewhere whose files have no other name in the workspace that is read
            unasked.
        patterns: Those of protected files.
        is_protected: Whether a path relative to its folder is one.
    """

    roots: Sequence[Path]
    keys: Sequence[Path]
    patterns: tuple[str, ...]
    is_protected: Callable[[str], bool]

    def reached_files(self, path: Path, root: Path, below: Below) -> list[Path]:
        """The protected files, a few at most, that are reached by *path* in *root*. Raises TooManyError."""
        paths, links = list[Path](), list[Path]()
        linked: set[Identity] = set()
        if path.is_file():
            linked.update(_shared_identity(path))
        elif below in CONTENTS:  # names alone are no secret: the tool `list_files` tells them as well
            for entry, is_asked in self._walk(path, root, below):
                if is_asked and below is Below.LINKED and entry.is_symlink():
                    links.append(Path(entry.path))
                    if len(links) > LIMIT_LINKS:
                        raise TooManyError
                elif is_asked:
                    paths.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    linked.update(_shared_identity(entry.path))
                if len(paths) >= LIMIT_FOUND:
                    return paths
        return paths + links + (self._other_names(linked) if linked else [])

    def ruled_files(
        self, folder: Path, root: Path, below: Below, decision: Callable[[str], Decision | None]
    ) -> list[Path]:
        """
        Returns files below *folder* that the user's rules ask about, a few at most, or one that they block.

        Args:
            folder: In *root*.
            decision: What the rules say of reading a path. Raises TooManyError.
        """
        asked: list[Path] = []
        seen = self._walk(folder, root, below, enters_all=True) if below in CONTENTS else ()
        for entry, _ in seen:
            if entry.is_symlink() and entry.name not in IGNORE_FILES and below is not Below.LINKED:
                continue  # it is not followed
            match decision(entry.path):
                case Decision.BLOCK:
                    return [Path(entry.path)]
                case Decision.ASK if len(asked) < LIMIT_FOUND:
                    asked.append(Path(entry.path))
        return asked

    def _walk(
        self, folder: Path, root: Path, below: Below, *, enters_all: bool = False
    ) -> Iterator[tuple[os.DirEntry[str], bool]]:
        """Everything that is seen below *folder*, and whether it is asked about; if so, it may be entered."""
        left, count = [os.fspath(folder)], 0
        while left:
            try:
                entries = list(os.scandir(left.pop()))
            except OSError:
                continue
            count += len(entries)
            if count > LIMIT_ENTRIES:
                raise TooManyError
            for entry in entries:
                if below is Below.VISIBLE and entry.name.startswith("."):
                    if entry.name in IGNORE_FILES and entry.is_symlink():
                        yield entry, True  # what it leads to is read
                    continue
                is_asked = self._is_asked(entry, root, below)
                yield entry, is_asked
                enters = (enters_all or not is_asked) and entry.name not in INTERNAL
                if enters and entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)

    def _is_asked(self, entry: os.DirEntry[str], root: Path, below: Below) -> bool:
        if entry.name in INTERNAL:
            return below in CONTENTS
        if below is Below.LINKED and entry.is_symlink():
            return True
        if not _names(self.patterns).fullmatch(entry.name.casefold()):
            return False
        return self.is_protected(Path(entry.path).relative_to(root).as_posix())

    def _other_names(self, linked: Set[Identity]) -> list[Path]:
        """The protected files that have one of these as another name."""
        below = (each for root in self.roots for each in self._walk(root, root, Below.NAMES))
        asked = [entry.path for entry, is_asked in below if is_asked]
        files = (file for path in (*asked, *map(os.fspath, self.keys)) for file in _files(path))
        return [Path(file) for file in files if not linked.isdisjoint(_shared_identity(file))][:LIMIT_FOUND]


def _shared_identity(path: Path | str) -> Iterator[Identity]:
    """The identity of a file that has several names; nothing of one that is gone, or closed to us."""
    with suppress(OSError):
        stat = os.stat(path)
        if stat.st_nlink > 1:
            yield stat.st_dev, stat.st_ino


def _files(path: str) -> Iterator[str]:
    """The plain files at *path*: itself, or what is below it."""
    if os.path.isdir(path):
        for folder, _, names in os.walk(path):
            yield from filter(os.path.isfile, (os.path.join(folder, name) for name in names))
    elif os.path.isfile(path):
        yield path


@cache
def _names(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Names that one of *patterns* may be for, in small letters: few are, and matching paths takes long."""
    last = (pattern.rstrip("/").rpartition("/")[2] for pattern in patterns if not pattern.startswith("!"))
    return re.compile("|".join(map(fnmatch.translate, last)))
