"""
Lines that are judged as calls of a model, and what becomes of those that run unasked, in a throw-away tree.

Theory of operation. Lines are tried a few thousand at a time, in two processes that give up root's rights.
The first judges, the second runs what may run. Before each line that opens a file of its number, which is not
there: so the trace says which line did what. A tree that was changed is made anew for the next line.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401  # in the root that the steps see it cannot be found
import json
import os
import pickle
import random
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import traced
from bench import Bench
from handrail.adapters.commands.ending import MARK as IN_ENVIRONMENT
from handrail.adapters.commands.ending import end_all
from handrail.adapters.commands.line_run import LineRun
from handrail.adapters.commands.process import Processes
from handrail.agent.turn.resolve import Ready, resolve
from handrail.core.conversation.message import ToolCall
from handrail.core.policy import verdict
from handrail.core.policy.commands.script import Environment, Script
from handrail.core.policy.shell import Run
from handrail.core.policy.verdict import Allow, Rights
from handrail.testing import lay_out
from shell_lines import Names, lines

AT_ONCE = 4_000
NOTHING = Run(line="", folder="", timeout_s=None)
NOBODY = 65_534
SECRET = "KEY-7f3a9c"
LIMIT_S = 10.0  # of one line
LIMIT_BYTES = 2_000_000  # of what it prints
FILES = {
    "w/a.txt": "one\ntwo\nthree\n",
    "w/b.txt": "two\n",
    "w/src/main.py": "print('one')\n",
    "w/src/deep/util.py": "# two\n",
    "w/src/.hidden": "hidden one\n",
    "w/-o": "named like an option\n",
    "w/it's": "one\n",
    "w/sp ace": "one\n",
    "w/names": ".env\0keys/server.pem\0",
    "w/opts": "@.env\n",
    "w/dates": "no date\n",
    "w/.env": f"{SECRET}\n",
    "w/keys/.env": f"{SECRET}\n",
    "w/keys/server.pem": f"{SECRET}\n",
    "w/keys/readme": "two\n",
    "w/.ignore": "!.env\n!*.pem\n",
    "w/.gitattributes": "*.txt diff=evil filter=evil\n*.py export-subst\n",
    "out/secret.txt": f"{SECRET}\n",
    "home/.netrc": f"{SECRET}\n",
    "home/.gitconfig": "[core]\n\tpager = ./tool\n[alias]\n\tlog = !./tool\n[diff]\n\texternal = ./tool\n",
    "home/.ripgreprc": "--pre=./tool\n",
}
TOOL = "#!/bin/sh\n: > pwned\n"
# Of a repository in the workspace: all by which git might run something, and that we turn off.
HOOKS = ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman")
CONFIG = """
[core]
    fsmonitor = ./tool
    pager = ./tool
    editor = ./tool
    sshCommand = ./tool
    askPass = ./tool
    hooksPath = hooks
    alternateRefsCommand = ./tool
[alias]
    log = !./tool
    st = !./tool
[pager]
    log = ./tool
[credential]
    helper = ./tool
[browser "x"]
    cmd = ./tool
[sequence]
    editor = ./tool
[color]
    ui = always
[diff]
    noprefix = true
[log]
    showSignature = true
