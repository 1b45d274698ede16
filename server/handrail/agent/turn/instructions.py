"""Builds what a model is told before the conversation: our rules, facts, and the project's instructions."""

from __future__ import annotations

import json
from collections.abc import Callable

from handrail import prompts
from handrail.agent.turn.skills import Skills, skills
from handrail.core.conversation import prompt
from handrail.core.conversation.prompt import (
    INSTRUCTIONS,
    LIMIT_INSTRUCTIONS,
    Instructions,
    Mode,
    OpenDocument,
)
from handrail.core.failure import Code, Failure
from handrail.core.ledger.report import Event, Notice
from handrail.core.policy.containment import Sandbox
from handrail.core.policy.grants import Rights
from handrail.core.policy.place import Place, PlaceKind, is_asked
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.policy.verdict import Allow, Ask, Block, Request, verdict
from handrail.ports import Ports
from handrail.values import dataclass, replace

LATE = "The model does not get the project's skills in .agents/skills: listing them takes too long."
UNTRUSTED = (
    "You have not trusted this workspace. Until you do, turns can only read, and the model does not get the "
    "project's own instructions and skills."
)
READ = "read_file"  # the tool by which a model would read the same


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPrompt:
    """
    The text that a model gets first.

    Attributes:
        instructions: The paths of the project's instructions that are in the text.
        left_out: Messages about instructions that may not be read.
    """

    text: str
    instructions: tuple[str, ...]
    left_out: tuple[str, ...]

    def tell(self, named: set[str], observe: Callable[[Event], None]) -> None:
        """Tells the user about instructions that are left out, except those already in *named*."""
        for each in self.left_out:
            if each not in named:
                observe(Notice(call="", text=each, is_warning=True))
        named.update(self.left_out)


async def instructions_for(mode: Mode, ports: Ports) -> SystemPrompt:
    """Returns the instructions for *mode*."""
    trusted = not ports.terms.is_untrusted
    instructions, left_out = await _project(ports) if trusted else ([], (UNTRUSTED,))
    names = ["rules", "headless" if ports.terms.is_headless else "editor"]
    names += ["unattended"] if ports.terms.is_unattended else []
    names += await _of_commands(ports) if mode is Mode.EDIT else [mode.value]
    names += [] if ports.terms.reasons else ["method"]
    names += [] if ports.terms.behaviour == "none" else [ports.terms.behaviour]
    around = replace(await ports.surroundings(), documents=await _open_documents(ports))
    if mode is Mode.EDIT:
        around = replace(around, machine={**around.machine, **_limits(ports)})
    known = await skills(ports) if trusted else Skills()
    left_out = (*left_out, *((LATE,) if known is None else known.left_out))
    texts = [prompts.text(name) for name in names]
    text = prompt.system_text(texts, around, instructions, () if known is None else known.told)
    return SystemPrompt(text=text, instructions=tuple(each.path for each in instructions), left_out=left_out)


async def _of_commands(ports: Ports) -> list[str]:
    """Returns the rules about commands here."""
    sandbox = ports.terms.sandbox
    if sandbox is Sandbox.OFF or not (available := await ports.process.available()).works:
        return ["asked"]
    return ["contained", "asked"] if sandbox is Sandbox.ASK or available.is_weak else ["contained"]


def _limits(ports: Ports) -> dict[str, str]:
    """Returns the limits of commands, which a model could otherwise find out only by hitting them."""
    usual, longest = ports.terms.timeout_s, max(ports.terms.timeout_s, ports.terms.longest_s)
    return {"time limit of commands": f"{usual:g} s; with timeout_s up to {longest:g} s"}


async def _open_documents(ports: Ports) -> tuple[OpenDocument, ...]:
    result = []
    for document in await ports.editor.open_documents():
        place = ports.workspace.resolve(document.uri)
        if isinstance(place, Place) and place.kind is PlaceKind.OWN:
            continue  # documents that handrail writes are not the user's
        path = place.path if isinstance(place, Place) else document.uri
        result.append(OpenDocument(path=path, unsaved=document.unsaved))
    return tuple(result)


