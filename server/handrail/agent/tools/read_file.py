"""
Read a document: the text that the editor holds if it is open, else the file.

Lines are numbered from 1. At most 2,000 lines and 100,000 characters come back; the answer says how the
document is written and where to go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from handrail.agent.tools import call
from handrail.core.failure import Failure
from handrail.core.policy import Place
from handrail.core.text import Text
from handrail.ports import Ports

LIMIT_LINES = 2_000
LIMIT_CHARS = 100_000
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

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Failure:
        """The numbered lines, below one line about the document."""
        document = await ports.editor.read(places[self.path].uri)
        if isinstance(document, Failure):
            return document
        state = "open in the editor" + (", with unsaved changes" if document.unsaved else "")
        return self._shown(document.text, state if document.is_open else "not open in the editor")

    def _shown(self, text: Text, state: str) -> str:
        last = min(self.end_line or len(text.rows), len(text.rows), self.start_line - 1 + LIMIT_LINES)
        head = f"{places_line(self.path, text)}; {state}."
        shown, size = [head], 0
        for number in range(self.start_line, last + 1):
            row = text.rows[number - 1]
            size += len(row) + 8
            if size > LIMIT_CHARS:
                last = number - 1
                break
            shown.append(f"{number}|{row}")
        if last < len(text.rows) and (self.end_line is None or last < self.end_line):
            shown.append(
                f"Lines {last + 1} to {len(text.rows)} are not shown; read on with start_line={last + 1}."
            )
        return "\n".join(shown)


def places_line(path: str, text: Text) -> str:
    """How a document is written, in one line."""
    eols = EOL_NAMES[text.eol] if text.has_one_eol else "mixed line ends"
    mark = " with byte order mark" if text.bom else ""
    final = "" if not text.rows or text.eols[-1] else ", no final newline"
    return f"{path}: {len(text.rows)} lines, {text.encoding}{mark}, {eols}{final}"


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
    offer=call.offer(
        "read_file",
        "Read a file as the user's editor holds it, unsaved changes included. Lines are numbered.",
        {
            "path": {"type": "string", "description": "Relative to the workspace folder."},
            "start_line": {"type": "integer", "minimum": 1, "description": "First line, counted from 1."},
            "end_line": {"type": "integer", "minimum": 1, "description": "Last line, included."},
        },
        ("path",),
    ),
    parse=parse,
)
