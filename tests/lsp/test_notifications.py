"""Notifications about documents, decoded by us and by lsprotocol: equal values, or left to lsprotocol."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp
from pygls.protocol import default_converter

from handrail.lsp import notifications

CONVERTER = default_converter()
KINDS: dict[str, Any] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: lsp.DidOpenTextDocumentNotification,
    lsp.TEXT_DOCUMENT_DID_CHANGE: lsp.DidChangeTextDocumentNotification,
    lsp.TEXT_DOCUMENT_DID_CLOSE: lsp.DidCloseTextDocumentNotification,
}

# ---- Messages, mostly sound -------------------------------------------------------------------------

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**33), 2**33),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["line", "uri", "text", "x"]), st.integers(), max_size=2),
)
texts = st.text(st.characters(codec="utf-8"), max_size=9)
numbers = st.integers(0, 2**31 - 1)


def mostly(sound: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A sound value, and one time in twenty any other."""
    return st.integers(0, 19).flatmap(lambda at: odd if at == 0 else sound)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object, now and then without one of its fields or with one more."""
    sound = {name: mostly(value) for name, value in fields.items()}
    return st.one_of(
        st.fixed_dictionaries(sound),
        st.fixed_dictionaries(sound, optional={"rangeLength": mostly(numbers), "extra": odd}),
        st.integers(0, 4).flatmap(
            lambda at: st.fixed_dictionaries(sound if at else {}, optional={} if at else sound)
        ),
    )


position = record(line=numbers, character=numbers)
between = record(start=position, end=position)
change = st.one_of(record(text=texts, range=between), record(text=texts))
PARAMS: dict[str, st.SearchStrategy[Any]] = {
    lsp.TEXT_DOCUMENT_DID_OPEN: record(
        textDocument=record(
            uri=texts, languageId=st.sampled_from(["python", "odd"]), version=numbers, text=texts
        )
    ),
    lsp.TEXT_DOCUMENT_DID_CHANGE: record(
        textDocument=record(uri=texts, version=numbers), contentChanges=st.lists(mostly(change), max_size=3)
    ),
    lsp.TEXT_DOCUMENT_DID_CLOSE: record(textDocument=record(uri=texts)),
}
messages = st.sampled_from(list(PARAMS)).flatmap(
    lambda method: st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0"), "method": st.just(method), "params": mostly(PARAMS[method])}
    )
)


@given(messages, st.booleans())
def test_what_is_decoded_is_what_lsprotocol_reads(message: dict[str, Any], ascii_only: bool) -> None:
    body = json.dumps(message, ensure_ascii=ascii_only).encode("utf-8")
    decoded = notifications.decode(body)
    if decoded is not None:
        method, params = decoded
        assert params == CONVERTER.structure(json.loads(body), KINDS[method]).params


SOUND_CHANGE = {
    "jsonrpc": "2.0",
    "method": "textDocument/didChange",
    "params": {
        "textDocument": {"uri": "file:///a", "version": 3},
        "contentChanges": [
            {
                "range": {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 4}},
                "rangeLength": 2,
                "text": "é\ud83d",
            },
            {"text": "all"},
        ],
    },
}
SOUND_OPEN = {
    "jsonrpc": "2.0",
    "method": "textDocument/didOpen",
    "params": {
        "textDocument": {"uri": "file:///a", "languageId": "python", "version": -1, "text": "one\r\n"}
    },
}
SOUND_CLOSE = {
    "jsonrpc": "2.0",
    "method": "textDocument/didClose",
    "params": {"textDocument": {"uri": "file:///a"}},
}
SOUND = [SOUND_CHANGE, SOUND_OPEN, SOUND_CLOSE]


@pytest.mark.parametrize("message", SOUND)
@pytest.mark.parametrize("order", [list, reversed], ids=["as-written", "params-first"])
def test_sound_messages_are_decoded(message: dict[str, Any], order: Any) -> None:
    body = json.dumps({name: message[name] for name in order(list(message))}).encode()
    wanted = CONVERTER.structure(json.loads(body), KINDS[message["method"]]).params
    assert notifications.decode(body) == (message["method"], wanted)
    assert notifications.decode(body.replace(b"/did", b"\\/did")) == (message["method"], wanted)


LEFT = [
    {**SOUND_CLOSE, "id": 1},
    {**SOUND_CLOSE, "jsonrpc": "1.0"},
    {**SOUND_CLOSE, "method": "textDocument/didSave"},
    {**SOUND_CLOSE, "params": {"textDocument": {"uri": 5}}},
    {**SOUND_CLOSE, "params": {"textDocument": {"uri": "a", "jsonrpc": "2.0"}}},
    {**SOUND_CLOSE, "params": None},
    ["/did", "jsonrpc"],
    {**SOUND_CHANGE, "params": {"textDocument": {"uri": "a", "version": True}, "contentChanges": []}},
    {**SOUND_CHANGE, "params": {"textDocument": {"uri": "a", "version": 1}, "contentChanges": {}}},
    {**SOUND_CHANGE, "params": {"textDocument": {"uri": "a", "version": 1}, "contentChanges": ["text"]}},
]


@pytest.mark.parametrize("message", LEFT, ids=range(len(LEFT)))
def test_all_else_is_left_to_the_common_road(message: object) -> None:
    assert notifications.decode(json.dumps(message).encode()) is None


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(SOUND_CLOSE).encode()[:-1],
        json.dumps(SOUND_CLOSE).encode() + b"{}",
        json.dumps(SOUND_CLOSE).encode("utf-16-le"),
        b"\xef\xbb\xbf" + json.dumps(SOUND_CLOSE).encode(),
        json.dumps(SOUND_CLOSE).encode().replace(b"file", b"\xff"),
    ],
    ids=["cut", "two", "utf-16", "mark", "no-utf-8"],
)
def test_bytes_that_are_not_one_message_are_left(body: bytes) -> None:
    assert notifications.decode(body) is None