async def _project(ports: Ports) -> tuple[list[Instructions], tuple[str, ...]]:
    """The instructions that the model may read as it may read any file, without a question."""
    result, left_out, seen = list[Instructions](), dict[str, None](), set[str]()
    rights = Rights(rules=ports.rules(), grants=await ports.grants.load())
    for folder in (*ports.terms.roots, "."):
        place = ports.workspace.resolve(f"{folder.rstrip('/')}/{INSTRUCTIONS}")
        if isinstance(place, Failure) or place.identity in seen:
            continue
        seen.add(place.identity)
        text, why = await read_instructions(place, _own_path(place, folder, ports), ports, rights)
        if why:
            left_out[why] = None
        elif text.strip():
            result.append(Instructions(path=place.path, text=text))
    return result, tuple(left_out)


def _own_path(place: Place, folder: str, ports: Ports) -> str:
    """Returns the path of the instructions in *folder*, even if they are a link to another file."""
    above = ports.workspace.resolve(folder)
    if not place.is_link or isinstance(above, Failure):
        return place.path
    return INSTRUCTIONS if above.path == "." else f"{above.path}/{INSTRUCTIONS}"


async def read_instructions(place: Place, name: str, ports: Ports, rights: Rights) -> tuple[str, str]:
    """
    Reads a file of instructions, if the model may read it without a question.

    Args:
        place: Where it leads, with links followed.
        name: Its path for people, before links were followed.

    Returns:
        Its text, empty if there is none; and for people, why the model does not get it, or empty.
    """
    judged = verdict(Request(tool=READ, kind=ToolKind.READ, places=(place,)), rights)
    if not isinstance(judged, Allow):
        is_there = await ports.editor.read_bytes(place.uri) is not None
        return "", _why_not(name, place, judged) if is_there else ""
    document = await ports.editor.read(place.uri)
    if not isinstance(document, Failure):
        return document.text.content, ""
    if document.code in NO_FILE:
        return "", ""
    return "", f"{name} is not sent to the model. {document.message}{WAYS_ON.get(document.code, '')}"


NO_FILE = (Code.NO_SUCH_FILE, Code.BAD_ARGUMENTS)  # the latter if it is a folder
BLOCKED = {
    PlaceKind.VERSION_CONTROL: "It belongs to version control's own files.",
    PlaceKind.OWN: "It belongs to handrail's own files.",
}
NEVER = "never asks about instructions: it leaves them out."
TO_SEND = "To have the file sent, add this rule at the end of handrail.approvals: {}."
TO_SEND_OTHERS = (
    "To have instructions sent, put them in an AGENTS.md that is not such a file, and does not lead to one."
)
WAYS_ON = {
    Code.BAD_ENCODING: " Save it as text in UTF-8 or, if an .editorconfig names another encoding for it, in "
    "that one.",
    Code.TOO_LARGE: f" Shorten it to {LIMIT_INSTRUCTIONS:,} characters.",
}


def _why_not(name: str, place: Place, judged: Ask | Block) -> str:
    rule = json.dumps({"tool": "read", "match": place.path, "verdict": "allow"}, ensure_ascii=False)
    if isinstance(judged, Ask) and is_asked(place, is_written=False):
        to_send = TO_SEND.format(rule) if place.kind is PlaceKind.OUTSIDE else TO_SEND_OTHERS
        why = f"{judged.detail} handrail asks you before it reads such a file, but it {NEVER} {to_send}"
    elif isinstance(judged, Ask):
        asks = "Your setting handrail.approvals requires a question before this file is read"
        why = f"{asks}, but handrail {NEVER} {TO_SEND.format(rule)}"
    else:
        why = BLOCKED.get(place.kind, "Your setting handrail.approvals blocks reading it.")
    leads = f", which leads to {place.path}" if place.path != name else ""
    return f"{name}{leads}{',' if leads else ''} is neither read nor sent to the model. {why}"
