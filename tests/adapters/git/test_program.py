"""All git that the server starts for itself is started in one place, so that nothing else runs with it."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import handrail
from adapters.kit import change, during, git_that_hangs_once, run, shadow, step, user_git, wait_for
from handrail.adapters import doctor
from handrail.adapters.checkpoints import housekeeping
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.checkpoints.repository import TREES
from handrail.adapters.commands import repository
from handrail.adapters.git import layout, program
from handrail.adapters.git.program import Git, LateError
from handrail.adapters.served.tracked import is_tracked
from handrail.adapters.state import lock
from handrail.adapters.worktrees import git as of_snapshots
from handrail.core.checkpoint import Limits
from handrail.core.failure import Failure
from handrail.core.policy.commands import git as settings
from handrail.core.policy.containment import NOTHING_AVAILABLE
from handrail.ports import CheckpointError, Repository

PACKAGE = Path(handrail.__file__).parent

# Who starts processes, and what: whoever is new here says so, and starts no git.
STARTERS = {
    "adapters/commands/keeper.py": "the command that it ends",
    "adapters/commands/kept_process.py": "a keeper, which starts a command that was judged",
    "adapters/commands/line_run.py": "the commands that were judged",
    "adapters/doctor.py": "programs, to ask for their version; git through its place",
    "adapters/files/scan.py": "ourselves, to search texts",
    "adapters/git/program.py": "git",
    "adapters/models/worker/parent.py": "ourselves, to talk to models",
    "adapters/workspace/ripgrep.py": "ripgrep",
    "headless/server/process.py": "the server",
    "testing/processes.py": "the server of somebody's tests",
}
STARTS = {"Popen", "run", "call", "check_call", "check_output", "system", "popen", "fork", "forkpty"}
STARTS |= {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}
MODULES_THAT_START = {"subprocess", "os", "asyncio", "pty"}


def _starts(module: Path) -> bool:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Call):
            owner = node.value.id if isinstance(node.value, ast.Name) else "asyncio"
            names = node.attr in STARTS or node.attr.startswith(("exec", "spawn", "posix_spawn"))
            if owner in MODULES_THAT_START and names and (owner, node.attr) != ("asyncio", "run"):
                return True
        if isinstance(node, ast.ImportFrom) and node.module == "subprocess":
            return True
    return False


def test_only_these_modules_start_processes() -> None:
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if _starts(path)}
    ours = {name for name in found if not name.startswith("adapters/containment/")}
    assert ours <= STARTERS.keys()


def test_what_the_server_starts_has_a_session_of_its_own() -> None:
    """It is in the process of a client on a terminal, too, whose Ctrl-C is the client's."""
    calls = {"Popen", "run", "create_subprocess_exec", "subprocess_exec"}
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            made = node.func if isinstance(node, ast.Call) else None
            if not isinstance(made, ast.Attribute) or made.attr not in calls or name == "adapters/doctor.py":
                continue
            owner = made.value.id if isinstance(made.value, ast.Name) else "asyncio"
            if owner in MODULES_THAT_START and (owner, made.attr) != ("asyncio", "run"):
                assert isinstance(node, ast.Call)
                assert "start_new_session" in {keyword.arg for keyword in node.keywords}, name


def test_nobody_else_names_git_where_processes_are_started() -> None:
    for name in STARTERS.keys() - {"adapters/git/program.py", "adapters/doctor.py"}:
        constants = ast.walk(ast.parse((PACKAGE / name).read_text("utf-8")))
        words = {node.value for node in constants if isinstance(node, ast.Constant) and node.value == "git"}
        assert not words, name


# ---- What it is started with ------------------------------------------------------------------------

