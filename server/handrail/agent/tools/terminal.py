"""
Run a command line in a folder of the workspace.

Whether it may run is decided before, from what it consists of; what it changes is found out after it.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import call
from handrail.agent.tools.call import Console
from handrail.core.failure import Failure
from handrail.core.policy import Place
from handrail.core.shell import End, Ran, Run
from handrail.ports import Ports

TITLE_CHARS = 80


def parse(arguments: call.Arguments) -> call.Command | Failure:
    """Read the arguments of a call."""
    line = call.text(arguments, "command")
    if isinstance(line, Failure) or not line.strip():
        return call.bad("command", "a command line")
    folder = call.optional_text(arguments, "folder")
    if isinstance(folder, Failure):
        return folder
    where = folder or "."

    async def run(places: Mapping[str, Place], ports: Ports, console: Console) -> str | Failure:
        terms = ports.terms
        wanted = Run(line=line, folder=places[where].uri, timeout_s=terms.timeout_s, secrets=terms.secrets)
        ran = await ports.process.run(wanted, console.stop, console.tell)
        return ran if isinstance(ran, Failure) else _shown(ran, wanted.timeout_s)

    first = line.strip().partition("\n")[0]
    title = f"Run {first if len(first) <= TITLE_CHARS else first[: TITLE_CHARS - 1] + '…'}"
    return call.Command(title=title, line=line, run=run, reads=(where,))


def _shown(ran: Ran, timeout_s: float) -> str:
    """How the command ended, then what it printed."""
    match ran.end:
        case End.TIMED_OUT:
            head = f"TIMED OUT after {timeout_s:g} s: the command and all that it had started were ended."
        case End.STOPPED:
            head = "STOPPED by the user: the command and all that it had started were ended."
        case End.EXITED if ran.code is not None and ran.code < 0:
            head = f"Ended by signal {-ran.code}."
        case _:
            head = f"Exit code {ran.code}."
    if ran.end is End.EXITED and ran.left_processes:
        head += f" It left {ran.left_processes} running, which were ended: start nothing in the background."
    return f"{head}\n{ran.output}"


TOOL = call.Tool(
    offer=call.offer(
        "terminal",
        "Run a command line with bash and read its output. Nobody can type into it. Everything that it "
        "starts is ended with it. Use the other tools to read, search and edit files.",
        {
            "command": {"type": "string"},
            "folder": {"type": "string", "description": "Where it runs; the workspace folder if not given."},
        },
        ("command",),
    ),
    parse=parse,
)