"""
SECRETS = (
    ".env",
    "keys/.env",
    "keys/server.pem",
    "hard",
    "soft",
    "../out/secret.txt",
    "~/.netrc",
    ".git/config",
)
READABLE = (
    "a.txt",
    "b.txt",
    "src/main.py",
    "src/*.py",
    "*.txt",
    "src/deep/util.py",
    "./-o",
    "it's",
    "sp ace",
    "nothing",
)
FOLDERS = ("src", "src/deep", ".", "keys", "nested", "link", "src/", "./src", "folder")


class Ground:
    """A workspace with what must not be read, run or changed, beside files that must not be, either."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "w"
        self.names = Names(files=READABLE, folders=FOLDERS, secrets=SECRETS, port=9)

    def make(self) -> None:
        """Make all of it, for whoever is to run the lines."""
        lay_out(self.folder, {name: text.encode() for name, text in FILES.items()})
        self._finish(self.root)
        for repository in (self.root, self.root / "nested"):
            self._repository(repository)
        hostile = self.root / "nested" / ".git"
        with (hostile / "config").open("a") as config:
            config.write(CONFIG)
        for name in HOOKS:
            for hook in (hostile / "hooks" / name, self.root / "nested" / "hooks" / name):
                hook.parent.mkdir(exist_ok=True)
                hook.write_text(TOOL)
                hook.chmod(0o755)
        shutil.copytree(self.root, self.folder / "as-made", symlinks=True)
        if os.getuid() == 0:
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def make_again(self) -> None:
        """The workspace as it was at first."""
        shutil.rmtree(self.root)
        shutil.copytree(self.folder / "as-made", self.root, symlinks=True)
        for path in self.folder.iterdir():
            if path.name not in ("w", "as-made", "out", "home", "state"):
                path.unlink() if not path.is_dir() else shutil.rmtree(path)

    def state(self) -> dict[str, object]:
        """What a command that changes something would change."""
        places = (self.root, self.folder / "out", self.folder / "home")
        found = {path: os.lstat(path) for top in places for path in (top, *_below(top))}
        names = frozenset(os.listdir(self.folder))
        return {
            "": names,
            **{os.fspath(p): (s.st_mode, s.st_size, s.st_mtime_ns, s.st_ino) for p, s in found.items()},
        }

    def is_protected(self, path: str) -> bool:
        """Whether only git may open a file, as long as it does not show it."""
        inner = os.path.relpath(path, self.folder)
        if inner == "home/.gitconfig":  # of which `rg` takes the names of files to leave out
            return False
        return inner.startswith(("out/", "home/")) or inner in {
            "w/.env", "w/keys/.env", "w/keys/server.pem", "w/hard", "w/.git/config", "w/nested/.git/config",
        }  # fmt: skip

    def _finish(self, root: Path) -> None:
        for folder in (root, root / "nested"):
            folder.mkdir(exist_ok=True)
            (folder / "tool").write_text(TOOL)
            (folder / "tool").chmod(0o755)
            (folder / "ls").write_text(TOOL)
            (folder / "ls").chmod(0o755)
            (folder / "a.txt").write_text("one\ntwo\n")
        os.link(root / ".env", root / "hard")
        (root / "soft").symlink_to(".env")
        (root / "link").symlink_to("src")
        (root / "folder").symlink_to("../out")

    def _repository(self, root: Path) -> None:
        environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
        who = ("-c", "user.name=u", "-c", "user.email=e", "-c", "core.autocrlf=false")
        for arguments in (
            ("init", "-q", "-b", "main", "--template="),
            ("add", "-f", "a.txt", *(("b.txt", ".env") if root == self.root else ())),
            ("commit", "-qm", "first"),
            ("rm", "-q", "--cached", "--ignore-unmatch", ".env"),
            ("commit", "-q", "--allow-empty", "-m", "second"),
        ):
            subprocess.run(("git", *who, *arguments), cwd=root, env=environment, check=True)
        (root / "a.txt").write_text("ONE\ntwo\n")


def _below(folder: Path) -> Iterator[str]:
    for top, folders, files in os.walk(folder):
        yield from (os.path.join(top, name) for name in (*folders, *files))


# ---- What is tried ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """A line that runs unasked, and what its commands see."""

    line: str
    script: Script | None
    environments: Mapping[Environment | None, Mapping[str, str]]


@dataclass(frozen=True)
class Played:
    """What became of a line."""

    printed: bytes
    changes: Sequence[str]
    connected: bool
    is_late: bool


@dataclass
class Tried:
    """What was found: how many lines ran unasked, and the complaints, by line."""

    judged: int = 0
    ran: int = 0
    late: int = 0
    complaints: dict[str, str] = field(default_factory=dict)

    def add(self, other: Tried) -> None:
        """Count *other* as well."""
        self.judged += other.judged
        self.ran += other.ran
        self.late += other.late
        self.complaints |= other.complaints


def tried(wanted: Sequence[str]) -> Tried:
    """Judge *wanted*, and run what runs unasked."""
    with tempfile.TemporaryDirectory(prefix="handrail-lines-") as name:
        ground = Ground(Path(name).resolve())
        ground.make()
        judged: list[Judged] = _in_process(ground, "judge", wanted)
        found = Tried(judged=len(wanted), ran=len(judged))
        for each in judged:
            if each.script is None:
                found.complaints[each.line] = "a shell would run it unasked"
        running = [each for each in judged if each.script is not None]
        for each, seen, said in ran(ground, running):
            found.late += seen.is_late
            if said:
                found.complaints[each.line] = said
    return found


def ran(ground: Ground, judged: Sequence[Judged]) -> Iterator[tuple[Judged, Played, str]]:
    """Run what was *judged*: what became of each, and the complaint about it, if any."""
    log = ground.folder.parent / f"{ground.folder.name}.trace"
    try:
        played: list[Played] = _in_process(ground, "play", judged, traced.tracing(log))
        seen_by_kernel = traced.complaints(log, ground.folder, ground.is_protected) if log.exists() else {}
    finally:
        log.unlink(missing_ok=True)
    for number, (each, seen) in enumerate(zip(judged, played, strict=True)):
        said = dict.fromkeys((*_complaints(seen), *seen_by_kernel.get(number, ())))
        yield each, seen, "; ".join(said)


def _complaints(played: Played) -> Iterator[str]:
    if SECRET.encode() in played.printed:
        yield "prints a protected file"
    if played.changes:
        yield f"changes {', '.join(played.changes[:3])}"
    if played.connected:
        yield "connects to a socket"


def first_bad(wanted: Sequence[str]) -> str | None:
    """The first of *wanted* about which there is a complaint."""
    return next(iter(tried(wanted).complaints), None)


# ---- In processes of an ordinary user -------------------------------------------------------------------


