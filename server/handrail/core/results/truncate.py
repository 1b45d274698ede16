"""
Shorten an output that is too long for the model: its head and its tail stay, the middle is left out.

It is cut at line endings if there are any nearby. In its place is a marker, announced above the output by a
name that occurs nowhere in it, so neither the output itself nor a careless reader can take it for content.
The whole output is stored elsewhere.
"""

from __future__ import annotations

import re
from itertools import count

from handrail.core.documents.text import TERMINATOR
from handrail.core.failure import Span
from handrail.values import dataclass

LIMIT_CHARS = 100_000
HEAD_SHARE = 0.4  # build and test errors come last (roo-comparison, part 1)
NAME = re.compile(r"<<cut-(\d{1,9})>>")
LEAST_SHARE = 0.5  # of the room; where the nearest line end costs more, the cut is inside a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """
    The part that is left out of an output.

    Attributes:
        missing: Offsets of the part that is left out.
        first_line_number, last_line_number: The lines that it touches, counted from 1.
        in_head_line, in_tail_line: Whether the cut is inside a line, where it begins and where it ends.
    """

    missing: Span
    first_line_number: int
    last_line_number: int
    in_head_line: bool
    in_tail_line: bool


def head_tail(output: str, limit_chars: int = LIMIT_CHARS) -> Cut | None:
    """
    Choose what to leave out of *output*.

    Args:
        limit_chars: How many characters may stay; at least 10.

    Returns:
        None if all of it may stay; else a cut of which head and tail together have at most that many.

    Cost: one pass.
    Origin: roo-comparison 1; behaviour.md row 30.
    """
    if len(output) <= limit_chars:
        return None
    head_room = int(limit_chars * HEAD_SHARE)
    start = line_start_before(output, head_room)
    end = _on_to_line_start(output, len(output) - (limit_chars - head_room))
    first = len(TERMINATOR.findall(output, 0, start)) + 1
    missing = output[start:end]
    ends = len(TERMINATOR.findall(missing))
    is_whole = _starts_line(output, end)
    return Cut(
        missing=Span(start=start, end=end),
        first_line_number=first,
        last_line_number=first + ends - (1 if is_whole and ends else 0),
        in_head_line=not _starts_line(output, start),
        in_tail_line=not is_whole,
    )


def shorten(output: str, cut: Cut, spill: str | None) -> str:
    """
    Show *output* with the marker in the place of what is left out.

    Args:
        spill: The id under which the whole is kept; None if it could not be stored.
    """
    name = _name(output)
    size = cut.missing.end - cut.missing.start
    if spill is None:
        where = "they could not be stored"
    else:
        where = f'read_output {{"output": "{spill}", "offset": {cut.missing.start}}} reads them'
    lines = f"lines {cut.first_line_number:,} to {cut.last_line_number:,}"
    if cut.first_line_number == cut.last_line_number:
        lines = f"line {cut.first_line_number:,}"
    partly = ", partly" if cut.in_head_line or cut.in_tail_line else ""
    head, tail = output[: cut.missing.start], output[cut.missing.end :]
    glue = "" if head.endswith("\n") else "\n"
    return (
        f"This output has {len(output):,} characters. {size:,} of them ({lines}{partly})"
        f" are left out at {name}; {where}.\n{head}{glue}{name}\n{tail}"
    )


def line_start_before(output: str, offset: int) -> int:
    """The last start of a line at or before *offset*; *offset* itself if that would cost half the way."""
    if _starts_line(output, offset):
        return offset
    end = _inside(output, offset)
    start = max(output.rfind("\n", 0, end), output.rfind("\r", 0, end)) + 1
    return start if start > offset * LEAST_SHARE else end


def _name(output: str) -> str:
    """A name for the marker that the output does not have anywhere."""
    taken = set(NAME.findall(output))
    number = next(number for number in count(1) if str(number) not in taken)
    return f"<<cut-{number}>>"


def _starts_line(output: str, offset: int) -> bool:
    before = output[max(0, offset - 1) : offset]
    return before in ("", "\n") or (before == "\r" and output[offset : offset + 1] != "\n")


def _on_to_line_start(output: str, offset: int) -> int:
    """The first start of a line at or after *offset*; *offset* itself if that is too far away."""
    if _starts_line(output, offset):
        return offset
    found = TERMINATOR.search(output, offset)
    room = len(output) - offset
    if found is None or found.end() - offset > room * LEAST_SHARE:
        return _inside(output, offset)
    return found.end()


def _inside(output: str, offset: int) -> int:
    """An offset inside a line, but not between CR and LF."""
    return offset - 1 if output[offset - 1 : offset + 1] == "\r\n" else offset
