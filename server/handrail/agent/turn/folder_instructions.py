"""
Folder instructions: the model gets a folder's `AGENTS.md` when it first reads or edits a document below it.

The `AGENTS.md` of a workspace folder is sent before the conversation (`instructions`). One in a subfolder
applies to the documents below it. Only the folders above a document that the model reads or edits are
examined; nothing is searched. The instructions are messages of the conversation, which a summary keeps, so a
session that is resumed, forked or rewound knows from its messages what its model has been told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set

from handrail.agent.turn.instructions import read_instructions
from handrail.agent.turn.session import Said
from handrail.core import surfaces
from handrail.core.conversation.compact import CHARS_PER_TOKEN, instructions_in
from handrail.core.conversation.message import Excerpt, Message, UserMessage
from handrail.core.conversation.prompt import INSTRUCTIONS, LIMIT_INSTRUCTIONS
from handrail.core.ledger.report import Event, Notice
from handrail.core.policy.grants import Rights
from handrail.core.policy.place import Place
from handrail.ports import Ports
from handrail.values import dataclass, field

LIMIT_FOLDERS = 100  # folders examined before one step; the others wait for the next one
LIMIT_DEPTH = 50  # folders above one document, the nearest ones
LIMIT_ALL_CHARS = 2 * LIMIT_INSTRUCTIONS  # of all that a conversation has of them
LEAST_CHARS = 400  # fewer would say too little
WINDOW_SHARE = 0.2  # of what the model reads, for all of them, so that they never crowd out the work

TOLD = (
    "The project's own instructions for documents in {folder} and the folders below it. For these documents, "
    "follow them as you follow the project's other instructions; where they contradict instructions of a "
    "folder above, follow these."
)
CHANGED = " They have changed, and replace what you were told about {path} before."
CUT = (
    " Only the first {shown:,} of {all:,} characters are given here; read the rest of {path} if you need it."
)
NAMED = (
    "{path} has the project's own instructions for documents in {folder} and the folders below it. They are "
    "not given here because there are too many instructions. Read that file before you work there."
)
IGNORED = "is not sent to the model because a .gitignore or another ignore file excludes it."
GONE = "{path} was removed or is empty now. You no longer need to follow its instructions."


@dataclass(kw_only=True)
class FolderInstructions:
    """
    Finds the instructions that apply where the model works.

    Attributes:
        observe: Called with notices for the user.
        named: What the user has already been told.
    """

    ports: Ports
    observe: Callable[[Event], None]
    named: set[str]
    _documents: dict[str, None] = field(default_factory=dict)  # URIs
    _folders: dict[str, None] = field(default_factory=dict)  # URIs of those that still wait

    def touch(self, places: Iterable[Place]) -> None:
        """Notes that the model reads or edits these documents."""
        self._documents |= dict.fromkeys(place.uri for place in places)

    def point_at(self, said: Sequence[Said]) -> None:
        """Notes the documents that these messages show to the model."""
        for message in said:
            for each in message.context if isinstance(message, UserMessage) else ():
                place = self.ports.workspace.resolve(each.path) if each.first_line else None
                self.touch([place] if isinstance(place, Place) else [])

    async def news(self, messages: Sequence[Message], window_tokens: int) -> list[UserMessage]:
        """
        Returns the instructions that the model must be given now, outer folders first.

        Args:
            messages: The conversation.
            window_tokens: The size of the model's context.
        """
        folders = self._take_folders()
        if not folders or self.ports.terms.is_untrusted:
            return []
        top = self._at_top()
        rights = Rights(rules=self.ports.rules(), grants=await self.ports.grants.load())
        new = [each for folder in folders if (each := await self._read(folder, top, rights)) is not None]
        ignored = await self.ports.workspace.ignored_uris([uri for each in new for uri in each.uris])
        told = {each.instructions: each for each in instructions_in(messages)}
        limit = min(LIMIT_ALL_CHARS, int(window_tokens * CHARS_PER_TOKEN * WINDOW_SHARE))
        news = list[UserMessage]()
        for each in new:
            if not ignored.isdisjoint(each.uris):
                self._notice(f"{surfaces.line(each.path)} {IGNORED}", is_warning=False)
                continue
            used = sum(_size(message) for path, message in told.items() if path != each.path)
            message = each.message(told.get(each.path), min(LIMIT_INSTRUCTIONS, limit // 2, limit - used))
            if message is not None:
                told[each.path] = message
                news.append(message)
        return news

    def _take_folders(self) -> list[str]:
        """Takes the folders to examine now, outer ones first."""
        documents, self._documents = self._documents, {}
        if documents:
            places = map(self.ports.workspace.resolve, (".", *self.ports.terms.roots))
            roots = {place.uri.rstrip("/") for place in places if isinstance(place, Place)}
            self._folders |= dict.fromkeys(folder for uri in documents for folder in _folders(uri, roots))
        taken = list(self._folders)[:LIMIT_FOLDERS]
        for folder in taken:
            del self._folders[folder]
        return sorted(taken, key=lambda each: (each.count("/"), each))

    async def _read(self, folder: str, top: Set[str], rights: Rights) -> _Instructions | None:
        """Reads the instructions of a folder; None if the model must not get them."""
        uri = f"{folder}/{INSTRUCTIONS}"
        place = self.ports.workspace.resolve(uri)
        if not isinstance(place, Place) or place.identity in top:
            return None
        of = place if place.uri == uri else self.ports.workspace.resolve(folder)
        path = place.path if of is place else f"{of.path}/{INSTRUCTIONS}" if isinstance(of, Place) else uri
        text, why = await read_instructions(place, path, self.ports, rights)
        if why:
            self._notice(why, is_warning=True)
            return None
        return _Instructions(path=path, text=text, uris=(uri, place.uri) if text else ())

    def _at_top(self) -> frozenset[str]:
        """Returns the identities of the files that are sent before the conversation and apply everywhere."""
        names = (INSTRUCTIONS, *(f"{root.rstrip('/')}/{INSTRUCTIONS}" for root in self.ports.terms.roots))
        places = map(self.ports.workspace.resolve, names)
        return frozenset(place.identity for place in places if isinstance(place, Place))

    def _notice(self, text: str, *, is_warning: bool) -> None:
        if text not in self.named:
            self.named.add(text)
            self.observe(Notice(call="", text=text, is_warning=is_warning))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instructions:
    """
    The instructions of a folder.

    Attributes:
        path: Of the file, in that folder.
        text: Empty if there is no file.
        uris: The file and the target of its links, neither of which may be ignored.
    """

    path: str
    text: str
    uris: tuple[str, ...]

    def message(self, before: UserMessage | None, room: int) -> UserMessage | None:
        """
        Returns the message for the model; None if it already knows it.

        Args:
            before: What it was last told about this file.
            room: The number of characters available.
        """
        path, folder = surfaces.line(self.path), surfaces.line(self.path.rpartition("/")[0])
        had = before.context[0].text if before is not None and before.context else None
        if not self.text.strip():
            gone = UserMessage(text=GONE.format(path=path), instructions=self.path)
            return None if had is None else gone
        if had is not None and had == self.text[: len(had)] and (had == self.text or _is_cut(before)):
            return None
        if len(self.text) > room < LEAST_CHARS:
            named = UserMessage(text=NAMED.format(path=path, folder=folder), instructions=self.path)
            return None if before == named else named
        shown, said = self.text[: max(room, 0)], TOLD.format(folder=folder)
        said += CHANGED.format(path=path) if had is not None else ""
        if len(shown) < len(self.text):
            said += CUT.format(shown=len(shown), all=len(self.text), path=path)
        excerpt = Excerpt(path=self.path, first_line=1, text=shown)
        return UserMessage(text=said, context=(excerpt,), instructions=self.path)


def _folders(uri: str, roots: Set[str]) -> list[str]:
    """Returns the folders between a document and its workspace folders, the nearest first."""
    result, above = list[str](), list[str]()
    folder = uri.rpartition("/")[0]
    while folder.count("/") > 2:  # those of `file://` are not folders
        if folder in roots:
            result, above = [*result, *above], []
        else:
            above.append(folder)
        folder = folder.rpartition("/")[0]
    return result[:LIMIT_DEPTH]


def _size(message: UserMessage) -> int:
    return sum(len(each.text) for each in message.context)


def _is_cut(message: UserMessage | None) -> bool:
    return message is not None and CUT[:16] in message.text
