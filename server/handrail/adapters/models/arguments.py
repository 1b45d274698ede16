"""
Write the arguments of a call as they are sent back to the model: as the JSON text of an object.

Servers take nothing else, but models write more than JSON has. Models copy what they see themselves call, so
each argument that can be read is sent as it was meant, and no word is ours; the failure of the call says what
was wrong with it. What follows a place that cannot be read is left out.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from math import isfinite

from pydantic_core import from_json

LIMIT_DIGITS = 300  # no server counts that far, and Python reads no number of some thousand
# What `from_json` reads, but no server, or reads only in part: infinities, long numbers.
SUSPECT = re.compile(r"[eE][+-]?[0-9]{3}|[0-9]{300}")
TOKEN = re.compile(
    r"""
    (?P<string> "(?: [^"\\]+ | \\. )*"? )
    | -? (?: NaN | Infinity | [0-9]+ (?: \.[0-9]+ )? (?: [eE][+-]?[0-9]+ )? )
    """,
    re.VERBOSE | re.DOTALL,
)
HIGH, LOW, HALF = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}", "[\ud800-\udfff]"
# What a string of JSON cannot have is read into a group.
CHARACTER = re.compile(
    rf"""
    {HIGH}{LOW} | \\["\\/bfnrt]
    | (?P<half> {HIGH} | {LOW} | {HALF} )
    | \\u (?: [0-9a-fA-F]{{4}} | [0-9a-fA-F]{{0,3}}$ )
    | (?P<control> [\x00-\x1f] )
    | (?P<backslash> \\ )
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=256)  # each step sends the whole conversation again
def as_object(arguments: str) -> str:
    """Returns *arguments* as JSON text that any server reads: themselves if they are."""
    try:
        if SUSPECT.search(arguments) is None and isinstance(from_json(arguments, allow_inf_nan=False), dict):
            return arguments
    except (ValueError, TypeError):  # TypeError: half of a surrogate pair that is not escaped
        pass
    value = _read(TOKEN.sub(_write, arguments))
    return json.dumps(value) if isinstance(value, dict) else "{}"


def _read(text: str) -> object:
    """Returns the value at the beginning of *text*, as far as it can be read."""
    try:
        return from_json(text, allow_partial="trailing-strings")
    except ValueError:
        pass
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        try:
            return from_json(text[: error.pos], allow_partial="trailing-strings")
        except ValueError:
            return None
    except RecursionError:
        pass
    return None


def _write(token: re.Match[str]) -> str:
    """Returns a string or a number as JSON has it; a number that it does not have becomes a string."""
    text = token[0]
    if token["string"] is not None:
        return CHARACTER.sub(_write_character, text)
    return text if len(text) < LIMIT_DIGITS and isfinite(float(text)) else f'"{text}"'


def _write_character(character: re.Match[str]) -> str:
    if character["half"] is not None:
        return "\ufffd"
    if character["control"] is not None:
        return f"\\u{ord(character[0]):04x}"
    return "\\\\" if character["backslash"] is not None else character[0]
