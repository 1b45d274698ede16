"""
Run a command line in a folder of the workspace.

Whether it may run is decided before, from what it consists of; what it changes is found out after it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from handrail.agent.tools import call
from handrail.agent.tools.call import CommandReport, Console
from handrail.core.documents.placeholder import REDACTED
from handrail.core.failure import Code, Failure
from handrail.core.policy.containment import Contained, Need, Profile
from handrail.core.policy.place import Place
from handrail.core.policy.shell import End, Run, RunResult
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import sanitize
from handrail.ports import Ports

TITLE_CHARS = 80
NEEDS = frozenset(Need)
# What programs say when containment denies them something.
STOPPED = Failure(code=Code.CUT_SHORT, message="It was stopped, together with everything that it started.")
STOPPED_ALONE = Failure(
    code=Code.CUT_SHORT,
    message="The user stopped this command, together with everything that it started.",
    steps=("Do not run it again unless the user asks for it.",),
)
STAY = (
    "A background command ends when its first process ends. Start no others with `&`, unless the command "
    "waits for them (`wait`)."
)
PLACEHOLDER = Failure(
    code=Code.BAD_ARGUMENTS,
    message=f"The command line has {REDACTED}, which handrail shows in place of the value of a key. The "
    "command would get this text instead of the value, so it was not run.",
    steps=(
        "Run a command that does not need the value, or that reads it from its file itself.",
        "To edit lines near a key, use patch: it keeps the value. To find such lines, search for the text "
        "before the key. (If a file really has this text, search for `key removed by handrail`.)",
    ),
)
HIDDEN = r"(?:/run/|(?:/root|/home/[^/\s]+)/\.)"  # what else is missing is missing outside as well
SIGNS: Mapping[Need, re.Pattern[str]] = {
    Need.NETWORK: re.compile(
        r"network is unreachable|could not resolve|name or service not known|temporary failure in name"
        r"|ENOTFOUND|EAI_AGAIN|ENETUNREACH|no route to host|getaddrinfo|connection refused|name resolution"
        r"|failed to connect|couldn't connect",
        re.IGNORECASE,
    ),
    Need.MACHINE: re.compile(
        r"read-only file system|permission denied|operation not permitted|EROFS|EACCES|EPERM"
        r"|device or resource busy|EBUSY"  # a file that is mounted is not replaced
        rf"|{HIDDEN}[^\n]*no such file|no such file[^\n]*{HIDDEN}",
        re.IGNORECASE,
    ),
}


def parse(arguments: call.Arguments) -> call.Command | Failure:
    """Read the arguments of a call."""
    line = _command_line(arguments)
    if isinstance(line, Failure):
        return line
    folder = call.optional_text(arguments, "folder")
    if isinstance(folder, Failure):
        return folder
    where = folder or "."
    asked = arguments.get("needs") or []
    if not isinstance(asked, list) or not all(isinstance(each, str) for each in asked):
        return call.bad("needs", "a list of strings")
    why = call.optional_text(arguments, "why")
    if isinstance(why, Failure):
        return why
    wanted_s = call.line_number(arguments, "timeout_s")
    if isinstance(wanted_s, Failure):
        return call.bad("timeout_s", "a whole number of seconds, 1 or more")
    is_background = call.flag(arguments, "background")
    if isinstance(is_background, Failure):
        return is_background
    needs = frozenset(Need(each) for each in asked if each in NEEDS)
    opened = tuple(dict.fromkeys(each for each in asked if each not in NEEDS))

    async def run(places: Mapping[str, Place], ports: Ports, console: Console) -> CommandReport | Failure:
        timeout_s = float(wanted_s or 0) if is_background else _time_s(wanted_s, ports)
        wanted = Run(
            line=line,
            folder=places[where].uri,
            script=console.script,
            timeout_s=timeout_s or None,
            secrets=tuple(ports.secrets()),
            model_keys=tuple(ports.model_keys()),
            contained=console.contained,
            name=console.name,
        )
        ran = await ports.process.run(wanted, console.stop, console.tell)
        if isinstance(ran, Failure):
            return ran
        longest_s = timeout_s if is_background else max(ports.terms.timeout_s, ports.terms.longest_s)
        shown = _show(ran, (timeout_s, longest_s), console)
        return _with_effects(shown, ran)

    first = line.strip().partition("\n")[0]
    runs = "Run in the background" if is_background else "Run"
    title = f"{runs} {first if len(first) <= TITLE_CHARS else first[: TITLE_CHARS - 1] + '…'}"
    return call.Command(
        title=title,
        line=line,
        run=run,
        reads=(where, *(path for path in opened if path != where)),
        needs=needs,
        opened=opened,
        reason=why or "",
        is_background=is_background,
    )


def _command_line(arguments: call.Arguments) -> str | Failure:
    line = call.text(arguments, "command")
    if isinstance(line, Failure) or not line.strip():
        return call.bad("command", "a command line")
    if "\0" in line:
        return call.bad("command", "a command line without NUL characters")
    return PLACEHOLDER if REDACTED in line else line


def _with_effects(shown: CommandReport, ran: RunResult) -> CommandReport:
    """Adds what the command wrote other than plain changes of files."""
    return replace(
        shown,
        layers=ran.layers,
        appeared=ran.appeared,
        left=ran.left,
        reopened=ran.reopened,
        unsearched=ran.unsearched,
    )


def _time_s(wanted_s: int | None, ports: Ports) -> float:
    """Returns how long the command may take, in seconds: what the model asks for, up to the user's limit."""
    if wanted_s is None:
        return ports.terms.timeout_s
    return min(wanted_s, max(ports.terms.timeout_s, ports.terms.longest_s))


