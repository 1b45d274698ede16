"""
Our own mirror of the documents that the editor holds, fed from the raw change events.

Lines end at LF, CRLF and CR only, positions are read in the negotiated encoding and clamped, and a change
costs what it touches, not what the document has. Each URI that the client has opened is a document of its
own, even where two of them lead to one file; another spelling of a URI finds the document by its identity,
and the client's own spelling is kept. pygls' mirror is never used (see ARCHITECTURE.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from lsprotocol import types as lsp

from handrail.core.documents.in_code.typed import TypedPrompts
from handrail.core.documents.text import Text, split_lines
from handrail.ports import Stamp
from handrail.values import dataclass

UNITS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "utf-16": lambda text: len(text.encode("utf-16-le", "surrogatepass")) // 2,
    "utf-32": len,
}


def to_units(row: str, characters: int, encoding: str) -> int:
    """Returns the number of units of *encoding* that the first *characters* of a line take."""
    head = row[:characters]
    return len(head) if head.isascii() else UNITS[encoding](head)


def from_units(row: str, units: int, encoding: str) -> int:
    """
    Returns the number of characters of a line before *units*; inside a character, it is the character's
    start.
    """
    if encoding == "utf-32" or row.isascii():
        return min(units, len(row))
    taken, count = 0, UNITS[encoding]
    for at, character in enumerate(row):
        taken += count(character)
        if taken > units:
            return at
    return len(row)


@dataclass(slots=True)
class OpenDocument:
    """
    A document in the editor.

    Most documents are opened and never changed, so the text is kept as it came until someone asks
    for its lines.

    Attributes:
        is_removed: Whether an edit or a command of ours removed its file, and the editor did not close it.
        saved: What the editor has saved last, if it said so.
        was_opened_by_us: Whether an edit of ours opened it, so that no one but us would save it.
        number: Counts the documents that were opened, so that later ones compare as greater.
        seen: The texts that it had since someone began to keep them; None if no one does.
        seen_late: The same, for an edit that may show after it was told not to stand.
        typed: Whose the prompts in it are; None while that is not followed.
        file: The state of its file when it was opened or last saved.
        on_disk: The state of its file when that held the same text, if nothing was changed since.
    """

    uri: str
    identity: str
    version: int
    _text: Text | None
    language: str = ""
    was_opened_by_us: bool = False
    is_removed: bool = False
    saved: Text | None = None
    number: int = 0
    seen: list[str] | None = None
    seen_late: list[str] | None = None
    on_disk: Stamp | None = None
    typed: TypedPrompts | None = None
    file: Stamp | None = None
    _lines: list[str] | None = None  # or there is a text

    @property
    def text(self) -> Text:
        """The whole text, joined when asked for."""
        if self._text is None:
            self._text = Text("".join(self.lines))
        return self._text

    @property
    def lines(self) -> list[str]:
        """The lines with their terminators, split when asked for; the last one may be empty."""
        if self._lines is None:
            self._lines = lines_of(self.text.content)
        return self._lines

    @property
    def rows(self) -> Sequence[str]:
        """The lines that have something in them, or a terminator."""
        return self.lines if self.lines[-1] else self.lines[:-1]

    def change(self, event: lsp.TextDocumentContentChangeEvent, encoding: str) -> None:
        """Take over one content change."""
        if isinstance(event, lsp.TextDocumentContentChangeWholeDocument):
            self._text, self._lines = Text(event.text), None
            return
        lines = self.lines
        self._text = None
        start = end = self._line_and_offset(event.range.start, encoding)
        if event.range.end != event.range.start:
            end = max(start, self._line_and_offset(event.range.end, encoding))
        if start[0] == end[0] and self._change_row(start[0], start[1], end[1], event.text):
            return
        # One line more on each side: a CR and an LF that now meet are one terminator.
        first, last = max(0, start[0] - 1), min(len(lines), end[0] + 2)
        before = "".join(lines[first : start[0]]) + lines[start[0]][: start[1]]
        after = lines[end[0]][end[1] :] + "".join(lines[end[0] + 1 : last])
        spliced = split_lines(before + event.text + after)
        if last == len(lines):
            spliced = lines_of(before + event.text + after)
        lines[first:last] = spliced

    def _change_row(self, line: int, start: int, end: int, text: str) -> bool:
        """Change one line alone; False, and nothing is changed, if a line end may be affected."""
        if "\n" in text or "\r" in text:
            return False
        row = self.lines[line]
        head, tail = row[:start], row[end:]
        changed = f"{head}{text}{tail}"
        if head.endswith("\r") or changed.startswith("\n"):
            return False  # it parts a CR from its LF, or may join them
        self.lines[line] = changed
        return True

    def _line_and_offset(self, position: lsp.Position, encoding: str) -> tuple[int, int]:
        if position.line >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1])
        line = self.lines[position.line]
        row = line.rstrip("\r\n")
        if line.endswith("\r\n") and position.character == to_units(row, len(row), encoding) + 1:
            # Editors that count a carriage return as a character mean the place behind it. For others a
            # position beyond the line is the line's end.
            return position.line, len(row) + 1
        return position.line, from_units(row, position.character, encoding)


def lines_of(content: str) -> list[str]:
    """LSP's lines: there is always one, and one more after a final terminator."""
    lines = split_lines(content)
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines


