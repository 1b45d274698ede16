"""
Documents that only show something: what a checkpoint differs in, and what a quick fix would write.

A client that can ask for their text is given a URI of a scheme of ours; for others they are files.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Protocol
from urllib.parse import quote, unquote, urlsplit
from zlib import crc32

from lsprotocol import types as lsp

from handrail.agent.restore.compare import compare
from handrail.core.ledger import offer
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams

SCHEME = "handrail"
FAILURE = "/failure/"  # no checkpoint has a slash in its name


class Shown(Protocol):
    """A result that comes with a document."""

    @property
    def uri(self) -> str:
        """The URI of that document."""
        ...


def of_checkpoint(checkpoint: str, against: str | None, uri: str | None) -> str:
    """The URI of the document that shows what a checkpoint differs in."""
    address = f"{SCHEME}:///{quote(checkpoint, safe='')}.diff"
    return address if against is None and uri is None else f"{address}?{_pack([against, uri])}"


def of_failure(failure: str, candidate: int | None, text: str) -> str:
    """The URI of the document that shows what a failed edit would change at its candidates, or at one."""
    # Another text has another URI: editors keep what they have read.
    name = f"{crc32(text.encode('utf-8', 'surrogatepass')):08x}.diff"
    query = _pack([failure, None if candidate is None else str(candidate)])
    return f"{SCHEME}://{FAILURE}{name}?{query}"


async def document(state: State, uri: str, name: str, text: str) -> str:
    """The URI that this client can open to read *text*: *uri*, or that of a file with that *name*."""
    return uri if state.client.virtual_documents else await state.checkpoints.write_for_editor(name, text)


async def content(state: State, uri: str) -> str:
    """The text of a virtual document. Raises InvalidParams, UnknownId, CheckpointError."""
    parts = urlsplit(uri)
    checkpoint = unquote(parts.path.removeprefix("/")).removesuffix(".diff")
    if parts.scheme != SCHEME or not checkpoint:
        raise InvalidParams(f"{uri} is not one of handrail's documents.")
    first, second = _unpack(parts.query, uri) if parts.query else (None, None)
    if not parts.path.startswith(FAILURE):
        return await compare(state.host.ports(), checkpoint, first, second)
    if first is None or not (second is None or second.isdecimal()):
        raise InvalidParams(f"{uri} is not one of handrail's documents.")
    return offer.show_fixes(state.host.failure(first), None if second is None else int(second))


def _pack(asked: list[str | None]) -> str:
    """
    As letters and digits only: VS Code decodes a query and encodes all of it again, separators included.
    """
    return urlsafe_b64encode(json.dumps(asked).encode()).decode().rstrip("=")


def _unpack(query: str, uri: str) -> tuple[str | None, str | None]:
    try:
        value = json.loads(urlsafe_b64decode(query + "=" * (-len(query) % 4)))
    except ValueError:
        value = None
    match value:
        case [str() | None as first, str() | None as second]:
            return first, second
        case _:
            raise InvalidParams(f"{uri} is not one of handrail's documents.")


def show(state: State, shown: Shown) -> None:
    """Have the editor open the document: it drops the result of a command."""
    if state.client.shows_documents:
        params = lsp.ShowDocumentParams(uri=shown.uri, take_focus=True)
        state.server.window_show_document(params)
    else:
        state.say(f"The difference is in {shown.uri}")
