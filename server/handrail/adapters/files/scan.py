"""
Search texts for a regular expression, as a process of its own that can be killed.

A search with a pattern from a model may take forever, and Python cannot stop it within a process. `find` runs
this file as a script; the request comes on standard input and the answer goes to standard output, both as
JSON. This file imports nothing but the standard library, so that it starts quickly and without the package.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LIMIT_S = 10.0
LIMIT_BYTES = 50_000_000  # a larger file is not searched
UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}  # by byte order mark
LIMIT_ROW_CHARS = 400  # of a line that is shown
LINE = re.compile(r"(?=[^\r\n]|\r|\n)([^\r\n]*)(?:\r\n|\n|\r|\Z)")


class PatternError(Exception):
    """The pattern is not a regular expression."""


class SlowError(Exception):
    """The search did not end in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document to search: the file at `path`, or `text` in place of its contents."""

    name: str
    path: str = ""
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """
    A line with a match.

    Attributes:
        source: The name of what it is in.
        line_number: Counted from 1.
        offset: Of the first match in the line, in characters from the start of the source.
        row: The line without its end, shortened around the match if it is long.
    """

    source: str
    line_number: int
    offset: int
    row: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """
    One search.

    Attributes:
        pattern: A regular expression as Python's `re` reads it; it is looked for in each line by itself.
        limit: How many lines are wanted.
    """

    pattern: str
    ignore_case: bool
    limit: int


async def find(
    scan: Scan, sources: Sequence[Source], timeout_s: float = LIMIT_S
) -> tuple[tuple[Match, ...], bool]:
    """
    Search *sources* in their order.

    Returns:
        The lines, and whether there are more. Raises PatternError, SlowError, OSError.
    """
    order = {
        "scan": [scan.pattern, scan.ignore_case, scan.limit],
        "sources": [[source.name, source.path, source.text] for source in sources],
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", __file__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name.upper() == "SYSTEMROOT"},
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_s):
            answer, _ = await process.communicate(json.dumps(order).encode("ascii"))
    except TimeoutError as error:
        raise SlowError(f"The search did not finish within {timeout_s:g} s.") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise SlowError("The search stopped without a result; the pattern may need too much memory.")
    fields = json.loads(answer)
    if "wrong" in fields:
        raise PatternError(fields["wrong"])
    matches = (
        Match(source=name, line_number=line, offset=offset, row=row)
        for name, line, offset, row in fields["matches"]
    )
    return tuple(matches), fields["more"]


# ---- In the process that searches -------------------------------------------------------------------


def main() -> None:
    """Read the order, search, answer."""
    order = json.load(sys.stdin)
    pattern, ignore_case, limit = order["scan"]
    try:
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        json.dump({"wrong": str(error)}, sys.stdout)
        return
    matches: list[tuple[str, int, int, str]] = []
    more = False
    for name, path, text in order["sources"]:
        held = _read(path) if text is None else text
        for line in _lines(compiled, held):
            if len(matches) == limit:
                more = True
                break
            matches.append((name, *line))
        if more:
            break
    json.dump({"matches": matches, "more": more}, sys.stdout)


def _read(path: str) -> str:
    """Returns the text of a file; empty if it is not text, is too large, or is gone."""
    try:
        with open(path, "rb") as file:
            raw = file.read(LIMIT_BYTES + 1)
    except OSError:
        return ""
    encoding = UTF_16.get(raw[:2])
    if encoding is not None:
        return raw[2:].decode(encoding, "replace")
    if len(raw) > LIMIT_BYTES or b"\0" in raw[:8192]:
        return ""
    return raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _lines(compiled: re.Pattern[str], text: str) -> Iterator[tuple[int, int, str]]:
    """Each line with a match: its number, the first match's offset, the line."""
    for number, line in enumerate(LINE.finditer(text), 1):
        if found := compiled.search(line[1]):
            yield number, line.start() + found.start(), show_row(line[1], found.start())


def show_row(row: str, at: int) -> str:
    """A line, or the part of a long one that has the match at *at*."""
    if len(row) <= LIMIT_ROW_CHARS:
        return row
    start = max(0, min(at - LIMIT_ROW_CHARS // 4, len(row) - LIMIT_ROW_CHARS))
    end = start + LIMIT_ROW_CHARS
    return f"{'…' if start else ''}{row[start:end]}{'…' if end < len(row) else ''}"


if __name__ == "__main__":
    main()
