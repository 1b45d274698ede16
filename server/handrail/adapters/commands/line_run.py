"""
Run the commands of one line: with a shell, or as a script without one.

A script runs as bash would run the line: one pipeline after another, as `&&` and `||` demand, with the exit
code of the last command. Its words are taken literally.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from handrail.adapters.commands import ending, kept_process
from handrail.adapters.containment.holding import Holding
from handrail.adapters.files.files import in_thread, path_of
from handrail.core.policy.commands.script import Environment, Script, Stage, Step
from handrail.values import dataclass, field

NOT_FOUND, NOT_EXECUTABLE = 127, 126
SIGNALLED = 128  # what bash adds to a signal
ENDLESS = frozenset({"tail"})  # known commands that may wait for more
SAID_BYTES = 10_000  # what bubblewrap says of a command at most


@dataclass(kw_only=True)
class LineRun:
    """
    Runs one line, and has its processes.

    Attributes:
        environments: What its commands see: those that are known, and (None) all others.
        output: The file descriptor to which they print.
        processes: All that were started; each leads a session.
        holding: What they are held by; None for nothing.
        is_kept: Whether what is neither held nor sure to end runs below a keeper.
    """

    environments: Mapping[Environment | None, Mapping[str, str]]
    output: int
    processes: list[ending.Process] = field(default_factory=list)
    holding: Holding | None = None
    is_kept: bool = False
    _told: list[int] = field(default_factory=list)

    async def shell(self, line: str, folder: str, given: bytes = b"") -> int:
        """Run *line* in a shell that reads *given*; returns its exit code. Raises OSError, ValueError."""
        with _pipe_of(given) as source:
            name, *arguments = shell(line)
            streams = (source, self.output, self.output)
            process = await self._start(name, name, arguments, streams, folder, None)
        return await process.wait()

    async def script(self, script: Script) -> int:
        """Run *script* to its end; returns the exit code of its last command, below 0 for a signal."""
        code = 0
        for step in script.steps:
            if (step.after == "&&" and code) or (step.after == "||" and not code):
                continue
            code = await self._pipeline(step)
            if code < 0 and len(script.stages) > 1:
                code = SIGNALLED - code
            code = int(not code) if step.negated else code
        return code

    async def _pipeline(self, step: Step) -> int:
        """Run the stages of *step* at once; returns the exit code of the last one."""
        running: list[ending.Process | int] = []
        with _nowhere() as nowhere:
            source = os.dup(nowhere)
            for number, stage in enumerate(step.stages, 1):
                following, target = os.pipe() if number < len(step.stages) else (-1, os.dup(self.output))
                streams, source = (source, target, self.output), following
                try:
                    running.append(await self._stage(stage, streams, nowhere))
                except BaseException:
                    _close(source)
                    raise
                finally:
                    _close(*streams[:2])
        codes = [each if isinstance(each, int) else await each.wait() for each in running]
        return codes[-1]

    async def _stage(self, stage: Stage, given: tuple[int, int, int], nowhere: int) -> ending.Process | int:
        """Start one command; its exit code if there is nothing to run."""
        streams = list(given)
        for redirect in stage.redirects:
            streams[redirect.channel] = nowhere if redirect.to is None else streams[redirect.to]
        source, target, errors = streams
        if stage.failure:
            return await _print(errors, stage.failure, stage.code)
        if stage.enters:
            return 0
        is_known = not stage.why_not
        name = stage.words[0]
        environment = stage.environment if is_known else None
        program = stage.program if is_known else await in_thread(self._find, name, stage.folder)
        if not program:
            return await _print(errors, f"{name}: command not found", NOT_FOUND)
        arguments = stage.arguments if is_known else stage.words[1:]
        try:
            return await self._start(
                program, name, arguments, (source, target, errors), stage.folder, environment
            )
        except OSError as error:
            if error.errno == errno.ENOEXEC and not is_known:  # a script that does not say what runs it
                runs, *options = shell("")[:-2]
                return await self._start(
                    runs, runs, (*options, program, *arguments), (source, target, errors), stage.folder, None
                )
            return await _print(errors, f"{name}: {error.strerror or error}", NOT_EXECUTABLE)

    def _find(self, name: str, folder: str) -> str:
        """The program *name* of a command that is not known, as the user's PATH has it."""
        if "/" in name:
            return os.path.join(_path(folder), name)
        return shutil.which(name, path=self.environments[None].get("PATH")) or ""

    async def _start(  # noqa: PLR0913, PLR0917  # what a process is started with
        self,
        program: str,
        name: str,
        arguments: tuple[str, ...] | list[str],
        streams: tuple[int, int, int],
        folder: str,
        environment: Environment | None,
    ) -> ending.Process:
        at = _path(folder)
        seen = {**self.environments[environment], "PWD": at}
        started, runs, told = (name, *arguments), program, list[int]()
        # What is known to change nothing starts nothing either, and most of it ends by itself.
        needs_keeper = self.is_kept and (environment is None or name in ENDLESS)
        if self.holding is not None:
            needs_keeper = self.holding.needs_keeper
            ours, theirs = os.pipe()
            os.set_blocking(ours, False)
            self._told.append(ours)
            told = [theirs]
            runs = self.holding.program
            started = (runs, *self.holding.wrap(program, name, arguments, at, theirs))
        process: ending.Process
        try:
            if needs_keeper:
                process = await kept_process.start(runs, started, streams, at, seen, ending.GRACE_S, told)
            else:
                process = await asyncio.create_subprocess_exec(
                    *started,
                    executable=runs,
                    cwd=at,
                    env=seen,
                    stdin=streams[0],
                    # A pipe of our own: asyncio would wait for its pipe to be closed by all who have it.
                    stdout=streams[1],
                    stderr=streams[2],
                    start_new_session=True,
                    pass_fds=told,
                )
        finally:
            _close(*told)
        self.processes.append(process)
        return process

    def close(self) -> bool:
        """End this; returns whether all that has run by now was held as it should be."""
        said = [_read_status(each) for each in self._told]
        _close(*self._told)
        return all(map(Holding.was_held, said))


def shell(line: str) -> tuple[str, ...]:
    """The command that runs a line: bash where it is, without anybody's settings."""
    bash = shutil.which("bash")
    return (bash, "--noprofile", "--norc", "-c", line) if bash else ("/bin/sh", "-c", line)


@contextmanager
def _nowhere() -> Iterator[int]:
    """A file descriptor of `/dev/null`."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        yield nowhere
    finally:
        os.close(nowhere)


@contextmanager
def _pipe_of(given: bytes) -> Iterator[int]:
    """A file descriptor from which *given* can be read."""
    if not given:
        with _nowhere() as nowhere:
            yield nowhere
        return
    with tempfile.TemporaryFile() as file:  # a pipe would have to be written to while it is read
        file.write(given)
        file.seek(0)
        yield file.fileno()


def _read_status(descriptor: int) -> bytes:
    """
    Returns what bubblewrap reported about a command; empty if it still runs, since nothing could end it.
    """
    try:
        return os.read(descriptor, SAID_BYTES)
    except BlockingIOError:
        return b""


def _close(*descriptors: int) -> None:
    for each in descriptors:
        if each >= 0:
            os.close(each)


async def _print(errors: int, text: str, code: int) -> int:
    """Print *text* in place of a command."""
    raw = f"{text}\n".encode("utf-8", "replace")
    with suppress(OSError):
        await in_thread(os.write, errors, raw)  # the pipe may be full, and it is we who empty it
    return code


def _path(folder: str) -> str:
    path = path_of(folder)
    assert path is not None, folder
    return os.fspath(path)