class Documents:
    """All documents that the editor holds."""

    def __init__(self, identify: Callable[[str], str]) -> None:
        self.encoding = "utf-16"
        self.count = 0
        self.selected: tuple[str, lsp.Range] | None = (
            None  # what the user has selected last, as far as is told
        )
        self._identify = identify
        self._open: dict[str, OpenDocument] = {}
        self._waiting: set[asyncio.Future[None]] = set()

    def find(self, uri: str) -> OpenDocument | None:
        """The open document that *uri* names, in this or another spelling."""
        return self._open.get(uri) or next(iter(self._with_identity(self._identify(uri))), None)

    def siblings(self, document: OpenDocument) -> tuple[OpenDocument, ...]:
        """The other open documents of the same file, which the client has opened by other URIs."""
        return tuple(other for other in self._with_identity(document.identity) if other is not document)

    def _with_identity(self, identity: str) -> Iterator[OpenDocument]:
        return (document for document in self._open.values() if document.identity == identity)

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(list(self._open.values()))

    def on_open(self, item: lsp.TextDocumentItem) -> OpenDocument:
        """The editor has opened a document."""
        self.count += 1
        document = OpenDocument(
            item.uri,
            self._identify(item.uri),
            item.version,
            Text(item.text),
            item.language_id,
            number=self.count,
        )
        self._open[document.uri] = document
        self.wake()
        return document

    def on_change(
        self, uri: str, version: int, events: Sequence[lsp.TextDocumentContentChangeEvent]
    ) -> OpenDocument | None:
        """The editor has changed a document; None if it never opened it."""
        document = self.find(uri)
        if document is not None:
            for event in events:
                document.change(event, self.encoding)
                for seen in (document.seen, document.seen_late):
                    if seen is not None:
                        seen.append(document.text.content)
            document.version = version
            document.on_disk = None
            self.wake()
        return document

    def on_close(self, uri: str) -> OpenDocument | None:
        """The editor has closed a document; None if it never opened it."""
        document = self.find(uri)
        if document is not None:
            del self._open[document.uri]
        self.wake()
        return document

    async def until(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until *holds*, looking again after every change and `wake`; False if that takes too long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not holds():
            change = loop.create_future()
            self._waiting.add(change)
            try:
                await asyncio.wait_for(change, deadline - loop.time())
            except TimeoutError:
                return holds()
            finally:
                self._waiting.discard(change)
        return True

    def wake(self) -> None:
        """Have all who wait look again."""
        for change in self._waiting:
            if not change.done():
                change.set_result(None)