NOTING = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], dict(os.environ)]) + "\\n")
os.execv({git!r}, [{git!r}, *sys.argv[1:]])
"""
EVIL = {
    "GIT_DIR": "/nonexistent",
    "GIT_EXTERNAL_DIFF": "touch",
    "GIT_SSH_COMMAND": "touch",
    "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='touch'",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nonexistent",
    "GIT_TRACE": "1",
    "API_KEY": "secret",
}
Noted = Callable[[], list[tuple[list[str], dict[str, str]]]]


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Noted:
    """A git on PATH that notes how it was started."""
    folder, log = tmp_path / "bin", tmp_path / "log"
    folder.mkdir()
    git = shutil.which("git")
    (folder / "git").write_text(NOTING.format(python=sys.executable, log=str(log), git=git))
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for name, value in EVIL.items():
        monkeypatch.setenv(name, value)
    return lambda: [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


async def test_whoever_starts_it_gives_it_all_settings(
    noted: Noted, repo: ShadowRepo, root: Path, tmp_path: Path
) -> None:
    def made(*args: str) -> None:
        run("git", "-C", str(root), "-c", "user.name=u", "-c", "user.email=u@localhost", *args)

    made("init", "-q")
    (root / "a").write_bytes(b"a")
    made("add", "-A")
    made("commit", "-q", "-m", "first")
    before = len(noted())
    await during(repo, lambda: (root / "a").write_bytes(b"b"))
    await repo.tidy()
    await change(repo, step(turn="t-2"), root / "a", b"c")
    await repo.verify()
    repo.set_limits(Limits(max_bytes=1))
    await repo.prune(["t-1"])
    found = repository.inspect(
        str(tmp_path / "bin" / "git"), dict(os.environ), root, ("log", "--name-only", "-z"), ("HEAD",)
    )
    assert isinstance(found, Repository)
    doctor.report(lambda: tmp_path, (), {}, NOTHING_AVAILABLE)
    started = noted()[before:]
    subcommands = {each for arguments, _ in started for each in arguments}
    assert {"status", "rev-parse", "config", "fsck", "--version", "log"} <= subcommands
    ours = {"GIT_INDEX_FILE", "GIT_WORK_TREE", *settings.ENVIRONMENT}
    for arguments, environment in started:
        assert arguments[: len(settings.options())] == list(settings.options())
        assert not {"API_KEY", *EVIL} & environment.keys() - {"GIT_DIR"}
        assert environment.get("GIT_DIR") != EVIL["GIT_DIR"]
        assert {name for name in environment if name.startswith("GIT_")} <= {*ours, "GIT_DIR"}
        assert environment["GIT_NO_LAZY_FETCH"] == "1"
        assert environment["GIT_TERMINAL_PROMPT"] == "0"


@pytest.mark.parametrize(
    "setting",
    ["core.hooksPath", "safe.bareRepository", "protocol.allow", "core.fsmonitor", "gpg.program"],
)
def test_the_repositorys_own_settings_do_not_win(root: Path, setting: str) -> None:
    user_git(root, "init", "-q")
    user_git(root, "config", setting, "of the repository")
    said = Git(limit_s=10).run(root, "config", setting).stdout.decode().strip()
    assert said == settings.SETTINGS[setting]


def test_settings_of_ours_are_not_taken_for_the_repositorys(root: Path) -> None:
    user_git(root, "init", "-q")
    user_git(root, "config", "gpg.program", "theirs")
    found = repository.inspect(shutil.which("git") or "", dict(os.environ), root, (), ())
    assert isinstance(found, Repository)
    assert settings.programs(found.settings) == ("gpg.program",)
    assert "core.hookspath" not in found.settings


# ---- Time --------------------------------------------------------------------------------------------


@pytest.fixture
def stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git on PATH that never ends, nor does its child, whose number is in the file."""
    folder = tmp_path / "stuck"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {folder}/child\nwait\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "child"


def test_what_takes_too_long_is_ended_with_its_children(
    stuck: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "PATIENCE_S", 0.01)

    def wait() -> str:
        while not stuck.exists() or not stuck.read_text().endswith("\n"):
            os.sched_yield()
        return "It waits for ever"

    with pytest.raises(LateError, match="It waits for ever"):
        Git(limit_s=600, waits_for=wait).run(root, "fsck")
    state = Path("/proc", stuck.read_text().strip(), "stat")
    while state.exists() and state.read_text().rpartition(")")[2].split()[0] not in "ZX":
        os.sched_yield()  # it has been killed, and the kernel may not have come to it


