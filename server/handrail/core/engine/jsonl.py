"""
The lines that a harness and the edit engine exchange: JSON in, JSON out, one object a line.

A line that is not a request is answered with `bad-request`, whatever it contains; nothing raises. Requests
are carried out in `engine`; lines are read and written elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import NoReturn

from handrail.core.documents.text import to_lf
from handrail.core.engine import engine
from handrail.core.engine.engine import Patch, Replace, Reply, Request
from handrail.core.failure import Failure, why_not_json
from handrail.core.patches.hunk import Hunk
from handrail.core.patches.notations import NOTATIONS

BAD_REQUEST = "bad-request"  # no `Code`: it says something of a line, never of an edit

Scalar = str | int | float | None


class BadRequest(Exception):
    """A line is not a request; the text says why."""


def answer(line: bytes) -> dict[str, object]:
    """
    Carry out the request on *line*.

    Returns:
        The reply as a JSON object, without `ms`. A reply without `after_b64` or `files` means that nothing
        changed; `files` holds those that did, null for one that is gone.
    """
    name: Scalar = None
    try:
        fields = _object(line)
        name = _id(fields)
        request = _request(fields)
    except BadRequest as error:
        return refusal(str(error), name)
    return _reply(name, request, engine.carry_out(request))


def refusal(why: str, name: Scalar = None, code: str = BAD_REQUEST) -> dict[str, object]:
    """The reply to a line that is not a request, or could not be applied."""
    return {"id": name, "status": "failed", "code": code, "message": why, "tier": None}


def encode(reply: Mapping[str, object]) -> bytes:
    """A reply as one line, in ASCII, which any pipe carries."""
    return json.dumps(reply, separators=(",", ":")).encode("ascii") + b"\n"


def _reply(name: Scalar, request: Request, done: Reply) -> dict[str, object]:
    fields: dict[str, object] = {
        "id": name,
        "status": done.status.value,
        "code": done.failure.code.value if done.failure is not None else None,
        "message": _report(done.failure) if done.failure is not None else " ".join(done.notes) or None,
        "tier": done.tier.value if done.tier is not None else None,
    }
    files = {
        path: None if raw is None else base64.b64encode(raw).decode() for path, raw in done.files.items()
    }
    if files and isinstance(request, Replace):
        fields["after_b64"] = files[request.path]
    elif files:
        fields["files"] = files
    return fields


def _report(failure: Failure) -> str:
    return "\n".join((failure.message, *(f"{n}. {step}" for n, step in enumerate(failure.steps, 1))))


# ---- Requests -------------------------------------------------------------------------------------

Fields = Mapping[str, object]


def _object(line: bytes) -> Fields:
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_not_json)
    except UnicodeDecodeError as error:
        raise BadRequest(
            f"The line is not UTF-8: it has the byte 0x{line[error.start]:02X} at offset {error.start:,}."
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"The line is not JSON: {why_not_json(error)}.") from error
    if not isinstance(value, dict):
        raise BadRequest("The line must be one JSON object.")
    return value


def _not_json(name: str) -> NoReturn:
    raise BadRequest(f"The line is not JSON: {name} is not a number.")


def _id(fields: Fields) -> Scalar:
    name = fields.get("id")
    if isinstance(name, bool) or not isinstance(name, str | int | float | None):
        raise BadRequest("'id' must be a string or a number.")
    if isinstance(name, float) and name in (float("inf"), float("-inf")):
        raise BadRequest("'id' is too large a number.")
    return name


def _request(fields: Fields) -> Request:
    kind = fields.get("kind")
    if kind == "replace":
        return _replace(fields)
    notation = NOTATIONS.get(kind) if isinstance(kind, str) else None
    if notation is None:
        raise BadRequest(f"'kind' must be one of replace, {', '.join(NOTATIONS)}.")
    files = fields.get("files")
    if not isinstance(files, dict):
        raise BadRequest("'files' must be an object of path to base64.")
    raw = {_path(path, "files"): _bytes(value, f"files[{path!r}]") for path, value in files.items()}
    if len({engine.identity(path) for path in raw}) < len(raw):
        raise BadRequest("'files' has two paths for the same file.")
    return Patch(notation=notation, files=raw, patch=_text(fields.get("patch"), "patch"))


def _replace(fields: Fields) -> Replace:
    everywhere, hunks = fields.get("replace_all", False), fields.get("hunks")
    if not isinstance(everywhere, bool):
        raise BadRequest("'replace_all' must be true or false.")
    if not isinstance(hunks, list) or not hunks:
        raise BadRequest("'hunks' must be a list with at least one hunk.")
    return Replace(
        path=_path(fields.get("path"), "path"),
        before=_bytes(fields.get("before_b64"), "before_b64"),
        hunks=tuple(_hunk(hunk, number, everywhere=everywhere) for number, hunk in enumerate(hunks, 1)),
    )


def _hunk(hunk: object, number: int, *, everywhere: bool) -> Hunk:
    name = f"hunks[{number - 1}]"
    if not isinstance(hunk, dict):
        raise BadRequest(f"'{name}' must be an object.")
    start = hunk.get("start_line")
    if start is not None and (isinstance(start, bool) or not isinstance(start, int) or start < 1):
        raise BadRequest(f"'{name}.start_line' must be a line number, counted from 1, or null.")
    return Hunk(
        number=number,
        old=to_lf(_text(hunk.get("old"), f"{name}.old")),
        new=to_lf(_text(hunk.get("new"), f"{name}.new")),
        whole_lines=False,
        line_number=start,
        replace_all=everywhere,
    )


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise BadRequest(f"'{name}' must be a string.")
    if "\0" in value:
        raise BadRequest(f"'{name}' has a NUL character, which text cannot contain.")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise BadRequest(f"'{name}' has half of a surrogate pair, which cannot be encoded.")
    return value


def _path(value: object, name: str) -> str:
    path = _text(value, name)
    if not path.strip():
        raise BadRequest(f"'{name}' must be the path of a file.")
    return path


def _bytes(value: object, name: str) -> bytes:
    if not isinstance(value, str):
        raise BadRequest(f"'{name}' must be base64 in a string.")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadRequest(f"'{name}' is not valid base64.") from error
