"""
The containment of a command: what it sees and may change of the machine.

*look* is for read-only commands: they cannot write, and keys are hidden. *work* may write in the workspace
and in a private folder for temporary files, but not to version control's own files or files that run later;
files that no snapshot covers are changed only in a layer. Both are without network. *free* is a command
without containment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

from handrail.values import dataclass


class Profile(StrEnum):
    """The ways in which a command can be contained."""

    LOOK = "look"
    WORK = "work"
    FREE = "free"


class Sandbox(StrEnum):
    """The user's setting: whether commands that may change files are contained, and asked about."""

    AUTO = "auto"
    ASK = "ask"
    OFF = "off"


class Need(StrEnum):
    """The accesses that a command in *work* may ask for."""

    NETWORK = "network"
    REPOSITORY = "repository"
    MACHINE = "machine"


WEAKLY_HELD = (
    "Landlock contains the command, but restricts less than bubblewrap: the command can write only in the "
    "workspace and in a private folder for temporary files, and cannot read keys, but it can find out which "
    "files exist elsewhere, with their sizes and times."
)
IN_BACKGROUND = (
    "The command runs in the background until it ends or is stopped (by you, the agent, or a time limit), "
    "this conversation is deleted, or handrail ends."
)
UNCONTAINED = (
    "The command runs without a sandbox, with all your permissions, and not everything that it does can be "
    "undone."
)
OPENS: Mapping[Need, str] = {
    Need.NETWORK: (
        "The command gets network access, including to every server on this machine. If the "
        "command installs packages in folders that git ignores (such as node_modules or .venv), undoing the "
        "turn does not remove them: checkpoints do not cover those folders."
    ),
    Need.REPOSITORY: "The command can change the repository itself (.git) or create one; checkpoints cannot "
    "restore that.",
    Need.MACHINE: "The command runs with all your permissions and without restrictions, and not everything "
    "that it does can be undone.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Available:
    """
    The kinds of containment that this machine has for the workspace.

    Attributes:
        by: What contains it, for people; empty if nothing does.
        works: Whether there is *work*, and not only *look*.
        is_weak: Whether *work* is Landlock's and holds less, so that each such command is asked about.
        mounts: Whether unsaved text can lie over files.
        why_not: Why there is no more, for people; empty if there is all.
    """

    by: str = ""
    works: bool = False
    is_weak: bool = False
    mounts: bool = True
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """
    The containment of one command.

    Attributes:
        opened: The URIs of places that it sees although they would be hidden; in *work* it may change them.
        not_covered: The URIs of what the snapshot before it does not hold.
        copies: What it sees in place of files, by URI.
    """

    profile: Profile = Profile.FREE
    needs: frozenset[Need] = frozenset()
    opened: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    copies: tuple[tuple[str, bytes], ...] = ()


FREE = Contained()
NOTHING_AVAILABLE = Available()


# What programs need by their first words; an entry of several words needs all of them, in this order.
BY_WORDS: Mapping[Need, str] = {
    Need.NETWORK: """
        curl, wget, ssh, scp, sftp, rsync, ftp, telnet, nc, ncat, ping, dig, nslookup, host,
        git clone, git fetch, git pull, git push, git ls-remote, git submodule, git lfs,
        pip install, pip download, pip wheel, pip3 install, pip3 download, pip3 wheel, pip index,
        pipx install, pipx run, pipx upgrade, uv sync, uv add, uv lock, uv pip, uv tool, uvx, poetry install,
        poetry add, poetry update, poetry lock, pipenv install, pipenv update, conda install, conda create,
        conda update, mamba install, hatch publish, twine,
        npm install, npm i, npm ci, npm add, npm update, npm audit, npm view, npm publish, npm outdated, npx,
        npm exec, npm create, npm init, yarn, yarn install, yarn add, yarn upgrade, yarn dlx, pnpm install,
        pnpm i, pnpm add, pnpm update, pnpm dlx, bun install, bun add, bunx, deno cache, deno install,
        cargo add, cargo fetch, cargo install, cargo publish, cargo search, cargo update, rustup, go get,
        go install, go mod download, go mod tidy, bundle install, bundle update, gem install,
        composer install, composer update, composer require, dotnet restore, dotnet add, nuget,
        mix deps.get, cabal update, opam install, stack update, gh, glab, hub, brew install, apt,
        apt-get, dnf, yum, pacman, apk
    """,
    Need.REPOSITORY: """
        git add, git am, git apply --index, git bisect, git branch, git checkout, git cherry-pick, git clean,
        git clone, git commit, git config, git fetch, git gc, git init, git lfs, git maintenance, git merge,
        git mv, git notes, git prune, git pull, git push, git read-tree, git rebase, git reflog, git remote,
        git repack, git replace, git reset, git restore, git revert, git rm, git stash, git submodule,
        git switch, git tag, git update-index, git update-ref, git worktree, git write-tree,
        pre-commit install
    """,
    Need.MACHINE: "docker, docker-compose, podman, systemctl, sudo, su, doas, pkexec, mount, umount",
}
PLAIN = re.compile(r"[A-Za-z0-9_.+@/-]+")
SET = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")  # variables before a command
RUNS_ANOTHER = frozenset({"command", "env", "exec", "nice", "nohup", "time", "timeout", "xargs"})
PYTHONS = frozenset({"python", "python3", "py"})
GIT_TAKES_NEXT = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})


def needs(commands: Iterable[Sequence[str | None]]) -> frozenset[Need]:
    """Returns the known needs of *commands*, each given as words; unknown commands add none."""
    return frozenset(need for words in commands for need in _needs(words))


def _needs(words: Sequence[str | None]) -> Iterator[Need]:
    left = [word for word in words if word is not None and (PLAIN.fullmatch(word) or SET.match(word))]
    while left and (SET.match(left[0]) or left[0] in RUNS_ANOTHER or left[0].isdigit()):
        left = left[1:]
    if not left:
        return
    name = left[0].rpartition("/")[2]
    if name in PYTHONS and left[1:2] == ["-m"]:
        left = left[2:]
        name = left[0] if left else ""
    rest = [word for word in _without_folder(name, left[1:]) if not word.startswith("-")]
    for need, known in _TABLE.items():
        if any(form[0] == name and _begins(form[1:], rest, left) for form in known):
            yield need


def _without_folder(name: str, rest: Sequence[str]) -> Sequence[str]:
    """The words after `git` without those that say where it runs, and with which settings."""
    while name == "git" and rest and rest[0] in GIT_TAKES_NEXT:
        rest = rest[2:]
    return rest


def _begins(form: Sequence[str], rest: Sequence[str], left: Sequence[str]) -> bool:
    """Whether what follows a program's name is that of *form*; an option of it may stand anywhere."""
    plain = [word for word in form if not word.startswith("-")]
    options = [word for word in form if word.startswith("-")]
    if not form and left[0] == "yarn":
        return not rest
    return list(rest[: len(plain)]) == plain and all(option in left for option in options)


_TABLE: Mapping[Need, tuple[tuple[str, ...], ...]] = {
    need: tuple(tuple(form.split()) for form in forms.split(",")) for need, forms in BY_WORDS.items()
}
