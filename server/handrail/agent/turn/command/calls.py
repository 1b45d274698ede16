"""The commands of one turn, in the foreground and in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from handrail.agent.tools.call import Command, Console
from handrail.agent.tools.stoppable import agrees
from handrail.agent.turn import output
from handrail.agent.turn.approvals import Approvals
from handrail.agent.turn.command import run as foreground
from handrail.agent.turn.command.background import Background, Starter
from handrail.agent.turn.command.run import CommandRun
from handrail.agent.turn.command.saving import Saver
from handrail.agent.turn.resolve import Ready
from handrail.core.checkpoint import CommandEffects, StepId
from handrail.core.conversation.message import ToolCall
from handrail.core.ledger.report import CallOutput, Event
from handrail.ports import Ports
from handrail.values import dataclass, field, replace

Landed = Callable[[CommandEffects], None]


@dataclass(kw_only=True)
class CommandCalls:
    """
    Runs the commands of a turn.

    Attributes:
        step: The step that the turn is at.
        approvals: Asks the user.
        observe: Called with every event.
        stop: Set when the turn is stopped.
        named: The paths that no snapshot covers, and about which the user has been told.
        saver: Decides what may be saved before a command.
        background: The commands that run in the background.
        is_over: Whether the turn has ended.
        reviewing: Tasks that list the changes of background commands for review.
    """

    ports: Ports
    step: Callable[[], StepId]
    approvals: Callable[[], Approvals]
    observe: Callable[[Event], None]
    stop: asyncio.Event
    named: set[str]
    saver: Saver
    background: Background
    is_over: bool = False
    reviewing: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self, ready: Ready, action: Command, landed: Landed) -> CommandRun:
        """
        Runs an allowed command; only starts it if it is to run in the background.

        Args:
            landed: Called with changes that commands make other than in this call: during it, or after its
                result.

        Raises:
            CheckpointError: No snapshot could be taken, and the user's terms need one, so it did not run.
        """
        console, landed = self._console(ready.call), self._with_review(ready.call, landed)
        await self._ask_about_appeared(console, landed)
        if action.is_background:
            starter = Starter(step=self.step, is_over=lambda: self.is_over, landed=landed)
            answer = await self.background.start(ready, action, self.ports, console, self.saver, starter)
            return CommandRun(answer=answer, effects=CommandEffects())
        live = output.Live(ports=self.ports, tell=console.tell)
        effects = CommandEffects()
        self.ports.review.on_command_begin()
        try:
            with self.background.stoppable(self.step().session, ready.call.id, self.stop) as stop:
                heard = replace(console, tell=live.add, stop=stop, stops_alone=lambda: not self.stop.is_set())
                ran = await foreground.run(ready, action, self.ports, self.step(), heard, self.saver)
            effects = ran.effects
        finally:
            live.end()
            await self.ports.review.on_command_end(self.step(), ready.call.id, effects)
        return ran

    async def end(self, call: ToolCall, landed: Landed, *, asks: bool) -> None:
        """Called when the turn ends: looks for files of background commands that must not appear."""
        self.is_over = True
        if asks:
            await self._ask_about_appeared(self._console(call), self._with_review(call, landed))
        else:
            await self.background.move_away(self.ports)
        if self.reviewing:
            await asyncio.wait(self.reviewing)

    def _with_review(self, call: ToolCall, landed: Landed) -> Landed:
        """*landed*, and what it is told is to be reviewed."""

        def tell(effects: CommandEffects) -> None:
            landed(effects)
            self.ports.review.on_command_begin()
            task = asyncio.ensure_future(self.ports.review.on_command_end(self.step(), call.id, effects))
            self.reviewing.add(task)
            task.add_done_callback(self.reviewing.discard)

        return tell

    async def _ask_about_appeared(self, console: Console, landed: Landed) -> None:
        for effects in await self.background.ask(self.ports, self.step(), console):
            landed(effects)

    def _console(self, call: ToolCall) -> Console:
        return Console(
            stop=self.stop,
            tell=lambda text: self.observe(CallOutput(call=call.id, text=text)),
            notice=lambda text, warns: self.observe(output.notice(call, text, self.ports, is_warning=warns)),
            named=self.named,
            keeps=lambda *what: agrees(self.approvals().keeps(*what), self.stop),
        )
