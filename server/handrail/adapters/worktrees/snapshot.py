"""
Snapshots of a whole work tree, each a git object, and the differences between two of them.

The store is temporary: it uses the user's own objects if there are any, and may be discarded between two
commands. Nested repositories are work trees of their own, whatever state they are in. Ignored folders, large
files and unreadable files are left out and named. The caller makes sure that no one else works on the same
folder at the same time.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from pathlib import Path

from handrail.adapters.files.paths import OWN_FOLDER
from handrail.adapters.git import layout
from handrail.adapters.worktrees import index, presence, stats
from handrail.adapters.worktrees.git import Git, LateError, split
from handrail.adapters.worktrees.sorting import UNREADABLE, Modes, Name, sort_out
from handrail.adapters.worktrees.state import Difference, TreeState
from handrail.adapters.worktrees.user import UserRepository, user_repository
from handrail.ports import CheckpointError

TREE = re.compile("[0-9a-f]{40}")
REFUSED = "git does not track files with such a name"


class Trees:
    """Takes snapshots of the work trees below some folders; *scratch* holds a repository for each."""

    def __init__(self, scratch: Path, roots: Sequence[Path]) -> None:
        self._scratch = scratch
        self._roots = [Path(os.path.realpath(root)) for root in roots]
        self._leans = True
        self._seen: dict[str, stats.Stats] = {}  # of each work tree, see `stats`

    def take_anew(self, before: TreeState) -> TreeState:
        """
        A snapshot of now, to compare with; if the store is damaged, in a new one.

        What the user's objects do not have is read from the disk. Raises CheckpointError, OSError.

        Args:
            before: One with which this is compared; empty for none.
        """
        try:
            taken, is_whole = self._take_all(before, describes=True)
            if is_whole:
                return taken
        except LateError:
            raise
        except CheckpointError:
            pass
        self._leans = False
        shutil.rmtree(self._scratch, ignore_errors=True)
        return self._take_all(TreeState(), describes=True)[0]

    def take(self, before: TreeState) -> TreeState:
        """A snapshot of now, after *before*. Raises CheckpointError, OSError."""
        return self._take_all(before, describes=False)[0]

    def _take_all(self, before: TreeState, *, describes: bool) -> tuple[TreeState, bool]:
        """
        Takes a snapshot of now; if it *describes* the files, with what they look like, and with whether all
        objects can be read. Raises CheckpointError, OSError.
        """
        taken, are_whole = TreeState(seen=dict(before.seen)), list[bool]()
        waiting = [self._home(root) for root in self._roots]
        while waiting:
            top, user = waiting.pop()
            if os.fspath(top) in taken.trees:
                continue
            git, nested = self.store_of(top), self._update(top, user, taken)
            with ThreadPoolExecutor(max_workers=1) as beside:
                writing = beside.submit(copy_context().run, _write_tree, git, is_read=describes)
                if describes:
                    are_whole.append(self._describe(git, taken))
                taken.trees[os.fspath(top)] = writing.result()
            waiting += map(self._home, nested)
        borrows = any(self.store_of(Path(top)).borrows for top in taken.trees)
        there = [path for top in taken.trees if os.path.lexists(path := os.path.join(top, ".git"))]
        return replace(taken, borrows=borrows, repositories=there), all(are_whole)

    def _describe(self, git: Git, taken: TreeState) -> bool:
        """
        Adds to *taken* what the files of a work tree look like; returns whether their objects can be read.
        """
        top, listed = git.work_tree, index.list_files(git)
        is_whole = not git.borrows or (
            presence.are_there(git, listed.blobs) and presence.are_readable(git, listed.blobs, listed.names)
        )
        taken.seen[os.fspath(top)] = self._stats_of(git, listed.names)
        start, end = os.fsencode(top) + b"/", b"/" + index.ATTRIBUTES
        for folder in {name.rpartition(b"/")[0] for name in listed.names}:
            if not os.path.exists(start + folder + end):  # a path is made for few of thousands
                continue
            if why := layout.of_patterns(os.path.join(top, os.fsdecode(folder), ".gitattributes")):
                raise LateError(why)  # to see what changes, git has to read it
        return is_whole

    def _stats_of(self, git: Git, names: Sequence[bytes]) -> stats.Stats | None:
        """What the files *names* look like; None if they are too many. Notes them for the next time."""
        if len(names) > stats.LIMIT_FILES:
            return None
        note, raw = _names_note(git), b"\0".join(names)
        if not note.exists() or note.read_bytes() != raw:
            note.write_bytes(raw)
        seen = self._seen[os.fspath(git.work_tree)]
        wanted = list(map(os.fsdecode, names))
        others = stats.read_stats(git.work_tree, [name for name in wanted if name not in seen])
        return {name: found for name in wanted if (found := seen.get(name) or others.get(name))}

    def _home(self, folder: Path) -> tuple[Path, UserRepository | None]:
        """The work tree that a folder belongs to, with the user's repository if it is needed and of use."""
        if os.path.lexists(folder / ".git") and self.store_of(folder).is_made:
            return folder, None
        user = user_repository(folder)
        if user is None or (user.top != folder and user.ignores(folder)):
            return folder, None
        return user.top, user

    def differences(self, before: TreeState, after: TreeState) -> Iterator[tuple[Git, Sequence[Difference]]]:
        """Yields the differences in each work tree, with the repository that has the blobs."""
        for top in {**before.trees, **after.trees}:
            git = self.store_of(Path(top))
            trees = [each.trees[top] if top in each.trees else _empty(git) for each in (before, after)]
            if trees[0] != trees[1]:
                yield git, tuple(_differences(git, trees))

    def store_of(self, top: Path) -> Git:
        """Returns the repository that has the trees of the work tree *top*."""
        name = hashlib.sha256(os.fsencode(top)).hexdigest()[:16]
        return Git(self._scratch / name, top)

    def _update(self, top: Path, user: UserRepository | None, taken: TreeState) -> Sequence[Path]:
        """
        Brings the index of *top* up to date, with all but the tree in *taken*; returns the repositories
        nested in it.
        """
        git = self.store_of(top)
        copied = self._begin(git, top, user)
        modes = Modes(git)
        known = taken.seen.get(os.fspath(top)) or {}
        names, closed = self._changes(git, known, copied)
        taken.left_out.update({os.fspath(top / os.fsdecode(folder)): UNREADABLE for folder in closed})
        chosen = sort_out(top, names, taken, modes.known)
        # Before git reads them: what changes from now on looks different from this.
        again = stats.read_stats(top, map(os.fsdecode, chosen.there))
        self._seen[os.fspath(top)] = {**self._seen[os.fspath(top)], **again}
        if chosen.gone or chosen.there:
            _tree(git).unlink(missing_ok=True)
        if chosen.gone:
            git.add("--force-remove", "--remove", names=_unique(chosen.gone))
        if chosen.there:
            refused = git.add("--add", "--replace", "--remove", names=_unique(chosen.there))
            taken.left_out.update({os.fspath(top / os.fsdecode(name)): REFUSED for name in refused})
        modes.write()
        taken.modes.update({os.fspath(top / name): mode for name, mode in modes.known.items()})
        others = stats.other_rights(known, self._seen[os.fspath(top)])
        taken.rights.update(
            {os.fspath(top / name): mode for name, mode in others.items() if self._is_ours(top, name)}
        )
        return chosen.nested

    def _begin(self, git: Git, top: Path, user: UserRepository | None) -> UserRepository | None:
        """Have a repository for *top*; returns whose index it has begun with, if its entries are trusted."""
        is_new = not git.is_made
        git.make(user.objects if user is not None and self._lasts(user) else None)
        for stale in ("index.lock", "HEAD.lock"):  # no one else works here: who left it is dead
            (git.folder / stale).unlink(missing_ok=True)
        if not is_new or user is None:
            return None
        if not index.begin(git, user, self._excluded_folders(top)):
            git.stop_borrowing()
        if not git.borrows:
            return None
        git.compare_with(user.head)
        return user

    def _changes(
        self, git: Git, known: stats.Stats, copied: UserRepository | None
    ) -> tuple[Sequence[Name], Sequence[bytes]]:
        """Returns the same as `_names`, once git has been told what it must read again."""
        paths, top, began_ns = self._paths(git.work_tree), git.work_tree, time.time_ns()
        with ThreadPoolExecutor(max_workers=1) as beside:  # git takes as long
            seeing = beside.submit(copy_context().run, _read_ahead, git, known, is_new=copied is not None)
            names, closed = _names(git, paths)
        self._seen[os.fspath(top)] = seeing.result()
        if doubtful := stats.doubtful(known, self._seen[os.fspath(top)], began_ns) - {
            each for each, _ in names
        }:
            index.reread(git, doubtful)
            names, closed = _names(git, paths)
        if copied is not None and any(index.are_attributes(name) for name, _ in names):
            index.reread_doubtful(git, copied, has_attributes=True)
            names, closed = _names(git, paths)
        return names, closed

    def _lasts(self, user: UserRepository) -> bool:
        """Whether its objects may be leaned on: with a nested work tree, a command may remove those in it."""
        if not self._leans:
            return False
        is_nested = any(root in user.top.parents for root in self._roots)
        return not (is_nested and user.objects.is_relative_to(user.top))

    def _paths(self, top: Path) -> Sequence[str]:
        """
        Returns the paths in *top* that git must read: all, unless only folders below it are in the workspace.
        """
        if any(top.is_relative_to(root) for root in self._roots):
            return ()
        return ("--", *(os.path.relpath(root, top) for root in self._roots if root.is_relative_to(top)))

    def _is_ours(self, top: Path, name: str) -> bool:
        """Whether a file of the work tree *top* is in the workspace."""
        return any((top / name).is_relative_to(root) for root in self._roots)

    def _excluded_folders(self, top: Path) -> Iterator[Path]:
        """Yields the folders in *top* that git must not read, except those on the way to others."""
        for root in self._roots:
            if root.is_relative_to(top):
                yield from (folder for folder in root.parents if folder.is_relative_to(top))


