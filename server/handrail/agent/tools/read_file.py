"""
Read a document: the editor's text if it is open, otherwise the file.

Lines are numbered from 1. At most 2,000 lines and 100,000 characters are returned; the answer gives the
document's encoding, line endings and indentation, and the line from which to continue.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence

from handrail.agent.tools import call
from handrail.core.conversation.message import LIMIT_PICTURE_BYTES, Picture
from handrail.core.conversation.prompt import Mode
from handrail.core.documents import binary
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.matching import indent
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.counts import count_hidden, count_of
from handrail.ports import Document, Ports
from handrail.values import dataclass

LIMIT_LINES = 2_000
LIMIT_CHARS = 100_000
NOTES_CHARS = 200  # for what is said below the lines
EOL_NAMES = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadFile:
    """Read `path`, from `start_line` to `end_line`, both counted from 1 and included."""

    path: str
    start_line: int
    end_line: int | None

    @property
    def title(self) -> str:
        """For people: what is being done."""
        return f"Read {self.path}"

    @property
    def reads(self) -> tuple[str, ...]:
        """The paths it reads."""
        return (self.path,)

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | call.Seen | Failure:
        """The numbered lines, below one line about the document; or a picture."""
        document = await ports.editor.read(places[self.path].uri)
        if isinstance(document, Failure):
            return await _picture(places[self.path], ports) or document
        state = _describe_state(document, is_headless=ports.terms.is_headless)
        head = f"{_describe_encoding(self.path, document.text)}{state}."
        room = min(LIMIT_CHARS, ports.terms.output_chars) - NOTES_CHARS - len(head)
        runs_commands = ports.terms.mode is Mode.EDIT
        return "\n".join((head, *self._show(document.text.rows, room, runs_commands=runs_commands)))

    def _show(self, rows: Sequence[str], room: int, *, runs_commands: bool) -> Iterator[str]:
        """The wanted lines with their numbers, as far as *room* goes, and what is not shown of them."""
        wanted = min(self.end_line or len(rows), len(rows))
        if self.start_line > max(wanted, 1):
            if self.start_line <= len(rows):
                yield f"end_line={self.end_line} is before start_line={self.start_line}; no lines are shown."
            else:
                yield f"The file has no line {self.start_line}; it has {count_of(len(rows), 'line')}."
            return
        last = min(wanted, self.start_line - 1 + LIMIT_LINES)
        for number in range(self.start_line, last + 1):
            line = f"{number}|{rows[number - 1]}"
            room -= len(line) + 1
            if room < 0 and number > self.start_line:
                last = number - 1
                break
            if room < 0:
                last = number
                yield line[:room]
                hidden = count_hidden(-room, "character")
                way_on = f"To see more, search for text in it{', or use `cut -c`' if runs_commands else ''}."
                yield f"Line {number} is too long: {hidden}. {way_on}"
                break
            yield line
        if last < wanted:
            left = f"Lines {last + 1} to {len(rows)} are" if last + 1 < len(rows) else f"Line {last + 1} is"
            yield f"{left} not shown; continue with start_line={last + 1}."


async def _picture(place: Place, ports: Ports) -> call.Seen | Failure | None:
    """Reads the file at a place, if it is a picture that a model can take."""
    raw = await ports.editor.read_bytes(place.uri) or b""
    media = binary.media_of(raw)
    if not media:
        return None
    if not ports.terms.sees:
        return Failure(
            code=Code.TOOL_FAILED,
            uri=place.uri,
            message=(
                f"{place.path} is {binary.kind_of(raw)}. handrail does not show you pictures: the "
                "setting handrail.pictures or the provider does not allow it."
            ),
            steps=("Continue without it. If you need it, tell the user.",),
        )
    if len(raw) > LIMIT_PICTURE_BYTES:
        return Failure(
            code=Code.TOO_LARGE,
            uri=place.uri,
            message=(
                f"{place.path} has {len(raw):,} bytes; the limit for pictures is {LIMIT_PICTURE_BYTES:,}."
            ),
            steps=("If you can run commands, make a smaller copy with one, then read the copy.",),
        )
    data = (await asyncio.to_thread(b64encode, raw)).decode("ascii")
    shown = Picture(path=place.path, media=media, data=data)
    return call.Seen(text=f"{place.path}: {binary.kind_of(raw)}, {len(raw):,} bytes.", picture=shown)


def _describe_state(document: Document, *, is_headless: bool) -> str:
    """Describes whether a document is open and saved, as the end of a sentence; may be empty."""
    if is_headless:
        return "; it has unsaved changes" if document.unsaved else ""
    if document.is_removed:
        return "; open in the editor; its file was removed"
    unsaved = ", with unsaved changes" if document.unsaved else ""
    return f"; {'open' if document.is_open else 'not open'} in the editor{unsaved}"


def _describe_encoding(path: str, text: Text) -> str:
    """Describes the encoding and the indentation of a document in one line."""
    eols = EOL_NAMES[text.eol] if text.has_one_eol else f"mixed line endings, mostly {EOL_NAMES[text.eol]}"
    mark = " with byte order mark" if text.bom else ""
    final = "" if not text.rows or text.eols[-1] else ", no final newline"
    lines = count_of(len(text.rows), "line")
    return f"{path}: {lines}, {text.encoding}{mark}, {eols}{final}{_indentation(text)}"


def _indentation(text: Text) -> str:
    """By what the document indents, if it does."""
    if not any(row[:1] in ("\t", " ") and row.strip() for row in text.rows):
        return ""
    unit = indent.unit(text.rows)
    return ", indented by tabs" if unit == "\t" else f", indented by {len(unit)} spaces"


def parse(arguments: call.Arguments) -> ReadFile | Failure:
    """Read the arguments of a call."""
    path = call.path(arguments)
    start, end = call.line_number(arguments, "start_line"), call.line_number(arguments, "end_line")
    for value in (path, start, end):
        if isinstance(value, Failure):
            return value
    assert isinstance(path, str)
    assert not isinstance(start, Failure)
    assert not isinstance(end, Failure)
    return ReadFile(path=path, start_line=start or 1, end_line=end)


TOOL = call.Tool(
    kind=ToolKind.READ,
    offer=call.offer(
        "read_file",
        "Read a text file; if it is open in an editor, its current text, including unsaved changes. "
        "Each line begins with its number and `|`, which are not part of it. Returns at most "
        f"{LIMIT_LINES:,} lines. Shows PNG, JPEG, GIF and WebP pictures if you can see them.",
        {
            "path": {"type": "string", "description": "The file."},
            "start_line": {"type": "integer", "minimum": 1, "description": "First line, counted from 1."},
            "end_line": {"type": "integer", "minimum": 1, "description": "Last line, included."},
        },
        ("path",),
    ),
    parse=parse,
)
