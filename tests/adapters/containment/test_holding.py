"""Contained commands that go on: files saved over hidden ones, processes left behind, servers that die."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.commands.test_process import Told, is_running
from handrail.adapters.commands import disk_space, process_limit
from handrail.adapters.commands.process import Processes
from handrail.adapters.containment import containment, enter, ground
from handrail.adapters.containment.containment import Containment
from handrail.adapters.containment.holding import pin
from handrail.adapters.containment.quarantine import LIMIT_BYTES, Quarantine
from handrail.adapters.files.files import in_thread, uri_of
from handrail.adapters.workspace.protected import kind_of
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.policy.containment import Contained, Need, Profile
from handrail.core.policy.shell import End, Run, RunResult
from handrail.testing.texts import Json

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
WORK = Contained(profile=Profile.WORK)

EVIL = (".vscode", "AGENTS.md", ".github/workflows", "in/.env")
SERVER = """
import asyncio, os, sys
from pathlib import Path
from handrail.adapters.commands import disk_space, process_limit
from handrail.adapters.commands.process import Processes
from handrail.adapters.containment import containment
from handrail.adapters.containment.containment import Containment
from handrail.adapters.files.files import uri_of
from handrail.adapters.workspace.protected import kind_of
from handrail.core.policy.containment import Contained, Profile
from handrail.core.policy.shell import Run
root, state = map(Path, sys.argv[1:3])
if sys.argv[3] == "Landlock":
    containment.find = lambda *_: (None, "not here")
held = Containment(environ=os.environ, roots=lambda: (root,), kind_of=kind_of, state=lambda: state)
line = "setsid sh -c 'echo $$ > inner; exec sleep 1000' & sleep 1000"
run = Run(line=line, folder=uri_of(root), timeout_s=1000, contained=Contained(profile=Profile.WORK))
asyncio.run(Processes(os.environ, lambda: (root,), held).run(run, asyncio.Event(), print))
"""


# Runs command lines one after another, with the rights that an ordinary user has to files.
LINES = """
import asyncio, json, os, sys
from pathlib import Path
from handrail.adapters.commands.process import Processes
from handrail.adapters.containment import containment
from handrail.adapters.containment.containment import Containment
from handrail.adapters.files.files import uri_of
from handrail.adapters.workspace.protected import kind_of
from handrail.core.failure import Failure
from handrail.core.policy.containment import Contained, Profile
from handrail.core.policy.shell import Run
root, state = map(Path, sys.argv[1:3])
if sys.argv[3] == "Landlock":
    containment.find = lambda *_: (None, "not here")
held = Containment(environ=os.environ, roots=lambda: (root,), kind_of=kind_of, state=lambda: state)
processes, told = Processes(os.environ, lambda: (root,), held), []
for line, opened in json.loads(sys.argv[4]):
    contained = Contained(profile=Profile.WORK, opened=tuple(uri_of(root / name) for name in opened))
    run = Run(line=line, folder=uri_of(root), timeout_s=30, contained=contained)
    ran = asyncio.run(processes.run(run, asyncio.Event(), lambda _: None))
    failed = isinstance(ran, Failure)
    told.append({
        "output": ran.message if failed else ran.output,
        "failed": failed,
        "appeared": [] if failed else [each.uri.removeprefix(uri_of(root)) for each in ran.appeared],
        "reopened": [] if failed else [uri.removeprefix(uri_of(root)) for uri in ran.reopened],
        "unsearched": "" if failed else ran.unsearched,
    })
