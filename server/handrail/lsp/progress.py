"""
Report to the client what happens in a turn: `handrail/turn/update` to clients that opted in, and standard
work done progress to all that can show it.

Every turn's progress can be cancelled, and ends on every path.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from handrail.agent.tools import kind_of
from handrail.core import surfaces
from handrail.core.documents.change import Status
from handrail.core.ledger import report
from handrail.core.ledger.outcome import Outcome
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import screen
from handrail.counts import count_of
from handrail.lsp import protocol, wire
from handrail.lsp.client import Client
from handrail.lsp.convert import Converter
from handrail.values import dataclass, field, replace

OUTPUT_S = 0.1  # how long a command's output is collected; no one reads faster
OUTPUT_CHARS = 4_000  # of the collected output are sent, its end; the rest is in the result
SAID_CHARS = 2_000  # of a warning
REPORT_CHARS = 400  # of a progress message
PROMPT_CHARS = 60
LINE_CHARS = 120  # of the last line, where only one is shown
SLOW_S = 1.0  # by then, people wonder whether anything is happening
KEPT_TURNS = 100  # ended turns whose outcomes may still be corrected
GATHER_S = 0.025  # as long as a frame or two: no eye sees it, and the client has less to do


@dataclass(slots=True)
class _Shown:
    """The state of one turn as it was last reported."""

    seq: int = 0
    outcomes: dict[str, tuple[Status, bool]] = field(default_factory=dict)
    has_begun: bool = False
    has_ended: bool = False
    title: str = ""
    crumbs: list[report.TextDelta | report.ThoughtDelta] = field(default_factory=list)
    outputs: dict[str, report.CallOutput] = field(default_factory=dict)
    timer: asyncio.TimerHandle | None = None
    reported: str = ""
    waits: str = ""

    def behind_title(self, text: str) -> str:
        """Returns *text* behind the title of the last call, if there was a call."""
        return f"{self.title}: {text}" if self.title else text


@dataclass(kw_only=True)
class Progress:
    """Reports all turns to one client."""

    server: LanguageServer
    client: Client
    converter: Callable[[], Converter]
    shown: dict[str, _Shown] = field(default_factory=dict)

    def on_event(self, session: str, turn: str, event: report.Event) -> None:
        """Reports an event; text and output are collected for a moment, since they arrive in small pieces."""
        state = self.shown.setdefault(turn, _Shown())
        match event:
            case report.CallFailed():
                self._log(event)
            case report.CallOutput():
                state.outputs[event.call] = _more(state.outputs.get(event.call), event)
                self._flush_in(OUTPUT_S, session, turn, state)
            case report.TextDelta() | report.ThoughtDelta():
                if state.crumbs and type(event) is not type(state.crumbs[0]):
                    self._flush(session, turn, state)
                state.crumbs.append(event)
                self._flush_in(GATHER_S, session, turn, state)
            case _:
                self._flush(session, turn, state)
                self._tell(session, turn, event, state)

    def _flush_in(self, seconds: float, session: str, turn: str, state: _Shown) -> None:
        if state.timer is None:
            loop = asyncio.get_running_loop()
            state.timer = loop.call_later(seconds, self._flush, session, turn, state)

    def _flush(self, session: str, turn: str, state: _Shown) -> None:
        if state.timer is not None:
            state.timer.cancel()
            state.timer = None
        if state.crumbs:
            delta = "".join(crumb.delta for crumb in state.crumbs)
            whole = replace(state.crumbs[0], delta=delta)
            state.crumbs.clear()
            self._tell(session, turn, whole, state)
        outputs, state.outputs = state.outputs, {}
        for output in outputs.values():
            self._tell(session, turn, replace(output, text=screen.plain(output.text)), state)

    def _tell(self, session: str, turn: str, event: report.Told, state: _Shown) -> None:
        state.seq += 1
        if self.client.turn_updates:
            update = protocol.TurnUpdate(
                session=session, turn=turn, seq=state.seq, event=self.converter().event(event)
            )
            self.server.protocol.notify(protocol.TURN_UPDATE, wire.write(update))
        if isinstance(event, Outcome):
            is_command = kind_of(event.mutation.tool) is ToolKind.COMMAND
            state.outcomes[event.mutation.id] = (event.status, is_command)
        if self.client.progress and not state.has_ended:
            self._tell_standard(turn, event, state)
        if isinstance(event, report.Notice) and event.is_warning:
            self.server.window_show_message(
                lsp.ShowMessageParams(
                    type=lsp.MessageType.Warning,
                    message=f"handrail: {surfaces.message(event.text, SAID_CHARS)}",
                )
            )
        if isinstance(event, report.Ended):
            state.has_ended = True  # an outcome may still be corrected, and continues to count
            ended = [name for name, each in self.shown.items() if each.has_ended]
            for name in ended[:-KEPT_TURNS]:
                del self.shown[name]

    def _tell_standard(self, turn: str, event: report.Event, state: _Shown) -> None:
        match event:
            case report.Started(prompt=prompt):
                state.has_begun = True
                self._begin(turn, prompt)
            case report.CallStarted(title=title):
                state.title = title
                self._report(turn, title)
            case report.CallOutput(text=text):
                lines = text.strip().splitlines()
                self._report(turn, state.behind_title(lines[-1][:LINE_CHARS] if lines else "…"))
            case report.Notice(call=call, text=text):
                self._report(turn, state.behind_title(text) if call else text)
            case Outcome():
                self._report(turn, state.behind_title(_counts(state)))
            case report.Retried() as retried:
                self._report(turn, retried.told)
            case report.Ended(reason=reason) if not state.has_begun:
                said = surfaces.message(f"handrail: a queued turn did not run. {reason}", SAID_CHARS)
                self.server.window_show_message(
                    lsp.ShowMessageParams(type=lsp.MessageType.Warning, message=said)
                )
            case report.Ended(state=end, reason=reason):
                how = report.STATE_WORDS.get(end, end.value) + (f": {reason}" if reason else "")
                message = _counts(state) if end is report.State.FINISHED and state.outcomes else how
                self._notify(turn, lsp.WorkDoneProgressEnd(message=surfaces.message(message)))
            case _:
                pass

    def _begin(self, turn: str, prompt: str) -> None:
        # The token is in order even if the client refuses it: it then shows nothing.
        self.server.protocol.send_request(
            lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token=turn)
        )
        first = surfaces.message(prompt.strip().partition("\n")[0], PROMPT_CHARS)
        self._notify(turn, lsp.WorkDoneProgressBegin(title="handrail", message=first, cancellable=True))

    def wait(self, turn: str, waits: str) -> None:
        """Shows that a turn is waiting for the user, as *waits* says; no longer if that is empty."""
        state = self.shown.get(turn)
        if state is None:
            return
        state.waits = waits
        if self.client.progress and not state.has_ended:
            self._report(turn, state.reported)

    def _report(self, turn: str, message: str) -> None:
        state = self.shown[turn]
        state.reported = message
        shown = surfaces.message(message, REPORT_CHARS)
        if state.waits:  # first, as a status bar cuts what is long
            shown = f"{state.waits} · {shown}" if shown else state.waits
        self._notify(turn, lsp.WorkDoneProgressReport(message=shown, cancellable=True))

    def _log(self, event: report.CallFailed) -> None:
        said = f"{event.tool} failed: {event.code}: {event.said}"
        self.server.window_log_message(
            lsp.LogMessageParams(type=lsp.MessageType.Warning, message=surfaces.lines(said))
        )

    def _notify(self, turn: str, value: object) -> None:
        self.server.protocol.notify(lsp.PROGRESS, lsp.ProgressParams(token=turn, value=value))


@dataclass(kw_only=True)
class Slow:
    """
    Standard progress for work that may take long; it appears after a moment, and can be cancelled.

    Attributes:
        server: Tells the client.
        shows_progress: Whether the client supports it; otherwise one message is shown, with `say`.
        title: The name of the work.
        say: Shows a message.
        token: The token of the progress.
        work: Cancelled when the user stops it; work without a task calls `should_continue`.
    """

    server: LanguageServer
    shows_progress: bool
    title: str
    say: Callable[[str], None]
    token: str
    is_stopped: bool = False
    work: asyncio.Future[Any] | None = None
    _is_shown: bool = False
    _told_at: float = 0.0
    _timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Slow:
        self._timer = asyncio.get_running_loop().call_later(SLOW_S, self._begin)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._is_shown:
            self._notify(lsp.WorkDoneProgressEnd())

    def stop(self) -> None:
        """Called when the user stops it."""
        self.is_stopped = True
        if self.work is not None:
            self.work.cancel()

    def should_continue(self, done: int, of: int) -> bool:
        """Reports the number *done*; returns whether to continue."""
        now = asyncio.get_running_loop().time()
        if self._is_shown and now - self._told_at >= OUTPUT_S:
            self._told_at = now
            percentage = 100 * done // max(of, 1)
            message = f"{done:,} of {of:,}"
            self._notify(lsp.WorkDoneProgressReport(message=message, percentage=percentage, cancellable=True))
        return not self.is_stopped

    def _begin(self) -> None:
        if not self.shows_progress:
            self.say(f"{self.title}…")
            return
        self._is_shown = True
        self.server.protocol.send_request(
            lsp.WINDOW_WORK_DONE_PROGRESS_CREATE, lsp.WorkDoneProgressCreateParams(token=self.token)
        )
        self._notify(
            lsp.WorkDoneProgressBegin(title="handrail", message=self.title, percentage=0, cancellable=True)
        )

    def _notify(self, value: object) -> None:
        self.server.protocol.notify(lsp.PROGRESS, lsp.ProgressParams(token=self.token, value=value))


def _more(before: report.CallOutput | None, output: report.CallOutput) -> report.CallOutput:
    """Joins both; of a long text keeps the end."""
    text = output.text if before is None else before.text + output.text
    skipped = max(len(text) - OUTPUT_CHARS, 0)
    return replace(output, text=text[skipped:], skipped=skipped + (before.skipped if before else 0))


def _counts(state: _Shown) -> str:
    """Counts the outcomes of edits, and the files that commands changed."""
    changed = (Status.LANDED, True)
    of = Counter(status for status, is_command in state.outcomes.values() if (status, is_command) != changed)
    by_commands = list(state.outcomes.values()).count(changed)
    landed = of[Status.LANDED] + of[Status.ALREADY]
    edits = f"{count_of(landed, 'edit')} landed"
    counts = [edits] if of or not by_commands else []
    counts += [f"{of[Status.FAILED]} did not"] if of[Status.FAILED] else []
    counts += [f"{of[Status.DENIED]} denied"] if of[Status.DENIED] else []
    counts += [f"commands changed {count_of(by_commands, 'file')}"] if by_commands else []
    return ", ".join(counts)
