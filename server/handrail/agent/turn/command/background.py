"""
Commands in the background: one call starts them, later calls read their output and stop them.

A background command is asked about, contained and checkpointed like any other; its call returns at once, and
the command keeps running, even after its turn has ended or was stopped. It ends by itself, when it is
stopped, or with its session or the server. Its output is read piece by piece, and its changes are stored in
the checkpoint of the turn that started it (see `timeline`). Files that must not appear are moved away before
each other command and at the end of each turn; then the user is asked about them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from handrail.agent.tools.call import Command, CommandInspection, CommandReport, Console
from handrail.agent.turn.command import appeared, notes, reloading, saving
from handrail.agent.turn.command.run import show_if_slow
from handrail.agent.turn.command.running import BackgroundCommand, names_of
from handrail.agent.turn.command.timeline import Owner, Timeline
from handrail.agent.turn.output import STOPPED, Live
from handrail.agent.turn.resolve import Ready
from handrail.core.checkpoint import CommandEffects, Snapshot, StepId
from handrail.core.failure import Code, Failure
from handrail.core.policy.containment import Contained, Profile
from handrail.core.policy.place import Place
from handrail.ports import CheckpointError, HandrailError, Ports
from handrail.ports.errors import INTERNAL_ERROR
from handrail.values import dataclass, field, replace

LIMIT_RUNNING = 4  # of a session: the more there are, the less clear is which one made a change
LIMIT_ENDED = 8  # ended commands of a session whose output is kept
FIRST_S = 1.0  # a command that fails at once is reported at once
BROKEN = Failure(code=Code.TOOL_FAILED, message=INTERNAL_ERROR)


class UnknownCommandError(HandrailError):
    """A client named an unknown command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """
    The turn that starts a command.

    Attributes:
        step: Its current step.
        is_over: Whether it has ended.
        landed: Called with the command's changes whenever they are found.
    """

    step: Callable[[], StepId]
    is_over: Callable[[], bool]
    landed: Callable[[CommandEffects], None]


