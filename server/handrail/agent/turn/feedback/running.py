"""
Run a check once, like any other command: judged, contained, and with limited time and output.

It sees the editor's text, either in copies that cover the files or on its standard input. If neither is
possible, it sees the files on disk, and reports nothing about documents with unsaved changes. In the sandbox
it can only read, so the setting is permission enough. Without a sandbox, a rule of the user must allow it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import unquote

from handrail.agent.command_line import understand, uri_in
from handrail.agent.turn.command import saving
from handrail.core.ledger import check_output
from handrail.core.ledger.check_output import CheckProblem
from handrail.core.ledger.problems import Problem
from handrail.core.policy import rules, verdict
from handrail.core.policy.checks import Check, Format
from handrail.core.policy.containment import NOTHING_AVAILABLE, Available, Contained, Profile, Sandbox, needs
from handrail.core.policy.grants import Rights
from handrail.core.policy.place import Place, PlaceKind, is_asked
from handrail.core.policy.rules import Decision
from handrail.core.policy.shell import End, Run, RunResult
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import sanitize
from handrail.ports import Document, Ports
from handrail.ports.languages import Unknown
from handrail.values import dataclass

TOOL = "terminal"  # the tool whose rules apply to checks
CLOSED = (PlaceKind.VERSION_CONTROL, PlaceKind.OWN)  # blocked whatever the settings say
LIMIT_S = 30.0
LIMIT_CHARS = 2_000_000  # that are read of what a check prints
LIMIT_PROBLEMS = 1_000  # of a document; with more, finding the new ones takes too long
LIMIT_PATHS = 50  # that are looked at to find out whether any is a file
SAID_CHARS = 200
NOT_RUN = (126, 127)  # a shell's exit code if the program does not exist
SIGNALLED = 128
STOPPED_FOR = {
    End.FULL: "nearly filled the disk and was stopped",
    End.CROWDED: "started thousands of processes and was stopped",
}
STDIN_NAMES = frozenset({"-", "<stdin>", "stdin"})

Results = Mapping[str, tuple[Problem, ...] | Unknown]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """
    A document that is checked.

    Attributes:
        uri, text: As the editor has them.
        path: Relative to its workspace folder, *root*.
        raw: The bytes that it would have on disk.
        is_unsaved: Whether the text on disk differs.
    """

    uri: str
    identity: str
    path: str
    root: Place
    text: str
    raw: bytes
    is_unsaved: bool

    @classmethod
    def of(cls, document: Document, place: Place, root: Place) -> Target | None:
        """
        Returns the target for a document in a workspace folder; None if its text cannot be written to a file.
        """
        raw = document.text.encode(document.text.content)
        if not isinstance(raw, bytes):
            return None
        return cls(
            uri=document.uri,
            identity=place.identity,
            path=unquote(place.uri.removeprefix(f"{root.uri}/"), errors="surrogateescape"),
            root=root,
            text=document.text.content,
            raw=raw,
            is_unsaved=document.unsaved,
        )


async def run(check: Check, targets: Sequence[Target], ports: Ports, stop: asyncio.Event) -> Results:
    """
    Returns the problems that a check finds in documents of one workspace folder, by URI.

    Args:
        stop: Set to stop it.
    """
    sandbox = ports.terms.sandbox
    available = NOTHING_AVAILABLE if sandbox is Sandbox.OFF else await ports.process.available()
    once = _Once(check=check, ports=ports, stop=stop, available=available)
    if check.stdin and not (available.by and available.mounts):
        result = dict[str, tuple[Problem, ...] | Unknown]()
        for each in targets:
            line = check.stdin_line(each.path)
            result |= _results([each], await once.run(line, [each], given=each.raw), check)
        return result
    return await _of_files(once, targets)


async def _of_files(once: _Once, targets: Sequence[Target]) -> Results:
    """Runs a check on files, covered by copies of the editor's text where that is possible."""
    mounts = bool(once.available.by) and once.available.mounts
    before = {each.uri: await once.ports.editor.read_bytes(each.uri) for each in targets}
    result = dict[str, tuple[Problem, ...] | Unknown]()
    for each in targets:
        if before[each.uri] is None:
            result[each.uri] = Unknown(why="A file that has not been saved cannot be checked.")
        elif not mounts and before[each.uri] != each.raw:
            result[each.uri] = Unknown(why=_unsaved_note(once.check))
    left = [each for each in targets if each.uri not in result]
    if not left:
        return result
    copies: tuple[tuple[str, bytes], ...] = ()
    if mounts:
        seen, _ = await saving.editor_texts(once.ports, Profile.LOOK)
        copies = tuple((dict(seen) | {each.uri: each.raw for each in left}).items())
    reported = await once.run(once.check.line([each.path for each in left]), left, copies=copies)
    result |= _results(left, reported, once.check)
    for each in left:  # what is written to the disk shows instead of the copy that lay over it
        if await once.ports.editor.read_bytes(each.uri) != before[each.uri]:
            result[each.uri] = Unknown(why="The text changed while it was being checked.", is_passing=True)
    return result


