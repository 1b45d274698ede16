"""What contained commands try, and do not get: files, processes, the network, and more rights."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from handrail.adapters.commands.process import Processes
from handrail.adapters.containment import containment, enter
from handrail.adapters.containment.containment import Containment
from handrail.adapters.files.files import uri_of
from handrail.adapters.workspace.protected import kind_of
from handrail.core.policy.containment import Contained, Need, Profile
from handrail.core.policy.shell import Run, RunResult

LIBC = ctypes.CDLL(None)
SECRET = "CANARY-7f3a"
OF_EVERYBODY = ("/dev/shm", "/tmp", "/var/tmp")

landlocked = pytest.mark.skipif(not enter.version(), reason="the kernel of this machine has no Landlock")
ESCAPES = Path(__file__).with_name("escapes.sh")
ESCAPES_OF_WORK = Path(__file__).with_name("escapes_of_work.sh")
# One thread has a link lead to what is closed and back, while the other writes and reads through it.
SWAPS = """
import os, threading
ended = threading.Event()
def swap():
    number = 0
    while not ended.is_set():
        for target in ("a.txt", ".env", "a.txt", "AGENTS.md"):
            number += 1
            os.symlink(target, f"link{number}")
            os.rename(f"link{number}", "swapped")
swapping = threading.Thread(target=swap)
swapping.start()
for count in range(500):
    for mode in ("a", "r"):
        try:
            with open("swapped", mode) as file:
                print(file.read() if mode == "r" else file.write("mark"))
        except OSError:
            pass
ended.set()
swapping.join()
"""


@dataclass(kw_only=True)
class Yard:
    """A workspace full of things that must not be reached, and what listens beside it."""

    folder: Path
    heard: list[socket.socket] = field(default_factory=list)
    shared: int = 0  # memory of this machine

    @property
    def work(self) -> Path:
        return self.folder / "inside"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def listen(self, family: int, kind: int, address: object) -> int:
        found = socket.socket(family, kind)
        found.bind(address)  # type: ignore[arg-type]  # what it may be depends on the family
        if kind == socket.SOCK_STREAM:
            found.listen()
        found.setblocking(False)
        self.heard.append(found)
        return int(found.getsockname()[1]) if family == socket.AF_INET else 0

    def anybody_came(self) -> list[str]:
        """What was sent to those that listen."""
        found = []
        for each in self.heard:
            try:
                each.accept() if each.type == socket.SOCK_STREAM else each.recv(1)
            except BlockingIOError:
                continue
            found.append(str(each.getsockname()))
        return found

    def state(self) -> dict[str, object]:
        """What must not change: everything outside, and what is kept in the workspace."""
        kept = (".git", "AGENTS.md", ".husky", ".vscode", ".env", "sub/id_rsa", "keys", ".github")
        places = [self.out, self.folder / "home", *(self.work / name for name in kept)]
        places += [self.folder / "mark", *(Path(folder, "handrail-mark") for folder in OF_EVERYBODY)]
        found: dict[str, object] = {}
        for place in places:
            for file in (place, *sorted(place.rglob("*"))) if place.is_dir() else (place,):
                if os.path.lexists(file):
                    was = file.lstat()
                    text = file.read_bytes() if file.is_file() else b"no file"
                    attributes = os.listxattr(file, follow_symlinks=False)
                    time = was.st_mtime_ns if file.is_file() else 0
                    found[str(file)] = (text, was.st_mode, was.st_uid, was.st_gid, time, attributes)
        return found


def laid_out(folder: Path) -> Yard:
    """A yard in *folder*."""
    found = Yard(folder=folder)
    for name, text in {
        "inside/a.txt": "plain\n",
        "inside/.env": f"KEY={SECRET}\n",
        "inside/sub/id_rsa": SECRET,
        "inside/keys/server.pem": SECRET,
        "inside/.vscode/settings.json": SECRET,
        "inside/.github/workflows/ci.yml": SECRET,
        "inside/.husky/pre-commit": "true\n",
        "inside/AGENTS.md": "rules\n",
        "out/secret.txt": SECRET,
        "out/canary-name": "",
        "home/.ssh/id_ed25519": SECRET,
        "home/.aws/credentials": SECRET,
        "home/.netrc": SECRET,
        "home/.config/token": SECRET,
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    work = found.work
    os.link(work / ".env", work / "other-name.txt")
    (work / "link-to-env").symlink_to(".env")
    os.mkfifo(work / "pipe")
    git = ("git", "-C", work, "-c", "user.name=u", "-c", "user.email=e")
    subprocess.run(["git", "init", "-q", work], check=True)
    subprocess.run([*git, "add", "a.txt"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    found.listen(socket.AF_UNIX, socket.SOCK_STREAM, str(work / "talk.sock"))
    found.listen(socket.AF_UNIX, socket.SOCK_STREAM, str(found.out / "talk.sock"))
    found.listen(socket.AF_UNIX, socket.SOCK_STREAM, f"\0handrail-{folder.name}-{os.getpid()}")
    port = found.listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
    found.listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port))
    return found


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    found = laid_out(tmp_path)
    found.shared = LIBC.shmget(0, 4096, 0o1600)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CANARY_KEY", SECRET)
    # Not by a script that looks for it first, as it would for each of many.
    monkeypatch.setenv("PATH", os.pathsep.join((f"{sys.base_prefix}/bin", os.environ["PATH"])))
    yield found
    assert LIBC.shmctl(found.shared, 0, None) == 0
    for each in found.heard:
        each.close()


@pytest.fixture(params=["bubblewrap", pytest.param("Landlock", marks=landlocked)])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What contains commands."""
    if request.param == "Landlock":
        monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    return str(request.param)


