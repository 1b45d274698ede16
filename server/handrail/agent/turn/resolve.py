"""
Read a call: its tool, its arguments, and the places that it touches.

Nothing is judged or done here. A command line is parsed, so that everything that it names can be judged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence, Set

from handrail.agent import command_line
from handrail.agent.tools import TOOLS
from handrail.agent.tools.call import Action, Command, CommandInspection, Edits, UserQuestion, is_of
from handrail.core.conversation.message import ToolCall
from handrail.core.failure import Code, Failure, why_not_json
from handrail.core.patches import file_names
from handrail.core.patches.signed import contradiction
from handrail.core.policy import verdict
from handrail.core.policy.containment import NOTHING_AVAILABLE, Sandbox, needs
from handrail.core.policy.grants import Rights
from handrail.core.policy.place import Place
from handrail.core.policy.schedule import Touch
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.policy.verdict import Allow, Request
from handrail.ports import Document, Ports, Terms
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """
    A call whose arguments are read and whose paths are found.

    Attributes:
        places: The places of its paths, by the path that the model wrote.
        request: The request to be judged.
    """

    call: ToolCall
    action: Action
    places: Mapping[str, Place]
    request: Request

    @property
    def touch(self) -> Touch:
        """The documents that it touches, to plan which calls may run at once."""
        identities = frozenset(place.identity for place in self.places.values())
        match self.action:
            case UserQuestion() | CommandInspection(stops=True):
                return Touch(anything=True)
            case Command(is_read_only=is_read_only):
                return Touch(sees_all=True, anything=not is_read_only)
            case Edits():
                return Touch(changes=identities)
            case _:
                return Touch(reads=identities, sees_all=not identities)  # a search names no place


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A call that does not run; `ready` is None if it could not even be read."""

    call: ToolCall
    failure: Failure
    ready: Ready | None = None


async def resolve(call: ToolCall, ports: Ports, offered: Set[str] | None) -> Ready | Refused:
    """Reads *call*; refuses it if it cannot be understood, or if its tool is not among those *offered*."""
    tool = TOOLS.get(call.name)
    if tool is None or (tool.needs and offered is not None and call.name not in offered):
        return Refused(call=call, failure=_unknown_tool(call.name, offered or TOOLS.keys()))
    if offered is not None and call.name not in offered:
        return Refused(call=call, failure=_may_only_read(ports.terms))
    arguments = _arguments(call.arguments)
    if isinstance(arguments, Failure):
        return Refused(call=call, failure=arguments)
    action = tool.parse(arguments)
    if isinstance(action, Edits) and action.wrong is None:
        action = await _resolve_names(action, ports)
    if isinstance(action, Failure):
        return Refused(call=call, failure=action)
    if not is_of(tool.kind, action):
        return Refused(call=call, failure=_of_another_kind(call.name, tool.kind))
    places: dict[str, Place] = {}
    for path in _paths(action):
        place = ports.workspace.resolve(path)
        if isinstance(place, Failure):
            return Refused(call=call, failure=place)
        places[path] = place
    request = Request(tool=call.name, kind=tool.kind, places=tuple(places.values()))
    ready = Ready(call=call, action=action, places=places, request=request)
    return await _command(ready, action, ports) if isinstance(action, Command) else ready


def confirm(ready: Ready, again: Ready | Refused, rights: Rights) -> Ready | None:
    """
    Returns a judged call as it may run; None if its paths now lead elsewhere.

    A command that now refers to other files may still run if these are equally harmless. Only here is it
    certain what runs, because rules may have changed too.

    Args:
        again: The call, resolved again.
    """
    if not isinstance(again, Ready):
        return None
    judged = verdict.verdict(again.request, rights)
    if not isinstance(again.action, Command):
        return ready if again.request == ready.request else None
    if again.request != ready.request and not isinstance(judged, Allow):
        return None
    script = verdict.script_of(again.request, judged)
    contained = verdict.containment_of(again.request, script)
    return replace(again, action=replace(again.action, script=script, contained=contained))


