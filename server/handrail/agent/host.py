"""
The state of one server: its sessions, the running turns, and the ledger of open failures.

The host receives a client's requests and reports what happens; it knows no protocol.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack

from handrail import prompts
from handrail.agent import queue
from handrail.agent.archive import Archive
from handrail.agent.review.reviews import Reviews
from handrail.agent.turn import ending
from handrail.agent.turn.command.background import Background
from handrail.agent.turn.edit import quick_fix
from handrail.agent.turn.ending import End
from handrail.agent.turn.executor import Executor
from handrail.agent.turn.folder_instructions import FolderInstructions
from handrail.agent.turn.instructions import instructions_for
from handrail.agent.turn.loop import TurnParameters, offers, run_turn
from handrail.agent.turn.session import Said, Session
from handrail.agent.turns import Turn, Turns, UnknownId, corrections, stop
from handrail.core.checkpoint import StepId
from handrail.core.conversation import todo
from handrail.core.conversation.compact import Facts
from handrail.core.conversation.journal import JournalTurn, Returned, Steered, TurnBegun, TurnEnded
from handrail.core.conversation.label import label_of
from handrail.core.conversation.message import Excerpt, Picture, UserMessage
from handrail.core.conversation.prompt import Mode
from handrail.core.conversation.recover import Finish
from handrail.core.documents.change import Status
from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.ledger import ledger, offer
from handrail.core.ledger.ledger import Ledger
from handrail.core.ledger.outcome import OpenFailure, Outcome
from handrail.core.ledger.report import Ended, Event, Started, State, Superseded, TurnReport
from handrail.core.ledger.retry import Calls
from handrail.core.policy.grants import Grant
from handrail.ports import HandrailError, Ports
from handrail.ports.errors import INTERNAL_ERROR
from handrail.values import dataclass, field, replace

logger = logging.getLogger(__name__)

Listener = Callable[[str, str, Event], None]


@dataclass(kw_only=True)
class Host:
    """
    The agent of one server.

    Attributes:
        ports: Called at the start of each turn, so that a changed setting applies from the next turn on.
        new_id: Returns a new id with the given prefix.
        on_event: Called with session, turn and event.
        on_ledger: Called with the ledger whenever it has changed.
        archive: Records sessions.
        reviews: The pending changes.
        ready: Awaited by each turn first, because the ports may not be known yet.
        mode_of: Returns the mode of a turn, given the client's choice; called again when the ports are known.
    """

    ports: Callable[[], Ports]
    new_id: Callable[[str], str]
    on_event: Listener
    on_ledger: Callable[[Ledger], None]
    ledger: Ledger = field(default_factory=Ledger)
    misses: dict[str, int] = field(default_factory=dict)
    archive: Archive = field(default_factory=Archive)
    reviews: Reviews = field(default_factory=Reviews)
    ready: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)
    mode_of: Callable[[Mode | None], Mode] = lambda stated: stated or Mode.EDIT
    sessions: dict[str, Session] = field(default_factory=dict)
    turns: Turns = field(default_factory=Turns)
    granted: dict[str, set[Grant]] = field(default_factory=dict)
    steered: dict[str, list[Said]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    rewinding: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    steps: int = 0

    def __post_init__(self) -> None:
        self.background, given = Background(tell=self._tell), self.ports
        self.ports = lambda: replace(
            self.turns.share(self.background.timeline.wrap(given())), review=self.reviews
        )
        self.reviews.ports, self.reviews.new_id = self.ports, self.new_id

    # ---- Turns ------------------------------------------------------------------------------------

    def start(
        self,
        prompt: str,
        session: str | None,
        context: tuple[Excerpt, ...] = (),
        mode: Mode | None = None,
        pictures: tuple[Picture, ...] = (),
    ) -> Turn:
        """Starts a turn in a known session, or in a new one. Raises UnknownId, Busy."""
        if session is not None and session not in self.sessions:
            raise UnknownId(
                f"The conversation (session {session!r}) is not open in this server. Resume it first."
            )
        if session is not None:
            self.at_rest(session)
        name, turn = session or self.new_id("s"), self.new_id("t")
        release = self.archive.claim(name)
        message = UserMessage(text=prompt, context=context, pictures=pictures)
        begun = self._begin(name, turn, message, mode)
        task = queue.run_and_release(self._report(begun, turn, prompt, mode), release)
        return self.turns.keep(Turn(session=name, id=turn, task=task, began=self.steps))

    def queue(
        self,
        prompt: str,
        session: str | None,
        context: tuple[Excerpt, ...] = (),
        mode: Mode | None = None,
        pictures: tuple[Picture, ...] = (),
    ) -> Turn:
        """Starts a turn once the earlier ones of its session have finished. Raises like `start`."""
        before = queue.previous_turn(self.turns, session)
        if session is None or before is None:
            return self.start(prompt, session, context, mode, pictures)
        turn, message = self.new_id("t"), UserMessage(text=prompt, context=context, pictures=pictures)
        self.archive.steer(session, Steered(turn=turn, text=prompt))
        self.waiting.add(turn)

        async def begin() -> TurnReport:
            with ExitStack() as stack:
                stack.callback(self.archive.claim(session))
                self.waiting.discard(turn)
                begun = self._begin(session, turn, message, mode)
                self.turns[turn] = replace(self.turns[turn], began=self.steps)
                return await self._report(begun, turn, prompt, mode)

        spent = lambda: self.sessions[session].spent  # noqa: E731
        waiting = queue.Waiting(id=turn, before=before, begin=begin, spent=spent)
        task = asyncio.create_task(waiting.run(lambda event: self.on_event(session, turn, event)))
        return self.turns.keep(Turn(session=session, id=turn, task=task, began=self.steps))

    def _begin(self, name: str, turn: str, message: UserMessage, mode: Mode | None) -> Session:
        stated = self.mode_in(name, mode)
        tools = offers(stated, self.ports())
        begun = (self.sessions.pop(name, None) or Session(id=name)).begin(message, tools)
        self.sessions[name] = begun  # the latest session is the last one
        told = TurnBegun(turn=turn, prompt=message.text, mode=stated.value, rules=prompts.VERSION)
        self.archive.begin(begun, told)
        # Corrections since the last turn, and messages while this one waited.
        self.steered[turn] = self.steered.pop(name, []) + self.steered.pop(turn, [])
        return begun

    async def wait(self, turn: str) -> TurnReport:
        """Waits for the end of a turn, which is recorded by then; returns its report. Raises UnknownId."""
        report = await self.turns.find(turn).report()
        await self.archive.journals.wait_until_written()
        return report

    async def cancel(self, turn: str) -> None:
        """Stops a turn; it edits nothing after this returns, and is recorded as stopped. Raises UnknownId."""
        known = self.turns.find(turn)
        if turn in self.waiting and not known.task.done():
            self.archive.steer(known.session, Returned(turn=turn))
        await stop([known])
        await self.archive.journals.wait_until_written()

    async def steer(self, turn: str, said: UserMessage) -> None:
        """Sends a message to a running turn; it is recorded when this returns. Raises UnknownId."""
        known = self.turns.find(turn)
        if known.task.done():
            raise UnknownId(f"Turn {turn!r} has ended. Start another one.")
        self.steered.setdefault(turn, []).append(said)
        self.archive.steer(known.session, Steered(turn=turn, text=said.text))
        await self.archive.journals.wait_until_written()

    async def catch_up(self, session: str) -> None:
        """Reloads a session that another process has continued. Raises UnknownId, UnknownSession."""
        if session in self.sessions and await self.archive.journals.is_behind(session):
            await self.resume(session)

    async def resume(self, session: str) -> tuple[JournalTurn, ...]:
        """Resumes a session. Raises UnknownId, UnknownSession."""
        self.at_rest(session)
        self.sessions[session], told = await self.archive.resume(session, self.ports())
        return told.turns

    async def fork(self, session: str, turn: str) -> str:
        """Creates a session with the conversation up to the end of *turn*. Raises UnknownSession."""
        name = self.new_id("s")
        self.sessions[name] = await self.archive.fork(session, turn, name, self.ports())
        return name

    async def delete(self, session: str) -> None:
        """Deletes a session permanently. Raises UnknownId, UnknownSession, Busy."""
        self.at_rest(session)
        await self.background.end_session(session)
        await self.archive.delete(session)
        self.sessions.pop(session, None)

    def at_rest(self, session: str) -> None:
        """Makes sure that nothing is running in a session. Raises UnknownId."""
        if session in self.rewinding:
            raise UnknownId(
                f"The conversation (session {session}) is being rewound or summarised. Wait until that "
                "is done."
            )
        if self.turns.running_turns(session):
            raise UnknownId(
                f"The conversation (session {session}) has a running turn. Stop it, or wait until it ends."
            )

    async def close(self) -> None:
        """Stops all turns and all commands."""
        await stop(list(self.turns.values()))
        await self.background.close()

    async def _report(self, session: Session, turn: str, prompt: str, mode: Mode | None) -> TurnReport:
        run = lambda: self._run(session, turn, prompt, mode)  # noqa: E731
        return await ending.report_always(run, lambda: self.sessions[session.id], turn)

    async def _run(self, session: Session, turn: str, prompt: str, mode: Mode | None) -> TurnReport:
        def observe(event: Event) -> None:
            self.on_event(session.id, turn, self.archive.record_event(session.id, event))

        async def keep(now: Session) -> None:
            self.sessions[session.id] = now
            await self.archive.save(now)

        executor: Executor | None = None
        started = Started(prompt=prompt, mode=self.mode_in(session.id, mode))
        end = End(state=State.FAILED, reason=INTERNAL_ERROR, answer="")
        try:
            try:
                mode = await self._mode(session.id, mode)
                executor = self._executor(session.id, turn, prompt, mode, observe)
                session = replace(session, offered=offers(mode, executor.ports))
                started, executor.offered = replace(started, mode=mode), session.offered_names
                await self.archive.save(session)
                told = await instructions_for(mode, executor.ports)
                started = replace(started, instructions=told.instructions)
            finally:
                observe(started)
            told.tell(self.named, observe)
            parameters = TurnParameters(
                system=told.text,
                offers=session.offered,
                keep=keep,
                facts=lambda: self.facts(session.id),
                steered=lambda: self.steered.pop(turn, []),
                folders=FolderInstructions(ports=executor.ports, observe=observe, named=self.named),
            )
            ended = await run_turn(session, executor, parameters)
            await ending.finish(executor, self.archive.journals)
            end = End(state=State.FINISHED, reason=None, answer=ended.answer)
            if not isinstance(ended, Finish):
                end = End(state=State.STOPPED, reason=ended.reason, answer=ended.answer)
        except asyncio.CancelledError:
            end = End(state=State.CANCELLED, reason=None, answer="")  # a user, or the end of the server
        except HandrailError as error:
            end = End(state=State.FAILED, reason=str(error), answer="")
        except Exception:  # our fault: `end` says so, and the session can be continued
            logger.exception("Turn %s of session %s failed.", turn, session.id)
        finally:
            now = self.sessions[session.id] = ending.close(executor, self.sessions[session.id], end)
            self.archive.keep(now)
            self.archive.end(
                session.id, TurnEnded(turn=turn, state=end.state.value, reason=end.reason, usage=now.usage)
            )
            observe(Ended(state=end.state, reason=end.reason))
        return await ending.report(executor, self.sessions[session.id], turn, end)

    async def _mode(self, session: str, stated: Mode | None) -> Mode:
        await self.ready()
        return self.mode_in(session, stated)

    def mode_in(self, session: str, stated: Mode | None = None) -> Mode:
        """Returns the mode of a turn: *stated*, or what the user chose for the session, or the settings'."""
        return self.mode_of(stated or self.archive.modes.get(session))

    def _executor(
        self, session: str, turn: str, prompt: str, mode: Mode, observe: Callable[[Event], None]
    ) -> Executor:
        ports = self.turns.ports_of(turn, self.ports())
        terms = replace(ports.terms, mode=mode)
        if mode is not Mode.EDIT:  # then no command runs
            terms = replace(terms, checks=())
        ports = replace(ports, terms=terms)
        return Executor(
            ports=ports,
            step=StepId(session=session, turn=turn, number=0, label=label_of(prompt, ports.secrets())),
            next_order=self._next_order,
            observe=observe,
            granted=self.granted.setdefault(session, set()),
            known=self.sessions[session].seen,
            named=self.named,
            settle=lambda outcomes, calls: self._settle(outcomes, calls, observe),
            misses=self.misses,
            answered=lambda result: self.archive.add_result(session, result),
            correct=lambda outcomes: self._correct(session, turn, outcomes),
            new_id=self.new_id,
            background=self.background,
        )

    def facts(self, session: str) -> Facts:
        """Returns the facts that a summary of the session's conversation must keep."""
        failures = (f"{each.mutation.path}: {each.failure.message}" for each in self.ledger.open)
        now = self.sessions[session]
        todos = todo.render(now.todos).splitlines() if now.todos else []
        return Facts(failures=tuple(failures), todos=tuple(todos), documents=now.touched)

    def _next_order(self) -> int:
        self.steps += 1
        return self.steps

    # ---- The ledger -------------------------------------------------------------------------------

    def _settle(self, outcomes: Sequence[Outcome], calls: Calls, observe: Callable[[Event], None]) -> None:
        before, self.ledger = self.ledger, ledger.record_outcomes(self.ledger, outcomes, calls)
        for failure in ledger.closed_ids(before, self.ledger):
            observe(Superseded(failure=failure))
        if self.ledger is not before:
            self.on_ledger(self.ledger)

    def _correct(self, session: str, turn: str, outcomes: Sequence[Outcome]) -> None:
        """
        Reports edits that show late to everyone who was told otherwise; to the model before its next step.
        """
        before = self.ledger
        for outcome in outcomes:
            self.ledger = ledger.replace_outcome(self.ledger, outcome)
            self.on_event(session, turn, outcome)
        for failure in ledger.closed_ids(before, self.ledger):
            self.on_event(session, turn, Superseded(failure=failure))
        self.on_ledger(self.ledger)
        known = self.turns.get(turn)
        if known is not None:
            known.late.update({each.mutation.id: each for each in outcomes})
        is_over = known is None or known.task.done()
        self.steered.setdefault(session if is_over else turn, []).extend(corrections(outcomes))

    def _tell(self, session: str, text: str) -> None:
        """Sends the model of a session a note, in the running turn or the next one."""
        running = self.turns.running_turns(session)
        self.steered.setdefault(running[0].id if running else session, []).append(text)

    def observe_text(self, identity: str, now: Text | None) -> None:
        """Notes that a document has changed; None if it no longer exists."""
        observed = ledger.observe(self.ledger, identity, now)
        if observed == self.ledger:
            return
        before, self.ledger = self.ledger, observed
        for failure in ledger.closed_ids(before, observed):
            for turn in self.turns.running:
                self.on_event(turn.session, turn.id, Superseded(failure=failure))
        self.on_ledger(observed)

    def failure(self, failure: str) -> OpenFailure:
        """Returns the open failure with that id. Raises UnknownId."""
        known = self.ledger.find(failure)
        if known is None:
            raise UnknownId(f"Failure {failure!r} is not open. It may have been dismissed or fixed.")
        return known

    def dismiss(self, failures: Sequence[str]) -> None:
        """Closes failures without making their edits. Raises UnknownId."""
        for failure in failures:
            self.failure(failure)
        self.ledger = self.ledger.drop(failures)
        self.on_ledger(self.ledger)

    async def apply(self, failure: str, candidate: int) -> quick_fix.QuickFixResult:
        """Makes an open failure's edit at a candidate, by its index. Raises UnknownId, CheckpointError."""
        known, ports = self.failure(failure), self.ports()
        if known.mutation.hunk is None or not 0 <= candidate < len(known.failure.near):
            raise UnknownId(f"Failure {failure!r} has no candidate with the index {candidate}.")
        once = replace(known.mutation.hunk, replace_all=False)
        mutation = replace(known.mutation, id=self.new_id("o"), order=self._next_order(), step=0, hunk=once)
        document = await ports.editor.read(known.mutation.uri)
        if isinstance(document, Failure):
            return quick_fix.QuickFixResult(
                outcome=Outcome(mutation=mutation, status=Status.FAILED, failure=document)
            )
        self.observe_text(known.mutation.identity, document.text)
        known = replace(self.failure(failure), seen=document.text)
        planned = offer.plan_at(known, candidate)
        if isinstance(planned, Failure):
            outcome = Outcome(mutation=mutation, status=Status.FAILED, failure=planned, text=document.text)
            return quick_fix.QuickFixResult(outcome=outcome)
        fixed = await quick_fix.make(ports, self.new_id("q"), mutation, document, planned)
        self.ledger = ledger.record(self.ledger, fixed.outcome)
        self.ledger = ledger.record_fix(self.ledger, known, fixed.outcome)
        self.on_ledger(self.ledger)
        return fixed
