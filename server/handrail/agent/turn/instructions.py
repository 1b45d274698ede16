"""What a model is told before the conversation: our rules, facts, and the project's own instructions."""

from __future__ import annotations

from dataclasses import replace

from handrail import prompts
from handrail.core.conversation import prompt
from handrail.core.conversation.prompt import INSTRUCTIONS, Instructions, Mode, OpenDocument
from handrail.core.failure import Failure
from handrail.core.policy.verdict import Place, Standing
from handrail.ports import Ports


async def told_before(mode: Mode, ports: Ports) -> tuple[str, tuple[str, ...]]:
    """The text for *mode*, and the paths of the project's instructions that are in it."""
    found = await _project(ports)
    names = ["rules"]
    names += [] if ports.terms.reasons else ["method"]
    names += [] if mode is Mode.EDIT else [mode.value]
    names += [] if ports.terms.behaviour == "none" else [ports.terms.behaviour]
    around = replace(await ports.surroundings(), documents=await _open_documents(ports))
    text = prompt.system_text([prompts.text(name) for name in names], around, found)
    return text, tuple(each.path for each in found)


async def _open_documents(ports: Ports) -> tuple[OpenDocument, ...]:
    found = []
    for document in await ports.editor.opened():
        place = ports.workspace.resolve(document.uri)
        if isinstance(place, Place) and place.standing is Standing.OWN:
            continue  # what we show people is no document of theirs
        path = place.path if isinstance(place, Place) else document.uri
        found.append(OpenDocument(path=path, unsaved=document.unsaved))
    return tuple(found)


async def _project(ports: Ports) -> list[Instructions]:
    found: dict[str, Instructions] = {}
    for name in [INSTRUCTIONS, *(f"{root.rstrip('/')}/{INSTRUCTIONS}" for root in ports.terms.roots)]:
        place = ports.workspace.resolve(name)
        if isinstance(place, Failure) or place.identity in found:
            continue
        document = await ports.editor.read(place.uri)
        if not isinstance(document, Failure) and document.text.content.strip():
            found[place.identity] = Instructions(path=place.path, text=document.text.content)
    return list(found.values())
