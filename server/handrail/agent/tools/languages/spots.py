"""
Shows the model the places that language servers name: lines that it may read without a question.

Language servers know libraries and generated files too. A place that the model may not read is named with its
line number, but its text is not shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from handrail.core.policy.grants import Rights
from handrail.core.policy.place import ASKED, Place
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.policy.verdict import Allow, Request, verdict
from handrail.core.results import sanitize
from handrail.core.results.search import Line, Lines, show_lines
from handrail.ports import Document, Ports
from handrail.ports.languages import Spot, Spots
from handrail.values import dataclass

WAIT_S = 2.0  # for an answer of the editor
READ = "read_file"  # the tool by which the model would read the same documents
MORE = "more are not shown: search for the name in the files that matter"
LIMIT_LINES = 200
LIMIT_DOCUMENTS = 100  # of which lines are shown
LIMIT_HIDDEN = 20  # places that are only named
ROW_CHARS = 300
PATH_CHARS = 300
NO_ANSWER = "Unknown: the editor did not answer in time. Call the tool again, or use search."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A document of which lines can be shown."""

    path: str
    rows: Sequence[str]


async def list_spots(listing: Spots, ports: Ports) -> str:
    """
    The places, each with its line as the document has it now.

    Cost: one reading of each of at most `LIMIT_DOCUMENTS` documents.
    """
    spots = list({(each.uri, each.line, each.name): each for each in listing.spots}.values())
    places = await _places([each.uri for each in spots], ports)
    rights = Rights(rules=ports.rules(), grants=await ports.grants.load())
    allowed = {uri: place for uri, place in places.items() if _may_read(place, rights)}
    documents = await _documents(allowed, ports)
    lines = {_line(documents[each.uri], each): None for each in spots if each.uri in documents}
    hidden = [_why_hidden(each, places.get(each.uri)) for each in spots if each.uri not in documents]
    rows = sorted(lines, key=lambda line: (line.path, line.line_number))
    more = listing.more or len(rows) > LIMIT_LINES
    texts = [show_lines(Lines(lines=tuple(rows[:LIMIT_LINES]), more=more), MORE)] if rows else []
    if hidden:
        texts.append(_describe_hidden(list(dict.fromkeys(hidden))))
    return "\n".join(texts) or "The editor's language servers found nothing."


def _describe_hidden(hidden: Sequence[str]) -> str:
    left = len(hidden) - LIMIT_HIDDEN
    rest = [f"  and {left:,} more"] if left > 0 else []
    return "\n".join(("Not shown:", *(f"  {each}" for each in hidden[:LIMIT_HIDDEN]), *rest))


async def _places(uris: Sequence[str], ports: Ports) -> dict[str, Place]:
    """Returns the places of those URIs that lead to files; links are resolved on the disk."""
    names = list(dict.fromkeys(uris))[: LIMIT_DOCUMENTS + LIMIT_HIDDEN]
    resolved = await asyncio.gather(*(asyncio.to_thread(ports.workspace.resolve, uri) for uri in names))
    return {uri: place for uri, place in zip(names, resolved, strict=True) if isinstance(place, Place)}


def _may_read(place: Place, rights: Rights) -> bool:
    request = Request(tool=READ, kind=ToolKind.READ, places=(place,))
    return isinstance(verdict(request, rights), Allow)


async def _documents(places: Mapping[str, Place], ports: Ports) -> dict[str, _Read]:
    shown_of = dict(list(places.items())[:LIMIT_DOCUMENTS])
    documents = await asyncio.gather(*(ports.editor.read(place.uri) for place in shown_of.values()))
    return {
        uri: _Read(path=place.path, rows=document.text.rows)
        for (uri, place), document in zip(shown_of.items(), documents, strict=True)
        if isinstance(document, Document)
    }


def _line(document: _Read, spot: Spot) -> Line:
    row = (
        document.rows[spot.line]
        if spot.line < len(document.rows)
        else "(the document no longer has this line)"
    )
    name = f"  [{_plain(spot.name, ROW_CHARS)}]" if spot.name else ""
    return Line(path=document.path, line_number=spot.line + 1, row=row[:ROW_CHARS] + name)


def _why_hidden(spot: Spot, place: Place | None) -> str:
    name = f"{_plain(spot.name, ROW_CHARS)} in " if spot.name else ""
    if place is None:
        why = "its line is not shown: the file cannot be read, or there are too many results"
        return f"{name}{_plain(spot.uri, PATH_CHARS)} ({why})"
    why = ASKED.get(place.kind, "Its text is not shown here; read the file.")
    return f"{name}{_plain(place.path, PATH_CHARS)}:{spot.line + 1} ({why})"


def _plain(text: str, limit: int) -> str:
    return sanitize.clean(text, limit).replace("\n", " ").replace("\t", " ")