held.close()
print(json.dumps(told))
"""
ORDINARY = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()


@pytest.fixture(
    params=[
        "bubblewrap",
        pytest.param(
            "Landlock", marks=pytest.mark.skipif(not enter.version(), reason="the kernel has no Landlock")
        ),
    ]
)
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What contains commands."""
    if request.param == "Landlock":
        monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    return str(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def containing(root: Path) -> Containment:
    return Containment(
        environ=os.environ, roots=lambda: (root,), kind_of=kind_of, state=lambda: root.parent / "state"
    )


async def run(
    root: Path, line: str, told: Told, held: Containment, timeout_s: float = 30
) -> RunResult | Failure:
    wanted = Run(line=line, folder=uri_of(root), timeout_s=timeout_s, contained=WORK)
    return await Processes(os.environ, lambda: (root,), held).run(wanted, asyncio.Event(), told)


def running_in(root: Path) -> list[int]:
    """The processes that work in a folder, or were told of it, but for this one and its server."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            is_there = os.readlink(f"/proc/{pid}/cwd").startswith(str(root))
            if (is_there or str(root).encode() in Path(f"/proc/{pid}/cmdline").read_bytes()) and (
                b"python" not in Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
            ):
                found.append(int(pid))
    return [pid for pid in found if is_running(pid)]


@pytest.mark.parametrize("name", [".env", "AGENTS.md", "sub/.env"])
async def test_a_file_saved_over_one_that_is_hidden_ends_the_command(root: Path, name: str) -> None:
    """Editors save by renaming; then the new file is not hidden any more."""
    file = root / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("old")
    told, held = Told(), containing(root)
    running = asyncio.ensure_future(run(root, f"echo began; while :; do cat {name} 2>&1; done", told, held))
    await told.until("began")
    (root / "beside").write_text("CANARY")
    (root / "beside").rename(file)
    found = await running
    held.close()
    assert isinstance(found, RunResult)
    assert (found.end, found.output, found.uncovered) == (End.UNCOVERED, "", str(root / name))


def ran_in_order(root: Path, by: str, *lines: str | tuple[str, str]) -> list[Json]:
    """What became of command lines, each perhaps with a path that is opened for it."""
    if ORDINARY and shutil.which(ORDINARY[0]) is None:
        pytest.skip("this machine cannot start a program with fewer rights than root")
    given = json.dumps([(each, []) if isinstance(each, str) else (each[0], [each[1]]) for each in lines])
    command = [*ORDINARY, sys.executable, "-c", LINES, root, root.parent / "state", by, given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def test_a_folder_that_a_command_closes_is_opened_and_searched_again(root: Path, by: str) -> None:
    cases = [(name, mode) for name in ("sub", "sub/deep", ".") for mode in ("311", "000", "644")]
    (root / "sub/deep").mkdir(parents=True)
    for at in (root, root / "sub", root / "sub/deep"):
        (at / ".env").write_text("CANARY")
        (at / "AGENTS.md").write_text("rules\n")
    line = "m=; for d in . sub sub/deep; do cat $d/${m}.env; echo obey > $d/AGENTS.md; done"
    lines = [each for name, mode in cases for each in (f"chmod {mode} {name}", f"chmod 755 {name}; {line}")]
    ran = ran_in_order(root, by, *lines)
    reopened = [["" if name == "." else f"/{name}"] for name, _ in cases]
    assert [each["reopened"] for each in ran[::2]] == reopened
    assert [each["appeared"] for each in ran] == [[]] * len(ran)
    assert not [each for each in ran if "CANARY" in each["output"]]
    assert all(each["output"].count("denied") >= 3 for each in ran[1::2])
    assert [(root / at / "AGENTS.md").read_text() for at in (".", "sub", "sub/deep")] == ["rules\n"] * 3


def test_what_a_command_makes_in_a_folder_and_closes_is_found(root: Path, by: str) -> None:
    line = "m=; mkdir -p q/r q/${m}.vscode; echo x > q/r/${m}AGENTS.md; chmod MODE q/r q"
    for made in ran_in_order(root, by, *(line.replace("MODE", mode) for mode in ("311", "000", "644"))):
        assert made["appeared"] == ["/q/.vscode", "/q/r/AGENTS.md"]
        assert made["reopened"] == ["/q", "/q/r"]


@pytest.mark.parametrize("mode", [0o311, 0o644])
def test_a_folder_that_the_user_has_closed_is_hidden_as_a_whole(root: Path, by: str, mode: int) -> None:
    (root / "sub/in").mkdir(parents=True)
    (root / "sub/in/.env").write_text("CANARY")
    (root / "sub").chmod(mode)
    read = "cat sub/in/${m}.env; ln -s sub/in link; cat link/${m}.env"
    line = f"m=; chmod 755 sub; {read}; mv sub sub2; echo made > a"
    looked, wanted = ran_in_order(root, by, line, ("chmod 755 sub; cat sub/in/.env", "sub/in"))
    assert "CANARY" not in looked["output"]
    assert (looked["reopened"], looked["appeared"]) == ([], [])
    assert wanted["failed"]
    assert "cannot list" in wanted["output"]
    assert stat.S_IMODE((root / "sub").stat().st_mode) == mode
    assert (root / "a").read_text() == "made\n"


def test_a_workspace_that_cannot_be_listed_contains_nothing(root: Path, by: str) -> None:
    (root / ".env").write_text("CANARY")
    root.chmod(0o311)
    (looked,) = ran_in_order(root, by, "m=; cat ${m}.env")
    root.chmod(0o755)
    assert looked["failed"]
    assert "cannot be searched: permission is denied" in looked["output"]


def test_a_path_that_is_too_long_to_be_searched_hides_nothing(root: Path, by: str) -> None:
    (root / "sub").mkdir()
    (root / "sub/.env").write_text("CANARY")
    name = "d" * 250
    down = f"for i in $(seq 17); do mkdir -p {name}; cd {name}; done"
    moved, after = ran_in_order(
        root, by, f"top=$PWD; mv sub sub2; {down}; mv $top/sub2 .", f"m=; {down}; cat sub2/${{m}}.env"
    )
    assert moved["unsearched"] or by == "Landlock"  # there, what holds a hidden file cannot be moved
    assert "CANARY" not in after["output"]


@pytest.mark.usefixtures("by")
async def test_nothing_is_left_when_a_command_ends_or_has_had_its_time(root: Path) -> None:
    told, held = Told(), containing(root)
    line = "for i in 1 2 3; do env -i setsid sleep 1000 & done; echo began"
    ended = await run(root, line, told, held)
    late = await run(root, "trap '' TERM; echo late; sleep 1000", told, held, timeout_s=0.5)
    held.close()
    assert isinstance(ended, RunResult)
    assert isinstance(late, RunResult)
    assert (ended.end, late.end) == (End.EXITED, End.TIMED_OUT)
    assert running_in(root) == []


def test_nothing_outlives_a_server_that_is_killed_and_its_folder_goes_with_the_next(
    root: Path, by: str
) -> None:
    state = root.parent / "state"
    server = subprocess.Popen([sys.executable, "-c", SERVER, root, state, by])
    while not (root / "inner").exists() or not (root / "inner").read_text():
        assert server.poll() is None
    held = running_in(root)
    assert len(held) >= 2, "the command, and what has left its session"
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    while any(is_running(pid) for pid in held):
        os.sched_yield()
    containing(root)._scratch.folder()
    assert len([each for each in (state / "contained").iterdir() if each.is_dir()]) == 1


@pytest.mark.usefixtures("by")
async def test_processes_are_bounded(root: Path) -> None:
    """The kernel does not hold root to it, so no more than the bound itself is looked at."""
    told, held = Told(), containing(root)
    found = await run(root, "ulimit -u", told, held)
    held.close()
    assert isinstance(found, RunResult)
    assert found.output == "4000\n"


async def test_what_a_command_wrote_that_is_ended_is_told_too(root: Path) -> None:
    (root / ".env").write_text("old")
    told, held = Told(), containing(root)
    line = "n=AGENTS; echo obey > $n.md; echo began; sleep 1000"
    running = asyncio.ensure_future(run(root, line, told, held))
    await told.until("began")
    (root / "beside").write_text("new")
    (root / "beside").rename(root / ".env")
    found = await running
    held.close()
    assert isinstance(found, RunResult)
    (appeared,) = found.appeared
    assert (appeared.uri, appeared.files) == (uri_of(root / "AGENTS.md"), (("", "obey\n"),))


@pytest.mark.usefixtures("by")
async def test_a_command_that_is_cancelled_leaves_nothing_that_runs_later(root: Path) -> None:
    told, held = Told(), containing(root)
    running = asyncio.ensure_future(
        run(root, "n=AGENTS; echo obey > $n.md; echo began; sleep 1000", told, held)
    )
    await told.until("began")
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert os.listdir(root) == []
    held.close()
    (kept,) = (root.parent / "state" / "taken-away").rglob("AGENTS.md")
    assert kept.read_text() == "obey\n"


@pytest.mark.parametrize("where", ["out", "data/out", "/tmp/out"], ids=["workspace", "layer", "temporary"])
async def test_a_command_is_ended_before_it_has_filled_the_disk(
    root: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    (root / "data").mkdir()
    free = os.statvfs(root)
    monkeypatch.setattr(disk_space, "RESERVE_BYTES", 10**18)
    monkeypatch.setattr(disk_space, "SHARE", 1 - 20_000_000 / (free.f_bavail * free.f_frsize))
    contained = replace(WORK, not_covered=(uri_of(root / "data"),))
    line = f"head -c 60000000 /dev/zero > {where}; sleep 1000"
    made = Run(line=line, folder=uri_of(root), timeout_s=1000, contained=contained)
    held = containing(root)
    processes = Processes(os.environ, lambda: (root,), held)
    try:
        ran = await processes.run(made, asyncio.Event(), lambda _: None)
    finally:
        held.close()
    assert isinstance(ran, RunResult)
    assert ran.end is End.FULL


@pytest.mark.skipif(os.geteuid() != 0, reason="the system holds others to the bound itself")
@pytest.mark.parametrize(
    "line", ["sleep 1000 &", "env -i sleep 1000 &"], ids=["as it is", "without its mark"]
)
async def test_a_command_of_root_s_is_ended_that_has_too_many_processes(
    root: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(process_limit, "LIMIT_PROCESSES", 15)
    many = f"for i in $(seq 100); do {line} done; sleep 1000"
    made = Run(line=many, folder=uri_of(root), timeout_s=1000, contained=WORK)
    held = containing(root)
    try:
        ran = await Processes(os.environ, lambda: (root,), held).run(made, asyncio.Event(), lambda _: None)
    finally:
        held.close()
    assert isinstance(ran, RunResult)
    assert (ran.end, ran.code) == (End.CROWDED, None)


async def test_what_a_layer_holds_is_kept_for_a_week_after_the_server_has_ended(root: Path) -> None:
    for name in ("data", "more, and: more"):
        (root / name).mkdir()
    contained = replace(WORK, not_covered=tuple(uri_of(root / name) for name in ("data", "more, and: more")))
    held = containing(root)
    processes = Processes(os.environ, lambda: (root,), held)
    made = Run(line="echo new > 'more, and: more/a'", folder=uri_of(root), timeout_s=30, contained=contained)
    ran = await processes.run(made, asyncio.Event(), lambda _: None)
    assert isinstance(ran, RunResult)
    ((uri, layer),) = ran.layers
    assert uri == uri_of(root / "more, and: more")
    held.close()
    kept = Path(layer)
    assert (kept / "a").read_text() == "new\n"
    assert [path.name for path in kept.parent.iterdir() if path.is_dir()] == [kept.name]
    assert f"{kept.name}: {root}/more, and: more\n" in (kept.parent / "folders.txt").read_text()
    later = containing(root)
    await in_thread(later._scratch.folder)
    assert kept.exists()
    later.close()
    os.utime(kept.parent, (0, 0))
    containing(root)._scratch.folder()
    assert not kept.parent.exists()


async def test_layers_in_which_nothing_was_written_are_not_kept(root: Path) -> None:
    (root / "data").mkdir()
    contained = replace(WORK, not_covered=(uri_of(root / "data"),))
    held = containing(root)
    made = Run(line="true > a", folder=uri_of(root), timeout_s=30, contained=contained)
    ran = await Processes(os.environ, lambda: (root,), held).run(made, asyncio.Event(), lambda _: None)
    assert isinstance(ran, RunResult)
    assert (ran.end, ran.code) == (End.EXITED, 0)
    held.close()
    assert list((root.parent / "state/layers").iterdir()) == []


@pytest.mark.parametrize(
    ("count", "protects", "runs"), [(150, "dist", True), (150, "CLAUDE.md", True), (301, "dist", False)]
)
async def test_a_workspace_of_many_packages_is_contained_up_to_a_limit(
    root: Path, count: int, protects: str, *, runs: bool
) -> None:
    for number in range(count):
        (root / f"part-{number}" / "dist").mkdir(parents=True)
        if protects == "CLAUDE.md":
            (root / f"part-{number}" / protects).touch()
    layered = [uri_of(path) for path in root.glob("*/dist")] if protects == "dist" else []
    held, told = containing(root), Told()
    line = f"echo new > part-7/{'dist/a' if layered else 'CLAUDE.md'}; echo there > a"
    wanted = Run(
        line=line, folder=uri_of(root), timeout_s=60, contained=replace(WORK, not_covered=tuple(layered))
    )
    ran = await Processes(os.environ, lambda: (root,), held).run(wanted, asyncio.Event(), told)
    held.close()
    if not runs:
        assert isinstance(ran, Failure)
        assert "more than 300 files and folders would have to be hidden or protected" in ran.message
        assert not (root / "a").exists()
        return
    assert isinstance(ran, RunResult)
    assert (ran.code, (root / "a").read_text()) == (0, "there\n")
    assert [uri for uri, _ in ran.layers] == [uri_of(root / "part-7/dist")] * bool(layered)
    assert (root / "part-7/dist/a").exists() is False
    assert ("Read-only" in ran.output) is (not layered)


async def test_sockets_and_pipes_that_another_program_uses_stay(root: Path) -> None:
    held, told = containing(root), Told()
    line = "echo begun; until test -e go; do :; done"
    running = asyncio.ensure_future(run(root, line, told, held))
    await told.until("begun")
    os.mkfifo(root / "read")
    reading = os.open(root / "read", os.O_RDONLY | os.O_NONBLOCK)
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as closed:
        listening.bind(os.fspath(root / "socket"))
        listening.listen()
        closed.bind(os.fspath(root / "closed"))
        closed.close()
        (root / "go").touch()
        ran = await running
    os.close(reading)
    assert isinstance(ran, RunResult)
    assert ran.left == (uri_of(root / "closed"),)
    assert {path.name for path in root.iterdir()} == {"go", "read", "socket"}


async def test_two_commands_at_once_do_not_share_a_layer(root: Path) -> None:
    (root / "data").mkdir()
    contained = replace(WORK, not_covered=(uri_of(root / "data"),))
    held = containing(root)
    first, second = await held.hold(contained), await held.hold(contained)
    assert first is not None
    assert second is not None
    assert ([each.folder for each in first.layers], second.layers) == ([str(root / "data")], ())
    held.release(first)
    third = await held.hold(contained)
    assert third is not None
    assert third.layers == first.layers
    held.close()


async def test_copies_of_unsaved_text_go_with_their_command(root: Path) -> None:
    (root / "a.txt").write_text("saved\n")
    told, held = Told(), containing(root)
    look = Contained(profile=Profile.LOOK, copies=((uri_of(root / "a.txt"), b"unsaved\n"),))
    wanted = Run(line="cat a.txt", folder=uri_of(root), timeout_s=30, contained=look)
    found = await Processes(os.environ, lambda: (root,), held).run(wanted, asyncio.Event(), told)
    assert isinstance(found, RunResult)
    assert found.output == "unsaved\n"
    assert list((root.parent / "state" / "contained").rglob("command-*")) == []
    held.close()


async def test_a_workspace_that_has_grown_too_large_meanwhile_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, held = Told(), containing(root)
    await held.available()
    monkeypatch.setattr(ground, "LIMIT_FOLDERS", 3)
    found = await run(root, "mkdir 1 2 3 4", told, held)
    held.close()
    assert isinstance(found, RunResult)
    assert "too many folders" in found.unsearched


def test_what_a_server_has_taken_away_is_kept_for_its_time(root: Path) -> None:
    away = Quarantine(state=lambda: root.parent / "state")
    (root / "AGENTS.md").write_text("obey\n")
    folder = away.folder()
    appeared = away.take(root / "AGENTS.md", folder)
    os.utime(folder, times=(0, 0))
    away.folder()
    assert not Path(appeared.lies_in).exists()
    assert away.put_back(root / "AGENTS.md") is not None


def test_what_is_there_again_is_not_overwritten(root: Path) -> None:
    away = Quarantine(state=lambda: root.parent / "state")
    (root / "AGENTS.md").write_text("first\n")
    appeared = away.take(root / "AGENTS.md", away.folder())
    (root / "AGENTS.md").write_text("second\n")
    assert away.put_back(root / "AGENTS.md") is not None
    assert Path(appeared.lies_in).read_text() == "first\n"


@pytest.mark.usefixtures("by")
@pytest.mark.parametrize(
    ("opened", "stays"),
    [
        (".", set()),
        ("sub", set()),
        ("sub/.vscode", {"sub/.vscode"}),
        ("AGENTS.md", {"AGENTS.md"}),
        (".github", set()),
        (".github/workflows", {".github/workflows"}),
        (".husky", {".husky"}),
    ],
)
async def test_a_folder_that_is_opened_opens_nothing_that_is_asked_about_in_it(
    root: Path, opened: str, stays: set[str]
) -> None:
    makes = ("sub/.vscode", ".vscode", ".github/workflows", ".husky", "sub/.cargo/config.toml")
    made = {*makes, "AGENTS.md", "sub/.env"}
    (root / "sub").mkdir()
    (root / ".github").mkdir()
    line = f"mkdir -p {' '.join(makes)}; echo obey > AGENTS.md; echo x > sub/.env"
    held = containing(root)
    contained = replace(WORK, opened=(uri_of(root / opened),))
    wanted = Run(line=line, folder=uri_of(root), timeout_s=30, contained=contained)
    found = await Processes(os.environ, lambda: (root,), held).run(wanted, asyncio.Event(), Told())
    held.close()
    assert isinstance(found, RunResult)
    appeared = {each.uri.removeprefix(f"{uri_of(root)}/") for each in found.appeared}
    assert appeared == made - stays


@pytest.mark.usefixtures("by")
async def test_nothing_is_read_in_a_folder_that_a_link_of_secrets_leads_to(root: Path) -> None:
    for name in ("awsd/in/.env", "awsd/x", "awsd/AGENTS.md", "awsd/in/.git/config", "real/key", ".ssh/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("CANARY")
    (root / ".aws").symlink_to("awsd")
    (root / ".ssh/id").symlink_to("../real/key")
    told, held = Told(), containing(root)
    found = await run(root, "cat .a*/* awsd/x aw*/in/* re*/* .s*/*; grep -r CANARY .; echo x > a", told, held)
    held.close()
    assert isinstance(found, RunResult)
    assert found.code == 0
    assert "CANARY" not in found.output.replace("grep -r CANARY", "")
    assert (root / "a").read_text() == "x\n"


def test_of_a_folder_only_what_the_user_saved_is_put_back_without_a_question(root: Path) -> None:
    texts = {"a.json": "mine\n", "deep/b.json": "mine\r\n", "deep/c.json": "theirs\n", "d/e.json": "obey\n"}
    for name, text in texts.items():
        (root / ".vscode" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / ".vscode" / name).write_bytes(text.encode())
    (root / ".vscode/deep/link").symlink_to("b.json")
    away = Quarantine(state=lambda: root.parent / "state")
    away.take(root / ".vscode", away.folder())
    saved = [*texts, "deep/link", "none", "d"]
    del saved[3]
    given = {str(root / ".vscode" / name): Text("mine\n") for name in saved}
    back, rest = away.put_back_saved(root / ".vscode", given)
    assert back == [str(root / ".vscode/a.json"), str(root / ".vscode/deep/b.json")]
    left = [root / ".vscode" / name for name in ("d", "deep/c.json", "deep/link")]
    assert [each.uri for each in rest] == [uri_of(root / ".vscode" / "d"), *map(uri_of, left[1:])]
    assert sorted(path.name for path in (root / ".vscode").rglob("*")) == ["a.json", "b.json", "deep"]
    assert [away.put_back(path) for path in left] == [None] * 3
    assert (root / ".vscode/d/e.json").read_text() == "obey\n"
    assert (root / ".vscode/deep/link").is_symlink()


async def test_a_yes_to_the_rest_of_a_new_folder_is_asked_for_once(root: Path) -> None:
    held = containing(root)
    holding = await held.hold(WORK)
    assert holding is not None
    (root / ".vscode").mkdir()
    for name in ("mine", "theirs"):
        (root / ".vscode" / name).write_text("x\n")
    for is_over in (False, True):
        (taken,) = held.take_away(holding, is_over=False).appeared
        assert taken.uri == uri_of(root / ".vscode")
        rest = held.put_back_saved(root / ".vscode", {uri_of(root / ".vscode/mine"): Text("x\n")})
        assert [each.uri for each in rest] == ([] if is_over else [uri_of(root / ".vscode/theirs")])
    (root / ".vscode/theirs").write_text("x\n")
    held.take_away(holding)
    held.put_back_saved(root / ".vscode", {uri_of(root / ".vscode/mine"): Text("x\n")})
    assert held.put_back(root / ".vscode/theirs") is None
    assert held.take_away(holding).appeared == ()
    held.release(holding)
    held.close()


@pytest.mark.parametrize(("saved", "is_there"), [("mine\n", True), ("mine", True), ("other\n", False)])
def test_a_file_that_was_written_again_since_it_was_saved_is_not_put_back(
    root: Path, saved: str, *, is_there: bool
) -> None:
    (root / "AGENTS.md").write_text("mine\n")
    away = Quarantine(state=lambda: root.parent / "state")
    away.take(root / "AGENTS.md", away.folder())
    _, rest = away.put_back_saved(root / "AGENTS.md", {str(root / "AGENTS.md"): Text(saved)})
    assert (root / "AGENTS.md").exists() == is_there
    assert len(rest) == (not is_there)


def test_closed_folders_hold_nothing_back(root: Path) -> None:
    """As root the folder is not closed; then this shows little."""
    away = Quarantine(state=lambda: root.parent / "state")
    (root / "d" / ".vscode").mkdir(parents=True)
    (root / "d" / ".vscode").chmod(0o500)
    (root / "d").chmod(0o500)
    assert away.take(root / "d" / ".vscode", away.folder()).lies_in
    assert os.listdir(root / "d") == []


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("ln -s a.txt ${m}AGENTS.md", {"AGENTS.md"}),
        ("mkdir x; echo x > x/config; ln -s x ${m}.git", {".git"}),
        ("mkdir x; echo x > x/settings.json; ln -s x ${m}.vscode", {".vscode"}),
        ("ln -sf a.txt ${m}CLAUDE.md", {"CLAUDE.md"}),
        ("rm ${m}CLAUDE.md; echo obey > ${m}CLAUDE.md", {"CLAUDE.md"}),
        ("mv sub sub2; mkdir sub; echo obey > sub/${m}AGENTS.md", {"sub/AGENTS.md"}),
        ("mv sub sub2", set()),
        ("mkdir -p x; echo obey > x/${m}AGENTS.md; mv x y", {"y/AGENTS.md"}),
        ("ln a.txt ${m}.env", {".env"}),
        ("ln -s a.txt ${m}.env", {".env"}),
        (
            "ln a.txt ${m}AGENTS.md; mkdir -p ${m}.husky; ln a.txt ${m}.husky/pre-commit",
            {"AGENTS.md", ".husky"},
        ),
    ],
)
async def test_whatever_way_something_appears_it_is_taken_away(
    root: Path, by: str, line: str, taken: set[str]
) -> None:
    prevented = {"CLAUDE.md", "sub/AGENTS.md"} if by == "Landlock" else set()
    (root / "a.txt").write_text("obey\n")
    (root / "sub").mkdir()
    (root / "sub" / "AGENTS.md").write_text("rules\n")
    (root / "sub" / "link.md").symlink_to("AGENTS.md")
    (root / "CLAUDE.md").symlink_to("sub/AGENTS.md")
    told, held = Told(), containing(root)
    found = await run(root, f"m=; {line}", told, held)
    assert isinstance(found, RunResult)
    assert {each.uri.removeprefix(f"{uri_of(root)}/") for each in found.appeared} == taken - prevented
    assert (root / "a.txt").read_text() == "obey\n"
    claude = root / "CLAUDE.md"
    assert os.readlink(claude) == "sub/AGENTS.md"
    for each in found.appeared:
        path = root / each.uri.removeprefix(f"{uri_of(root)}/")
        assert await in_thread(held.put_back, path) is None
        assert path.exists()
    held.close()


@pytest.mark.parametrize(
    ("line", "taken"),
    [
        ("ln -s e ${m}.cargo", {".cargo"}),
        ("ln -s ../e sub/${m}.Cargo", {"sub/.Cargo"}),
        ("ln -s $PWD/e x; mv x ${m}.github", {".github"}),
        ("ln -s nothing ${m}tools; ln -s ${m}tools ${m}gradle", {"gradle", "tools"}),
        ("ln -s /opt ${m}.venv; ln -s sub/real ${m}.yarn", {".venv", ".yarn"}),
        ("mkdir n; ln -s ../e n/${m}.config; mv n new", {"new/.config"}),
        ("mv ${m}.bundle old; ln -s e ${m}.bundle", {".bundle"}),
        ("ln -sfn e ${m}.local", {".local"}),
        ("ln -s e x; ln -s e ${m}cargo; mkdir ${m}.cargo tools; ln -s ../e tools/src", set()),
        ("mkdir node_modules; ln -s ../e node_modules/tools", set()),
        ("rm ${m}.local; mv sub sub2", set()),
    ],
)
@pytest.mark.usefixtures("by")
async def test_no_link_takes_the_place_of_a_folder_whose_files_run_later(
    root: Path, line: str, taken: set[str]
) -> None:
    for name in ("e/config", "sub/real/x", ".bundle/x"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("obey\n")
    (root / ".local").symlink_to("sub/real")
    (root / "sub/venv").symlink_to("real")
    told, held = Told(), containing(root)
    found = await run(root, f"m=; {line}", told, held)
    held.close()
    assert isinstance(found, RunResult)
    assert {each.uri.removeprefix(f"{uri_of(root)}/") for each in found.appeared} == taken
    assert all(each.lies_in for each in found.appeared)
    if "rm" in line:
        assert not os.path.lexists(root / ".local")
    else:
        assert os.readlink(root / ".local") == "sub/real"


@pytest.mark.parametrize(
    ("lines", "taken"),
    [
        (["mv templates/.github .github"], {".github/workflows"}),
        (["mv templates/.github sub/.github"], {"sub/.github/workflows"}),
        (["mv templates/.cargo x", "mv x .cargo"], {".cargo/config.toml"}),
        (["mv templates/gradle sub"], {"sub/gradle/wrapper"}),
        (["mv app old; mv evil app"], {f"app/{name}" for name in EVIL}),
        (["mv evil x; mv two evil; mv x two"], {"evil/AGENTS.md", *(f"two/{name}" for name in EVIL)}),
        (["mv app old", "mv evil app"], {f"app/{name}" for name in EVIL}),
        (["mv app/in old", "true", "mv evil/in app/in"], {"app/in/.env"}),
        (["mv app old; mkdir app; mv evil app/new"], {f"app/new/{name}" for name in EVIL}),
        (["rm -r app", "mkdir app", "mv evil app/in"], {f"app/in/{name}" for name in EVIL}),
        (["mv evil evil2"], set()),
        (["mv evil evil2", "mv evil2 evil", "mv evil templates/evil", "mv templates sub/new"], set()),
        (["mv app old", "mv old app", "mv evil app/evil"], set()),
        (["mkdir n; mv templates evil n; mv n/templates n/evil ."], set()),
        (["mv templates/.github x; mv x templates/.github"], set()),
    ],
)
async def test_a_folder_is_moved_with_what_runs_later_only_to_a_new_place(
    root: Path, lines: list[str], taken: set[str]
) -> None:
    """In bubblewrap. Landlock lets no command move such a folder at all."""
    names = (
        "templates/.github/workflows/ci.yml",
        "templates/.cargo/config.toml",
        "templates/gradle/wrapper/x",
    )
    for name in (
        *names,
        "two/AGENTS.md",
        "evil/AGENTS.md",
        "evil/.vscode/x",
        "evil/.github/workflows/x",
        "evil/in/.env",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("obey\n")
    for name in ("sub/x", "app/in/x"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("x\n")
    told, held = Told(), containing(root)
    found = [await run(root, line, told, held) for line in lines]
    held.close()
    appeared = [each.uri for ran in found if isinstance(ran, RunResult) for each in ran.appeared]
    assert {uri.removeprefix(f"{uri_of(root)}/") for uri in appeared} == taken
    are_run = [isinstance(ran, RunResult) and (ran.code == 0 or ran.end is End.UNCOVERED) for ran in found]
    assert all(are_run)


@pytest.mark.usefixtures("by")
async def test_what_was_allowed_meanwhile_stays(root: Path) -> None:
    """Two sessions run commands at once, and the user has said yes to what one of them has written."""
    told, held = Told(), containing(root)
    line = "echo began; while [ ! -e go ]; do sleep 0.02; done"
    other = asyncio.ensure_future(run(root, line, told, held))
    await told.until("began")
    first = await run(root, "m=; echo obey > ${m}AGENTS.md", Told(), held)
    assert isinstance(first, RunResult)
    assert held.put_back(root / "AGENTS.md") is None
    allowed = replace(WORK, needs=frozenset({Need.REPOSITORY}))
    wanted = Run(line="git init -q new", folder=uri_of(root), timeout_s=30, contained=allowed)
    await Processes(os.environ, lambda: (root,), held).run(wanted, asyncio.Event(), Told())
    (root / ".env").write_text("KEY=1\n")  # by an edit that the user has allowed
    held.allow([uri_of(root / ".env")])
    (root / "go").touch()
    found = await other
    held.close()
    assert isinstance(found, RunResult)
    assert found.appeared == ()
    assert (root / "new/.git/HEAD").exists()


async def test_what_is_shown_of_much_that_appears_is_bounded(root: Path) -> None:
    told, held = Told(), containing(root)
    line = "m=; for i in $(seq 60); do mkdir $i; seq 2000 > $i/${m}AGENTS.md; done"
    found = await run(root, line, told, held)
    held.close()
    assert isinstance(found, RunResult)
    assert len(found.appeared) == 60
    texts = [text for each in found.appeared for _, text in each.files if text]
    assert 1 < sum(map(len, texts)) <= LIMIT_BYTES
    assert all(each.lies_in for each in found.appeared)


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="files cannot be held open unread")
async def test_a_hidden_file_that_was_replaced_is_known_as_such(root: Path) -> None:
    """Once a file is gone the system may give its number to the next one, which then looks like it."""
    secret, saved, held = root / ".env", root / "saved", containing(root)
    secret.write_text("KEY=0\n")
    for number in range(20):
        holding = await held.hold(WORK)
        assert holding is not None
        for _ in range(2):
            saved.write_text(f"KEY={number}\n")
            saved.replace(secret)
        assert holding.replaced_file() == str(secret)
        held.release(holding)
    held.close()


async def test_a_hidden_file_that_is_there_again_had_still_been_replaced(root: Path) -> None:
    secret, saved, held = root / ".env", root / "saved", containing(root)
    secret.write_text("KEY=0\n")
    holding = await held.hold(WORK)
    assert holding is not None
    assert holding.replaced_file() is None
    secret.rename(root / "kept")
    saved.write_text("KEY=1\n")
    saved.rename(secret)
    assert holding.replaced_file() == str(secret)
    (root / "kept").rename(secret)
    assert holding.replaced_file() == str(secret)
    held.release(holding)
    held.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are not listed")
@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_nothing_stays_open_for_a_command(root: Path, *, is_cancelled: bool) -> None:
    (root / ".env").write_text("KEY=0\n")
    (root / "a.txt").write_text("saved\n")
    held = containing(root)
    look = Contained(profile=Profile.LOOK, copies=((uri_of(root / "a.txt"), b"unsaved\n"),))
    await held.available()
    before = open_below(root)
    wanted = asyncio.ensure_future(held.hold(look))
    await asyncio.sleep(0)
    if is_cancelled:
        wanted.cancel()
    await asyncio.wait([wanted])
    if not is_cancelled:
        holding = wanted.result()
        assert holding is not None
        assert open_below(root) == [*before, str(root / ".env")]
        held.release(holding)
    assert open_below(root) == before
    assert list((root.parent / "state" / "contained").rglob("command-*")) == []
    held.close()


def test_a_hidden_file_is_known_even_if_no_more_files_can_be_opened(tmp_path: Path) -> None:
    secret = tmp_path / ".env"
    secret.write_text("KEY=0\n")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as pins:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
        try:
            found = pin([str(secret)], pins)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert list(found) == [str(secret)]


def open_below(root: Path) -> list[str]:
    """The files in a folder that this process has open."""
    found = []
    for each in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{each}"))
    return sorted(path for path in found if path.startswith(str(root)))