def _show(ran: RunResult, times_s: tuple[float, float], console: Console) -> CommandReport:
    """
    Returns how the command ended and its output, unless the output is read separately.

    Args:
        times_s: The time that it had, and the most that it could have had.
    """
    output = "" if console.name else ran.output
    if ran.end is End.UNCOVERED:
        failure = _uncovered_failure(ran.uncovered)
        return CommandReport(text=sanitize.result_text(failure), failure=failure, withheld=True)
    if ran.end is not End.EXITED:
        failure = _end_failure(ran.end, *times_s)
        if ran.end is End.STOPPED and (console.name or console.stops_alone()):
            failure = STOPPED if console.name else STOPPED_ALONE
        printed = f"It had printed:\n{output}" if output else "It had printed nothing."
        said = () if console.name else (printed,)
        return CommandReport(text="\n".join((sanitize.result_text(failure), *said)), failure=failure)
    if ran.code is not None and ran.code < 0:
        head = f"Ended by signal {-ran.code}."
    else:
        head = f"Exit code {ran.code}."
    if ran.left_processes:
        were, them = ("process was", "it") if ran.left_processes == 1 else ("processes were", "them")
        remedy = STAY if console.name else f"To keep {them} running, use `background`."
        head += f" {ran.left_processes} {were} still running and had to be stopped. {remedy}"
    text = f"{head}\n{output}"
    if ran.code and (note := denial_note(ran.output, console.contained)):
        text = f"{text.rstrip()}\n{note}"
    return CommandReport(text=text)


def denial_note(output: str, contained: Contained) -> str:
    """
    Returns a note about what containment may have denied a failed command; empty if nothing suggests that.
    """
    if contained.profile is not Profile.WORK:
        return ""
    if not any(need not in contained.needs and signs.search(output) for need, signs in SIGNS.items()):
        return ""
    network = "" if Need.NETWORK in contained.needs else " It had no network access."
    fixed = "" if Need.REPOSITORY in contained.needs else ".git and "
    opened = " These limits did not apply to the paths that were opened for it." if contained.opened else ""
    return (
        f"It ran in a sandbox.{network} Outside the workspace it saw only the system and toolchains. "
        f"Protected files were hidden, {fixed}files that other programs run later could not be changed, and "
        f"large files and ignored folders may have been read-only.{opened} If it needs access that it did "
        "not have, call it once more with `needs` and `why`; the user is then asked."
    )


def _uncovered_failure(path: str) -> Failure:
    """Returns the failure for a command that was stopped because it might have seen what it must not."""
    return Failure(
        code=Code.TOOL_FAILED,
        message=(
            f"The protected file {path} was replaced while the command was running, so the command could "
            f"have read or changed it. The command was stopped and its output is withheld."
        ),
        steps=("Run it again.",),
    )


def _end_failure(end: End, timeout_s: float, longest_s: float) -> Failure:
    """Returns the failure for a command that was stopped early."""
    if end is End.STOPPED:
        return Failure(
            code=Code.CUT_SHORT,
            message="The turn was stopped. The command and everything that it started were stopped.",
        )
    if end is End.FULL:
        return Failure(
            code=Code.TOOL_FAILED,
            message=(
                "The command nearly filled the disk, so it and everything that "
                "it started were stopped. Its changes remain."
            ),
            steps=("Make it write less.", "Or ask the user to free disk space."),
        )
    if end is End.CROWDED:
        return Failure(
            code=Code.TOOL_FAILED,
            message=(
                "The command started thousands of processes, so it and everything "
                "that it started were stopped. Its changes remain."
            ),
            steps=("Make it start fewer processes at once.",),
        )
    steps = ["Run only part of it, or something that takes less time."]
    if timeout_s < longest_s:
        steps.append(f"Or give it more time with `timeout_s`, at most {longest_s:g}.")
    return Failure(
        code=Code.TIMED_OUT,
        message=(
            f"The command took longer than {timeout_s:g} s, so it and everything that it "
            f"started were stopped. Its changes remain."
        ),
        steps=tuple(steps),
    )


TOOL = call.Tool(
    kind=ToolKind.COMMAND,
    offer=call.offer(
        "terminal",
        "Run a command line with bash (sh if there is none) and read what it prints, such as "
        '{"command": "pytest -q tests/test_a.py", "timeout_s": 300}. It gets no input, so do '
        "not run anything that waits for input. When it ends or times out, everything that it started is "
        "stopped; a server that must keep running needs `background`. The user may be asked about it, and "
        "may refuse. Use the other tools to read, search and edit files.",
        {
            "command": {"type": "string"},
            "folder": {
                "type": "string",
                "description": "Where to run it. Default: the first workspace folder.",
            },
            "timeout_s": {
                "type": "integer",
                "minimum": 1,
                "description": "Time limit, for long builds and tests.",
            },
            "background": {
                "type": "boolean",
                "default": False,
                "description": (
                    "Return at once and keep it running; `read_output` shows what it prints, `stop` stops "
                    "it. The user is always asked. It runs until handrail ends, or for `timeout_s` if given."
                ),
            },
            "needs": {
                "type": "array",
                "items": {"type": "string"},
                "description": (
                    "Access beyond the sandbox: `network`, `repository` (to change .git), a path (outside "
                    "the workspace, or read-only), or `machine` (no sandbox). Only after the command failed "
                    "without it. The user is asked."
                ),
            },
            "why": {"type": "string", "description": "Why it needs that; the user sees this."},
        },
        ("command",),
    ),
    parse=parse,
)
