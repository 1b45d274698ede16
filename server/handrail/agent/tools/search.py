"""
Search documents for a regular expression, unsaved text included.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import call
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.results import search
from handrail.ports import Ports
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """Search below `path`, or everywhere, in the files that `glob` takes."""

    pattern: str
    path: str
    glob: str
    ignore_case: bool

    @property
    def title(self) -> str:
        """For people: what is being done."""
        return f"Search {self.pattern!r}" + (f" in {self.path}" if self.path else "")

    @property
    def reads(self) -> tuple[str, ...]:
        """The folder or file that is searched."""
        return (self.path,) if self.path else ()

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Failure:
        """The lines that match."""
        wanted = search.Search(
            pattern=self.pattern,
            ignore_case=self.ignore_case,
            within=places[self.path] if self.path else None,
            glob=self.glob,
        )
        unsaved = [document for document in await ports.editor.open_documents() if document.unsaved]
        found = await ports.workspace.search(wanted, unsaved)
        return found if isinstance(found, Failure) else search.show_lines(found)


def parse(arguments: call.Arguments) -> Searching | Failure:
    """Read the arguments of a call."""
    pattern = call.text(arguments, "pattern")
    path, glob = call.optional_text(arguments, "path"), call.optional_text(arguments, "glob")
    ignore_case = call.flag(arguments, "ignore_case")
    if pattern == "":
        return call.bad("pattern", "a regular expression that is not empty")
    for value in (pattern, path, glob, ignore_case):
        if isinstance(value, Failure):
            return value
    assert isinstance(pattern, str)
    assert isinstance(path, str)
    assert isinstance(glob, str)
    assert isinstance(ignore_case, bool)
    return Searching(pattern=pattern, path=path, glob=glob, ignore_case=ignore_case)


TOOL = call.Tool(
    kind=ToolKind.READ,
    offer=call.offer(
        "search",
        "Search files line by line for a regular expression, including unsaved text. Ignored files "
        "(.gitignore) and protected ones (keys, CI, settings of editors and agents) are left out, "
        "unless path names them.",
        {
            "pattern": {"type": "string", "description": "A regular expression."},
            "path": {"type": "string", "description": "Only this folder or file."},
            "glob": {
                "type": "string",
                "description": "Only files that match, relative to path: *.py, src/**/*.{ts,tsx}",
            },
            "ignore_case": {"type": "boolean", "default": False},
        },
        ("pattern",),
    ),
    parse=parse,
)