async def contained(yard: Yard, how: Contained, *lines: str) -> list[str]:
    """What contained commands print, one after another."""
    held = Containment(
        environ=os.environ, roots=lambda: (yard.work,), kind_of=kind_of, state=lambda: yard.folder / "state"
    )
    printed = []
    try:
        available = await held.available()
        assert available.works or available.by.startswith("Landlock"), available
        processes = Processes(os.environ, lambda: (yard.work,), held)
        for line in lines:
            wanted = Run(line=told(yard) + line, folder=uri_of(yard.work), timeout_s=60, contained=how)
            ran = await processes.run(wanted, asyncio.Event(), lambda text: None)
            assert isinstance(ran, RunResult), (line, ran)
            printed.append(ran.output)
    finally:
        held.close()
    return printed


def told(yard: Yard) -> str:
    """What every escape knows of the machine."""
    port = yard.heard[-1].getsockname()[1]
    abstract = next(name for each in yard.heard if isinstance(name := each.getsockname(), bytes))
    values = {
        "ABSTRACT": abstract[1:].decode(),
        "WS": yard.work,
        "OUT": yard.out,
        "PORT": port,
        "SHARED": yard.shared,
        "STATE": yard.folder / "state",
        "OUTER": os.getpid(),
        "OLDHOME": yard.folder / "home",
    }
    return "".join(f"{name}='{value}'\n" for name, value in values.items())


def lines_of(*files: Path) -> list[str]:
    """The lines of files of escapes."""
    rows = [row for file in files for row in file.read_text().splitlines()]
    return [row for row in rows if not row.startswith("#")]


@pytest.mark.parametrize("profile", [Profile.WORK, Profile.LOOK])
async def test_nothing_is_reached(yard: Yard, profile: Profile) -> None:
    before = yard.state()
    escapes = lines_of(ESCAPES)
    if profile is Profile.LOOK:  # which holds by the same means
        escapes = escapes[::3]
    printed = await contained(yard, Contained(profile=profile), *escapes)
    assert not [line for line, said in zip(escapes, printed, strict=True) if SECRET in said]
    assert yard.anybody_came() == []
    assert yard.state() == before


@landlocked
@pytest.mark.parametrize("profile", [Profile.WORK, Profile.LOOK])
async def test_nothing_is_reached_where_only_landlock_holds(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, profile: Profile
) -> None:
    monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    before = yard.state()
    escapes = lines_of(ESCAPES, *([ESCAPES_OF_WORK] if profile is Profile.WORK else []))
    alone = [line for line in escapes if "kill" in line]  # which may end the others
    others = [f"(\n{line}\n)\n" for line in escapes if line not in alone]
    batches = [*alone, *("".join(others[at : at + 10]) for at in range(0, len(others), 10))]
    printed = await contained(yard, Contained(profile=profile), *batches)
    assert not [batch for batch, said in zip(batches, printed, strict=True) if SECRET in said]
    assert yard.anybody_came() == []
    assert yard.state() == before


