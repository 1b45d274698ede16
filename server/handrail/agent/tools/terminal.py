"""
Run a command line in a folder of the workspace.

Whether it may run is decided before, from what it consists of; what it changes is found out after it.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import call
from handrail.agent.tools.call import Console, Printed
from handrail.core.failure import Code, Failure
from handrail.core.policy.shell import End, Ran, Run
from handrail.core.policy.verdict import Place
from handrail.core.results import sanitize
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

    async def run(places: Mapping[str, Place], ports: Ports, console: Console) -> Printed | Failure:
        timeout_s, secrets = ports.terms.timeout_s, tuple(ports.secrets())
        folder = places[where].uri
        wanted = Run(line=line, folder=folder, script=console.script, timeout_s=timeout_s, secrets=secrets)
        ran = await ports.process.run(wanted, console.stop, console.tell)
        return ran if isinstance(ran, Failure) else _shown(ran, timeout_s)

    first = line.strip().partition("\n")[0]
    title = f"Run {first if len(first) <= TITLE_CHARS else first[: TITLE_CHARS - 1] + '…'}"
    return call.Command(title=title, line=line, run=run, reads=(where,))


def _shown(ran: Ran, timeout_s: float) -> Printed:
    """How the command ended, then what it printed."""
    if ran.end is not End.EXITED:
        failure = _ended(ran.end, timeout_s)
        printed = f"It had printed:\n{ran.output}" if ran.output else "It had printed nothing."
        return Printed(text=f"{sanitize.result_text(failure)}\n{printed}", failure=failure)
    if ran.code is not None and ran.code < 0:
        head = f"Ended by signal {-ran.code}."
    else:
        head = f"Exit code {ran.code}."
    if ran.left_processes:
        head += f" It left {ran.left_processes} running, which were ended: start nothing in the background."
    return Printed(text=f"{head}\n{ran.output}")


def _ended(end: End, timeout_s: float) -> Failure:
    """Why a command was ended before its end."""
    if end is End.STOPPED:
        return Failure(
            code=Code.CUT_SHORT,
            message="The user stopped the turn; the command and all that it had started were ended.",
        )
    return Failure(
        code=Code.TIMED_OUT,
        message=(
            f"The command took longer than {timeout_s:g} s, so it and all that it had started were ended. "
            "What it had changed by then is changed."
        ),
        steps=("Run only a part of it, or something that ends sooner.",),
    )


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
