"""
List what is defined in a file, or find definitions by name in the whole workspace.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.agent.tools import call
from handrail.agent.tools.languages import spots
from handrail.core.failure import Failure
from handrail.core.policy.place import Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.ports import Ports
from handrail.ports.languages import SYMBOLS, Spots, Unwatched
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """List the symbols of the file at `path` whose names contain `query`, or find them in all files."""

    path: str
    query: str

    @property
    def title(self) -> str:
        """For people: what is being done."""
        where = f" in {self.path}" if self.path else ""
        return f"Find the symbol {self.query}{where}" if self.query else f"List the symbols{where}"

    @property
    def reads(self) -> tuple[str, ...]:
        """The file, if one is named."""
        return (self.path,) if self.path else ()

    async def run(self, places: Mapping[str, Place], ports: Ports) -> str | Failure:
        """The lines in which symbols are defined, each with what it defines."""
        uri = ""
        if self.path:
            document = await ports.editor.read(places[self.path].uri)
            if isinstance(document, Failure):
                return document
            uri = document.uri
        match await ports.languages.symbols(uri, "" if uri else self.query, spots.WAIT_S):
            case Unwatched():
                return "Unknown: no language server in the editor offers this. Use search."
            case None:
                return spots.NO_ANSWER
            case found:
                return await spots.list_spots(self._matching_spots(found), ports)

    def _matching_spots(self, listing: Spots) -> Spots:
        """A server decides what resembles a query; in a document the name must contain it."""
        if not (self.path and self.query):
            return listing
        wanted = self.query.casefold()
        return replace(listing, spots=tuple(each for each in listing.spots if wanted in each.name.casefold()))


def parse(arguments: call.Arguments) -> Symbols | Failure:
    """Read the arguments of a call."""
    path, query = call.optional_text(arguments, "path"), call.optional_text(arguments, "query")
    for value in (path, query):
        if isinstance(value, Failure):
            return value
    assert isinstance(path, str)
    assert isinstance(query, str)
    if not path and not query.strip():
        return call.bad("query", "a name or part of a name, if no path is given")
    return Symbols(path=path, query=query.strip())


TOOL = call.Tool(
    kind=ToolKind.READ,
    offer=call.offer(
        SYMBOLS,
        "List what a file defines (classes, functions …), or find definitions by name in all files.",
        {
            "path": {"type": "string", "description": "Only this file. Default: all."},
            "query": {"type": "string", "description": "Part of the name. Required without a path."},
        },
        (),
    ),
    parse=parse,
    needs=SYMBOLS,
)
