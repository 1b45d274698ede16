"""
Run command lines: each in process groups of its own and for a limited time.

A line that runs without a question is run from its parsed words; a shell runs the lines that the user
allowed. When the command ends, is stopped or takes too long, every process that it has started is stopped
too.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from handrail.adapters.commands import disk_space, environment, output, repository, shell_parser
from handrail.adapters.commands.ending import MARK, end_all
from handrail.adapters.commands.line_run import LineRun
from handrail.adapters.commands.prepare import Programs, prepare
from handrail.adapters.commands.process_limit import wait_for_too_many_processes
from handrail.adapters.containment.containment import CannotContainError, Containment
from handrail.adapters.containment.holding import Holding
from handrail.adapters.files.failure import in_words
from handrail.adapters.files.files import in_thread, path_of, uri_of
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.policy.commands.line import NeedsShell, Pipeline
from handrail.core.policy.commands.script import Environment, Script
from handrail.core.policy.containment import Available
from handrail.core.policy.shell import Appeared, End, ParsedCommand, Run, RunResult, SetAside
from handrail.core.results import screen
from handrail.ports import Repository
from handrail.values import dataclass, replace

TEMPORARY_FOLDERS = frozenset({"TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR"})
POLL_S = 0.05  # how often it is looked whether a hidden file is still the one that is hidden
LAST_CHARS = 20_000  # of what a command in the background has printed, when it ends
LINGER_S = 0.5  # for output that is still on its way when the command has ended
NOT_HERE = Failure(code=Code.NO_SUCH_FILE, message="This is not a path on this machine.")


class Processes:
    """The Process port; *roots* gives the workspace folders, and *containment* holds what runs."""

    def __init__(
        self,
        environ: Mapping[str, str],
        roots: Callable[[], Sequence[Path]] = lambda: (),
        containment: Containment | None = None,
    ) -> None:
        self._environment = environment.of_commands(environ)
        self._roots = roots
        self._containment = containment
        self._named: dict[str, Holding | None] = {}  # None: it has ended, its containment is being released

    async def available(self) -> Available:
        """Returns how far commands can be contained; see the port."""
        if self._containment is None:
            return Available(why_not="no sandbox is set up here")
        return await self._containment.available()

    def note_folders(self, uris: Sequence[str]) -> None:
        """Commands have made these folders."""
        if self._containment is not None:
            self._containment.note_folders(uris)

    def allow(self, uris: Sequence[str]) -> None:
        """Notes that what is at these URIs may be there; see the port."""
        if self._containment is not None:
            self._containment.allow(uris)

    async def parse(self, line: str) -> ParsedCommand:
        """*line*, taken apart."""
        return await in_thread(shell_parser.parse, line)

    async def prepare(self, pipelines: Sequence[Pipeline], folder: str) -> Script | NeedsShell:
        """*pipelines* as they run in *folder*; see the port."""
        at = path_of(folder)
        assert at is not None, folder
        return await in_thread(prepare, pipelines, at, self._programs(at))

    async def repository(
        self, folder: str, names: Sequence[str], objects: Sequence[str]
    ) -> Repository | Failure | None:
        """The repository of *folder*; see the port."""
        at = path_of(folder)
        assert at is not None, folder
        programs = self._programs(at)
        git = programs.find("git")
        if not git:
            return None
        given = self._known_environment(Environment.GIT, programs)
        return await in_thread(repository.inspect, git, given, at, names, objects)

    async def put_back(self, uri: str) -> Failure | None:
        """Have be there again what was taken away; see the port."""
        path = path_of(uri)
        if self._containment is None or path is None:
            return NOT_HERE
        return await in_thread(self._containment.put_back, path)

    async def put_back_saved(self, uri: str, saved: Mapping[str, Text]) -> tuple[Appeared, ...]:
        """Have be there again the files that were saved; see the port."""
        path = path_of(uri)
        if self._containment is None or path is None:
            return ()
        return await in_thread(self._containment.put_back_saved, path, saved)

    async def set_aside(self, name: str) -> SetAside:
        """Move away what has appeared while a command runs; see the port."""
        holding = self._named.get(name)
        if holding is None or self._containment is None:
            return SetAside(is_over=name in self._named)
        taken = await in_thread(self._containment.take_away, holding, is_over=False)
        uncovered = holding.replaced_file() or ""
        return SetAside(appeared=taken.appeared, unsearched=taken.unsearched, uncovered=uncovered)

    async def run(self, run: Run, stop: asyncio.Event, tell: Callable[[str], None]) -> RunResult | Failure:
        """Run a command line to its end; see the port."""
        folder = path_of(run.folder)
        if folder is None or not await in_thread(folder.is_dir):
            return _no_folder(run.folder if folder is None else str(folder))
        try:
            holding = await self._containment.hold(run.contained) if self._containment is not None else None
        except CannotContainError as problem:
            return _containment_failure(str(problem))
        if holding is None or self._containment is None:
            return await self._run(run, folder, None, stop, tell)
        if run.name:
            self._named[run.name] = holding
        try:
            ended = await self._run(run, folder, holding, stop, tell)
            return ended if isinstance(ended, Failure) else await in_thread(self._take_away, ended, holding)
        except asyncio.CancelledError:
            await in_thread(self._containment.take_away, holding)
            raise
        finally:
            if run.name:
                self._named[run.name] = None
            try:
                await in_thread(self._containment.release, holding)
            finally:
                self._named.pop(run.name, None)

    async def _run(
        self,
        run: Run,
        folder: Path,
        holding: Holding | None,
        stop: asyncio.Event,
        tell: Callable[[str], None],
    ) -> RunResult | Failure:
        mark = secrets.token_hex(16)
        environments = self._environments(folder, run, mark, is_held=holding is not None)
        ours, theirs = os.pipe()
        is_kept = os.name == "posix"
        line_run = LineRun(environments=environments, output=theirs, holding=holding, is_kept=is_kept)
        if run.name:  # it is read as it comes, and of the whole only what says why it failed
            printed = output.Output(tell=tell, head_chars=0, tail_chars=LAST_CHARS)
        else:
            printed = output.Output(tell=tell)
        pause_s = output.PAUSE_S if run.name else 0.0
        reading = asyncio.ensure_future(output.read(ours, printed, pause_s))
        if run.script is not None:
            work = line_run.script(run.script)
        else:
            work = line_run.shell(run.line, run.folder, run.given)
        task = asyncio.ensure_future(work)
        task.add_done_callback(lambda _: os.close(theirs))
        end, left, is_held = End.STOPPED, 0, True
        try:
            wanted = Bounds(stop=stop, timeout_s=run.timeout_s, disks=self._disks(holding), mark=mark)
            end = await _wait_for_end(task, holding, wanted)
            if end is End.EXITED:
                await asyncio.wait([reading], timeout=LINGER_S)
        finally:
            task.cancel()
            left = await end_all(line_run.processes, mark)
            await asyncio.wait([task])
            await asyncio.wait([reading], timeout=LINGER_S)
            reading.cancel()
            await asyncio.wait([reading])
            is_held = line_run.close()
        if (unstarted := _start_failure(task)) is not None:
            return unstarted
        if end is End.EXITED and not is_held:
            return _containment_failure(screen.plain(printed.text()).strip())
        if holding is not None and (path := holding.replaced_file()) is not None:
            return RunResult(end=End.UNCOVERED, code=None, output="", uncovered=path)
        code = task.result() if end is End.EXITED else None
        return RunResult(end=end, code=code, output=screen.plain(printed.text()), left_processes=left)

    def _disks(self, holding: Holding | None) -> Sequence[Path]:
        """Folders on the disks that a command may write to unasked."""
        if holding is None or holding.scratch is None:
            return ()
        return (*self._roots(), holding.scratch)

    def _take_away(self, ran: RunResult, holding: Holding) -> RunResult:
        """*ran* with what a contained command has written apart from files that are simply its."""
        assert self._containment is not None
        layers = tuple((uri_of(Path(layer.folder)), layer.upper) for layer in holding.changed_layers())
        taken = self._containment.take_away(holding)
        return replace(
            ran,
            layers=layers,
            appeared=taken.appeared,
            left=taken.left,
            reopened=tuple(dict.fromkeys(uri_of(Path(path)) for path in holding.reopened)),
            unsearched=taken.unsearched,
        )

    def _environments(
        self, folder: Path, run: Run, mark: str, *, is_held: bool
    ) -> dict[Environment | None, Mapping[str, str]]:
        """
        Returns the environment of each kind of command; one that is held has its own folders for temporary
        files.
        """
        programs = self._programs(folder)
        environments: dict[Environment | None, Mapping[str, str]] = {
            each: {**self._known_environment(each, programs), MARK: mark} for each in Environment
        }
        environments[None] = {**self._environment.without_keys(run.secrets, run.model_keys), MARK: mark}
        return (
            {each: _without_temporary_folders(given) for each, given in environments.items()}
            if is_held
            else environments
        )

    def _programs(self, folder: Path) -> Programs:
        return Programs(path=self._environment["PATH"], roots=(*self._roots(), folder))

    def _known_environment(self, kind: Environment, programs: Programs) -> Mapping[str, str]:
        """The environment of a command that is known to change nothing."""
        return environment.known_environment(self._environment, kind, programs.search_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """
    The limits of a command.

    Attributes:
        stop: It is wanted no more.
        timeout_s: After how long; None for never.
        disks: Folders on the disks that it must leave room on.
        mark: What its processes carry; there must not be too many.
    """

    stop: asyncio.Event
    timeout_s: float | None
    disks: Sequence[Path]
    mark: str


async def _wait_for_end(task: asyncio.Future[int], holding: Holding | None, bounds: Bounds) -> End:
    """Wait until the command ends by itself, or for what it must be ended for."""
    watched: dict[asyncio.Future[Any], End] = {
        asyncio.ensure_future(bounds.stop.wait()): End.STOPPED,
        asyncio.ensure_future(_uncovers(holding)): End.STOPPED,
    }
    if bounds.disks:
        watched[asyncio.ensure_future(disk_space.wait_for_low_disk_space(bounds.disks))] = End.FULL
    if holding is not None:
        watched[asyncio.ensure_future(wait_for_too_many_processes(bounds.mark))] = End.CROWDED
    try:
        await asyncio.wait([task, *watched], timeout=bounds.timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return End.EXITED
        return next((end for each, end in watched.items() if each.done()), End.TIMED_OUT)
    finally:
        for each in watched:
            each.cancel()


def _start_failure(task: asyncio.Future[int]) -> Failure | None:
    error = None if task.cancelled() else task.exception()
    if isinstance(error, OSError | ValueError):
        why = in_words(error) if isinstance(error, OSError) else "it has a NUL character"
        return Failure(code=Code.TOOL_FAILED, message=f"The command could not be started: {why}.")
    return None


async def _uncovers(holding: Holding | None) -> None:
    """Wait until a file that was hidden is replaced by one that is not."""
    while holding is None or not holding.mounted or holding.replaced_file() is None:  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)


def _no_folder(folder: str) -> Failure:
    return Failure(
        code=Code.NO_SUCH_FILE,
        message=f"The folder {folder} does not exist, so the command was not run.",
        steps=("Check the argument `folder`.",),
    )


def _containment_failure(why: str) -> Failure:
    return Failure(
        code=Code.TOOL_FAILED,
        message=f"The command was not run because it could not be contained: {why}.",
        steps=("Continue without it.", "Or request it with needs: machine; the user is then asked."),
    )


def _without_temporary_folders(environment: Mapping[str, str]) -> Mapping[str, str]:
    """*environment* without folders for temporary files and sockets, which are not there."""
    return {name: value for name, value in environment.items() if name not in TEMPORARY_FOLDERS}
