"""
Read an output that was too long to be shown, page by page or only the lines that match a pattern; or what a
command in the background has printed since it was last looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from handrail.agent.tools import call
from handrail.agent.tools.call import CommandInspection
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import truncate
from handrail.core.results.search import Page
from handrail.ports import Ports
from handrail.values import dataclass

PAGE_CHARS = 40_000
BACKGROUND = re.compile(r"b\d{1,9}")  # the id of a command; those of kept outputs look otherwise
PAGE_SHARE = 0.8  # of what a result may have, so that a page is never cut again


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOutput:
    """Read the output `spill`: from `offset` on, or, if there is a `pattern`, where it matches."""

    spill: str
    offset: int
    pattern: str
    ignore_case: bool

    @property
    def title(self) -> str:
        """For people: what is being done."""
        return f"Read output {self.spill}"

    @property
    def reads(self) -> tuple[str, ...]:
        """No path."""
        return ()

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Failure:
        """The page, or the lines, below one line that says what they are."""
        if self.pattern:
            return await self._search(self.pattern, ports)
        length = min(PAGE_CHARS, int(ports.terms.output_chars * PAGE_SHARE))
        page = await ports.spills.page(self.spill, self.offset, length)
        return page if isinstance(page, Failure) else _show(page)

    async def _search(self, pattern: str, ports: Ports) -> str | Failure:
        found = await ports.spills.search(self.spill, pattern, ignore_case=self.ignore_case)
        if isinstance(found, Failure):
            return found
        hits, more = found
        if not hits:
            return "No lines match."
        lines = f"{len(hits)} line{' matches' if len(hits) == 1 else 's match'}"
        rest = ", and there are more (narrow the pattern)" if more else ""
        head = f"{lines}{rest}: line|offset|text"
        return "\n".join((head, *(f"{hit.line_number}|{hit.offset}|{hit.row}" for hit in hits)))


def _show(page: Page) -> str:
    """A page that ends with a line, if it has more than one."""
    text = page.text
    end = page.offset + len(text)
    if end < page.total:
        end = page.offset + truncate.line_start_before(text, len(text))
        text = text[: end - page.offset]
    if page.offset >= page.total:
        return f"The output has only {page.total} characters. Give a smaller offset."
    rest = f"; continue with offset={end}" if end < page.total else ""
    return f"Characters {page.offset} to {end} of {page.total}{rest}.\n{text}"


def parse(arguments: call.Arguments) -> ReadOutput | CommandInspection | Failure:
    """Read the arguments of a call."""
    spill, pattern = call.optional_text(arguments, "output"), call.optional_text(arguments, "pattern")
    offset = call.count(arguments, "offset")
    if isinstance(spill, str) and BACKGROUND.fullmatch(spill):
        return _inspection(spill, offset, pattern)
    ignore_case = call.flag(arguments, "ignore_case")
    for value in (spill, offset, pattern, ignore_case):
        if isinstance(value, Failure):
            return value
    assert isinstance(spill, str)
    assert not isinstance(offset, Failure)
    assert isinstance(pattern, str)
    assert not isinstance(ignore_case, Failure)
    if not spill.strip():
        is_list = not offset and not pattern
        return CommandInspection(command="") if is_list else call.bad("output", "an id that a result gave")
    return ReadOutput(spill=spill, offset=offset or 0, pattern=pattern, ignore_case=ignore_case)


def _inspection(
    command: str, offset: int | Failure | None, pattern: str | Failure
) -> CommandInspection | Failure:
    """Returns what a call for a background command does: its new output is read once, and as a whole."""
    if offset or pattern:
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"{command} is a background command: its new output can only be read as a whole.",
            steps=("Call `read_output` again, without offset and pattern.",),
        )
    return CommandInspection(command=command)


TOOL = call.Tool(
    kind=ToolKind.OUTPUT,
    offer=call.offer(
        "read_output",
        "Read output that was too long for a result, page by page or only the lines that match. Or "
        "check a background command: its state, and what it has printed since you last read it.",
        {
            "output": {
                "type": "string",
                "description": "The id given in the result. Default: list the background commands.",
            },
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "Where to start, in characters.",
            },
            "pattern": {
                "type": "string",
                "description": "A regular expression: show only matching lines.",
            },
            "ignore_case": {"type": "boolean", "default": False},
        },
        (),
    ),
    parse=parse,
)
