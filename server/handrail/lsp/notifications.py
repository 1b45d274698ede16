"""
Decode the notifications that a keystroke sends, without the machinery for all other messages.

`textDocument/didOpen`, `didChange` and `didClose` are read here only if they are exactly as LSP has them. For
anything else `decode` returns None and the message is handled by the general code, which can convert, refuse
and explain. The result here equals that of the general code.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lsprotocol import types as lsp

MARK = b"/did"  # in each of these methods; some clients escape the slash, which keeps it
LIMIT = 2**31 - 1  # of LSP's numbers
DECODER = json.JSONDecoder()

Decoded = lsp.DidOpenTextDocumentParams | lsp.DidChangeTextDocumentParams | lsp.DidCloseTextDocumentParams


class _UnlikeError(Exception):
    """A message is not exactly as LSP has it."""


def decode(body: bytes) -> tuple[str, Decoded] | None:
    """Returns the method and the params of a sound notification about a document; None for all else."""
    if MARK not in body or body.count(b"jsonrpc") != 1:  # an object within it may look like a message
        return None
    try:
        text = body.decode("utf-8", "surrogatepass")  # as `json.loads` reads bytes that hold the mark
        message, end = DECODER.raw_decode(text)
        if end != len(text) or "id" in message or message["jsonrpc"] != "2.0":
            return None
        method = message["method"]
        return method, READERS[method](message["params"])
    except (ValueError, KeyError, TypeError, _UnlikeError):
        return None


# ---- Readers, which raise KeyError, TypeError or _UnlikeError for what is not exactly as LSP has it ----


def _decode_open(params: Any) -> Decoded:
    item = params["textDocument"]
    document = lsp.TextDocumentItem(
        uri=_text(item["uri"]),
        language_id=_text(item["languageId"]),
        version=_number(item["version"], -LIMIT - 1),
        text=_text(item["text"]),
    )
    return lsp.DidOpenTextDocumentParams(document)


def _decode_change(params: Any) -> Decoded:
    named, changes = params["textDocument"], params["contentChanges"]
    if type(changes) is not list:
        raise _UnlikeError
    document = lsp.VersionedTextDocumentIdentifier(_number(named["version"], -LIMIT - 1), _text(named["uri"]))
    return lsp.DidChangeTextDocumentParams(document, tuple(map(_change, changes)))


def _change(value: Any) -> lsp.TextDocumentContentChangeEvent:
    text = _text(value["text"])
    if "range" not in value:
        if "rangeLength" in value:
            raise _UnlikeError
        return lsp.TextDocumentContentChangeWholeDocument(text)
    start, end = value["range"]["start"], value["range"]["end"]
    between = lsp.Range(_position(start), _position(end))
    length = value.get("rangeLength")
    return lsp.TextDocumentContentChangePartial(between, text, length if length is None else _number(length))


def _position(value: Any) -> lsp.Position:
    return lsp.Position(_number(value["line"]), _number(value["character"]))


def _decode_close(params: Any) -> Decoded:
    return lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(_text(params["textDocument"]["uri"])))


def _text(value: object) -> str:
    if type(value) is not str:
        raise _UnlikeError
    return value


def _number(value: object, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= LIMIT:
        raise _UnlikeError
    return value


READERS: dict[str, Callable[[Any], Decoded]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: _decode_open,
    lsp.TEXT_DOCUMENT_DID_CHANGE: _decode_change,
    lsp.TEXT_DOCUMENT_DID_CLOSE: _decode_close,
}