@dataclass(kw_only=True)
class Background:
    """
    The background commands of one server.

    Attributes:
        timeline: Attributes each change to the command that made it.
        tell: Sends the model of a session a note before its next step.
    """

    tell: Callable[[str, str], None]
    timeline: Timeline = field(default_factory=Timeline)
    _known: dict[str, BackgroundCommand] = field(default_factory=dict)
    _awaited: dict[tuple[str, str], asyncio.Event] = field(default_factory=dict)  # by session and call
    _count: int = 0

    def list_commands(self, session: str | None = None) -> tuple[BackgroundCommand, ...]:
        """Returns the known commands, or those of one session, in the order in which they started."""
        return tuple(each for each in self._known.values() if session in (None, each.session))

    def of_id(self, name: str) -> BackgroundCommand:
        """Returns the command with that id. Raises UnknownCommandError."""
        if name not in self._known:
            known = self.list_commands()
            ids = f"handrail knows {names_of(known) or 'none'}."
            raise UnknownCommandError(f"Background command {name!r} does not exist. {ids}")
        return self._known[name]

    def refuse_restore(self, checkpoint: str, *, following: bool) -> None:
        """Raises CheckpointError while a command whose changes the restore would undo is still running."""
        turn = checkpoint.partition(".")[0]
        running = [
            each for each in self.list_commands() if each.is_running and (following or each.turn == turn)
        ]
        if running:
            one = len(running) == 1
            raise CheckpointError(
                f"Nothing was restored, because {'this command is' if one else 'these commands are'} still "
                f"running in the background: {names_of(running)}. Stop {'it' if one else 'them'} first."
            )

    def why_full(self, session: str) -> Failure | None:
        """Returns why no other command can be started; None if one can."""
        running = [each for each in self.list_commands(session) if each.is_running]
        if len(running) < LIMIT_RUNNING:
            return None
        return Failure(
            code=Code.TOOL_FAILED,
            message=f"{LIMIT_RUNNING} commands are already running in the background: {names_of(running)}.",
            steps=("Stop one of them with `stop`.",),
        )

    # ---- Those that a turn waits for ----------------------------------------------------------------

    @contextmanager
    def stoppable(self, session: str, call: str, turn_stops: asyncio.Event) -> Iterator[asyncio.Event]:
        """Returns the event that stops a command for which a turn waits: with its turn, or alone."""
        stop = self._awaited[session, call] = asyncio.Event()
        if turn_stops.is_set():
            stop.set()

        async def with_turn() -> None:
            await turn_stops.wait()
            stop.set()

        task = asyncio.ensure_future(with_turn())
        try:
            yield stop
        finally:
            task.cancel()
            del self._awaited[session, call]

    def is_awaited(self, session: str, call: str) -> bool:
        """Whether a turn is waiting for the command of a call that has not been stopped."""
        stop = self._awaited.get((session, call))
        return stop is not None and not stop.is_set()

    def stop_awaited(self, session: str, call: str) -> None:
        """Stops a command that a turn waits for; the turn continues. Raises UnknownCommandError."""
        if (session, call) not in self._awaited:
            raise UnknownCommandError(f"Call {call!r} has no running command in the foreground.")
        self._awaited[session, call].set()

    # ---- Beginning --------------------------------------------------------------------------------

    async def start(  # noqa: PLR0913, PLR0917  # all that it has to do with, as in `run`
        self,
        ready: Ready,
        action: Command,
        ports: Ports,
        console: Console,
        saver: saving.Saver,
        starter: Starter,
    ) -> CommandReport | Failure:
        """
        Starts an allowed command, and waits briefly in case it ends at once.

        Raises CheckpointError as for any command; then it does not run.
        """
        step = starter.step()
        if (full := self.why_full(step.session)) is not None:
            return full
        typed = await saving.save(ports, saver, step)
        if console.stop.is_set():
            return STOPPED
        self._count += 1
        command = BackgroundCommand(
            id=f"b{self._count}",
            session=step.session,
            turn=step.turn,
            call=ready.call.id,
            line=action.line,
            folder=ready.places[action.reads[0]].path,
            process=ports.process,
            began=await ports.editor.open_documents(),
        )
        contained = action.contained
        owner = _owner(command, ports, starter)
        try:
            with show_if_slow(console, "Taking the checkpoint before the command ..."):
                snapshot = await self.timeline.begin(owner, ports, console.stop)
        except CheckpointError as error:
            if ports.terms.needs_checkpoint and not console.stop.is_set():
                raise
            command.notes.append(f"Its changes cannot be undone: {error}")
        else:
            contained = _contain(contained, snapshot, ports, console)
        if console.stop.is_set():
            await self.timeline.end(command.id, ports)
            return STOPPED
        for lost in command.notes:
            console.notice(lost, True)
        command.notes.append(notes.stale_text_note(typed, ports))
        command.notes.append(await notes.own_network_note(contained, ports))
        action = replace(action, contained=contained)
        return await self._begin(command, ready.places, action, ports, console, starter.is_over)

    async def _begin(  # noqa: PLR0913, PLR0917  # as `start`
        self,
        command: BackgroundCommand,
        places: Mapping[str, Place],
        action: Command,
        ports: Ports,
        console: Console,
        is_over: Callable[[], bool],
    ) -> CommandReport:
        live = Live(ports=ports, tell=console.tell)

        def on_output(text: str) -> None:
            command.unread.add(text)
            if not is_over():
                live.add(text)

        def end(_: object) -> None:
            if not is_over():
                live.end()

        inner = replace(
            console,
            tell=on_output,
            stop=command.stop,
            script=None,
            contained=action.contained,
            name=command.id,
        )
        self._known[command.id] = command
        self._forget_old(command.session)
        command.task = asyncio.create_task(self._attend(command, action, places, ports, inner))
        command.task.add_done_callback(end)
        await self._wait(command, FIRST_S)
        if command.is_running:
            await self._move_away(command, ports)
        text = command.report(ports.secrets())
        if command.is_running:
            hint = f'read_output {{"output": "{command.id}"}} shows more of its output; `stop` stops it.'
            text = f"{text.rstrip()}\n{hint}"
        return CommandReport(text=text)

    async def _attend(
        self,
        command: BackgroundCommand,
        action: Command,
        places: Mapping[str, Place],
        ports: Ports,
        console: Console,
    ) -> None:
        """Runs a command to its end and stores the result."""
        answer: CommandReport | Failure = BROKEN
        try:
            saved = await reloading.saved_texts(command.began, ports)
            answer = await action.run(places, ports, console)
            if isinstance(answer, CommandReport):
                command.is_withheld = command.is_withheld or answer.withheld
                answer = await appeared.put_back_saved(answer, command.began, ports)
                command.aside += answer.appeared
                command.notes += appeared.remarks(replace(answer, appeared=()), ports, console)
                command.notes.append(notes.layered_note(appeared.tell_layers(answer, ports, console)))
            command.notes.append(await reloading.reload(saved, ports, console))
        finally:
            try:
                await self.timeline.end(command.id, ports)
            finally:
                command.answer = answer
            if not command.waiters:
                self._tell_end(command, console)

    def _tell_end(self, command: BackgroundCommand, console: Console) -> None:
        """Reports the end of a command that no call is waiting for."""
        said = f"The background command {command.id} has ended: {command.line}"
        console.notice(said, False)
        shows = f'read_output {{"output": "{command.id}"}} shows what it printed.'
        self.tell(command.session, "\n".join(filter(None, (said, command.state, *command.effects(), shows))))

    def _forget_old(self, session: str) -> None:
        ended = [each.id for each in self.list_commands(session) if not each.is_running]
        for name in ended[:-LIMIT_ENDED]:
            del self._known[name]

    # ---- Looking and ending -----------------------------------------------------------------------

    async def visit(self, visit: CommandInspection, session: str, ports: Ports) -> str | Failure:
        """Reports on a command of a session, or stops it."""
        if not visit.command:
            found = self.list_commands(session)
            return (
                "\n".join(f"{each.id}: {each.line}\n  {each.state}" for each in found)
                or "There are no background commands."
            )
        command = self._known.get(visit.command)
        if command is None or command.session != session:
            return _unknown(visit.command, self.list_commands(session))
        if visit.stops:
            await self.end(command)
        elif command.is_running:
            await self._move_away(command, ports)
        return command.report(ports.secrets())

    async def end(self, command: BackgroundCommand) -> None:
        """Stops a command and everything that it started, and waits until its changes are stored."""
        command.stop.set()
        await self._wait(command, None)

    async def end_session(self, session: str) -> None:
        """Stops all commands of a session, and forgets them."""
        found = self.list_commands(session)
        await asyncio.gather(*map(self.end, found))
        for each in found:
            self._known.pop(each.id, None)

    async def close(self) -> None:
        """Stops all commands."""
        await asyncio.gather(*map(self.end, self.list_commands()))

    async def _wait(self, command: BackgroundCommand, seconds: float | None) -> None:
        """Waits for the end of a command, so that the end is not reported separately."""
        if command.task is None or command.task.done():
            return
        command.waiters += 1
        try:
            await asyncio.wait([command.task], timeout=seconds)
        finally:
            command.waiters -= 1

    # ---- What must not have appeared --------------------------------------------------------------

    async def move_away(self, ports: Ports) -> None:
        """
        Moves away files that running commands created and that must not appear; the user is asked about them
        later.
        """
        for command in self.list_commands():
            if command.is_running:
                await self._move_away(command, ports)

    async def ask(self, ports: Ports, step: StepId, console: Console) -> list[CommandEffects]:
        """
        Moves away files that must not appear, and asks about them; files that are put back become part of
        *step*.
        """
        await self.move_away(ports)
        result = []
        for command in self.list_commands():
            if command.aside:
                aside, command.aside = command.aside, []
                printed = CommandReport(text="", appeared=tuple(aside))
                effects, said = await appeared.ask(printed, CommandEffects(), ports, step, console)
                command.notes += said
                result.append(effects)
        return result

    async def _move_away(self, command: BackgroundCommand, ports: Ports) -> None:
        layer = await command.process.set_aside(command.id)
        printed = CommandReport(text="", appeared=layer.appeared)
        command.aside += (await appeared.put_back_saved(printed, command.began, ports)).appeared
        if layer.uncovered:  # its output must no longer be read
            command.is_withheld = True
            await self.end(command)
        if layer.is_over:  # only its result says whether its output may be read
            await self._wait(command, None)
        if layer.unsearched and (note := appeared.unsearched_note(layer.unsearched)) not in command.notes:
            command.notes.append(note)


