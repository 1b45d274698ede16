"""
Apply a pasted reply to a workspace folder, without an editor and without a model.

It is a turn like any other, on the disk and in this process: with a checkpoint before the first change, and
told as `handrail run` tells it. Unless what fits is asked for, the whole reply is rehearsed in memory first,
and nothing is changed if any of it does not fit; when the disk refuses a part after all, the rest is
reverted. Exit codes are those of `handrail run`.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.commands.process import Processes
from handrail.adapters.files.disk import Disk
from handrail.adapters.files.dry_run import DryRunEditor
from handrail.adapters.models.paste import NO_BLOCKS_TO_APPLY, Paste
from handrail.adapters.state.grant_file import GrantFile
from handrail.adapters.state.home import state_folder
from handrail.adapters.state.spill_folder import SpillFolder
from handrail.adapters.workspace.folders import Folders
from handrail.agent import restoring
from handrail.agent.host import Host
from handrail.agent.restore.restore import RestoreRequest
from handrail.agent.turn.edit.plan import FITS
from handrail.core.checkpoint import Limits
from handrail.core.documents.change import Status
from handrail.core.failure import Code, Failure
from handrail.core.ledger.outcome import Outcome
from handrail.core.ledger.report import CallFailed, Event, Superseded, TurnReport
from handrail.core.results.key_names import secrets
from handrail.core.results.redact import redact
from handrail.headless import terminal, values
from handrail.headless.commands.stage import ALL_LANDED, COULD_NOT_RUN, SOMETHING_FAILED, workspace_folder
from handrail.headless.commands.turn import exit_code
from handrail.headless.errors import HeadlessError, InterruptedByUserError
from handrail.headless.show import Show
from handrail.headless.terminal import Interrupts, hang, visible
from handrail.lsp import convert, wire
from handrail.ports import ALLOW, DENY, CheckpointError, Ports, Question, Terms
from handrail.values import dataclass, field, replace

STDIN = "-"

WAY_ON = (
    "To have this corrected, copy the failures to the chat that wrote the reply, and apply its new answer."
)
TO_MAKE_THE_REST = "To make the edits that fit, give --partial."
# What a new reply can correct; of the others, the machine or the user is the cause.
OF_THE_REPLY = frozenset(
    {
        Code.BAD_PATCH,
        Code.EMPTY_SEARCH,
        Code.NO_MATCH,
        Code.AMBIGUOUS_MATCH,
        Code.NO_CHANGE,
        Code.OMISSION,
        Code.NO_SUCH_FILE,
        Code.FILE_EXISTS,
        Code.BAD_ARGUMENTS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """
    One reply.

    Attributes:
        source: The file that holds it; `-` is standard input.
        workspace: The folder to work on.
        as_json: Print the TurnReport as one JSON object.
        yes: Answer every question with yes.
        partial: Make what fits, although something else does not.
    """

    source: str
    workspace: Path
    as_json: bool = False
    yes: bool = False
    partial: bool = False


async def apply(options: ApplyOptions) -> int:
    """Apply a reply and show the result; returns the exit code."""
    show = Show(options.workspace, as_json=options.as_json)
    try:
        root = workspace_folder(options.workspace)
        show = Show(root, as_json=options.as_json)
        with Interrupts() as interrupts:
            reply = await interrupts.guard(_read(options.source))
            return await _Applying(options=options, root=root, show=show, interrupts=interrupts).run(reply)
    except HeadlessError as error:
        show.note(f"error: {error}")
        return COULD_NOT_RUN


async def _read(source: str) -> str:
    if source == STDIN:
        return await terminal.read_prompt(STDIN, "reply")
    try:
        reply = await asyncio.to_thread(Path(source).read_text, encoding="utf-8-sig")
    except OSError as error:
        raise HeadlessError(f"The reply {source} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise HeadlessError(
            f"The reply {source} is not UTF-8 (byte {error.start + 1}). Save it in UTF-8."
        ) from error
    if not reply.strip():
        raise HeadlessError(f"The reply {source} is empty.")
    return reply


@dataclass(kw_only=True)
class _Applying:
    """One reply on its way; `answers` keeps what the person said in the rehearsal."""

    options: ApplyOptions
    root: Path
    show: Show
    interrupts: Interrupts
    answers: dict[str, str | None] = field(default_factory=dict)
    told: int = 0

    async def run(self, reply: str) -> int:
        ports = self._ports()
        if not self.options.partial:
            with TemporaryDirectory(prefix="handrail-") as folder:
                checkpoints = self._checkpoints(Path(folder))
                rehearsal = replace(ports, editor=DryRunEditor(ports.editor), checkpoints=checkpoints)
                turn = _Turn(ports=rehearsal, interrupts=self.interrupts)
                try:
                    report = await turn.run(reply)
                finally:
                    await checkpoints.settle()
            if code := self._rehearse(turn, report):
                return code
        turn = _Turn(ports=ports, interrupts=self.interrupts, on_event=self._tell)
        report = await turn.run(reply)
        code = exit_code(values.turn_report(_json(report)), turn.superseded)
        if code == SOMETHING_FAILED and report.checkpoint is not None and not self.options.partial:
            report = await self._take_back(turn, report)
        return self._end(report, code)

    def _rehearse(self, turn: _Turn, report: TurnReport) -> int:
        """Show why the reply cannot be applied; 0 if it can."""
        code = exit_code(values.turn_report(_json(report)), turn.superseded)
        if code == ALL_LANDED:
            return code
        cause = _cause(report)
        why = f"{FITS}, but {cause.why} Nothing was changed. {cause.way_on}"
        for event in turn.events:
            self._tell(_hold_back(event, cause, why) if isinstance(event, Outcome) else event)
        outcomes = tuple(_hold_back(outcome, cause, why) for outcome in report.outcomes)
        ended = self._end(replace(report, outcomes=outcomes, checkpoint=None), code)
        if any(each.failure is not None and each.failure.message.startswith(FITS) for each in outcomes):
            self.show.line(TO_MAKE_THE_REST)
        return ended

    async def _take_back(self, turn: _Turn, report: TurnReport) -> TurnReport:
        assert report.checkpoint is not None
        try:
            restored = await restoring.restore(turn.host, RestoreRequest(checkpoint=report.checkpoint))
        except CheckpointError as error:
            self.show.note(f"error: the edits that landed could not be undone: {error}")
            return report
        self.show.restore_report(values.restore_report(wire.write(convert.restore_report(restored))))
        if restored.conflicts or restored.partial:
            return report
        cause = _cause(report)
        landed = "This edit landed, but another edit of the reply did not, so this one was reverted."
        why = f"{landed} {cause.way_on}"
        outcomes = tuple(_hold_back(outcome, cause, why) for outcome in report.outcomes)
        return replace(report, outcomes=outcomes, checkpoint=None)

    def _end(self, report: TurnReport, code: int) -> int:
        json = _json(report)
        self.show.report(values.turn_report(json))
        if any(each.failure is not None and each.failure.code in OF_THE_REPLY for each in report.outcomes):
            self.show.line(WAY_ON)
        if self.options.as_json:
            self.show.json(json)
        return code

    def _tell(self, event: Event) -> None:
        if isinstance(event, CallFailed):
            return  # the outcome tells the same
        self.told += 1
        text = event.text if isinstance(event, Outcome) else None

        def line_text(uri: str, line: int) -> str | None:
            return text.rows[line] if text is not None and line < len(text.rows) else None

        self.show.update({"seq": self.told, "event": wire.write(CONVERTER.event(event))}, line_text)

    def _ports(self) -> Ports:
        state = state_folder()
        return Ports(
            editor=Disk(state / "handrail" / "locks", lambda: [self.root]),
            workspace=Folders((self.root,)),
            provider=Paste(partial=self.options.partial, no_blocks=NO_BLOCKS_TO_APPLY),
            checkpoints=self._checkpoints(state),
            approver=self,
            grants=GrantFile(state, lambda: (self.root,)),
            process=Processes(os.environ, lambda: (self.root,)),
            spills=SpillFolder(state / "handrail" / "outputs"),
            terms=Terms(reads_settings=False),
            secrets=lambda: secrets(os.environ),
        )

    def _checkpoints(self, state: Path) -> ShadowRepo:
        made = ShadowRepo(state, lambda: (self.root,), lambda: datetime.now(UTC))
        made.set_limits(Limits(is_setting=False))
        return made

    async def ask(self, question: Question) -> str | None:
        """The Approver port: the person at the terminal, asked once about the same; no one there is a no."""
        if ALLOW not in question.choices:
            return None  # only a model asks other questions
        text = f"Allow {question.tool}: {hang(question.subject)}? {hang(question.detail)}".strip()
        asked = question.diff + text
        if asked not in self.answers:
            self.answers[asked] = ALLOW if self.options.yes else await self._ask(question.diff, text)
        return self.answers[asked]

    async def _ask(self, diff: str, text: str) -> str | None:
        if not terminal.can_ask():
            self.show.note(f"{text} Not allowed, because {terminal.CANNOT_ASK} To allow it, give --yes.")
            return None
        self.show.pause()
        try:
            typed = await self.interrupts.guard(terminal.ask(f"{visible(diff + text)} [y/N]"))
        except InterruptedByUserError:
            return DENY
        return ALLOW if typed.strip().lower() in ("y", "yes") else DENY


@dataclass(kw_only=True)
class _Turn:
    """One turn, and what happened in it."""

    ports: Ports
    interrupts: Interrupts
    on_event: Callable[[Event], None] = lambda event: None
    events: list[Event] = field(default_factory=list)
    host: Host = field(init=False)

    def __post_init__(self) -> None:
        self.host = Host(
            ports=lambda: self.ports,
            new_id=lambda kind: f"{kind}-{uuid.uuid4().hex[:12]}",
            on_event=lambda session, turn, event: self._take(event),
            on_ledger=lambda ledger: None,
        )

    @property
    def superseded(self) -> set[str]:
        """The failures that a later edit corrected."""
        return {event.failure for event in self.events if isinstance(event, Superseded)}

    async def run(self, reply: str) -> TurnReport:
        """Run it to its end; an interrupt cancels it."""
        turn = self.host.start(reply, None).id
        try:
            return await self.interrupts.guard(self.host.wait(turn))
        except InterruptedByUserError:
            await self.host.cancel(turn)
            return await self.host.wait(turn)

    def _take(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)


CONVERTER = convert.Converter(
    encoding="utf-16",  # LSP's default, as for a client that asks for none
    redact=lambda text: redact(text, secrets(os.environ)),
)


def _json(report: TurnReport) -> object:
    return wire.write(CONVERTER.turn_report(report))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cause:
    """Why edits that fit are not made: the code, and words for the user."""

    code: Code
    why: str
    way_on: str


def _cause(report: TurnReport) -> _Cause:
    """Returns what is wrong with the other edits: first what a new reply corrects, then what was denied."""
    missed = [each for each in report.outcomes if each.failure is not None]
    codes = [each.failure.code for each in missed if each.failure is not None]
    if any(code in OF_THE_REPLY for code in codes):
        return _Cause(
            code=Code.BAD_PATCH,
            why="another edit of the reply does not.",
            way_on="Correct that one, then apply the reply again; or give --partial.",
        )
    if any(each.status is Status.DENIED for each in missed):
        return _Cause(
            code=Code.DENIED,
            why="another edit of the reply was not allowed.",
            way_on="Apply the reply again and allow that edit, or give --yes or --partial.",
        )
    return _Cause(
        code=codes[0] if codes else Code.CUT_SHORT,
        why="another edit of the reply cannot be made."
        if codes
        else "handrail did not get to the reply's end.",
        way_on=f"{'Remove the cause, then apply' if codes else 'Apply'} the reply again; or give --partial.",
    )


def _hold_back(outcome: Outcome, cause: _Cause, why: str) -> Outcome:
    """The outcome of an edit that landed, or would have, and is not to be there."""
    if outcome.status is not Status.LANDED:
        return outcome
    failure = Failure(code=cause.code, uri=outcome.mutation.uri, message=why)
    return replace(outcome, status=Status.FAILED, tier=None, failure=failure, spans=(), diff=None, notes=())
