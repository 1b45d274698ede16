"""
Skills that a project brings: the model is told their names and what they are for, and reads one when needed.

They are `.agents/skills/NAME/SKILL.md`, which begin with lines such as `description: ...` between `---`. What
stands there is bounded, and is data.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

from handrail.core.conversation.prompt import Skill
from handrail.core.failure import Failure
from handrail.core.policy.grants import Rights
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.policy.verdict import Allow, Request, verdict
from handrail.ports import Ports

FOLDER, FILES = ".agents/skills", "*/SKILL.md"
READ = "read_file"  # the tool by which a model reads one
LIMIT_S = 2.0  # a turn waits for no more
LIMIT_SKILLS = 100
LIMIT_FRONT_CHARS = 8_000
LIMIT_NAME_CHARS, LIMIT_DESCRIPTION_CHARS = 64, 500

_FRONT = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^(\w[\w-]*):[ \t]*([^\n]*(?:\n[ \t]+[^\n]*)*)", re.MULTILINE)
_FOLDED = re.compile(r"[>|][+-]?[ \t]*\n")


async def skills(ports: Ports) -> list[Skill] | None:
    """Those that the model may read without a question, by their paths; None if that takes too long."""
    finding = asyncio.ensure_future(_found(ports))
    done, _ = await asyncio.wait([finding], timeout=LIMIT_S)
    return finding.result() if done else None  # what is late is left alone: it ends by itself


async def _found(ports: Ports) -> list[Skill]:
    found = dict[str, Skill]()
    rights = Rights(rules=ports.rules(), grants=await ports.grants.load())
    for folder in [FOLDER, *(f"{root.rstrip('/')}/{FOLDER}" for root in ports.terms.roots)]:
        place = ports.workspace.resolve(folder)
        paths = await ports.workspace.files(place, FILES) if isinstance(place, Place) else ()
        for path in () if isinstance(paths, Failure) else paths[:LIMIT_SKILLS]:
            file = ports.workspace.resolve(path)
            if isinstance(file, Failure) or file.identity in found:
                continue
            if isinstance(verdict(Request(tool=READ, kind=ToolKind.READ, places=(file,)), rights), Allow):
                document = await ports.editor.read(file.uri)
                if not isinstance(document, Failure):
                    found[file.identity] = _skill(path, document.text.content)
    return sorted(found.values(), key=lambda skill: skill.path)[:LIMIT_SKILLS]


def _skill(path: str, content: str) -> Skill:
    front = _FRONT.match(content.replace("\r\n", "\n")[:LIMIT_FRONT_CHARS])
    fields = _fields(front[1]) if front is not None else {}
    return Skill(
        name=(fields.get("name") or path.split("/")[-2])[:LIMIT_NAME_CHARS],
        description=fields.get("description", "")[:LIMIT_DESCRIPTION_CHARS],
        path=path,
    )


def _fields(front: str) -> Mapping[str, str]:
    """The fields of a front matter that are texts, each in one line; quoted or folded, as YAML has them."""
    found = dict[str, str]()
    for name, value in _FIELD.findall(front):
        text = " ".join(_FOLDED.sub("", value, count=1).split())
        is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
        found[name] = text[1:-1] if is_quoted else text
    return found
