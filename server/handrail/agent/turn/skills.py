"""
A project's skills: the model gets their names and descriptions, and reads one when it needs it.

They are `.agents/skills/NAME/SKILL.md`, which begin with lines such as `description: ...` between `---`.
Their size is limited, and they are data. Each turn looks at the files, and reads those that have changed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import lru_cache

from handrail.core.conversation.prompt import Skill
from handrail.core.policy.grants import Rights
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.policy.verdict import Allow, Request, verdict
from handrail.ports import Ports
from handrail.values import dataclass

FOLDER, FILE = ".agents/skills", "SKILL.md"
LIST, READ = "list_files", "read_file"  # the tools by which a model finds and reads one
LIMIT_S = 2.0  # a turn waits for no more
LIMIT_SKILLS = 100
LIMIT_FRONT_CHARS = 8_000
LIMIT_NAME_CHARS, LIMIT_DESCRIPTION_CHARS = 64, 500
LIMIT_NAMED = 3  # of those that are not texts

_FRONT = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^(\w[\w-]*):[ \t]*([^\n]*(?:\n[ \t]+[^\n]*)*)", re.MULTILINE)
_FOLDED = re.compile(r"[>|][+-]?[ \t]*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skills:
    """
    The skills that the model is told about, by path.

    Attributes:
        more: The number of folders in `.agents/skills` that were skipped.
        unreadable: The paths of those that are not UTF-8.
    """

    told: tuple[Skill, ...] = ()
    more: int = 0
    unreadable: tuple[str, ...] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """Sentences for the user about skills that the model is not told about."""
        sentences = list[str]()
        if self.more:
            sentences.append(
                f"The model is told about the skills in the first {LIMIT_SKILLS} folders of {FOLDER}, "
                f"but not about those in {self.more:,} more. Remove skills that it does not need."
            )
        if self.unreadable:
            named = ", ".join(self.unreadable[:LIMIT_NAMED])
            if more := len(self.unreadable[LIMIT_NAMED:]):
                named += f" and {more:,} more"
            several = len(self.unreadable) > 1
            what, them = ("these skills", "them") if several else ("this skill", "it")
            why = "their files are" if several else "its file is"
            sentences.append(
                f"The model is not told about {what}, because {why} not text in UTF-8: {named}. "
                f"Save {them} as text in UTF-8."
            )
        return tuple(sentences)


async def skills(ports: Ports) -> Skills | None:
    """Returns the skills that the model may read without a question; None if that takes too long."""
    finding = asyncio.ensure_future(_find_skills(ports))
    done, _ = await asyncio.wait([finding], timeout=LIMIT_S)
    return finding.result() if done else None  # a late search is not waited for: it ends by itself


async def _find_skills(ports: Ports) -> Skills:
    result, unreadable, more, seen = dict[str, Skill](), list[str](), 0, set[str]()
    rights = Rights(rules=ports.rules(), grants=await ports.grants.load())
    held = await _held_texts(ports)
    for name in [FOLDER, *(f"{root.rstrip('/')}/{FOLDER}" for root in ports.terms.roots)]:
        folder = ports.workspace.resolve(name)
        if not isinstance(folder, Place) or folder.identity in seen or not _is_allowed(LIST, folder, rights):
            continue
        seen.add(folder.identity)
        heads = await ports.workspace.heads(folder, FILE, LIMIT_SKILLS)
        more += heads.more
        for head in heads.heads:
            file = head.place
            if file.identity in result or not _is_allowed(READ, file.add_names(folder), rights):
                continue
            text = held.get(file.identity, head.text)
            if text is None:
                unreadable.append(file.path)
            else:
                result[file.identity] = _skill(file.path, text[:LIMIT_FRONT_CHARS])
    told = tuple(sorted(result.values(), key=lambda skill: skill.path))
    more += len(told[LIMIT_SKILLS:])
    return Skills(told=told[:LIMIT_SKILLS], more=more, unreadable=tuple(dict.fromkeys(unreadable)))


def _is_allowed(tool: str, place: Place, rights: Rights) -> bool:
    """Whether the model may read there without a question."""
    return isinstance(verdict(Request(tool=tool, kind=ToolKind.READ, places=(place,)), rights), Allow)


async def _held_texts(ports: Ports) -> dict[str, str]:
    """Returns the texts of skills that are open in the editor, by identity."""
    result = dict[str, str]()
    for document in await ports.editor.open_documents():
        if document.uri.endswith(f"/{FILE}"):
            place = ports.workspace.resolve(document.uri)
            if isinstance(place, Place):
                result[place.identity] = document.text.content
    return result


@lru_cache(maxsize=1_000)
def _skill(path: str, content: str) -> Skill:
    front = _FRONT.match(content.replace("\r\n", "\n"))
    fields = _fields(front[1]) if front is not None else {}
    return Skill(
        name=(fields.get("name") or path.split("/")[-2])[:LIMIT_NAME_CHARS],
        description=fields.get("description", "")[:LIMIT_DESCRIPTION_CHARS],
        path=path,
    )


def _fields(front: str) -> Mapping[str, str]:
    """The fields of a front matter that are texts, each in one line; quoted or folded, as YAML has them."""
    result = dict[str, str]()
    for name, value in _FIELD.findall(front):
        text = " ".join(_FOLDED.sub("", value, count=1).split())
        is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
        result[name] = text[1:-1] if is_quoted else text
    return result
