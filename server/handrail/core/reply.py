"""
Find the edit blocks in a reply copied from any chat, in order, and the prose around them.

Read are V4A envelopes, SEARCH/REPLACE blocks under a file name, unified diffs, and fences that carry a
whole file and its path. What a block says is read by `patch`; nothing is judged here, so a block that is
cut short is handed on as it is and fails where its notation is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from handrail.core.patch import BEGIN, END, REPLACE, SEARCH, is_file_head
from handrail.core.text import to_lf

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([^`]*)$")
DIFF_BODY = re.compile(
    r"^[ +\-@\\]|^$|^(diff |index |new file|deleted file|old mode|new mode|rename |similarity )"
)
DIFF_START = re.compile(r"^diff --git ")
DECORATION = re.compile(
    r"^(?:#{1,6}\s+|[-*]\s+)?(?:(?:file(?:name)?|path)\s*:\s*)?(.*?)\s*:?$", re.IGNORECASE
)
WRAPPED = re.compile(r"^(?:\*\*|__)?`?\"?([^`*\"]+?)\"?`?(?:\*\*|__)?:?$")
PATH = re.compile(r"^(?!https?:)[^\s<>|\"'`*?:;,(){}][^<>|\"'`*?;{}\n]*$")
EXTENSION = re.compile(r"\.[A-Za-z0-9_+-]{1,12}$")
NAMED = re.compile(r"^(?:title|file|filename|path)=[\"']?([^\"']+)[\"']?$", re.IGNORECASE)
BARE_NAMES = frozenset({"Makefile", "Dockerfile", "LICENSE", "README", "CHANGELOG", "Justfile", "Gemfile"})


class Notation(StrEnum):
    """How a block is written."""

    V4A = "v4a"
    SEARCH_REPLACE = "search_replace"
    UNIFIED = "udiff"
    WHOLE_FILE = "whole_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """
    One edit block.

    Attributes:
        notation: How it is written.
        path: The file name that stands by it; empty where the text itself names files, or none was found.
        text: The block with LF; for a whole file its content.
    """

    notation: Notation
    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The blocks of a reply in order, all SEARCH/REPLACE blocks of one file as one; and the rest of it."""

    blocks: tuple[Block, ...]
    prose: str


def read(reply: str) -> Reply:
    """Find the blocks of *reply*."""
    reader = _Reader(to_lf(reply).split("\n"))
    reader.run()
    prose = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in reader.prose)).strip()
    return Reply(blocks=_grouped(reader.blocks), prose=prose)


def _grouped(blocks: list[Block]) -> tuple[Block, ...]:
    kept: list[Block] = []
    first: dict[str, int] = {}
    for block in blocks:
        if block.notation is Notation.SEARCH_REPLACE and block.path in first:
            earlier = kept[first[block.path]]
            kept[first[block.path]] = Block(
                notation=block.notation, path=block.path, text=f"{earlier.text}\n{block.text}"
            )
            continue
        if block.notation is Notation.SEARCH_REPLACE:
            first[block.path] = len(kept)
        kept.append(block)
    return tuple(kept)