def _unsaved_note(check: Check) -> str:
    return (
        f"Unsaved changes cannot be checked: on this machine, the check `{check.program}` sees only saved "
        "files, unless handrail.checks has a `stdin` command for it."
    )


def _results(
    targets: Sequence[Target], reported: Mapping[str, list[Problem]] | Unknown, check: Check
) -> Results:
    if isinstance(reported, Unknown):
        return {each.uri: reported for each in targets}
    many = Unknown(
        why=f"The check `{check.program}` reports more than {LIMIT_PROBLEMS:,} problems in one document."
    )
    return {
        each.uri: many if len(reported[each.uri]) > LIMIT_PROBLEMS else tuple(reported[each.uri])
        for each in targets
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Once:
    """One command of a check."""

    check: Check
    ports: Ports
    stop: asyncio.Event
    available: Available

    def unknown(self, what: str, *, is_final: bool = False, is_passing: bool = False) -> Unknown:
        """Returns a reason why problems are unknown, as a sentence about the check."""
        why = f"The check `{self.check.program}` {what}."
        return Unknown(why=why, is_final=is_final, is_passing=is_passing)

    async def run(
        self,
        line: str,
        targets: Sequence[Target],
        *,
        copies: tuple[tuple[str, bytes], ...] = (),
        given: bytes = b"",
    ) -> Mapping[str, list[Problem]] | Unknown:
        """
        Returns the problems that a command line reports in documents, by URI.

        Args:
            copies: The contents that it sees in place of files.
            given: The text for its standard input.
        """
        folder = targets[0].root
        if why := await self._why_not(line, folder):
            return self.unknown(why, is_final=True)
        is_held = bool(self.available.by)
        contained = Contained(profile=Profile.LOOK, copies=copies) if is_held else Contained()
        wanted = Run(
            line=line,
            folder=folder.uri,
            timeout_s=min(LIMIT_S, self.ports.terms.timeout_s),
            secrets=tuple(self.ports.secrets()),
            model_keys=tuple(self.ports.model_keys()),
            contained=contained,
            given=given,
        )
        flood, printed = asyncio.Event(), 0

        def on_output(text: str) -> None:
            nonlocal printed
            printed += len(text)
            if printed > LIMIT_CHARS:
                flood.set()
                self.stop.set()

        ran = await self.ports.process.run(wanted, self.stop, on_output)
        if flood.is_set():
            return self.unknown(
                f"printed more than {LIMIT_CHARS:,} characters and was stopped", is_final=True
            )
        if not isinstance(ran, RunResult):
            why = ran.message[:1].lower() + ran.message[1:].rstrip(".")
            return self.unknown(f"gave no result: {why}", is_final=True)
        return await self._read(ran, targets, is_stdin=bool(given))

    async def _why_not(self, line: str, folder: Place) -> str:
        """Returns why a command line may not run, as the end of a sentence; empty if it may."""
        line_ = await understand(line, folder, self.ports)
        request = verdict.Request(
            tool=TOOL,
            kind=ToolKind.COMMAND,
            places=(folder, *line_.places),
            written=line_.written,
            command=line_.parsed,
            script=line_.script,
            folder=folder.identity,
            beneath=line_.beneath,
            available=self.available,
            sandbox=self.ports.terms.sandbox,
            needs=needs(part.words for part in line_.parsed.parts),
        )
        rights = Rights(rules=self.ports.rules(), grants=await self.ports.grants.load())
        judged = verdict.verdict(request, rights)
        if isinstance(judged, verdict.Block):
            is_by_place = any(each.kind in CLOSED for each in (*request.written, *request.opened))
            by_setting = "the setting handrail.approvals blocks it"
            return f"was not run: {judged.failure.message.rstrip('.') if is_by_place else by_setting}"
        if isinstance(judged, verdict.Allow):
            return ""
        example = f'such as {{"tool": "terminal", "match": "{self.check.program} *", "verdict": "allow"}}'
        parts = (
            rules.decision_for_part(rights.rules, TOOL, ToolKind.COMMAND, each) for each in line_.parsed.parts
        )
        if Decision.ASK in (
            rules.decision_for_line(rights.rules, TOOL, ToolKind.COMMAND, line_.parsed),
            *parts,
        ):
            return (
                "was not run: a rule of handrail.approvals asks about it, and a check cannot ask; add a "
                f"rule below it that allows the check, {example}"
            )
        if request.looks:
            return ""
        return (
            "was not run: commands do not run in a sandbox here, so a rule of handrail.approvals must allow "
            f"it, {example}"
        )

    async def _read(
        self, ran: RunResult, targets: Sequence[Target], *, is_stdin: bool
    ) -> Mapping[str, list[Problem]] | Unknown:
        """Reads the problems of documents from the output of the check."""
        if failed := self._failure(ran):
            return failed
        names = [each.path for each in targets]
        match self.check.format:
            case Format.LINES:
                reading = partial(check_output.read_lines, ran.output, names, self.check.program)
            case Format.SARIF:
                reading = partial(check_output.read_sarif, ran.output, self.check.program)
        reported = await asyncio.to_thread(reading)
        if isinstance(reported, str):
            return self.unknown(reported + _quote_output(ran.output))
        by_document = _by_document(reported, targets, self.ports, is_stdin=is_stdin)
        if self.check.format is Format.LINES and not any(by_document.values()):
            if ran.code and not await self._names_files(reported, targets[0].root):
                return self.unknown(
                    f"ended with exit code {ran.code}, and its output names no line of a file"
                    + _quote_output(ran.output)
                )
            if not reported and not check_output.is_quiet(ran.output):
                return self.unknown("printed something other than problems" + _quote_output(ran.output))
        return by_document

    def _failure(self, ran: RunResult) -> Unknown | None:
        """Returns why the output of the check does not count, if so."""
        code = ran.code if ran.code is not None else 0
        match ran.end:
            case End.TIMED_OUT:
                limit_s = min(LIMIT_S, self.ports.terms.timeout_s)
                return self.unknown(f"took longer than {limit_s:g} s and was stopped", is_final=True)
            case End.EXITED if code in NOT_RUN:
                where = " in the sandbox" if self.available.by else ""
                said = _first_row(ran.output)
                why = f"could not be run (exit code {code}{where}){f': {said}' if said else ''}"
                return self.unknown(why, is_final=True)
            case End.EXITED if code < 0 or code > SIGNALLED:
                return self.unknown(f"was terminated by signal {-code if code < 0 else code - SIGNALLED}")
            case End.EXITED:
                return None
            case End.UNCOVERED:
                why = f"was stopped because the protected file {ran.uncovered} was replaced"
                return self.unknown(why, is_passing=True)
            case End.STOPPED:
                return self.unknown("did not finish in time", is_passing=True)
            case End.FULL | End.CROWDED:
                return self.unknown(STOPPED_FOR[ran.end], is_final=True)

    async def _names_files(self, reported: Sequence[CheckProblem], folder: Place) -> bool:
        """
        Whether any of the problems is in a file of the workspace, which shows that the output was understood.
        """
        for path in list(dict.fromkeys(each.path for each in reported))[:LIMIT_PATHS]:
            place = self.ports.workspace.resolve(uri_in(folder.uri, path))
            if not isinstance(place, Place) or is_asked(place, is_written=False):
                continue
            if await self.ports.editor.read_bytes(place.uri) is not None:
                return True
        return False


def _by_document(
    reported: Sequence[CheckProblem], targets: Sequence[Target], ports: Ports, *, is_stdin: bool
) -> dict[str, list[Problem]]:
    """Groups the problems by document; leaves out those of documents that were not checked."""
    known = {each.identity: each.uri for each in targets}
    places = dict[str, str | None]()
    result: dict[str, list[Problem]] = {each.uri: [] for each in targets}
    for each in reported:
        if each.path not in places:
            place = ports.workspace.resolve(uri_in(targets[0].root.uri, each.path))
            identity = place.identity if isinstance(place, Place) else ""
            is_given = is_stdin and each.path in STDIN_NAMES
            places[each.path] = targets[0].uri if is_given else known.get(identity)
        if (uri := places[each.path]) is not None:
            result[uri].append(each.problem)
    return result


def _quote_output(output: str) -> str:
    """Returns the beginning of the output in parentheses; empty if there is none."""
    row = _first_row(output)
    return f" ({row})" if row else ""


def _first_row(output: str) -> str:
    """Returns the beginning of the output; empty if there is none."""
    row = next((row.strip() for row in output.split("\n") if row.strip()), "")
    return sanitize.clean(row, SAID_CHARS) if row else ""