async def test_late_git_is_told_in_words(
    stuck: Path, state: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_bytes(b"a")
    repo = shadow(state, root)
    await change(repo, step(), root / "a", b"b")
    monkeypatch.setattr(housekeeping, "CHECK_S", 0.5)
    monkeypatch.setattr("handrail.adapters.checkpoints.store.PACK_S", 0.5)
    monkeypatch.setattr(of_snapshots, "LIMIT_S", 0.5)
    monkeypatch.setattr(repository, "LIMIT_S", 0.5)
    assert "git fsck did not end within 0.5 s" in "".join((await repo.verify()).problems)
    await repo.prune(["t-1"])
    found = repository.inspect("git", dict(os.environ), root, (), ())
    assert isinstance(found, Failure)
    assert "git rev-parse did not end within 0.5 s" in found.message
    snapshot = await repo.before_command(step(number=2))  # which needs no git, as the folder is small
    assert snapshot.id


# ---- Stopping ---------------------------------------------------------------------------------------


async def test_a_snapshot_that_is_stopped_ends_git_and_leaves_nothing_that_the_next_one_minds(
    tmp_path: Path, state: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck_once = git_that_hangs_once(tmp_path / "stuck", monkeypatch)
    (root / "a").write_bytes(b"a")
    repo = shadow(state, root)
    stop = asyncio.Event()
    taking = asyncio.ensure_future(repo.before_command(step(), stop))
    await asyncio.to_thread(wait_for, stuck_once)
    stop.set()
    with pytest.raises(CheckpointError, match="stopped"):
        await taking
    status = Path("/proc", stuck_once.read_text().strip(), "stat")
    assert not status.exists() or status.read_text().rpartition(")")[2].split()[0] in "ZX"
    snapshot = await repo.before_command(step(number=2))
    (root / "a").write_bytes(b"b")
    effects = await repo.after_command(step(number=2), snapshot)
    assert [each.path for each in effects.changes] == ["a"]


async def test_a_snapshot_that_waits_for_another_process_can_be_stopped(state: Path, root: Path) -> None:
    repo = shadow(state, root)
    await repo.before_command(step())
    stop = asyncio.Event()
    with lock.hold(repo.folder.parent / TREES, writes=True):
        taking = asyncio.ensure_future(repo.before_command(step(), stop))
        stop.set()
        with pytest.raises(CheckpointError, match="stopped"):
            await taking


# ---- What it would wait for -------------------------------------------------------------------------


def test_a_sound_repository_is_no_obstacle(root: Path) -> None:
    assert not layout.obstacle(root)
    user_git(root, "init", "-q")
    assert not layout.obstacle(root)


@pytest.mark.parametrize("name", ["HEAD", "config", "index", "packed-refs", "refs/heads/main", "shallow"])
def test_a_pipe_of_gits_is_told_and_not_opened(root: Path, name: str) -> None:
    user_git(root, "init", "-q")
    (root / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(root / ".git" / name)
    found = repository.inspect(shutil.which("git") or "", dict(os.environ), root, (), ())
    assert isinstance(found, Failure)
    assert f".git/{name} is a pipe, a socket or a device" in found.message


def test_a_pipe_behind_a_git_file_is_found(root: Path, tmp_path: Path) -> None:
    user_git(tmp_path, "init", "-q", "there")
    (root / ".git").write_text(f"gitdir: {tmp_path}/there/.git\n")
    assert not layout.obstacle(root)
    (tmp_path / "there" / ".git" / "config").unlink()
    os.mkfifo(tmp_path / "there" / ".git" / "config")
    assert "config is a pipe" in layout.obstacle(root)


@pytest.mark.parametrize("name", ["index", "config", "HEAD"])
def test_what_git_tracks_is_not_asked_of_a_pipe(root: Path, name: str) -> None:
    user_git(root, "init", "-q")
    (root / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(root / ".git" / name)
    assert is_tracked(root, "folder"), "it may be"


async def test_a_pipe_in_the_place_of_a_repository(repo: ShadowRepo, root: Path) -> None:
    (root / "a").write_bytes(b"a")
    os.mkfifo(root / ".git")
    assert not layout.obstacle(root)
    assert not is_tracked(root, "folder")
    found = repository.inspect(shutil.which("git") or "", dict(os.environ), root, (), ())
    assert not isinstance(found, Repository)
    effects = await during(repo, lambda: (root / "a").write_bytes(b"b"))
    assert [each.path for each in effects.changes] == ["a"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_git_that_gives_way_is_nicer_than_the_server(tmp_path: Path) -> None:
    told = tmp_path / "git"
    told.write_text("#!/bin/sh\ncat > /dev/null; cut -d ' ' -f 19 /proc/$$/stat\n")
    told.chmod(0o755)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    for gives_way, nice in ((False, own), (True, min(own + program.NICE, 19))):
        git = Git(limit_s=60, program=str(told), gives_way=gives_way)
        assert int(git.run(tmp_path, given=b"Now it is told.").stdout) == nice
