"""Strings of clients with half of a surrogate pair: each request works or names the field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from itertools import product
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from pygls.exceptions import JsonRpcException

from e2e.client import expect_error
from e2e.conftest import Stage
from e2e.habits import VSCODE, Habits
from e2e.prompts import block
from handrail.lsp import protocol
from handrail.lsp.wire import camel

pytestmark = pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])

HALVES = ("a\udfff", "scripted:\ud83d", "file:///\ud800.txt", "/\ud800")
INVALID, FAILED = -32602, -32803

Path = tuple[str | int, ...]


def example(kind: Any, known: Mapping[str, str]) -> Any:
    """A valid value of a type of the protocol, with all of its fields; *known* are strings, by field."""
    if get_origin(kind) in (UnionType, Union):
        return example(next(each for each in get_args(kind) if each is not type(None)), known)
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is list:
        return [example(get_args(kind)[0], known)]
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return {
            camel(each.name): known.get(each.name) or example(hints[each.name], known)
            for each in fields(kind)
        }
    return {str: "x", int: 0, float: 0.0, bool: False}[kind]


def required(kind: Any, given: dict[str, Any], kept: str) -> dict[str, Any]:
    """Those of the *given* fields that have no default, and the one that is *kept*."""
    names = {camel(each.name) for each in fields(kind) if each.default is MISSING}
    return {name: value for name, value in given.items() if name in {*names, kept}}


def strings(value: Any, at: Path = ()) -> Iterator[Path]:
    """Where strings are in a value."""
    if isinstance(value, str):
        yield at
    elif isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings(each, (*at, key))


def put(value: Any, at: Path, text: str) -> Any:
    """A copy of *value* with another string at a place."""
    if not at:
        return text
    copy = value.copy()
    copy[at[0]] = put(value[at[0]], at[1:], text)
    return copy


async def test_each_request_with_half_of_a_surrogate_pair_works_or_is_refused(
    stage: Stage, habits: Habits
) -> None:
    uri = stage.put("a.txt", "one\n").as_uri()
    editor = await stage.start(habits)
    report = await editor.turn(block("a.txt", "one", "1"))
    known = {"uri": uri, **{name: report[name] for name in ("session", "turn", "checkpoint")}}
    wrong = []
    for request in protocol.REQUESTS:
        whole = example(request.params, known)
        for at, half in product(strings(whole), HALVES):
            given = put(whole, at, half)
            for params in (given, required(request.params, given, str(at[0]))):
                try:
                    await editor.call(request.method, params)
                except JsonRpcException as error:
                    wrong += [] if error.code in (INVALID, FAILED) else [(request.name, at, half, str(error))]
    assert wrong == []
    assert editor.messages == []


NAMES: list[dict[str, str]] = [
    {"model": "\ud800"},
    {"model": "\ud800:m"},
    {"model": "openai-chat:\udfff"},
    {"model": "record:\ud800.json:paste"},
    {"model": "scripted:\ud800"},
    {"keyName": "\ud800", "model": "openai-chat:m"},
    {"baseUrl": "http://127.0.0.1:9/\ud800", "model": "openai-chat:m"},
    {"baseUrl": "http://\udfff:9/", "model": "openai-chat:m"},
]


@pytest.mark.parametrize("settings", NAMES, ids=ascii)
async def test_half_of_a_surrogate_pair_in_a_setting_is_told_and_the_default_counts(
    stage: Stage, habits: Habits, settings: dict[str, str]
) -> None:
    editor = await stage.start(habits, settings=settings)
    report = await editor.turn("Hello.")
    (told,) = (each.message for each in editor.messages)
    assert told.startswith(f"handrail: The setting handrail.{next(iter(settings))} must not contain half of ")
    of_the_default = "no model is configured" if next(iter(settings)) == "model" else "No key for openai was"
    assert of_the_default in report["reason"]


@pytest.mark.parametrize("model", ["\ud800:m", "scripted:\ud83d", "record:\ud800.json:paste"], ids=ascii)
async def test_a_model_with_half_of_a_surrogate_pair_cannot_be_chosen(
    stage: Stage, habits: Habits, model: str
) -> None:
    editor = await stage.start(habits)
    session = (await editor.turn("Hello."))["session"]
    with expect_error(FAILED, "half of a surrogate pair (U+D8"):
        await editor.request("chat.choose", session=session, model=model)
    with expect_error(INVALID, "like", "half of a surrogate pair (U+D8"):
        await editor.request("model.list", like=model)
