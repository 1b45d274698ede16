"""
Show in a terminal what a turn does: tool calls, edits, failures, and how to undo it.

Text from documents and models is shown with visible control characters, so that no file can control the
terminal. Nothing is decided here.
"""

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from handrail.counts import count_of
from handrail.headless import failure_lines, question, summary, values
from handrail.headless.disk import path_of
from handrail.headless.errors import EditRefusedError, ServerGarbledError
from handrail.headless.failure_lines import LineText
from handrail.headless.terminal import Stream, hang, one_line, visible, wants_colour
from handrail.headless.values import Failure, Json, Outcome, RestoreReport, TurnReport
from handrail.headless.workspace import Unsaved

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
DIFF_COLOURS = {"+": GREEN, "-": RED, "@": CYAN}
MESSAGE_KINDS = {
    1: ("error", RED),
    2: ("warning", YELLOW),
}  # LSP's MessageType; the others are not for people
NO_STATE = "did not end, or is still running"
STATES = {"stopped": "ended early", "cancelled": "stopped"}  # how a turn ended, if in other words
TIERS = {"normalised": "the search text differed slightly", "anchored": "placed by the lines around it"}


class Show:
    """
    Prints what people see of a command: turns, questions, results.

    Args:
        root: The workspace folder; documents are named relative to it.
        as_json: Keep stdout for one JSON value; everything else goes to stderr.
        screen: What all goes to instead of stdout and stderr.
    """

    def __init__(self, root: Path, *, as_json: bool, screen: Stream | None = None) -> None:
        self._root = root
        self._out: Stream = screen or (sys.stderr if as_json else sys.stdout)
        self._err: Stream = screen or sys.stderr
        self._colour = wants_colour(self._out, os.environ)
        self._streamed = ""  # text since the last tool call
        self._said = ""  # the last text before it
        self._at_line_start = True
        self._next_seq = 1
        self._outputs: dict[str, str] = {}  # by call: the beginning of a line that is not whole yet
        self._explained: set[str] = set()  # calls of which something else says what became of them
        self.superseded: set[str] = set()  # ids of failures that a later step made good

    def update(self, params: Json, line_text: LineText) -> None:
        """Show one `handrail/turn/update`; an unknown kind of event is passed over."""
        event = params.get("event")
        if not isinstance(event, dict):
            return
        if params.get("seq") != self._next_seq:
            self.note(
                f"what is shown of this turn has gaps: update {params.get('seq')} of the server arrived in "
                f"place of update {self._next_seq}"
            )
        self._next_seq = params["seq"] + 1 if isinstance(params.get("seq"), int) else self._next_seq
        try:
            self._event(event, line_text)
        except ServerGarbledError as error:
            self.note(str(error))

    def report(self, report: TurnReport, *, in_chat: bool = False) -> None:
        """
        Show how the turn ended: the answer, the results of the edits, and how to restore the turn.

        In a chat, which has commands for that, a turn that changed nothing ends without a message.
        """
        answer = report.answer.strip()
        if answer and not (self._streamed or self._said).rstrip().endswith(answer):
            self.line("")
            self.line(answer)
        statuses = [outcome.status for outcome in report.outcomes]
        is_good = report.state == "finished" and not {"failed", "denied"} & set(statuses)
        colour = GREEN if is_good else YELLOW
        self.line("")
        if summary.wants_summary(os.environ):
            for row, is_well in summary.table(report.outcomes, self.superseded, self.name):
                self.line(row, "" if is_well else YELLOW)
        if report.outcomes or not in_chat or report.state != "finished":
            told = summary.counts(statuses) or "no edits"
            edits = f": {told}" if report.outcomes or not report.reason else ""
            self.line(f"{STATES.get(report.state, report.state)}{edits}", colour)
            reason = report.reason or ""
            if reason not in answer:  # it was just shown
                self.line(f"  {hang(reason)}", colour)
        if report.used:
            self.line(f"  {report.used}", DIM)
        if report.checkpoint is not None:
            self.line(f"checkpoint {report.checkpoint}")
            undo = self.command("checkpoint", "restore", report.checkpoint)
            way = "undo the turn with: /undo" if in_chat else f"undo the turn's changes with: {undo}"
            self.line(f"  {way}", DIM)
            if report.pending:
                words = ("review", "list", "--turn", report.checkpoint)
                review = "/review" if in_chat else self.command(*words)
                self.line(f"  or review its changes ({report.pending}) one by one with: {review}", DIM)

    def session(self, session: str, options: Sequence[str], command: str = "run") -> None:
        """Show how to continue a conversation; *options* are those that hold for its next turn too."""
        workspace = ("--workspace", str(self._root))
        line = shlex.join(("handrail", command, "--session", session, *workspace, *options))
        self.line(f"session {session}")
        self.line(f"  continue with: {line}{' PROMPT' if command == 'run' else ''}", DIM)

    def sessions(self, sessions: Sequence[values.Session], *, has_more: bool) -> None:
        """Show sessions, one line each."""
        for each in sessions:
            turns, title = count_of(each.turns, "turn"), one_line(each.title)
            self.line(f"{each.session}  {_local(each.time)}  {turns}  {title}")
        if has_more:
            self.line("Older sessions are not shown; to list them, give --limit N or --all.", DIM)
        if not sessions:
            self.line("This workspace has no sessions yet. `handrail run` and `handrail chat` start one.")

    def turns(self, turns: Iterable[values.Turn]) -> None:
        """Show the turns of a session, and what was asked in each."""
        for turn in turns:
            state = STATES.get(turn.state, turn.state) if turn.state else NO_STATE
            if turn.copied:
                last = "" if turn.copied == 1 else f"the last of {turn.copied:,} turns "
                state = f"{last}copied from another session"
            self.line(f"{turn.turn}  {state}", BOLD)
            for line in turn.prompt.splitlines():
                self.line(f"  {line}")

    def checkpoints(self, checkpoints: Iterable[values.Checkpoint], of: str = "workspace") -> None:
        """Show checkpoints, one paragraph each; *of*: what they are all of."""
        none = True
        for checkpoint in checkpoints:
            none = False
            self.line(f"{checkpoint.id}  {_local(checkpoint.time)}  {one_line(checkpoint.name)}", BOLD)
            for path, change in checkpoint.paths:
                self.line(f"  {change:8} {one_line(path)}")
        if none:
            self.line(f"This {of} has no checkpoints yet; a turn takes one before its first change.")

    def rules(self, rules: Sequence[tuple[str, str]], title: str = "") -> None:
        """Show rules that answers have added, (id, text) each."""
        if rules and title:
            self.line(title)
        for rule, text in rules:
            self.line(rule, BOLD)
            for line in text.splitlines():
                self.line(f"  {line}")
        if not rules:
            self.line("This workspace has no rules from your answers.")

    def restore_report(self, report: RestoreReport, *, in_chat: bool = False) -> None:
        """Show the result of a restore."""
        for uri in report.restored:
            self.line(f"restored   {self.name(uri)}", GREEN)
        for uri in report.deleted:
            self.line(f"deleted    {self.name(uri)}", GREEN)
        for uri in report.unchanged:
            self.line(f"unchanged  {self.name(uri)}", DIM)
        for uri, reason, diff in report.partial:
            self.line(f"in part    {self.name(uri)}: {hang(reason)}", YELLOW)
            self._diff(diff, "This part of the restore was not made:")
        for uri, reason, diff in report.conflicts:
            self.line(f"conflict   {self.name(uri)}: {hang(reason)}", YELLOW)
            self._diff(diff, "The change below was not made:")
        undo: tuple[str, ...] = ()
        if report.conversation is not None:
            session, turns = report.conversation
            self.line(f"session    {session} now has {count_of(turns, 'turn')}", GREEN)
            undo = ("--conversation",)
        elif not report.count:
            self.line("nothing to restore: the checkpoint has no changed documents", DIM)
        if report.checkpoint is not None and (report.restored or report.deleted or report.partial or undo):
            where = " in another terminal" if in_chat else ""
            command = self.command("checkpoint", "restore", report.checkpoint, *undo)
            self.line(f"  undo this{where} with: {command}", DIM)

    def diff(self, diff: str, title: str = "") -> None:
        """Show a unified diff, as `patch` reads it, below a *title*."""
        if diff and title:
            self.line(title)
        for line in diff.removesuffix("\n").split("\n") if diff else ():
            is_header = line.startswith(("--- ", "+++ "))
            self.line(line, BOLD if is_header else DIFF_COLOURS.get(line[:1], ""))

    def pruned_checkpoints(self, removed: Iterable[str], bytes_used: int) -> None:
        """Show which checkpoints are gone."""
        for checkpoint in removed:
            self.line(f"removed    {checkpoint}")
        self.line(f"checkpoints take up {bytes_used / 1e6:.1f} MB", DIM)

    def soundness(self, count: int, problems: Iterable[str]) -> None:
        """Show what is wrong with what is kept."""
        wrong = list(problems)
        for problem in wrong:
            self.line(hang(problem), RED)
        if not wrong:
            self.line(f"{count_of(count, 'checkpoint')}, none damaged", GREEN)

    def message(self, params: Json) -> None:
        """Show a `window/showMessage` if a person must see it."""
        given = params.get("type")
        kind, colour = MESSAGE_KINDS.get(given if isinstance(given, int) else 0, ("", ""))
        if kind:
            said = str(params.get("message", "")).removeprefix("handrail: ")  # as `note` begins
            self.note(f"{kind}: {said}", colour)

    def unsaved_documents(self, unsaved: Iterable[Unsaved]) -> None:
        """Show which documents did not reach the disk."""
        for document in unsaved:
            self.note(f"error: {self._name(document.path)} is not saved: {document.reason}", RED)

    def note(self, text: str, colour: str = YELLOW) -> None:
        """Say something on stderr, in our own name."""
        self.pause()
        painted = wants_colour(self._err, os.environ)
        with contextlib.suppress(OSError):
            self._err.write(_paint(f"handrail: {hang(visible(text))}", colour if painted else "") + "\n")
            self._err.flush()

    def sent_message(self, text: str) -> None:
        """Show what the person has sent."""
        first, *others = text.split("\n")
        self.line("\n".join([f"> {first}", *(f"  {line}" for line in others)]), BOLD)

    def question(self, asked: question.Question) -> None:
        """Show all that is asked."""
        self.line("")
        self.line(asked.head, YELLOW)
        self._diff(asked.diff)
        for note in asked.notes:
            self.line(f"  {hang(note)}", DIM)

    def pause(self) -> None:
        """End a line that streamed text left open, before someone else writes."""
        if not self._at_line_start:
            self._write("\n")

    def json(self, value: Any) -> None:
        """Put the one JSON value on stdout; ASCII, so that no locale can spoil it."""
        with _pipe_may_close(sys.stdout):
            print(json.dumps(value, indent=2), flush=True)

    def _event(self, event: Json, line_text: LineText) -> None:
        match event.get("kind"):
            case "text":
                self._text(str(event.get("delta", "")))
            case "toolCall":
                self._said, self._streamed = self._streamed or self._said, ""
                self.line("")
                head = f"{event.get('tool')}: "
                self.line(f"● {head}{hang(str(event.get('title')).removeprefix(head))}", BOLD)
            case "outcome":
                self._explained.add(str(event.get("call")))
                self._outcome(values.outcome(event), line_text)
            case "superseded":
                self.superseded.add(str(event.get("failure")))
                self.line("  this fixes an earlier failure", GREEN)
            case "approval" if event.get("choice") is not None:
                self._explained.add(str(event.get("call")))
                self.line(f"  {question.how_it_ended(event)}: {hang(str(event.get('subject')))}", YELLOW)
            case "retry":
                reason = hang(str(event.get("reason", "")).removesuffix("."))
                self.line(f"  {reason}; trying again{values.pause(event)}", YELLOW)
            case "notice" if not event.get("warning"):  # a warning comes as a message
                self.line(f"  {hang(str(event.get('text')))}", DIM)
            case "compacted":
                self.line("  the earlier conversation was shortened for the model", DIM)
            case _:  # of others, only what commands print: the rest says it
                self._command(event)

    def _outcome(self, outcome: Outcome, line_text: LineText) -> None:
        name = self.name(outcome.uri)
        if outcome.status == "denied":
            reason = f": {hang(outcome.failure.message)}" if outcome.failure is not None else ""
            self.line(f"  {name}: denied{reason}", YELLOW)
        elif outcome.failure is not None:
            self._failure(outcome.failure, line_text)
        elif outcome.status == "landed":
            tier = f" ({TIERS.get(outcome.tier, outcome.tier)})" if outcome.tier not in (None, "safe") else ""
            self.line(f"  {name}: landed{tier}", GREEN)
            for note in outcome.notes:
                self.line(f"    {hang(note)}", DIM)
            if outcome.uncovered is not None:
                self.line(f"  {name}: cannot be undone", YELLOW)
            self._diff(outcome.diff or "")
        else:
            self.line(f"  {name}: {summary.WORDS.get(outcome.status, outcome.status)}", DIM)

    def _diff(self, diff: str, title: str = "") -> None:
        if diff and title:
            self.line(title, DIM)
        in_header = True
        for line in diff.removesuffix("\n").split("\n") if diff else ():
            in_header = in_header and not line.startswith("@@")
            self.line(f"    {line}", BOLD if in_header else DIFF_COLOURS.get(line[:1], ""))

    def _failure(self, failure: Failure, line_text: LineText) -> None:
        self.line(hang(failure_lines.message_line(failure, self.name(failure.uri))), YELLOW)
        for row in failure_lines.candidate_lines(failure, line_text):
            self.line(row, CYAN)
        for row in failure_lines.advice_lines(failure):
            self.line(hang(row))

    def _text(self, delta: str) -> None:
        if not self._streamed and delta:
            self.line("")
        self._streamed += delta
        self._write(visible(delta))

    def _command(self, event: Json) -> None:
        """Show what a command prints, line by line, and how it ended."""
        call = str(event.get("call"))
        if event.get("kind") == "toolOutput":
            if event.get("skipped"):
                self.line(f"    (characters that are not shown: {event.get('skipped')})", DIM)
            *lines, rest = (self._outputs.get(call, "") + str(event.get("text", ""))).split("\n")
            self._outputs[call] = rest
            for line in lines:
                self.line(f"    {line}", DIM)
        elif event.get("kind") == "toolResult" and call in self._outputs:
            rest = self._outputs.pop(call)
            if rest:
                self.line(f"    {rest}", DIM)
            self.line(f"  {event.get('summary')}", DIM)
        elif event.get("kind") == "toolResult" and event.get("failed") and call not in self._explained:
            self.line(f"  {event.get('summary')}", YELLOW)

    def line(self, text: str, colour: str = "") -> None:
        """Write whole lines."""
        self.pause()
        for line in text.split("\n"):
            self._write(_paint(visible(line), colour if self._colour else "") + "\n")

    def _write(self, text: str) -> None:
        if not text:
            return
        self._at_line_start = text.endswith("\n")
        encoding = self._out.encoding or "utf-8"
        with _pipe_may_close(self._out):
            self._out.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._out.flush()

    def command(self, *words: str) -> str:
        """A command line of handrail for this workspace, wherever it is run."""
        return shlex.join(("handrail", *words, "--workspace", str(self._root)))

    def name(self, uri: str) -> str:
        """A document as people read it: its path below the workspace folder."""
        try:
            path = path_of(uri)
        except EditRefusedError:
            return one_line(uri)
        return self._name(path)

    def _name(self, path: Path) -> str:
        """The same by its path; by its URI if it is not UTF-8, as the server names it."""
        if any("\ud800" <= character <= "\udfff" for character in str(path)):
            return path.as_uri()
        return one_line(str(path.relative_to(self._root) if path.is_relative_to(self._root) else path))


@contextlib.contextmanager
def _pipe_may_close(stream: Stream) -> Any:
    """Go on silently when the reader of *stream* went away: the turn must still end well."""
    try:
        yield
    except BrokenPipeError:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), stream.fileno())  # also for what Python flushes at its own end


def _paint(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if colour and text else text


def _local(time: str) -> str:
    """Give an RFC 3339 time as a person here would write it."""
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return time