@landlocked
async def test_a_link_that_leads_elsewhere_amid_a_call_gets_at_nothing(
    yard: Yard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    before = yard.state()
    (yard.work / "swaps.py").write_text(SWAPS)
    (printed,) = await contained(yard, Contained(profile=Profile.WORK), "python3 swaps.py")
    assert "plain" in printed
    assert SECRET not in printed
    assert "mark" in (yard.work / "a.txt").read_text()
    assert yard.state() == before


@landlocked
async def test_a_command_that_has_too_much_open_is_told(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    line = "ulimit -n 30; python3 -c 'print([open(str(i), \"w\") for i in range(40)])'"
    (printed,) = await contained(yard, Contained(profile=Profile.WORK), line)
    assert "Too many open files" in printed


@landlocked
async def test_landlock_lets_commands_read(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    how = Contained(profile=Profile.LOOK)
    lines = (
        "cat a.txt",
        "git log --format=%s",
        "grep -c plain *.txt",
        "ls keys",
        "seq 9 | sort -r | head -1",
    )
    printed = await contained(yard, how, *lines)
    assert printed[:2] == ["plain\n", "first\n"]
    assert "a.txt:1" in printed[2]
    assert printed[3:] == ["server.pem\n", "9\n"]
    opened = replace(how, opened=(uri_of(yard.work / ".env"),))
    assert await contained(yard, opened, "cat .env") == [f"KEY={SECRET}\n"]


@pytest.mark.usefixtures("by")
async def test_what_is_opened_is_reached_and_nothing_beside_it(yard: Yard) -> None:
    opened = (uri_of(yard.work / ".env"), uri_of(yard.work / ".vscode/settings.json"))
    line = 'cat .env sub/id_rsa; echo; cat .vscode/settings.json "$OUT/secret.txt"; ls "$OUT"'
    (printed,) = await contained(yard, Contained(profile=Profile.WORK, opened=opened), line)
    assert printed.count(SECRET) == len(opened)
    how = Contained(profile=Profile.LOOK, opened=(uri_of(yard.out),))
    assert await contained(yard, how, 'cat "$OUT/secret.txt"') == [SECRET]


@pytest.mark.usefixtures("by")
async def test_a_repository_that_is_opened_keeps_its_hooks_and_settings(yard: Yard) -> None:
    line = """
        echo more >> a.txt && git add a.txt && git -c user.name=u -c user.email=e commit -qm second
        git log --format=%s; echo x > .git/hooks/post-commit; echo x >> .git/config; git config a.b c
    """
    how = Contained(profile=Profile.WORK, needs=frozenset({Need.REPOSITORY}))
    config = (yard.work / ".git/config").read_bytes()
    (printed,) = await contained(yard, how, line)
    assert printed.startswith("second\nfirst\n")
    assert (yard.work / ".git/config").read_bytes() == config
    assert not (yard.work / ".git/hooks/post-commit").exists()


@pytest.mark.usefixtures("by")
async def test_a_command_that_is_given_the_network_reaches_this_machine(yard: Yard) -> None:
    how = Contained(profile=Profile.WORK, needs=frozenset({Need.NETWORK}))
    await contained(yard, how, "echo mark > /dev/tcp/127.0.0.1/$PORT")
    assert any("127.0.0.1" in each for each in yard.anybody_came())


@pytest.mark.usefixtures("by")
async def test_work_is_done(yard: Yard) -> None:
    """Programs are found, write in the workspace as its owner, and have a folder for temporary files."""
    line = "python3 -c 'import tempfile; print(len(tempfile.mkdtemp()) > 4)' && echo made > sub/made && id -u"
    (printed,) = await contained(yard, Contained(profile=Profile.WORK), line)
    assert printed == f"True\n{os.getuid()}\n"
    made = yard.work / "sub/made"
    assert (made.read_text(), made.stat().st_uid) == ("made\n", os.getuid())
    assert shutil.which("python3")


@pytest.mark.usefixtures("by")
async def test_to_open_a_folder_opens_nothing_that_is_hidden_in_it(yard: Yard) -> None:
    before = yard.state()
    how = Contained(profile=Profile.WORK, opened=(uri_of(yard.work), uri_of(yard.work / "sub")))
    (printed,) = await contained(yard, how, "cat .env sub/id_rsa; echo x > .git/hooks/x; echo x > AGENTS.md")
    assert SECRET not in printed
    assert yard.state() == before


@pytest.mark.usefixtures("by")
async def test_what_is_opened_in_a_folder_that_is_kept_may_be_written_and_nothing_else(yard: Yard) -> None:
    how = Contained(profile=Profile.WORK, opened=(uri_of(yard.work / ".husky/pre-commit"),))
    await contained(yard, how, "echo new > .husky/pre-commit; echo x > .husky/other")
    assert (yard.work / ".husky/pre-commit").read_text() == "new\n"
    assert not (yard.work / ".husky/other").exists()


@pytest.mark.usefixtures("by")
@pytest.mark.parametrize("above", ["", "home", ".."])
async def test_a_folder_that_holds_the_workspace_or_the_home_folder_is_not_opened(
    yard: Yard, above: str
) -> None:
    how = Contained(profile=Profile.WORK, opened=(uri_of((yard.folder / above).resolve()),))
    with pytest.raises(AssertionError, match="The command was not run"):
        await contained(yard, how, "cat .env")