def _read_ahead(git: Git, known: stats.Stats, *, is_new: bool) -> stats.Stats:
    """
    Returns what files look like that a snapshot had; with an index that is new, looks for their objects too.

    Raises CheckpointError.
    """
    if not is_new:
        return stats.read_stats(git.work_tree, known or _names_noted(git))
    listed = index.list_files(git)
    presence.are_there(git, listed.blobs)  # what it finds is noted
    names = listed.names if len(listed.names) <= stats.LIMIT_FILES else ()
    return stats.read_stats(git.work_tree, map(os.fsdecode, names))


def _names_note(git: Git) -> Path:
    return git.folder / "names"


def _names_noted(git: Git) -> Sequence[str]:
    """Returns the names of the files that a snapshot had; there may be others now."""
    try:
        raw = _names_note(git).read_bytes()
    except FileNotFoundError:
        return ()
    return list(map(os.fsdecode, raw.split(b"\0"))) if raw else ()


def _tree(git: Git) -> Path:
    """Returns the file that names the tree of the index; it does not exist while that changes."""
    return git.folder / "tree"


def _write_tree(git: Git, *, is_read: bool) -> str:
    """The tree of the index as it is; if it *is_read*, all of it can be. Raises CheckpointError."""
    tree = _tree(git)
    name = tree.read_text(encoding="latin-1").strip() if tree.exists() else ""
    if not TREE.fullmatch(name):
        written = tree.with_suffix(".new")
        written.write_bytes(git.run("write-tree", "--missing-ok"))
        written.replace(tree)
        name = tree.read_text(encoding="ascii").strip()
    if is_read:
        # It reads all trees, and tells only of folders: to tell of each file takes longer.
        git.run("ls-tree", "-r", "-d", "-z", "--name-only", name)
    if not git.has_commit:
        git.compare_with(git.run("commit-tree", name, "-m", "Compared with").decode().strip())
    return name


