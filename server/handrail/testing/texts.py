"""
A document as an editor holds it, by LSP's own rules, written apart from the server's code.

Lines end at CRLF, LF and CR only. A position inside a character or beyond its line is refused: an editor
would guess, and a server must not make it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

LINE_END = re.compile(r"\r\n|\n|\r")
WIDTHS: dict[str, Callable[[str], int]] = {
    "utf-8": lambda character: len(character.encode("utf-8")),
    "utf-16": lambda character: 1 + (ord(character) > 0xFFFF),
    "utf-32": lambda character: 1,
}

Json = dict[str, Any]


@lru_cache(maxsize=4)  # several positions are looked up in the same text
def line_spans(text: str) -> Sequence[tuple[int, int]]:
    """Return the start and the end of each line, without its terminator."""
    spans, start = [], 0
    for end in LINE_END.finditer(text):
        spans.append((start, end.start()))
        start = end.end()
    return [*spans, (start, len(text))]


def offset_of(text: str, position: Json, encoding: str) -> int:
    """The offset of an LSP position."""
    spans = line_spans(text)
    if position["line"] >= len(spans):
        raise AssertionError(f"{position} is beyond the last line, {len(spans) - 1}")
    start, end = spans[position["line"]]
    at, units = start, position["character"]
    while units > 0 and at < end:
        units -= WIDTHS[encoding](text[at])
        at += 1
    if units:
        raise AssertionError(f"{position} is not a place in {text[start:end]!r} ({encoding})")
    return at


def nearest_offset(text: str, position: Json, encoding: str) -> int:
    """The offset of an LSP position, or the nearest one to it that there is."""
    spans = line_spans(text)
    if position["line"] >= len(spans):
        return len(text)
    start, end = spans[position["line"]]
    at, units = start, position["character"]
    while at < end and units >= WIDTHS[encoding](text[at]):
        units -= WIDTHS[encoding](text[at])
        at += 1
    return at


def difference(one: str, other: str) -> tuple[int, int, str]:
    """The one replacement that makes *other* of *one*: the span in *one*, and what comes instead."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    while start and one[start - 1] == "\r":
        start -= 1
    rest = shorter - start
    tail = next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)
    while tail and one[len(one) - tail] == "\n":
        tail -= 1
    return start, len(one) - tail, other[start : len(other) - tail]


def position_of(text: str, offset: int, encoding: str) -> Json:
    """The LSP position of an offset."""
    spans = line_spans(text)
    line = max(number for number, (start, _) in enumerate(spans) if start <= offset)
    start, end = spans[line]
    if offset > end:
        raise AssertionError(f"offset {offset} is inside a line ending")
    return {"line": line, "character": sum(map(WIDTHS[encoding], text[start:offset]))}


@dataclass
class Buffer:
    """
    An open document.

    Attributes:
        version: Of the text; the next one is beyond `ticks` too.
        pending: The changes that the server has not been told about.
        told: The text that it has been told about.
        is_silent: Whether it is told nothing for the time being.
        past: The texts to which undoing leads back, the latest last.
        saved_eol: What is written for a line end, if it is not the one in the text.
    """

    uri: str
    text: str
    version: int
    ticks: int = 0
    pending: list[Json] = field(default_factory=list)
    told: str = ""
    is_silent: bool = False
    past: list[str] = field(default_factory=list)
    saved_eol: str | None = None
    bom: bool = False

    @property
    def saved(self) -> bytes:
        """The bytes that saving writes."""
        text = self.text if self.saved_eol is None else LINE_END.sub(self.saved_eol, self.text)
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode("utf-8")

    def change(self, start: int, end: int, new: str, encoding: str) -> None:
        """Replace a span; the change is pending until it is told."""
        span = {
            "start": position_of(self.text, start, encoding),
            "end": position_of(self.text, end, encoding),
        }
        self.text = self.text[:start] + new + self.text[end:]
        self.version = max(self.version, self.ticks) + 1
        self.pending.append({"range": span, "text": new})

    def replace_text(self, text: str, encoding: str) -> None:
        """Replace what differs from *text*."""
        if text != self.text:
            self.change(*difference(self.text, text), encoding)

    def edit(self, edits: list[Json], encoding: str, *, blindly: bool = False) -> None:
        """
        Apply an edit's text edits, whose ranges are all those of the text before.

        Args:
            blindly: Whether a place that there is not means the nearest one.
        """
        find = nearest_offset if blindly else offset_of
        spans = [
            (
                find(self.text, edit["range"]["start"], encoding),
                find(self.text, edit["range"]["end"], encoding),
                number,
                edit["newText"],
            )
            for number, edit in enumerate(edits)
        ]
        ordered = sorted(spans, key=lambda span: (span[0], span[2]))
        for (_, end, *_), (start, *_) in pairwise(ordered):
            assert end <= start, "text edits overlap"
        for start, end, _, new in reversed(ordered):
            self.change(start, end, new, encoding)
