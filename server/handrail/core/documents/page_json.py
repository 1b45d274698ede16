"""
A page that handrail and its user write together, as JSON, so that the owners of lines survive a restart.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from handrail.core.documents.page import Line, Page


def as_json(page: Page) -> str:
    """The page as JSON."""
    return json.dumps([_line_json(line) for line in page.lines])


def _line_json(line: Line) -> list[object]:
    over = None if line.over is None else _line_json(line.over)
    return [line.text, line.part, line.number, line.is_code, over]


def read(text: str) -> Page | None:
    """What `as_json` has written; None if it is nothing of the kind."""
    try:
        return Page(lines=tuple(map(_read, json.loads(text))))
    except (ValueError, TypeError, RecursionError):
        return None


def _read(value: Sequence[Any]) -> Line:
    text, part, number, is_code, over = value
    return Line(
        text=str(text),
        part=None if part is None else str(part),
        number=int(number),
        is_code=bool(is_code),
        over=None if over is None else _read(over),
    )
