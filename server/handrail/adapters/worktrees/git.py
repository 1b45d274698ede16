"""
The git program, run with our own settings only, for snapshots of whole work trees.

It has its own repository, index and object store; no system, global or user configuration, no hooks, no
conversion of contents, and no git variables from the caller's environment. If git fails, CheckpointError has
git's message.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from handrail.adapters.files.failure import in_words
from handrail.adapters.git import layout, program
from handrail.ports import CheckpointError

# What is in `.gitattributes` cannot act against this: it is read last and wins.
ATTRIBUTES = "* -text !eol -filter -ident !working-tree-encoding -crlf\n"

CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tsymlinks = true
\tautocrlf = false
\tsafecrlf = false
\tsharedRepository = 0600
\tlogAllRefUpdates = false
\thooksPath = /dev/null
\tfsmonitor = false
\tuntrackedCache = false
\tlooseCompression = 1
\tfsync = loose-object
\tfsyncMethod = batch
\tpreloadIndex = true
\tprotectHFS = false
\tprotectNTFS = false
\tsplitIndex = true
[index]
\tsparse = false
\tthreads = true
[user]
\tname = handrail
\temail = handrail@localhost
[gc]
\tauto = 0
[commit]
\tgpgSign = false
"""


LIMIT_S = 600.0  # a first snapshot of millions of files takes minutes
IGNORED = b"Ignoring path "  # git's words for a name that it keeps nothing of
CLOSED = re.compile(rb"^warning: could not open directory '(.+?)/?': ", re.MULTILINE | re.DOTALL)


class LateError(CheckpointError):
    """A git that did not end within its time: another one would not either."""


class Git:
    """Our git over a work tree of the user's; *folder* is the repository, which `make` makes."""

    def __init__(self, folder: Path, work_tree: Path) -> None:
        self.folder = folder
        self.work_tree = work_tree

    @property
    def is_made(self) -> bool:
        """Whether the repository is there."""
        return (self.folder / "HEAD").exists()

    @property
    def borrows(self) -> bool:
        """Whether it leans on another object store."""
        return (self.folder / "objects" / "info" / "alternates").exists()

    def stop_borrowing(self) -> None:
        """Borrow no longer: all that is needed has been copied."""
        (self.folder / "objects" / "info" / "alternates").unlink(missing_ok=True)

    def make(self, borrowed: Path | None) -> None:
        """Make the repository if it is not there; *borrowed* is the object store that it leans on."""
        if self.is_made:
            return
        for name in ("objects/info", "objects/pack", "refs/heads", "info"):
            os.makedirs(self.folder / name, mode=0o700, exist_ok=True)
        _write(self.folder / "config", CONFIG)
        _write(self.folder / "info" / "attributes", ATTRIBUTES)
        if borrowed is not None:
            _write(self.folder / "objects" / "info" / "alternates", f"{borrowed}\n")
        self.compare_with(None)

    def compare_with(self, commit: str | None) -> None:
        """
        Sets what `status` compares the index with: a commit, or nothing; the more alike, the shorter its
        output.
        """
        _write(self.folder / "HEAD", "ref: refs/heads/none\n" if commit is None else f"{commit}\n")

    @property
    def has_commit(self) -> bool:
        """Whether there is a commit to compare with."""
        return not (self.folder / "HEAD").read_bytes().startswith(b"ref: ")

    def changes(self, paths: Sequence[str]) -> tuple[Sequence[tuple[bytes, bytes]], Sequence[bytes]]:
        """
        Finds the differences from the index in one walk; git stores what it finds out in the index.

        Returns:
            Two letters of git's with each path, `??` for new and `!!` for ignored ones; and the folders that
            cannot be read. Raises CheckpointError.
        """
        options = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
        ended = self._run_to_end("status", *options, *paths)
        rows = [(each[:2], each[3:]) for each in split(ended.stdout)]
        own = [each for each in rows if each[0][1:] != b" "]  # the others differ only from the commit
        return own, CLOSED.findall(ended.stderr)

    def run(self, *args: str, given: bytes = b"") -> bytes:
        """Runs a command of git; returns its output. Raises CheckpointError."""
        return self._run_to_end(*args, given=given).stdout

    def add(self, *args: str, names: Sequence[bytes]) -> Sequence[bytes]:
        """
        Adds the current contents of *names* to the index; returns the names of which git stores nothing.
        """
        ended = self._run_to_end(
            "update-index", "-z", *args, "--stdin", given=b"".join(each + b"\0" for each in names)
        )
        if IGNORED not in ended.stderr:
            return ()
        return [each for each in names if IGNORED + each + b"\n" in ended.stderr]

    def _run_to_end(self, *args: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        # What was kept of a work tree can be read when that is gone.
        at = self.work_tree if self.work_tree.is_dir() else self.folder
        own = {**self._variables(), "GIT_WORK_TREE": os.fspath(at)}
        waits_for = partial(layout.waits_for, at)
        git = program.Git(limit_s=LIMIT_S, own=own, gives_way=True, waits_for=waits_for)
        try:
            ended = git.run(at, "--literal-pathspecs", *args, given=given)
        except program.LateError as error:
            raise LateError(str(error)) from error
        except OSError as error:
            raise CheckpointError(f"git could not be run: {in_words(error)}") from error
        if ended.returncode:
            said = ended.stderr.decode("utf-8", "replace").strip().replace("\n", "; ")
            raise CheckpointError(
                f"git {args[0]} failed in {self.work_tree}: {said or f'it ended with {ended.returncode}'}"
            )
        return ended

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """The content of blobs; those that are missing or damaged are left out."""
        wanted = list(dict.fromkeys(names))
        try:
            given = "".join(f"{name}\n" for name in wanted).encode()
            raw = self.run("cat-file", "--buffer", "--batch", given=given)
        except CheckpointError:  # it ends at the first damaged one
            if len(wanted) == 1:
                return {}
            half = len(wanted) // 2
            return {**self.blobs(wanted[:half]), **self.blobs(wanted[half:])}
        result, at = {}, 0
        for name in wanted:
            end = raw.index(b"\n", at)
            header, at = raw[at:end].split(), end + 1
            if len(header) == 3 and header[1] == b"blob":
                content = raw[at : at + int(header[2])]
                at += len(content) + 1
                if hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == name:
                    result[name] = content
        return result

    def _variables(self) -> Mapping[str, str]:
        return {
            "HOME": os.fspath(self.folder),
            "GIT_OPTIONAL_LOCKS": "1",  # what `status` finds out is kept in the index, which is ours
            "GIT_DIR": os.fspath(self.folder),
            "GIT_INDEX_FILE": os.fspath(self.folder / "index"),
        }


def split(raw: bytes) -> Sequence[bytes]:
    """Splits output of git in which each item ends with a zero byte."""
    return raw.split(b"\0")[:-1]


def _write(path: Path, content: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(os.fsencode(content))
