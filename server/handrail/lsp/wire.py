"""
Read and write the protocol's values as JSON objects.

Reading is strict about types (a number is not a string) and lenient about unknown fields. Errors name the
field, so that a client's author finds it. Optional fields are left out, not null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Literal, TypeVar, get_args, get_origin

from cattrs import ClassValidationError, Converter, transform_error
from cattrs.cols import list_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from handrail.ports import HandrailError

T = TypeVar("T")

HALF_PAIR = re.compile("[\ud800-\udfff]")
SHOWN_CHARS = 60  # of a wrong value


class InvalidParams(Exception):
    """The params of a message are wrong; the text names the field."""


class Refused(HandrailError):
    """Something that a person asked for cannot be done now; the text tells them why, and what to do."""


def camel(name: str) -> str:
    """`input_tokens` as `inputTokens`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def read(kind: type[T], value: object) -> T:
    """*value* (JSON) as a *kind*; an absent value is an empty object. Raises InvalidParams."""
    try:
        return CONVERTER.structure({} if value is None else value, kind)
    except ClassValidationError as error:
        raise InvalidParams(explain(error, "params")) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidParams(f"params: {error}") from error


def explain(error: BaseException, path: str) -> str:
    """Returns why a message cannot be read, and in which field below *path*."""
    errors = [
        line.rpartition(" @ ") for line in transform_error(error, path=path, format_exception=_describe)
    ]
    fields = [(what, re.sub(r"_([a-z])", _upper, at).lstrip(".")) for what, _, at in errors]
    return "; ".join(f"{what} @ {at}" if at else what for what, at in fields)


def write(value: object) -> object:
    """A value of the protocol, or a list of them, as JSON."""
    return CONVERTER.unstructure(value)


def flat(nested: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested settings as one level of dotted names: `{"edits": {"x": 1}}` is `{"edits.x": 1}`."""
    result: dict[str, object] = {}
    for name, value in nested.items():
        if isinstance(value, Mapping):
            result |= flat(value, f"{prefix}{name}.")
        else:
            result[f"{prefix}{name}"] = value
    return result


def half_pair(text: str) -> str:
    """Names the first half of a surrogate pair in *text*, which no name has; empty if there is none."""
    found = HALF_PAIR.search(text)
    return "" if found is None else f"half of a surrogate pair (U+{ord(found[0]):04X})"


def _strict(kind: type) -> Callable[[object, type], object]:
    def hook(value: object, _: type) -> object:
        if type(value) is kind or (kind is float and type(value) is int):
            return value
        raise ValueError(f"expected {NAMES[kind]}, got {_show(value)}")

    return hook


def _choice(value: object, kind: object) -> object:
    choices = get_args(kind)
    if value in choices:
        return value
    *most, last = map(repr, choices)
    raise ValueError(f"expected {', '.join(most)} or {last}, got {_show(value)}")


def _describe(error: BaseException, _kind: object) -> str:
    """One thing that is wrong."""
    return "required field missing" if isinstance(error, KeyError) else str(error)


def _upper(part: re.Match[str]) -> str:
    return part[1].upper()


def _show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= SHOWN_CHARS else shown[: SHOWN_CHARS - 1] + "…"


PLAIN: dict[type, str] = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
NAMES = {**PLAIN, dict: "an object", list: "a list"}


def _converter() -> Converter:
    converter = Converter()
    for kind in PLAIN:
        converter.register_structure_hook(kind, _strict(kind))

    converter.register_structure_hook_func(_is_choice, _choice)

    def renames(kind: type) -> dict[str, object]:
        return {field.name: override(rename=camel(field.name)) for field in fields(kind)}

    converter.register_structure_hook_factory(
        _is_list,
        lambda kind: _restrict_to(list, list_structure_factory(kind, converter)),
    )
    converter.register_structure_hook_factory(
        is_dataclass,
        lambda kind: _restrict_to(dict, make_dict_structure_fn(kind, converter, **renames(kind))),  # type: ignore[arg-type]  # cattrs types overrides as one parameter
    )
    converter.register_unstructure_hook_factory(
        is_dataclass,
        lambda kind: make_dict_unstructure_fn(kind, converter, _cattrs_omit_if_default=True, **renames(kind)),  # type: ignore[arg-type]  # as above
    )
    return converter


def _is_choice(kind: object) -> bool:
    return get_origin(kind) is Literal


def _is_list(kind: object) -> bool:
    return get_origin(kind) is list


def _restrict_to(json: type, structure: Callable[..., object]) -> Callable[[object, type], object]:
    """A hook that takes nothing but an object, or nothing but a list; cattrs would iterate over a string."""

    def hook(value: object, kind: type) -> object:
        if not isinstance(value, json):
            raise ValueError(f"expected {NAMES[json]}, got {_show(value)}")
        return structure(value, kind)

    return hook


CONVERTER = _converter()
