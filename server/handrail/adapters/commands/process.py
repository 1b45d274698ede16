"""
Run command lines: each in a process group of its own, for a limited time, and with all its children ended.

What a command prints is handed on as it comes, and kept up to a limit: of more, the middle is lost. When the
command ends, is stopped or takes too long, every process that it has started is ended as well.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import secrets
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from handrail.adapters.commands import environment, shell_parser
from handrail.adapters.files.files import in_thread, path_of
from handrail.core.failure import Code, Failure
from handrail.core.policy.shell import End, ParsedCommand, Ran, Run
from handrail.core.results import screen

MARK = "HANDRAIL_COMMAND"  # in the environment of all that a command starts; how it is found again
GRACE_S = 2.0  # between asking processes to end and ending them
POLL_S = 0.02  # how often it is looked whether they have
FINDS_ALL = sys.platform.startswith("linux")  # elsewhere only what stays in the command's group is ended
LINGER_S = 0.5  # for output that is still on its way when the command has ended
HEAD_CHARS, TAIL_CHARS = 4_000_000, 6_000_000  # of the output that is kept


class Processes:
    """The Process port."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environment = environment.of_commands(environ)

    async def parse(self, line: str) -> ParsedCommand:
        """*line*, taken apart."""
        return await in_thread(shell_parser.parse, line)

    async def run(self, run: Run, stop: asyncio.Event, tell: Callable[[str], None]) -> Ran | Failure:
        """Run a command line to its end; see the port."""
        folder = path_of(run.folder)
        if folder is None or not await in_thread(folder.is_dir):
            return Failure(code=Code.NO_SUCH_FILE, message="The folder to run the command in is not there.")
        mark = secrets.token_hex(16)
        ours, theirs = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *shell(run.line),
                cwd=folder,
                env={**self._without(run.secrets), MARK: mark, "PWD": os.fspath(folder)},
                stdin=asyncio.subprocess.DEVNULL,
                # A pipe of our own: asyncio would wait for its pipe to be closed by all who have it.
                stdout=theirs,
                stderr=theirs,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL character
            os.close(ours)
            return Failure(code=Code.TOOL_FAILED, message=f"The command could not be started: {error}.")
        finally:
            os.close(theirs)
        output = _Output(tell=tell)
        reading = asyncio.ensure_future(_read(ours, output))
        end = End.STOPPED
        try:
            end = await _ended(process, stop, run.timeout_s)
            if end is End.EXITED:
                await asyncio.wait([reading], timeout=LINGER_S)
        finally:
            left = await _end_all(process, mark)
            await asyncio.wait([reading], timeout=LINGER_S)
            reading.cancel()
            await asyncio.wait([reading])
        code = process.returncode if end is End.EXITED else None
        return Ran(end=end, code=code, output=screen.plain(output.text()), left_processes=left)

    def _without(self, secrets: Sequence[str]) -> dict[str, str]:
        """The environment without variables that hold one of *secrets*, whatever they are called."""
        held = self._environment.items()
        return {name: value for name, value in held if not any(secret in value for secret in secrets)}


def shell(line: str) -> tuple[str, ...]:
    """The command that runs a line: bash where it is, without anybody's settings."""
    bash = shutil.which("bash")
    return (bash, "--noprofile", "--norc", "-c", line) if bash else ("/bin/sh", "-c", line)


@dataclass(kw_only=True)
class _Output:
    """What a command has printed: the head, and the tail once that is full."""

    tell: Callable[[str], None]
    head: list[str] = field(default_factory=list)
    tail: deque[str] = field(default_factory=deque)
    head_size: int = 0
    tail_size: int = 0
    lost: int = 0

    def add(self, text: str) -> None:
        if not text:
            return
        self.tell(text)
        room = HEAD_CHARS - self.head_size
        first, rest = text[:room], text[room:]
        self.head.append(first)
        self.head_size += len(first)
        self.tail.append(rest)
        self.tail_size += len(rest)
        while self.tail_size - len(self.tail[0]) >= TAIL_CHARS:
            gone = len(self.tail.popleft())
            self.tail_size, self.lost = self.tail_size - gone, self.lost + gone

    def text(self) -> str:
        lost = f"\n[{self.lost:,} characters of this output were not kept]\n" if self.lost else ""
        return "".join(self.head) + lost + "".join(self.tail)


async def _read(pipe: int, output: _Output) -> None:
    """Read what is printed until nobody can print any more."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
    )
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        while chunk := await reader.read(1 << 16):
            output.add(decoder.decode(chunk))
    finally:
        output.add(decoder.decode(b"", final=True))
        transport.close()


async def _ended(process: asyncio.subprocess.Process, stop: asyncio.Event, timeout_s: float) -> End:
    """Wait until the command ends by itself, is stopped, or has had its time."""
    ending = asyncio.ensure_future(process.wait())
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((ending, stopping), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if ending.done():
            return End.EXITED
        return End.STOPPED if stopping.done() else End.TIMED_OUT
    finally:
        ending.cancel()
        stopping.cancel()


async def _end_all(process: asyncio.subprocess.Process, mark: str) -> int:
    """End the command and all that it has started; returns how many processes of it still ran."""
    left = await in_thread(_marked, mark)
    if process.returncode is not None and not left and FINDS_ALL:
        return 0
    known = frozenset(left)
    _signal(process.pid, known, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while True:
        known |= frozenset(await in_thread(_marked, mark))
        known = frozenset(filter(_is_alive, known))
        if process.returncode is not None and not known:
            break
        if time.monotonic() > deadline:
            _signal(process.pid, known, signal.SIGKILL)
        if time.monotonic() > deadline + GRACE_S:  # not even the system can end it now
            break
        await asyncio.sleep(POLL_S)
    if not FINDS_ALL:
        _signal(process.pid, known, signal.SIGKILL)
    return len(left)


def _signal(group: int, pids: frozenset[int], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _marked(mark: str) -> list[int]:
    """The running processes that carry *mark*, those in a session of their own as well; Linux only."""
    if not FINDS_ALL:
        return []
    wanted, found = f"{MARK}={mark}".encode(), list[int]()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with suppress(OSError), open(f"/proc/{entry.name}/environ", "rb") as environ:
            if wanted in environ.read():
                found.append(int(entry.name))
    return found


def _is_alive(pid: int) -> bool:
    """Whether a process still runs; one that nobody has waited for does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False
