"""
The one executor: every tool call of every turn goes through these steps, in this order.

Calls are resolved, judged and put into batches; then the edits of each batch are planned and made
(`landing`). A call that needs a question is in no batch until the user allows it; read-only calls continue. A
call that is not allowed has no effect. Every call gets exactly one result, in call order. A cancelled turn
stops its command and waits for calls that may change something, not for read-only ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial

from handrail.agent.tools import kind_of, patch
from handrail.agent.tools.call import Command, CommandInspection, Edits, UserQuestion
from handrail.agent.tools.read_file import ReadFile
from handrail.agent.tools.stoppable import agrees, unless_stopped
from handrail.agent.turn import output
from handrail.agent.turn.approvals import Approvals, Shown
from handrail.agent.turn.asking import AskedCall, Asking
from handrail.agent.turn.command import run as command
from handrail.agent.turn.command.background import Background
from handrail.agent.turn.command.calls import CommandCalls
from handrail.agent.turn.command.saving import Saver
from handrail.agent.turn.edit.calls import EditCalls
from handrail.agent.turn.edit.corrections import Listener
from handrail.agent.turn.feedback.feedback import Feedback
from handrail.agent.turn.output import Done
from handrail.agent.turn.rechecking import recheck
from handrail.agent.turn.resolve import Ready, Refused, resolve
from handrail.agent.turn.seen import Known, Seen
from handrail.core.checkpoint import CommandEffects, StepId
from handrail.core.conversation.message import ToolCall, ToolMessage, ToolResult
from handrail.core.documents.change import Status
from handrail.core.failure import Failure
from handrail.core.ledger import ledger
from handrail.core.ledger.outcome import Mutation, Outcome
from handrail.core.ledger.report import Event
from handrail.core.ledger.retry import Calls
from handrail.core.policy import schedule, verdict
from handrail.core.policy.grants import Grant
from handrail.core.policy.place import Place, PlaceKind
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.policy.verdict import Allow, Ask, Block
from handrail.ports import CheckpointError, Ports
from handrail.values import dataclass, field, replace

Results = dict[str, ToolResult]  # by call


async def _ignore_event(result: ToolResult) -> None:
    """Ignores events."""


@dataclass(kw_only=True)
class Executor:
    """
    Runs the calls of one turn.

    Attributes:
        step: The turn's ids and label; the step's number is set for each call of `execute`.
        next_order: Gives each step its place in the order of all steps of the process.
        observe: Called with every event.
        settle: Called with the outcomes of each batch, and the step's calls that had not landed before it.
        misses: The number of calls in a row that failed to edit each document, by identity.
        new_id: Returns a new id with the given prefix.
        checkpoint: The id of the turn's checkpoint, if any.
        outcomes: The outcomes of all steps so far, in order.
        offered: The names of the tools that may run in this turn; None: all.
        answered: Called with every result at once; the turn continues when it is stored.
        spoken: The beginning of an answer that is not yet complete.
        interrupted: The results of the step during which the turn was cancelled.
        granted: The permissions of this session.
        known: The documents that the model has read in this session, as last seen.
        named: The paths without a snapshot that the user has been told about.
        correct: Called with outcomes that replace earlier ones, even after the turn's end.
        background: The commands that run in the background.
    """

    ports: Ports
    step: StepId
    next_order: Callable[[], int]
    observe: Callable[[Event], None]
    settle: Callable[[Sequence[Outcome], Calls], None]
    misses: dict[str, int]
    new_id: Callable[[str], str]
    checkpoint: str | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    spoken: str = ""
    interrupted: ToolMessage | None = None
    offered: frozenset[str] | None = None
    answered: Callable[[ToolResult], Awaitable[None]] = _ignore_event
    granted: set[Grant] = field(default_factory=set)
    known: Known = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    correct: Callable[[Sequence[Outcome]], None] = lambda outcomes: None
    background: Background = field(default_factory=lambda: Background(tell=lambda session, text: None))
    _early: list[Outcome] = field(default_factory=list)
    _tools: dict[str, str] = field(default_factory=dict)
    _shown: Shown = field(default_factory=dict)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(output.COMMANDS_AT_ONCE))

    def __post_init__(self) -> None:
        self._late = Listener(tell=self._correct)
        self._saver = Saver(asks=lambda paths: agrees(self.approvals.may_save(paths), self._stop))
        self.feedback = Feedback(self.ports, self._stop, self.observe)
        self.ports = replace(self.ports, languages=self.feedback.languages)
        self.seen = Seen(ports=self.ports, known=self.known)
        self._edits = EditCalls(
            ports=self.ports,
            misses=self.misses,
            late=self._late,
            feedback=self.feedback,
            seen=self.seen,
            is_stopped=self._stop.is_set,
            notice=lambda call, text: self._notice(call, text, is_warning=True),
        )
        self._commands = CommandCalls(
            ports=self.ports,
            step=lambda: self.step,
            approvals=lambda: self.approvals,
            observe=self.observe,
            stop=self._stop,
            named=self.named,
            saver=self._saver,
            background=self.background,
        )

    @property
    def approvals(self) -> Approvals:
        """The questions of the turn."""
        return Approvals(
            session=self.step.session,
            turn=self.step.turn,
            ports=self.ports,
            granted=self.granted,
            observe=self.observe,
            new_id=self.new_id,
            readings=self.seen.known,
            shown=self._shown,
        )

    async def execute(self, calls: Sequence[ToolCall], number: int) -> ToolMessage:
        """
        Runs the calls of step *number*.

        Returns:
            Results in call order; their outcomes are added to `outcomes`. When cancelled, running calls are
            finished first; the complete results are then in `interrupted`.
        """
        self.step = replace(self.step, number=number, call=calls[0].id if calls else "")
        order = self.next_order()
        self.feedback.begin_answer()
        self._tools = {call.id: call.name for call in calls}
        done = output.failed_results(calls[output.LIMIT_CALLS :], output.SURPLUS)
        if done:
            self._notice(calls[output.LIMIT_CALLS], output.surplus_notice(len(done)))
        try:
            await self._run(calls[: output.LIMIT_CALLS], order, done)
        except asyncio.CancelledError:
            self.interrupted = output.in_order(calls, done)
            for result in self.interrupted.results:
                if result.call not in done:
                    self.observe(output.end_of(result))
            raise
        return output.in_order(calls, done)

    async def _run(self, calls: Sequence[ToolCall], order: int, done: Results) -> None:
        resolved = [await resolve(call, self.ports, self.offered) for call in calls]
        judged = [await self._judge(each) for each in resolved]
        for each in judged:
            if isinstance(each, Refused) and each.ready is None:
                self.observe(output.unread(each.call))
        refused = [self._refuse(each, order) for each in judged if isinstance(each, Refused)]
        await self._finish(refused, done)
        asking = Asking(approvals=self.approvals, mutation=lambda call: self._mutation(call, order))
        left: dict[int, Ready] = {}
        for index, each in enumerate(judged):
            if isinstance(each, AskedCall):
                asking.ask(index, each)
            if not isinstance(each, Refused):
                left[index] = each if isinstance(each, Ready) else each.ready
        try:
            while left:
                touches = [(index, ready.touch) for index, ready in left.items()]
                batch = schedule.next_batch(touches, asking.open)
                if batch and not await asking.is_answered(batch):
                    await self._begin(batch, left, asking, order, done)
                else:
                    await self._take_answer(left, asking, order, done)
        finally:
            await asking.withdraw()

    async def _begin(
        self, batch: Sequence[int], left: dict[int, Ready], asking: Asking, order: int, done: Results
    ) -> None:
        """Starts all calls that can run now, and asks the questions of the others."""
        if isinstance((first := left[batch[0]]).action, UserQuestion):  # it is never in a batch with others
            self._note_start(first)
            asking.inquire(batch[0], first, first.action)
            return
        ready = [left.pop(index) for index in batch]
        self._edits.follow = any(isinstance(each.action, Edits) for each in left.values())
        await self._finish_call(self._run_batch(ready, order, done), asking)

    async def _take_answer(self, left: dict[int, Ready], asking: Asking, order: int, done: Results) -> None:
        """Waits for the user, and ends the calls that are decided by the answer."""
        index, answer = await asking.next()
        if answer is None:
            return
        ready = left.pop(index)
        if isinstance(answer, Failure):
            refused = self._refuse(Refused(call=ready.call, failure=answer, ready=ready), order)
            await self._finish([refused], done)
        else:
            await self._finish([Done(result=output.result_of(ready.call, answer))], done)

    async def _run_batch(self, batch: Sequence[Ready], order: int, done: Results) -> None:
        mutation = partial(self._mutation, order=order)
        still = await recheck(batch, self.approvals, self.offered, self._stop, mutation)
        await self._finish([self._refuse(each, order) for each in still if isinstance(each, Refused)], done)
        await self._finish(
            await self._batch([each for each in still if isinstance(each, Ready)], order), done
        )

    async def _finish(self, batch: Sequence[Done], done: Results) -> None:
        """Reports the outcomes of a batch, and stores its results."""
        outcomes = [outcome for each in batch for outcome in each.outcomes]
        mine = (each for each in self.outcomes if each.mutation.step == self.step.number)
        landed = {each.mutation.call for each in mine if each.status is Status.LANDED}
        self.outcomes += outcomes
        self.seen.note(outcomes)
        self.settle(outcomes, {call: tool for call, tool in self._tools.items() if call not in landed})
        for each in batch:
            for outcome in each.outcomes:
                self.observe(outcome)
            for failed in output.failures(each, self._tools[each.result.call], self.ports):
                self.observe(failed)
            result = await output.redact_and_shorten(each.result, self.ports)
            self.observe(output.end_of(result))
            await self.answered(result)
            done[result.call] = result
        early, self._early = self._early, []
        self._correct(early)

    @property
    def touched(self) -> list[str]:
        """The paths of the documents that were changed so far."""
        return [each.document.path for each in self.outcomes if each.status is Status.LANDED]

    async def withdraw(self) -> None:
        """Removes the turn's checkpoint if nothing has landed; an edit that shows late takes it again."""
        while self._late.pending:
            await asyncio.wait(self._late.pending)
        if self.checkpoint is not None and not self.touched:
            with suppress(CheckpointError):
                if await self.ports.checkpoints.withdraw(self.checkpoint):
                    self.checkpoint = None

    async def _judge(self, ready: Ready | Refused) -> Ready | Refused | AskedCall:
        if isinstance(ready, Refused):
            return ready
        match verdict.verdict(ready.request, await self.approvals.rights()):
            case Allow():
                return ready
            case Block(failure=failure):
                return Refused(call=ready.call, failure=failure, ready=ready)
            case Ask() as ask:
                if ready.request.is_background and (full := self.background.why_full(self.step.session)):
                    return Refused(call=ready.call, failure=full, ready=ready)
                return AskedCall(ready=ready, ask=ask)

    def _refuse(self, refused: Refused, order: int) -> Done:
        """Returns the result of a call that does not run; its edits count as failed or denied mutations."""
        ready, failure = refused.ready, refused.failure
        untried: tuple[Outcome, ...] = ()
        if ready is not None and isinstance(ready.action, Edits):
            mutation = self._mutation(ready.call, order)
            untried = tuple(output.untried_outcome(mutation, each, failure) for each in ready.places.values())
        elif ready is None and kind_of(refused.call.name) is ToolKind.EDIT:
            named = patch.named_file(refused.call.arguments)
            place = self.ports.workspace.resolve(named) if named else failure
            meant = place if isinstance(place, Place) and place.kind is PlaceKind.INSIDE else None
            untried = (output.untried_outcome(self._mutation(refused.call, order), meant, failure),)
        self.misses.update(ledger.count_misses(self.misses, untried))
        return Done(result=output.failed_result(refused.call, failure), outcomes=untried)

    def _mutation(self, call: ToolCall, order: int) -> Mutation:
        return output.mutation(call, self.step, order)

    # ---- One batch --------------------------------------------------------------------------------

    async def _batch(self, batch: Sequence[Ready], order: int) -> list[Done]:
        for ready in batch:
            self._note_start(ready)
        edits = [ready for ready in batch if isinstance(ready.action, Edits)]
        others = [ready for ready in batch if not isinstance(ready.action, Edits)]
        # A command that may change something is never in a batch with others.
        ran = await asyncio.gather(
            *(self._some(r, order) if isinstance(r.action, Command) else self._read(r) for r in others)
        )
        return [*filter(None, ran), *await self._edit(edits, order)]

    def _note_start(self, ready: Ready) -> None:
        self.observe(output.start_of(ready.call, ready.action.title, self.ports))

    async def _finish_call(self, work: Coroutine[object, object, None], asking: Asking) -> None:
        """Awaits *work*; when cancelled, the call that runs is finished, and no other begun or asked."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            self._stop.set()
            await asking.withdraw()
            await asyncio.wait([task])
            raise

    async def _read(self, ready: Ready) -> Done:
        assert not isinstance(ready.action, Edits | Command | UserQuestion)
        if isinstance(ready.action, ReadFile):
            await self.seen.read(ready.places.values())
        if not isinstance(ready.action, CommandInspection):
            work = ready.action.run(ready.places, self.ports)
        else:
            work = self.background.visit(ready.action, self.step.session, self.ports)
        answer = await unless_stopped(work, self._stop)
        return Done(result=output.result_of(ready.call, output.STOPPED if answer is None else answer))

    async def _some(self, ready: Ready, order: int) -> Done | None:
        """Runs a command once few others run; None if the turn has been stopped by then."""
        async with self._room:
            return None if self._stop.is_set() else await self._command(ready, order)

    async def _command(self, ready: Ready, order: int) -> Done:
        assert isinstance(ready.action, Command)
        call = ready.call
        try:
            ran = await self._commands.run(ready, ready.action, partial(self._add_effects, call, order=order))
        except CheckpointError as error:
            return self._no_checkpoint(ready, error, order)
        outcomes = self._effects_of(call, ran.effects, order)
        return Done(result=output.result_of(call, ran.answer), outcomes=outcomes)

    def _effects_of(self, call: ToolCall, effects: CommandEffects, order: int) -> tuple[Outcome, ...]:
        """Returns the changes by a command as outcomes of its call."""
        self.checkpoint = effects.checkpoint or self.checkpoint
        pattern = self._mutation(call, order)
        return tuple(command.outcome(change, pattern, self.ports) for change in effects.changes)

    def _add_effects(self, call: ToolCall, effects: CommandEffects, order: int) -> None:
        """Adds changes that a command made other than in its call: during it, or after it."""
        known = {each.mutation.id for each in self.outcomes}
        found = [each for each in self._effects_of(call, effects, order) if each.mutation.id not in known]
        self.outcomes += found
        self.seen.note(found)
        self.settle(found, {})
        for outcome in found:
            self.observe(outcome)

    async def end(self, *, asks: bool) -> None:
        """At the end of the turn, look for what background commands have made and must not be there."""
        call, order = ToolCall(id=self.step.call, name="terminal", arguments=""), self.next_order()
        await self._commands.end(call, lambda effects: self._add_effects(call, effects, order), asks=asks)

    def _notice(self, call: ToolCall, text: str, *, is_warning: bool = False) -> None:
        self.observe(output.notice(call, text, self.ports, is_warning=is_warning))

    async def _edit(self, batch: Sequence[Ready], order: int) -> list[Done]:
        try:
            made = await self._edits.make(batch, self.step, lambda call: self._mutation(call, order))
        except CheckpointError as error:
            return [self._no_checkpoint(ready, error, order) for ready in batch]
        self.checkpoint = made.checkpoint or self.checkpoint
        return made.done

    def _correct(self, shown: Sequence[Outcome]) -> None:
        """Some of *shown* show after they were told not to, or before they are told at all."""
        told = {outcome.mutation.id: at for at, outcome in enumerate(self.outcomes)}
        self._early += [each for each in shown if each.mutation.id not in told]
        better = [e for e in shown if e.mutation.id in told and e.is_news(self.outcomes[told[e.mutation.id]])]
        if not better:
            return
        for outcome in better:
            self.outcomes[told[outcome.mutation.id]] = outcome
        self.misses.update(ledger.count_misses(self.misses, better))
        self.seen.note(better)
        self.correct(better)

    def _no_checkpoint(self, ready: Ready, error: CheckpointError, order: int) -> Done:
        failure = output.no_snapshot(error, self.ports)
        return self._refuse(Refused(call=ready.call, failure=failure, ready=ready), order)
