"""The edits of one turn: planned and made batch by batch, with the result of each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from handrail.agent.tools.call import Edits
from handrail.agent.turn.edit import landing
from handrail.agent.turn.edit.corrections import Listener
from handrail.agent.turn.edit.plan import Planner
from handrail.agent.turn.feedback.feedback import Feedback
from handrail.agent.turn.output import Done
from handrail.agent.turn.resolve import Ready
from handrail.agent.turn.seen import Seen
from handrail.core.checkpoint import StepId
from handrail.core.conversation.message import ToolCall, ToolResult
from handrail.core.documents.change import Status
from handrail.core.ledger import ledger, report
from handrail.core.ledger.outcome import Mutation
from handrail.core.patches.hunk import Operation
from handrail.core.results import redact
from handrail.ports import Ports
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class EditResults:
    """The results of a batch: one for each call that ran, and the checkpoint, if one was taken."""

    done: list[Done]
    checkpoint: str | None


@dataclass(kw_only=True)
class EditCalls:
    """
    Makes the edits of a turn.

    Attributes:
        misses: How many calls in a row have failed to edit each document.
        late: Notified of edits that show late.
        feedback: Finds the problems that edits caused.
        seen: Finds documents that have changed since the model read them.
        notice: Warns the user about a call.
        follow: Whether more edits of the same answer follow; problems are requested after the last one.
    """

    ports: Ports
    misses: dict[str, int]
    late: Listener
    feedback: Feedback
    seen: Seen
    is_stopped: Callable[[], bool]
    notice: Callable[[ToolCall, str], None]
    follow: bool = False

    async def make(
        self, batch: Sequence[Ready], step: StepId, mutation: Callable[[ToolCall], Mutation]
    ) -> EditResults:
        """Makes the edits of *batch*, with mutations after the pattern *mutation*. Raises CheckpointError."""
        actions = [ready.action for ready in batch if isinstance(ready.action, Edits)]
        await self.feedback.begin_edit(
            ready.places[patch.path]
            for ready, action in zip(batch, actions, strict=True)
            for patch in action.patches
        )
        places = [place for ready in batch for place in ready.places.values()]
        self.seen.touch(places)
        readings = dict(self.seen.known)
        notes = await self.seen.changes(place.identity for place in places)
        calls = []
        for ready, action in zip(batch, actions, strict=True):
            find_keys = partial(redact.find_keys, secrets=self.ports.secrets())
            planner = Planner(self.ports.editor, ready.places, mutation(ready.call), find_keys, readings)
            files = await planner.plan(action)
            for patch in action.patches:
                if patch.operation in (Operation.WRITE, Operation.ADD) and action.wrong is None:
                    self.seen.write(ready.call.id, ready.places[patch.path], patch.content)
                elif patch.operation is Operation.DELETE:
                    self.seen.remove(ready.call.id, ready.places[patch.path])
            calls.append(landing.PlannedCall(title=action.title, files=files, partial=action.partial))
        made = await landing.make(self.ports, step, calls, self.is_stopped, self.late)
        outcomes = [outcome for each in made.calls for outcome in each.outcomes]
        landed = [outcome for outcome in outcomes if outcome.status is Status.LANDED]
        uris = {uri for outcome in landed for uri in (outcome.mutation.uri, outcome.document.uri)}
        self.ports.process.allow(sorted(uris))
        done = [self._finish(ready, each, made.note) for ready, each in zip(batch, made.calls, strict=False)]
        if self.follow or self.is_stopped():
            self.feedback.note(outcomes)
        elif done and (told := await self.feedback.report_new(outcomes)):
            notes.append(told)
        if done and notes:
            result = done[-1].result
            done[-1] = replace(done[-1], result=replace(result, text="\n".join((result.text, *notes))))
        return EditResults(done=done, checkpoint=made.checkpoint)

    def _finish(self, ready: Ready, made: landing.LandedCall, note: str) -> Done:
        for warning in made.warnings:
            self.notice(ready.call, warning)
        failure = next((outcome.failure for outcome in made.outcomes if outcome.failure is not None), None)
        self.misses.update(ledger.count_misses(self.misses, made.outcomes))
        text = report.result_text(made.outcomes, self.misses) + (f"\n{note}" if note else "")
        line = ledger.first_line(made.outcomes)
        result = ToolResult(call=ready.call.id, text=text, failure=failure, line=line)
        return Done(result=result, outcomes=made.outcomes)