async def _resolve_names(edits: Edits, ports: Ports) -> Edits:
    """Returns *edits* with the file of each patch determined where its name is ambiguous."""
    patches = []
    for patch in edits.patches:
        is_short = file_names.is_short(patch)
        names = file_names.spellings(patch) or (patch.path,) * is_short
        there = {name for name in names if await _is_file(name, ports)} if names else {patch.path}
        below = await _files_below(patch.path, ports) if is_short and not there else ()
        chosen = file_names.choose_file(patch, there, below)
        if isinstance(chosen, Failure):
            return replace(edits, wrong=chosen)
        patches.append(chosen)
    times = Counter(patch.path for patch in patches)
    if twice := next((path for path, count in times.items() if count > 1), None):
        return replace(edits, wrong=contradiction(twice))
    return replace(edits, patches=tuple(patches))


async def _is_file(name: str, ports: Ports) -> bool:
    place = ports.workspace.resolve(name)
    if isinstance(place, Failure):
        return False
    document = await ports.editor.read(place.uri)
    return isinstance(document, Document) or document.code is not Code.NO_SUCH_FILE


async def _files_below(name: str, ports: Ports) -> Sequence[str]:
    """Returns the files with that name in folders of the workspace; none if the name is a pattern."""
    if not name or any(character in name for character in "*?[]{}/\\"):
        return ()
    found = await ports.workspace.files(None, f"**/{name}")
    return () if isinstance(found, Failure) else found


async def _command(ready: Ready, action: Command, ports: Ports) -> Ready:
    """Returns a command with everything that it reads or seems to name."""
    folder = ready.places[action.reads[0]]
    understood = await command_line.understand(action.line, folder, ports)
    sandbox = ports.terms.sandbox
    available = NOTHING_AVAILABLE if sandbox is Sandbox.OFF else await ports.process.available()
    known = needs(part.words for part in understood.parsed.parts)
    request = Request(
        tool=ready.call.name,
        kind=ready.request.kind,
        places=(folder, *understood.places),
        written=understood.written,
        command=understood.parsed,
        script=understood.script,
        folder=folder.identity,
        beneath=understood.beneath,
        available=available,
        sandbox=sandbox,
        needs=known | action.needs,
        declared=action.needs,
        opened=tuple(ready.places[path] for path in action.opened),
        reason=action.reason,
        is_background=action.is_background,
    )
    is_read_only = (
        understood.script is not None and understood.script.is_read_only and not action.is_background
    )
    return replace(ready, action=replace(action, is_read_only=is_read_only), request=request)


def _paths(action: Action) -> tuple[str, ...]:
    match action:
        case Edits(changes=changes):
            return changes
        case UserQuestion():
            return ()
        case _:
            return action.reads


def _arguments(raw: str) -> Mapping[str, object] | Failure:
    try:
        parsed = json.loads(raw or "{}")
    except (ValueError, RecursionError) as error:
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"The arguments are not valid JSON: {why_not_json(error)}.",
            steps=(
                "Send the call again with complete arguments.",
                "If they were cut off, make smaller edits.",
            ),
        )
    if isinstance(parsed, dict):
        return parsed
    return Failure(
        code=Code.BAD_ARGUMENTS,
        message="The arguments must be one JSON object.",
        steps=("Send the call again with named arguments.",),
    )


def _may_only_read(terms: Terms) -> Failure:
    why = f"the mode of this turn is `{terms.mode}`, in which the agent may only read"
    lifted = "choose the mode `edit`"
    if terms.is_untrusted:
        why = "in a workspace that is not trusted, the agent may only read"
        lifted = (
            "trust the workspace, and the mode must be `edit`"  # which one is chosen, the terms do not say
        )
    return Failure(
        code=Code.BLOCKED,
        message=f"Nothing was run or changed, because {why}.",
        steps=("Use only tools that read, then answer.", f"For anything else, the user must {lifted}."),
    )


def _of_another_kind(name: str, kind: ToolKind) -> Failure:
    return Failure(
        code=Code.BLOCKED,
        message=f"The tool {name} is of kind {kind.value!r} but would do something else. Nothing was done.",
        steps=("This is a bug in handrail. Use another tool.",),
    )


def _unknown_tool(name: str, offered: Set[str]) -> Failure:
    there = ", ".join(known for known in TOOLS if known in offered)
    return Failure(
        code=Code.UNKNOWN_TOOL,
        message=f"The tool {name!r} does not exist. Available tools: {there}.",
        steps=("Use one of these tools.",),
    )