class _Reader:
    """One pass over the lines of a reply."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.blocks: list[Block] = []
        self.prose: list[str] = []
        self.path = ""
        self.wrapping = ""  # the mark of a fence that only wraps blocks, until it is closed

    def run(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.rstrip() == BEGIN:
                self._until(Notation.V4A, lambda at: self.lines[at].rstrip() == END)
            elif SEARCH.match(line):
                self.path = self._path_above() or self.path
                self._until(Notation.SEARCH_REPLACE, lambda at: bool(REPLACE.match(self.lines[at])))
            elif DIFF_START.match(line) or is_file_head(self.lines, self.at):
                self._diff()
            elif fence := FENCE.match(line):
                self._fence(fence)
            else:
                self.prose.append(line)
                self.at += 1

    def _until(self, notation: Notation, is_last: object) -> None:
        assert callable(is_last)
        end = next((at for at in range(self.at + 1, len(self.lines)) if is_last(at)), len(self.lines) - 1)
        path = self.path if notation is Notation.SEARCH_REPLACE else ""
        self._take(notation, path, end + 1)

    def _take(self, notation: Notation, path: str, end: int) -> None:
        text = "\n".join(self.lines[self.at : end])
        self.blocks.append(Block(notation=notation, path=path, text=text))
        self.at = end

    def _diff(self) -> None:
        end = self.at + 1
        while end < len(self.lines) and self._is_diff_line(end):
            end += 1
        while not self.lines[end - 1].strip():
            end -= 1
        self._take(Notation.UNIFIED, "", end)

    def _is_diff_line(self, at: int) -> bool:
        line = self.lines[at]
        if line.strip():
            return bool(DIFF_BODY.match(line)) and not FENCE.match(line)
        rest = next((later for later in self.lines[at:] if later.strip()), "")
        return bool(re.match(r"^[+\-@ ]|^diff ", rest)) and not FENCE.match(rest)

    def _fence(self, fence: re.Match[str]) -> None:
        if self.wrapping and fence[1].startswith(self.wrapping) and not fence[2].strip():
            self.wrapping = ""
            self.at += 1
            return
        closing = self._closing(fence[1])
        body = range(self.at + 1, closing)
        if any(self._opens_block(at) for at in body):
            self.path = _path_in_info(fence[2]) or self._path_above() or self.path
            self.wrapping = fence[1]
            self.at += 1
            return
        path = _path_in_info(fence[2]) or self._path_above(strict=True)
        if path:
            text = "".join(self.lines[at] + "\n" for at in body)
            self.blocks.append(Block(notation=Notation.WHOLE_FILE, path=path, text=text))
            self._drop_path_line(path)
        else:
            self.prose += self.lines[self.at : closing + 1]
        self.at = closing + 1

    def _closing(self, mark: str) -> int:
        pattern = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}\s*$")
        return next(
            (at for at in range(self.at + 1, len(self.lines)) if pattern.match(self.lines[at])),
            len(self.lines),
        )

    def _opens_block(self, at: int) -> bool:
        line = self.lines[at]
        return line.rstrip() == BEGIN or bool(SEARCH.match(line)) or is_file_head(self.lines, at)

    def _path_above(self, *, strict: bool = False) -> str:
        """The file name on the nearest line above that is neither blank nor a fence."""
        for at in range(self.at - 1, max(-1, self.at - 4), -1):
            line = self.lines[at].strip()
            if not line or FENCE.match(line):
                continue
            if REPLACE.match(line):
                return ""
            path = _path_in_line(line, strict=strict)
            if path:
                self._drop_path_line(path)
            return path
        return ""

    def _drop_path_line(self, path: str) -> None:
        """The name of a file above its block is no prose, and neither is the fence between them."""
        while self.prose and (not self.prose[-1].strip() or FENCE.match(self.prose[-1])):
            self.prose.pop()
        if self.prose and _path_in_line(self.prose[-1].strip(), strict=False) == path:
            self.prose.pop()


def _path_in_line(line: str, *, strict: bool) -> str:
    if line.startswith(("```", "~~~")):
        return _path_in_info(line.strip("`~ "))
    decorated = DECORATION.match(line)
    wrapped = WRAPPED.match(decorated[1].strip()) if decorated else None
    path = wrapped[1].strip() if wrapped else ""
    if not PATH.match(path) or len(path) > 200:
        return ""
    looks = bool(EXTENSION.search(path)) or path in BARE_NAMES or ("/" in path and " " not in path)
    plain = " " not in path and not strict and not path.endswith(".")
    return path if (looks and not path.endswith(".")) or plain else ""


def _path_in_info(info: str) -> str:
    for word in reversed(info.strip().split()):
        named = NAMED.match(word)
        if named:
            return named[1]
        name = word.partition(":")[2] or word
        if PATH.match(name) and (EXTENSION.search(name) or "/" in name or name in BARE_NAMES):
            return name
    return ""