def _in_process(ground: Ground, what: str, given: object, before: Sequence[str] = ()) -> list:  # type: ignore[type-arg]
    """What `main` makes of *given*."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.fspath(ground.folder / "home"),
        "LC_ALL": "C.UTF-8",
        "RIPGREP_CONFIG_PATH": os.fspath(ground.folder / "home" / ".ripgreprc"),
        # Other tests have put folders before ours, with modules of the same names.
        "PYTHONPATH": os.pathsep.join([os.fspath(Path(__file__).parent), *filter(None, sys.path)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        (
            *before,
            sys.executable,
            "-c",
            "import unasked_lines; unasked_lines.main()",
            what,
            os.fspath(ground.folder),
        ),
        input=pickle.dumps(given),
        capture_output=True,
        env=environment,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode("utf-8", "replace")[-2000:])
    return pickle.loads(done.stdout)  # type: ignore[no-any-return]


def _give_up_rights() -> None:
    """Go on as an ordinary user, who cannot take much of the machine."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.getuid() == 0:
        resource.setrlimit(resource.RLIMIT_NPROC, (500, 500))
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


async def judge(ground: Ground, wanted: Sequence[str]) -> list[Judged]:
    """Those of *wanted* that would run unasked, with what is run of them."""
    bench = Bench(ground.root, ground.folder / "state" / "s")
    ports, rights = bench.ports(), Rights()
    processes = Processes(os.environ, lambda: (ground.root,))
    environments = processes._environments(ground.root, NOTHING, "fuzz", is_held=False)
    found = []
    await resolve(ToolCall(id="c", name="terminal", arguments='{"command": "git status; ls *"}'), ports, None)
    _give_up_rights()  # what is imported late has been by now
    for line in wanted:
        call = ToolCall(id="c", name="terminal", arguments=json.dumps({"command": line}))
        ready = await resolve(call, ports, None)
        if not isinstance(ready, Ready):
            continue
        said = verdict.verdict(ready.request, rights)
        if isinstance(said, Allow):
            script = verdict.script_of(ready.request, said)
            found.append(Judged(line=line, script=script, environments=environments))
    return found


async def play(ground: Ground, wanted: Sequence[Judged]) -> list[Played]:
    """Run what is *wanted*, one after another."""
    heard = _listen(ground)
    await (await asyncio.create_subprocess_exec("true")).wait()
    _give_up_rights()
    ground.make_again()
    before = ground.state()
    found = []
    for number, each in enumerate(wanted):
        assert each.script is not None
        traced.mark(number)
        printed, is_late = await _run(each.script, each.environments)
        traced.mark(-1)
        after = ground.state()
        changed = [os.path.relpath(name, ground.root) for name in _differing(before, after)]
        connected = any(_came(listener) for listener in heard)
        found.append(Played(printed=printed, changes=changed, connected=connected, is_late=is_late))
        if changed:
            ground.make_again()
            before = ground.state()
    return found


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    return sorted(name for name in {**before, **after} if before.get(name) != after.get(name))


async def _run(
    script: Script, environments: Mapping[Environment | None, Mapping[str, str]]
) -> tuple[bytes, bool]:
    ours, theirs = os.pipe()
    line_run = LineRun(environments=environments, output=theirs)
    reading = asyncio.ensure_future(asyncio.to_thread(_all_of, ours))
    is_late = False
    try:
        await asyncio.wait_for(line_run.script(script), LIMIT_S)
    except TimeoutError:
        is_late = True
    finally:
        os.close(theirs)
        if is_late:
            await end_all(line_run.processes, environments[None][IN_ENVIRONMENT])
    return await reading, is_late


def _all_of(descriptor: int) -> bytes:
    kept = b""
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while piece := pipe.read(65_536):
            kept += piece if len(kept) < LIMIT_BYTES else b""
    return kept


def _listen(ground: Ground) -> list[socket.socket]:
    found = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
    found[1].bind(os.fspath(ground.folder / "out" / "talk.sock"))
    found[1].listen()
    for each in found:
        each.setblocking(False)
    return found


def _came(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def main() -> None:
    """Judge or play, in a process of its own, what is given on stdin."""
    begin: Callable[..., Coroutine[object, object, object]] = {"judge": judge, "play": play}[sys.argv[1]]
    made = asyncio.run(begin(Ground(Path(sys.argv[2])), pickle.load(sys.stdin.buffer)))
    sys.stdout.buffer.write(pickle.dumps(made))


# ---- Many ----------------------------------------------------------------------------------------------


def search(count: int, seed: int, tell: Callable[[str], object] = lambda text: None) -> Tried:
    """Try *count* lines."""
    source = lines(random.Random(seed), Ground(Path("/")).names)
    found = Tried()
    while found.judged < count:
        found.add(tried([next(source) for _ in range(min(AT_ONCE, count - found.judged))]))
        complaints = len(found.complaints)
        tell(f"{found.judged} lines, {found.ran} ran, {found.late} were ended, {complaints} complaints")
    return found