def _owner(command: BackgroundCommand, ports: Ports, starter: Starter) -> Owner:
    def keep(effects: CommandEffects, edited: frozenset[str]) -> None:
        places = (ports.workspace.resolve(uri) for uri in edited)
        command.keep(effects, [place.path for place in places if isinstance(place, Place)])
        starter.landed(effects)

    def set_lost(why: str) -> None:
        command.notes.append(f"Its changes could not be determined, so no checkpoint covers them: {why}")

    return Owner(
        id=command.id,
        step=starter.step,
        is_over=starter.is_over,
        call=command.call,
        keep=keep,
        set_lost=set_lost,
    )


def _contain(contained: Contained, snapshot: Snapshot, ports: Ports, console: Console) -> Contained:
    """Returns how to contain a command, given what *snapshot* does not cover; otherwise tells the user."""
    if contained.profile is Profile.WORK:
        return replace(contained, not_covered=appeared.uris(snapshot.not_covered, ports))
    notes.tell_gaps(snapshot, console)
    return contained


def _unknown(name: str, known: Sequence[BackgroundCommand]) -> Failure:
    return Failure(
        code=Code.BAD_ARGUMENTS,
        message=f"This conversation has no background command {name!r}. {_known_ids(known)}",
        steps=(
            f"If you started it earlier, it has ended: only the last {LIMIT_ENDED} commands that ended are "
            "remembered, and a restart of handrail ends all commands.",
        ),
    )


def _known_ids(known: Sequence[BackgroundCommand]) -> str:
    return f"It has {names_of(known)}." if known else "It has none that handrail remembers."
