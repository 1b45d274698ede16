"""
The git program, run so that nothing but our own settings can act: for snapshots of whole work trees.

An own repository, index and object store; no system, global or user configuration, no hooks, no conversion
of contents, no environment of the caller's that means something to git. What git says no to is a
CheckpointError with git's own words.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from handrail.core.policy.commands import git as settings
from handrail.core.policy.environment import inherited
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
\tlooseCompression = 1
\tfsync = loose-object
\tfsyncMethod = batch
\tpreloadIndex = true
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


ASK_S = 10.0  # what it answers from a few files
LIMIT_S = 600.0  # a first snapshot of millions of files takes minutes
NICE = "10"  # what a build is given that is not to be felt
CLOSED = re.compile(rb"^warning: could not open directory '(.+?)/?': ", re.MULTILINE | re.DOTALL)


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


def is_installed() -> bool:
    """Whether there is a git to be run."""
    return shutil.which("git") is not None


def user_repository(folder: Path) -> UserRepository | None:
    """The repository that *folder* lies in; None if it lies in none, or in one that we cannot read."""
    asked = ("--show-object-format", "--show-toplevel", "--git-path", "index", "--git-path", "objects")
    answer = _ask(folder, "rev-parse", "--path-format=absolute", *asked, "--git-path", "info/attributes")
    lines = os.fsdecode(answer).split("\n") if answer is not None else []
    if len(lines) != 6 or lines[0] != "sha1":  # 6 and not 5: the last one ends with a line feed
        return None
    top, index, objects, attributes = map(Path, lines[1:5])
    head = _ask(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    conversions = _ask(folder, "config", "-z", "--get-regexp", r"^core\.(autocrlf|attributesfile)$") or b""
    given = dict(os.fsdecode(each).lower().partition("\n")[::2] for each in conversions.split(b"\0") if each)
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return UserRepository(
        top=Path(os.path.realpath(top)),
        index=index,
        objects=objects,
        head=head.decode("ascii").strip() if head else None,
        attributes=(attributes, home / "git" / "attributes"),
        converts=given.get("core.autocrlf", "false") != "false" or "core.attributesfile" in given,
    )


def _after_others() -> Sequence[str]:
    """What has whoever answers the editor go first: git keeps all processors busy with a large tree."""
    return ("nice", "-n", NICE) if shutil.which("nice") else ()


def _ask(folder: Path, *args: str) -> bytes | None:
    """What the user's git says of their repository; it is only ever asked for paths and settings."""
    kept = {name: value for name, value in inherited(os.environ).items() if not name.startswith("GIT_")}
    command = ("git", "-C", os.fspath(folder), *settings.options(), *args)
    environment = {**kept, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout if ended.returncode == 0 else None


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

    def lean_on_nothing(self) -> None:
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
        """What `status` compares the index with: a commit, or nothing; the more alike, the less it says."""
        _write(self.folder / "HEAD", "ref: refs/heads/none\n" if commit is None else f"{commit}\n")

    @property
    def has_commit(self) -> bool:
        """Whether there is a commit to compare with."""
        return not (self.folder / "HEAD").read_bytes().startswith(b"ref: ")

    def changes(self, paths: Sequence[str]) -> tuple[Sequence[tuple[bytes, bytes]], Sequence[bytes]]:
        """
        What differs from the index, all in one walk; what git finds out is kept in the index.

        Returns:
            Two letters of git's with each path, `??` for new and `!!` for ignored ones; and the folders that
            cannot be read. Raises CheckpointError.
        """
        options = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
        ended = self._ended("status", *options, *paths)
        found = [(each[:2], each[3:]) for each in split(ended.stdout)]
        own = [each for each in found if each[0][1:] != b" "]  # the others differ only from the commit
        return own, CLOSED.findall(ended.stderr)

    def run(self, *args: str, given: bytes = b"") -> bytes:
        """What a command of git says. Raises CheckpointError."""
        return self._ended(*args, given=given).stdout

    def _ended(self, *args: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = (*_after_others(), "git", "--literal-pathspecs", *args)
        # What was kept of a work tree can be read when that is gone.
        at = self.work_tree if self.work_tree.is_dir() else self.folder
        try:
            ended = subprocess.run(
                command,
                input=given,
                capture_output=True,
                cwd=at,
                env={**self._environment(), "GIT_WORK_TREE": os.fspath(at)},
                start_new_session=True,  # where processors are given out by session, its threads count as one
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CheckpointError(f"git {args[0]} did not end within {LIMIT_S:g} s") from error
        except OSError as error:
            raise CheckpointError(f"git could not be run: {error}") from error
        if ended.returncode:
            said = ended.stderr.decode("utf-8", "replace").strip().replace("\n", "; ")
            raise CheckpointError(
                f"git {args[0]} failed in {self.work_tree}: {said or f'it ended with {ended.returncode}'}"
            )
        return ended

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """The content of blobs; those that cannot be read are left out."""
        wanted = list(dict.fromkeys(names))
        raw = self.run("cat-file", "--batch", given="".join(f"{name}\n" for name in wanted).encode())
        found, at = {}, 0
        for name in wanted:
            end = raw.index(b"\n", at)
            header, at = raw[at:end].split(), end + 1
            if len(header) == 3 and header[1] == b"blob":
                size = int(header[2])
                found[name] = raw[at : at + size]
                at += size + 1
        return found

    def _environment(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C",
            "HOME": os.fspath(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_DIR": os.fspath(self.folder),
            "GIT_INDEX_FILE": os.fspath(self.folder / "index"),
        }


def split(raw: bytes) -> Sequence[bytes]:
    """What git has ended with a zero byte each."""
    return raw.split(b"\0")[:-1]


def _write(path: Path, content: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(os.fsencode(content))