def _unique(names: Sequence[bytes]) -> Sequence[bytes]:
    return list(dict.fromkeys(names))


def _names(git: Git, paths: Sequence[str]) -> tuple[Sequence[Name], Sequence[bytes]]:
    """
    Returns the names that may have changed since the tree before, are new, or are ignored; and the closed
    folders.
    """
    try:
        found, closed = git.changes(paths)
    except LateError:
        raise
    except CheckpointError:
        git.compare_with(None)  # the commit is the user's, who may have thrown it away
        found, closed = git.changes(paths)
    # In our own folder we write ourselves, even while a command runs.
    others = [each for each in found if os.fsencode(OWN_FOLDER) not in each[1].split(b"/")]
    return [(name, None if letters == b"!!" else letters == b"??") for letters, name in others], closed


def _empty(git: Git) -> str:
    return git.run("hash-object", "-t", "tree", "-w", "--stdin").decode().strip()


def _differences(git: Git, trees: Sequence[str]) -> Iterator[Difference]:
    fields = split(git.run("diff-tree", "-r", "-z", "--no-renames", *trees))
    for about, name in zip(fields[::2], fields[1::2], strict=True):
        old, new, one, other, _ = about.decode().lstrip(":").split(" ")
        path = git.work_tree / os.fsdecode(name)
        yield Difference(path=path, modes=(int(old, 8), int(new, 8)), blobs=(one, other))
