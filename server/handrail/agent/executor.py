"""
The one executor: every tool call of every turn takes this road, in this order.

Resolve, judge, ask, put into batches; then for each batch plan the edits, take the checkpoint, apply and
read back. A call that is not allowed is in no batch, so it leaves no trace. Every call gets exactly one
result, in call order. What is running when the turn is cancelled is awaited, so that nothing is edited
after the cancellation has been answered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace

from handrail.agent import command
from handrail.agent.approval import Desk
from handrail.agent.edits import PlannedFile, Planner, outcomes
from handrail.agent.output import fitted
from handrail.agent.preimage import Held, held, results, targets, written
from handrail.agent.takeback import whole_or_nothing
from handrail.agent.tools import TOOLS
from handrail.agent.tools.call import Action, Command, Edits, Inquiry
from handrail.core import policy, report, sanitize, schedule, verify
from handrail.core.change import Landing
from handrail.core.checkpoint import StepId
from handrail.core.failure import Code, Failure
from handrail.core.message import ToolCall, ToolMessage, ToolResult
from handrail.core.policy import Allow, Ask, Block, Place
from handrail.core.report import CallEnded, CallStarted, Event
from handrail.core.schedule import Touch
from handrail.core.text import Text
from handrail.core.verify import Mutation, Outcome, Status
from handrail.ports import CheckpointError, Ports

COMMAND_ASKED = "The command may change files, or reach beyond the workspace."
STOPPED = Failure(code=Code.CUT_SHORT, message="The turn was stopped before this call ran.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A call whose arguments are read and whose paths are found."""

    call: ToolCall
    action: Action
    places: Mapping[str, Place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A call that does not run; `ready` is None if it could not even be read."""

    call: ToolCall
    failure: Failure
    ready: Ready | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A call's result, and the mutations it tried."""

    result: ToolResult
    outcomes: tuple[Outcome, ...] = ()


@dataclass(kw_only=True)
class Executor:
    """
    Runs the calls of one turn.

    Attributes:
        step: The turn's ids and label; the step's number is set for each call of `execute`.
        next_order: Gives each step its place in the order of all steps of the process.
        observe: Told of every event.
        settle: Told the outcomes of each batch.
        misses: How many calls in a row have failed to edit each document (by identity), over all turns.
        checkpoint: The id of the turn's checkpoint, once there is one.
        outcomes: Of all steps so far, in order.
        interrupted: The results of the step during which the turn was cancelled.
    """

    ports: Ports
    step: StepId
    next_order: Callable[[], int]
    observe: Callable[[Event], None]
    settle: Callable[[Sequence[Outcome]], None]
    misses: dict[str, int]
    checkpoint: str | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    interrupted: ToolMessage | None = None
    _stopping: bool = False

    async def execute(self, calls: Sequence[ToolCall], number: int) -> ToolMessage:
        """
        Run the calls of step *number*.

        Returns:
            Results in call order; what they tried is added to `outcomes`. When cancelled, what runs is
            finished first; the results, complete as well, are then in `interrupted`.
        """
        self.step = replace(self.step, number=number)
        order = self.next_order()
        done: dict[str, ToolResult] = {}
        try:
            await self._run(calls, order, done)
        except asyncio.CancelledError:
            self.interrupted = _in_order(calls, done)
            for result in self.interrupted.results:
                if result.call not in done:
                    self.observe(CallEnded(call=result.call, summary=_summary(result)))
            raise
        return _in_order(calls, done)

    async def _run(self, calls: Sequence[ToolCall], order: int, done: dict[str, ToolResult]) -> None:
        judged = [await self._judge(self._resolve(call)) for call in calls]
        refused = [self._refused(each, order) for each in judged if isinstance(each, Refused)]
        await self._finish(refused, done)
        touches = [_touch(each) if isinstance(each, Ready) else None for each in judged]
        for batch in schedule.plan(touches):
            ready = [each for index in batch if isinstance(each := judged[index], Ready)]
            await self._uninterrupted(self._run_batch(ready, order, done))

    async def _run_batch(self, batch: Sequence[Ready], order: int, done: dict[str, ToolResult]) -> None:
        await self._finish(await self._batch(batch, order), done)

    async def _finish(self, batch: Sequence[Done], done: dict[str, ToolResult]) -> None:
        """Tell of the outcomes of a batch, and keep its results."""
        found = [outcome for each in batch for outcome in each.outcomes]
        self.outcomes += found
        self.settle(found)
        for each in batch:
            for outcome in each.outcomes:
                self.observe(outcome)
            result = await fitted(each.result, self.ports)
            self.observe(CallEnded(call=result.call, summary=_summary(result)))
            done[result.call] = result

    @property
    def touched(self) -> list[str]:
        """The paths of the documents that were changed so far."""
        return [each.mutation.path for each in self.outcomes if each.status is Status.LANDED]

    # ---- Before anything runs ---------------------------------------------------------------------

    def _resolve(self, call: ToolCall) -> Ready | Refused:
        tool = TOOLS.get(call.name)
        if tool is None:
            return Refused(call=call, failure=_unknown_tool(call.name))
        arguments = _arguments(call.arguments)
        if isinstance(arguments, Failure):
            return Refused(call=call, failure=arguments)
        action = tool.parse(arguments)
        if isinstance(action, Failure):
            return Refused(call=call, failure=action)
        places: dict[str, Place] = {}
        for path in _paths(action):
            place = self.ports.workspace.resolve(path)
            if isinstance(place, Failure):
                return Refused(call=call, failure=place)
            places[path] = place
        return Ready(call=call, action=action, places=places)

    async def _judge(self, ready: Ready | Refused) -> Ready | Refused:
        if isinstance(ready, Refused):
            return ready
        match policy.verdict(list(ready.places.values())):
            case Allow() if isinstance(ready.action, Command) and not ready.action.is_read_only:
                return await self._ask(ready, Ask(subject=ready.action.line, detail=COMMAND_ASKED))
            case Allow():
                return ready
            case Block(failure=failure):
                return Refused(call=ready.call, failure=failure, ready=ready)
            case Ask() as ask:
                return await self._ask(ready, ask)

    async def _ask(self, ready: Ready, ask: Ask) -> Ready | Refused:
        if await self._desk.allows(ready.call, ask):
            return ready
        return Refused(call=ready.call, failure=policy.denied(ask.subject), ready=ready)

    @property
    def _desk(self) -> Desk:
        return Desk(turn=self.step.turn, approver=self.ports.approver, observe=self.observe)

    def _refused(self, refused: Refused, order: int) -> Done:
        """The result of a call that does not run; edits among them are failed mutations."""
        ready, failure = refused.ready, refused.failure
        found: tuple[Outcome, ...] = ()
        if ready is not None and isinstance(ready.action, Edits):
            found = tuple(self._failed(ready, place, failure, order) for place in ready.places.values())
        elif ready is None and refused.call.name in ("patch", "write_file"):
            found = (self._failed(refused, None, failure, order),)
        self.misses.update(verify.missed(self.misses, found))
        return Done(result=_failed_result(refused.call, failure), outcomes=found)

    def _failed(self, call: Ready | Refused, place: Place | None, failure: Failure, order: int) -> Outcome:
        mutation = self._mutation(call.call, order)
        if place is not None:
            mutation = replace(
                mutation,
                id=f"{mutation.id}:{place.path}",
                uri=place.uri,
                identity=place.identity,
                path=place.path,
            )
            failure = failure.at(place.uri)
        return Outcome(mutation=mutation, status=Status.FAILED, failure=failure)

    def _mutation(self, call: ToolCall, order: int) -> Mutation:
        return Mutation(
            id=f"f-{order}-{call.id}",
            turn=self.step.turn,
            call=call.id,
            tool=call.name,
            order=order,
            uri="",
            identity="",
            path="",
        )

    # ---- One batch --------------------------------------------------------------------------------

    async def _batch(self, batch: Sequence[Ready], order: int) -> list[Done]:
        for ready in batch:
            self.observe(CallStarted(call=ready.call.id, tool=ready.call.name, title=ready.action.title))
        edits = [ready for ready in batch if isinstance(ready.action, Edits)]
        commands = [ready for ready in batch if isinstance(ready.action, Command)]
        looks = [ready for ready in batch if ready not in edits and ready not in commands]
        looked = await asyncio.gather(*(self._look(ready) for ready in looks))
        ran = [await self._command(ready, order) for ready in commands]
        return [*looked, *ran, *await self._edit(edits, order)]

    async def _uninterrupted(self, work: Coroutine[object, object, None]) -> None:
        """Await *work*; when cancelled, the call that runs is finished and no other begun."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            self._stopping = True
            await asyncio.wait([task])
            raise

    async def _look(self, ready: Ready) -> Done:
        assert not isinstance(ready.action, Edits)
        if isinstance(ready.action, Inquiry):
            answer = await self._desk.inquire(ready.call, ready.action)
            return Done(result=ToolResult(call=ready.call.id, text=answer))
        return Done(result=_result(ready.call, await ready.action.run(ready.places, self.ports)))

    async def _command(self, ready: Ready, order: int) -> Done:
        assert isinstance(ready.action, Command)
        try:
            ran = await command.run(ready.action, ready.places, self.ports, self.step)
        except CheckpointError as error:
            return self._unprotected(ready, error, order)
        self.checkpoint = ran.effects.checkpoint or self.checkpoint
        found = tuple(
            command.outcome(change, self._mutation(ready.call, order), self.ports)
            for change in ran.effects.changes
        )
        return Done(result=_result(ready.call, ran.found), outcomes=found)

    async def _edit(self, batch: Sequence[Ready], order: int) -> list[Done]:
        planned: list[tuple[PlannedFile, ...]] = []
        for ready in batch:
            assert isinstance(ready.action, Edits)
            mutation = self._mutation(ready.call, order)
            planner = Planner(editor=self.ports.editor, places=ready.places, mutation=mutation)
            planned.append(await planner.plan(ready.action))
        uris = [change.uri for files in planned for file in files for change in file.changes]
        before = await held(self.ports.editor, uris)
        if uris:
            try:
                self.checkpoint = await self.ports.checkpoints.ensure(self.step, targets(before))
            except CheckpointError as error:
                return [self._unprotected(ready, error, order) for ready in batch]
        done, ours = [], dict[str, Text]()
        for ready, files in zip(batch, planned, strict=True):
            if self._stopping:
                break
            changes = [change for file in files for change in file.changes]
            landings = await self.ports.editor.apply(changes, f"handrail: {ready.action.title}")
            if isinstance(ready.action, Edits) and not ready.action.partial:
                landings = tuple(await whole_or_nothing(self.ports, self.step, changes, landings))
            ours |= written(before, changes, landings)
            done.append(await self._done(ready, files, list(landings)))
        return await self._recorded(done, before, ours) if uris else done

    async def _recorded(self, done: list[Done], before: Held, ours: Mapping[str, Text]) -> list[Done]:
        """Keep the post-images; without them a later restore is more careful, which the result says."""
        try:
            after = await results(self.ports.editor, before, ours)
            await self.ports.checkpoints.record(self.step, after)
        except CheckpointError as error:
            note = f"\nThe checkpoint does not know what was written: {error}"
            return [replace(each, result=replace(each.result, text=each.result.text + note)) for each in done]
        return done

    async def _done(self, ready: Ready, files: Sequence[PlannedFile], landings: list[Landing]) -> Done:
        found: list[Outcome] = []
        for file in files:
            of_file = [landings.pop(0) for _ in file.changes]
            found += await outcomes(self.ports.editor, file, of_file)
        failure = next((outcome.failure for outcome in found if outcome.failure is not None), None)
        self.misses.update(verify.missed(self.misses, found))
        text = report.result_text(found, self.misses)
        result = ToolResult(call=ready.call.id, text=text, failure=failure)
        return Done(result=result, outcomes=tuple(found))

    def _unprotected(self, ready: Ready, error: CheckpointError, order: int) -> Done:
        failure = Failure(
            code=Code.TOOL_FAILED,
            message=f"No checkpoint could be taken, so nothing was changed: {error}",
            steps=("Mend what the message names, then try again.",),
        )
        return self._refused(Refused(call=ready.call, failure=failure, ready=ready), order)


def _failed_result(call: ToolCall, failure: Failure) -> ToolResult:
    return ToolResult(call=call.id, text=sanitize.result_text(failure), failure=failure)


def _summary(result: ToolResult) -> str:
    """The first line of a result, for people."""
    return result.text.removeprefix(sanitize.PREFIX).strip().partition("\n")[0]


def _in_order(calls: Sequence[ToolCall], done: Mapping[str, ToolResult]) -> ToolMessage:
    """One result for each call, in call order; a call that did not come to run is told so."""
    results = (done.get(call.id) or _failed_result(call, STOPPED) for call in calls)
    return ToolMessage(results=tuple(results))


def _paths(action: Action) -> tuple[str, ...]:
    match action:
        case Edits(changes=changes):
            return changes
        case Inquiry():
            return ()
        case _:
            return action.reads


def _result(call: ToolCall, found: str | Failure) -> ToolResult:
    if isinstance(found, Failure):
        return _failed_result(call, found)
    return ToolResult(call=call.id, text=found)


def _touch(ready: Ready) -> Touch:
    if isinstance(ready.action, Inquiry):
        return Touch(anything=True)
    identities = frozenset(place.identity for place in ready.places.values())
    if isinstance(ready.action, Command):
        return Touch(reads=identities, anything=not ready.action.is_read_only)
    return Touch(changes=identities) if isinstance(ready.action, Edits) else Touch(reads=identities)


def _arguments(raw: str) -> Mapping[str, object] | Failure:
    try:
        found = json.loads(raw or "{}")
    except (ValueError, RecursionError) as error:
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"The arguments are not valid JSON: {error}.",
            steps=(
                "Send the call again with complete arguments.",
                "If they were cut off, edit less at once.",
            ),
        )
    if isinstance(found, dict):
        return found
    return Failure(
        code=Code.BAD_ARGUMENTS,
        message="The arguments must be one JSON object.",
        steps=("Send the call again with named arguments.",),
    )


def _unknown_tool(name: str) -> Failure:
    return Failure(
        code=Code.UNKNOWN_TOOL,
        message=f"There is no tool {name!r}; there are {', '.join(TOOLS)}.",
        steps=("Use one of these tools.",),
    )
