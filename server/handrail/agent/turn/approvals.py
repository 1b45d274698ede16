"""
Ask the user whether a call may run, or a question of the model.

Only the offered choices count as answers, and without an answer nothing is allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from handrail.agent.tools.call import Edits, UserQuestion
from handrail.agent.turn.edit.as_shown import is_as_shown
from handrail.agent.turn.edit.plan import PlannedFile, Planner, preview
from handrail.agent.turn.resolve import Ready
from handrail.agent.turn.seen import Known
from handrail.core.conversation.message import ToolCall
from handrail.core.failure import Failure
from handrail.core.ledger.outcome import Mutation
from handrail.core.ledger.report import Asked, Event, QuestionEnd
from handrail.core.policy import verdict
from handrail.core.policy.grants import SAVES, Grant, Rights
from handrail.core.policy.verdict import Allow, Ask, Block
from handrail.core.results import redact
from handrail.ports import ALLOW, ALWAYS, DENY, FOR_SESSION, LEAVE, Kind, Ports, Question
from handrail.values import dataclass, field, replace

SAVING = Grant(tool=SAVES, subject="")
UNSAVED = (
    "The agent is about to run a command, and a command reads files from the disk. If you answer no, it runs "
    "without your unsaved changes, and you are not asked again in this turn."
)
YES = (ALLOW, FOR_SESSION, ALWAYS)

Shown = dict[str, tuple[Ask, Sequence[PlannedFile]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """
    The questions of one turn.

    Attributes:
        ports: The approver, the stored permissions, and the rules.
        granted: The permissions of this session; answers add to them.
        observe: Called with each question and its end.
        new_id: Returns a new id with the given prefix.
        readings: The documents that the model has read.
        shown: The changes that the user has allowed, by the id of the call.
    """

    session: str
    turn: str
    ports: Ports
    granted: set[Grant]
    observe: Callable[[Event], None]
    new_id: Callable[[str], str]
    readings: Known = field(default_factory=dict)
    shown: Shown = field(default_factory=dict)

    async def rights(self) -> Rights:
        """The user's rules and permissions up to now."""
        return Rights(rules=self.ports.rules(), grants=await self.ports.grants.load() | self.granted)

    async def refuses(self, ready: Ready, ask: Ask, mutation: Mutation) -> Failure | None:
        """
        Asks the user; returns why a call may not run, or None if it may.

        *mutation* is the pattern of its mutations. Each additional access for a command has a question of its
        own.
        """
        allowed: set[Grant] = set()  # for this call
        while True:
            answer = await self._answer(ready, ask, mutation)
            if answer not in YES:
                return verdict.denial(ask, answered=answer is not None)
            allowed |= ask.grants
            if answer != ALLOW:
                self.granted.update(ask.grants)
            if answer == ALWAYS:
                await self.ports.grants.add(ask.grants)
            rights = await self.rights()
            judged = verdict.verdict(ready.request, replace(rights, grants=rights.grants | allowed))
            if isinstance(judged, Block):
                return judged.failure
            if isinstance(judged, Allow) or judged.grants <= allowed:
                return None
            ask = judged

    async def _answer(self, ready: Ready, ask: Ask, mutation: Mutation) -> str | None:
        """
        Returns the user's answer to a question.

        If the call would by then write something other than was shown, or at another place, asks again.
        """
        shown = await self._plan(ready, mutation)
        while True:
            answer = await self._ask(self._leave(ready, ask, shown))
            now = await self._plan(ready, mutation) if answer in YES else shown
            if is_as_shown(shown, now):
                if answer == ALLOW:
                    self.shown[ready.call.id] = (ask, shown)
                return answer
            shown = now

    async def ask_again(
        self, batch: Sequence[Ready], mutation: Callable[[ToolCall], Mutation]
    ) -> dict[str, Failure]:
        """
        Asks about allowed calls that would by now write something other than was shown, until none would.

        Returns:
            Why calls may no longer run, by their ids.
        """
        refused: dict[str, Failure] = {}
        waiting = [each for each in batch if each.call.id in self.shown]
        while changed := [each for each in waiting if not await self._is_as_shown(each, mutation(each.call))]:
            for each in changed:
                ask, _ = self.shown.pop(each.call.id)
                if (failure := await self.refuses(each, ask, mutation(each.call))) is not None:
                    refused[each.call.id] = failure
            waiting = [each for each in waiting if each.call.id in self.shown]
        return refused

    async def _is_as_shown(self, ready: Ready, mutation: Mutation) -> bool:
        return is_as_shown(self.shown[ready.call.id][1], await self._plan(ready, mutation))

    async def inquire(self, ready: Ready, inquiry: UserQuestion) -> str:
        """Returns the user's answer in the words that the model reads."""
        question = self._question(ready, Kind.QUESTION, inquiry.question)
        answer = await self._ask(replace(question, choices=(DENY, *inquiry.choices)))
        if answer in (None, DENY):
            return "The user did not answer. Choose the safest option, or end the turn with your question."
        if answer not in inquiry.choices:
            return f"The user answered in their own words: {answer}"
        return f"The user chose: {answer}"

    async def may_save(self, paths: Sequence[str]) -> bool:
        """Asks whether the user's unsaved text may be saved before a command runs; a yes may be lasting."""
        if SAVING in (await self.rights()).grants:
            return True
        question = Question(
            id=self.new_id("q"),
            session=self.session,
            turn=self.turn,
            call="",
            tool=SAVING.tool,
            kind=Kind.SAVING,
            subject=", ".join(paths),
            detail=UNSAVED,
            choices=(DENY, ALLOW, FOR_SESSION),
            rules=(SAVING.in_words(None),),
        )
        answer = await self._ask(question)
        if answer == FOR_SESSION:
            self.granted.add(SAVING)
        return answer in YES

    async def keeps(self, paths: str, why: str, content: str) -> bool:
        """Asks whether files that appeared while a command ran may be put back."""
        question = Question(
            id=self.new_id("q"),
            session=self.session,
            turn=self.turn,
            call="",
            tool="terminal",
            kind=Kind.APPEARED,
            subject=paths,
            detail=why,
            choices=(DENY, ALLOW),
            diff=content,
        )
        return await self._ask(question) == ALLOW

    async def goes_on(self, subject: str, detail: str) -> bool:
        """Asks whether the turn may continue."""
        question = Question(
            id=self.new_id("q"),
            session=self.session,
            turn=self.turn,
            call="",
            tool="handrail",
            subject=subject,
            detail=detail,
            choices=(DENY, ALLOW),
        )
        return await self._ask(question) == ALLOW

    async def _plan(self, ready: Ready, mutation: Mutation) -> Sequence[PlannedFile]:
        """Returns the files that a call would change now."""
        if not isinstance(ready.action, Edits):
            return ()
        find_keys = partial(redact.find_keys, secrets=self.ports.secrets())
        planner = Planner(self.ports.editor, ready.places, mutation, find_keys, self.readings)
        return await planner.plan(ready.action)

    def _leave(self, ready: Ready, ask: Ask, shown: Sequence[PlannedFile]) -> Question:
        request, kind = ready.request, Kind.FILE
        if request.command is not None:
            kind = Kind.COMMAND
        elif not request.places:
            kind = Kind.TOOL
        elif ask.outside:
            kind = Kind.OUTSIDE
        return replace(
            self._question(ready, kind, ask.subject),
            detail=redact.redact(ask.detail, self.ports.secrets()),
            choices=LEAVE if ask.lasts else (DENY, ALLOW),
            folder=request.places[0].path if request.command is not None else "",
            rules=tuple(sorted(grant.in_words(request.kind) for grant in ask.grants)) if ask.lasts else (),
            diff=preview(shown),
            changes_files=request.kind.changes if kind in (Kind.FILE, Kind.OUTSIDE) else None,
        )

    def _question(self, ready: Ready, kind: Kind, subject: str) -> Question:
        return Question(
            id=self.new_id("q"),
            session=self.session,
            turn=self.turn,
            call=ready.call.id,
            tool=ready.call.name,
            kind=kind,
            subject=subject,
        )

    async def _ask(self, question: Question) -> str | None:
        asked = asked_event(question)
        self.observe(asked)
        end, choice = QuestionEnd.WITHDRAWN, DENY
        try:
            answer = await self.ports.approver.ask(question)
            answer = answer if answer is not None and question.takes(answer) else None
            end, choice = QuestionEnd.ANSWERED if answer else QuestionEnd.TIMED_OUT, answer or DENY
            return answer
        except asyncio.CancelledError:
            end = QuestionEnd.WITHDRAWN
            raise
        finally:
            self.observe(replace(asked, end=end, choice=choice))


def asked_event(question: Question) -> Asked:
    """Returns the event that says that a question is asked."""
    return Asked(
        call=question.call,
        subject=question.subject,
        question=question.id,
        asks_permission=question.asks_permission,
        could_last=question.could_last,
    )
