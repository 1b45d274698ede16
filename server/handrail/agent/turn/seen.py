"""
Track the documents that the model has read or written as a whole in a session, and tell it when others change
one.

Changes by the model's own calls are not reported. Line endings do not count, because editors may have others
than the file. A document that needed a question to be read is not checked again in a later turn.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence

from handrail.core import surfaces
from handrail.core.documents import edit
from handrail.core.documents.change import Status
from handrail.core.documents.text import Text, split_lines, to_lf
from handrail.core.failure import Code
from handrail.core.ledger.outcome import Outcome
from handrail.core.planning.plan import keep_end
from handrail.core.policy.place import Place
from handrail.core.policy.verdict import is_read_unasked
from handrail.ports import Document, Ports, Workspace
from handrail.values import dataclass, field, replace

LIMIT_DOCUMENTS = 50  # those that were read last
LIMIT_CHARS = 10_000_000  # of these, all together
LIMIT_TOLD = 10  # documents at once, with the place of the change; of others only the names


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """
    A document as the model last saw it.

    Attributes:
        digest: A digest of its text.
        text: Its text with LF; None if only the digest is known because the server was restarted.
        read: The text, with LF, that the model has read or written itself. `text` is later than that if the
            model was only told about a change by others, or if others typed while its text was written.
    """

    place: Place
    digest: str
    text: str | None
    read: str | None = None

    @classmethod
    def of(cls, place: Place, text: str) -> Reading:
        """Returns the reading of a document with *text*."""
        return cls(place=place, digest=_digest(text), text=text, read=text)

    def differs(self, now: str) -> bool:
        """Whether a document with the text *now* is not what the model has read."""
        if self.read is not None:
            return self.read != now
        return self.text is not None or self.digest != _digest(now)

    @property
    def read_digest(self) -> str:
        """A digest of the text that the model has read or written, for a server that knows nothing else."""
        return self.digest if self.read is None or self.read == self.text else _digest(self.read)


Known = dict[str, Reading]  # by identity


def known_documents(documents: Sequence[tuple[str, str]], workspace: Workspace) -> Known:
    """Returns readings for the URIs and text digests of documents."""
    places = [(workspace.resolve(uri), digest) for uri, digest in documents]
    return {
        place.identity: Reading(place=place, digest=digest, text=None)
        for place, digest in places
        if isinstance(place, Place)
    }


@dataclass(kw_only=True)
class Seen:
    """
    The documents that the model knows, with their texts as it last read them.

    Attributes:
        known: From earlier turns of the session; it is kept up to date for later ones.
    """

    ports: Ports
    known: Known = field(default_factory=dict)
    _touched: dict[str, Place] = field(default_factory=dict)
    _written: dict[tuple[str, str], tuple[Place, str]] = field(default_factory=dict)
    _removed: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for name, each in list(self.known.items()):
            if not is_read_unasked(each.place, self.ports.rules()):
                del self.known[name]

    async def read(self, places: Iterable[Place]) -> None:
        """Notes that the model reads these documents."""
        places = list(places)
        self.touch(places)
        for place in places:
            text = await self._text(place)
            self.known.pop(place.identity, None)
            if text is not None:
                self.known[place.identity] = Reading.of(place, text)
        self._forget_oldest()

    def write(self, call: str, place: Place, content: str) -> None:
        """Notes that a call will write all of a document; if that lands, the model knows the document."""
        self._written[call, place.identity] = place, to_lf(content)

    def remove(self, call: str, place: Place) -> None:
        """Notes that a call will remove a document; if that lands, it is no longer tracked."""
        self._removed.add((call, place.identity))

    def _forget_oldest(self) -> None:
        size = sum(len(each.text or "") for each in self.known.values())
        while len(self.known) > LIMIT_DOCUMENTS or size > LIMIT_CHARS:
            size -= len(self.known.pop(next(iter(self.known))).text or "")

    def touch(self, places: Iterable[Place]) -> None:
        """Notes that the model reads or edits these documents."""
        self._touched |= {place.identity: place for place in places}

    def take_touched(self) -> list[Place]:
        """Takes the documents that the model has read or edited since the last call."""
        touched, self._touched = list(self._touched.values()), {}
        return touched

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Notes that calls of this turn changed documents; one without a text is no longer tracked."""
        for each in outcomes:
            if self._is_written(each):
                continue
            known = self.known.get(each.mutation.identity)
            if known is None or each.status is not Status.LANDED:
                continue
            del self.known[each.mutation.identity]
            if (each.mutation.call, each.mutation.identity) in self._removed:
                continue
            place = each.moved_to if isinstance(each.moved_to, Place) else known.place
            if isinstance(each.text, Text):
                now = Reading.of(place, to_lf(each.text.content))
                is_read = known.text is None or known.read == known.text
                self.known[place.identity] = now if is_read else replace(now, read=known.read)

    def _is_written(self, outcome: Outcome) -> bool:
        """Whether the model has written all of the document, which it then knows as it wrote it."""
        mutation, text = outcome.mutation, outcome.text
        written = self._written.get((mutation.call, mutation.identity)) if mutation.hunk is None else None
        if written is None or text is None or outcome.status not in (Status.LANDED, Status.ALREADY):
            return False
        place, content = written
        now = to_lf(text.content)
        known = now if now.rstrip("\n") == content.rstrip("\n") else keep_end(now, content)
        self.known.pop(mutation.identity, None)
        self.known[mutation.identity] = replace(Reading.of(place, now), read=known)
        self._forget_oldest()
        return True

    async def changes(self, identities: Iterable[str] | None = None) -> list[str]:
        """
        Returns the messages about documents that have changed since the model saw them, once per change.

        Args:
            identities: The documents to check; None: all.
        """
        names = (
            list(self.known) if identities is None else [each for each in identities if each in self.known]
        )
        texts = await asyncio.gather(*(self._text(self.known[name].place) for name in names))
        changed, gone = list[tuple[str, str | None, str]](), list[tuple[str, str]]()
        for name, now in zip(names, texts, strict=True):
            if name not in self.known:  # a call has changed it since
                continue
            was = self.known[name]
            if now is None:
                del self.known[name]
                gone += await self._describe_loss(was.place)
                continue
            if now != was.text:
                later = replace(was, digest=_digest(now), text=now)
                self.known[name] = Reading.of(was.place, now) if later.digest == was.digest else later
            if self.known[name].digest != was.digest:
                changed.append((was.place.path, was.text, now))
        changed.sort(key=lambda each: each[0])
        told = [await asyncio.to_thread(_describe_change, *each) for each in changed[:LIMIT_TOLD]]
        if others := [surfaces.line(path) for path, _, _ in changed[LIMIT_TOLD:]]:
            these = "These have" if others[1:] else "This one has"
            told.append(f"{these} changed, too: {', '.join(others)}.")
        gone.sort()
        told += [
            f"{path} has been {what} since you last read or edited it. You did not make this change."
            for path, what in gone[:LIMIT_TOLD]
        ]
        if lost := [path for path, _ in gone[LIMIT_TOLD:]]:
            these = "These have" if lost[1:] else "This one has"
            told.append(f"{these} been deleted or renamed, too: {', '.join(lost)}.")
        return told

    async def _describe_loss(self, place: Place) -> list[tuple[str, str]]:
        """Returns the name of a document that is gone, and how; nothing if it only cannot be read."""
        document = await self.ports.editor.read(place.uri)
        if isinstance(document, Document) or document.code is not Code.NO_SUCH_FILE:
            return []
        new = self.ports.renames.find(place.identity, self.ports.workspace.resolve)
        what = "deleted" if new is None else f"renamed to {surfaces.line(new.path)}"
        return [(surfaces.line(place.path), what)]

    async def _text(self, place: Place) -> str | None:
        document = await self.ports.editor.read(place.uri)
        return to_lf(document.text.content) if isinstance(document, Document) else None


def _describe_change(path: str, was: str | None, now: str) -> str:
    where = "" if was is None else f", at {show_difference(was, now)}"
    return (
        f"{surfaces.line(path)} has changed since you last read or edited it{where}. "
        "You did not make this change. Read it again before you edit there."
    )


def show_difference(was: str, now: str) -> str:
    """Returns the lines in which a text differs from an earlier one."""
    blocks = edit.opcodes(split_lines(was), split_lines(now))
    first = min(k for _, _, k, _ in blocks) + 1
    last = max(first, *(m for _, _, _, m in blocks))
    return f"line {first}" if first == last else f"lines {first} to {last}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
