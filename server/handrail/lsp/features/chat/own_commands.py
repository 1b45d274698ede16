"""Commands that a project brings: `/name` stands for what `.agents/commands/name.md` says."""

from __future__ import annotations

import re

from handrail.agent.chat import slash
from handrail.core.conversation.message import Excerpt
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.lsp.features import prompts
from handrail.lsp.state import State
from handrail.lsp.wire import Refused
from handrail.values import dataclass

FOLDER = ".agents/commands/"
LIMIT_CHARS = 100_000
LIMIT_NAME_BYTES = 255  # a file system takes no longer name, so no file has one
LIMIT_FILES = 2_000  # of a project's commands, of which those with the shortest paths are known

_WRITTEN = re.compile(r"/([A-Za-z0-9][\w-]*(?::[\w-]+)*)(?:\s+(.*))?", re.DOTALL)
_FRONT = re.compile(r"---[ \t]*\n.*?^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_ARGUMENT = re.compile(r"\$(ARGUMENTS|[1-9])(?!\w)")
_FILE = re.compile(r"(?:[^/]+/)?\.agents/commands/((?:[\w-]+/)*[A-Za-z0-9][\w-]*)\.md")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCommand:
    """A command of the project's as a message has it: its file, and what the model is told."""

    name: str
    path: str
    text: str

    @property
    def excerpt(self) -> Excerpt:
        """The text that the model is shown next to the message."""
        return Excerpt(path=f"Contents of /{self.name} ({self.path})", first_line=0, text=self.text)


async def find_command(state: State, message: str) -> OwnCommand | None:
    """The command that a message begins with, if the project has it. Raises Refused if it cannot be used."""
    found = _WRITTEN.fullmatch(message.strip())
    if found is None:
        return None
    name, arguments = found[1], (found[2] or "").strip()
    tail = f"{FOLDER}{name.replace(':', '/')}.md"
    known = (await state.chats.paths.index()).matches(tail, LIMIT_FILES)
    for path in (tail, *(each for each in known if each.endswith(f"/{tail}"))):
        text = await _read(state, path, f"/{name} cannot be used: {path}")
        if text is not None and state.client.untrusted:
            raise Refused(f"/{name} cannot be used: {path} is in a workspace that you have not trusted.")
        if text is not None:
            return OwnCommand(name=name, path=path, text=_fill_in(text, arguments))
    return None


async def expect(state: State, message: str) -> None:
    """Make sure that the project has the command that a message begins with. Raises Refused."""
    if await find_command(state, message) is None:
        own = [name for name, _ in await names(state)]
        raise Refused(str(slash.parse(message, own)))


async def _read(state: State, path: str, problem: str) -> str | None:
    """Returns the text of a command's file; None if the file does not exist. Raises Refused."""
    place = state.workspace.resolve(path)
    if not isinstance(place, Place) or _FILE.fullmatch(path) is None:
        return None
    if any(len(name.encode()) > LIMIT_NAME_BYTES for name in path.split("/")):
        return None
    if (why := prompts.why_not_sent(state, place)) is not None:
        raise Refused(f"{problem} {why}.")
    held = await state.editor.read(place.uri)
    if isinstance(held, Failure):
        if await prompts.is_missing(state, place.uri, held):
            return None
        raise Refused(f"{problem}: {held.message}".replace(f"{path}: {path} ", f"{path} "))
    if len(held.text.content) > LIMIT_CHARS:
        raise Refused(f"{problem} has more than {LIMIT_CHARS:,} characters.")
    return held.text.content


def _fill_in(content: str, arguments: str) -> str:
    """Returns the text of a file without its front matter, and with the arguments filled in."""
    content = content.replace("\r\n", "\n")
    front = _FRONT.match(content)
    body = content[front.end() :] if front is not None else content
    each = arguments.split()

    def put(match: re.Match[str]) -> str:
        if match[1] == "ARGUMENTS":
            return arguments
        return each[int(match[1]) - 1] if int(match[1]) <= len(each) else ""

    return _ARGUMENT.sub(put, body)


async def names(state: State) -> list[tuple[str, str]]:
    """The commands of the project, each with its file."""
    if state.client.untrusted:
        return []
    known = (await state.chats.paths.index()).matches(FOLDER, LIMIT_FILES)
    found = ((_FILE.fullmatch(path), path) for path in known)
    return sorted((match[1].replace("/", ":"), path) for match, path in found if match is not None)
