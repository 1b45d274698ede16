"""
Find the prompts in a document: comments that begin with `handrail:`.

A line comment continues in the comments directly below it that have the same sign in the same column, up to
one without text, or one that is a prompt itself. A block is one prompt from its first sign to its last.
Prompts without text are left out.
"""

from __future__ import annotations

import re
from functools import lru_cache

from handrail.core.documents.in_code import syntax as languages
from handrail.core.documents.in_code.syntax import MARK, Syntax
from handrail.core.failure import Span
from handrail.values import dataclass

BLANKS = re.compile(r"[ \t]*+")
ROW = re.compile(r"[^\r\n]*+")
TERMINATOR = re.compile(r"\r\n|\n|\r")
DECORATED = re.compile(r"[ \t]*+(?:\*+(?!\w)[ \t]?)?")  # a row of a block, as in `/** … */`


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """
    A comment that asks for something.

    Attributes:
        first, last: Its rows, counted from 0, both included.
        span: From its first sign to its end, without the terminator of its last row.
        text: The request, without comment signs; its rows are joined by LF.
        is_alone: Whether its rows contain nothing else but blanks.
    """

    first: int
    last: int
    span: Span
    text: str
    is_alone: bool


def prompts(content: str, language: str, path: str) -> tuple[Prompt, ...]:
    """
    Returns the prompts of a document, in order.

    Args:
        content: All of its text.
        language: The name that the editor gives to its language, if any.
        path: Its path or URI, whose suffix tells the language otherwise.

    Cost: linear in the text; a text without the mark is only searched for it.
    """
    return _prompts(content, language, path) if MARK in content else ()


@lru_cache(maxsize=8)  # editors ask again with each move of the cursor
def _prompts(content: str, language: str, path: str) -> tuple[Prompt, ...]:
    found = _Search(content, languages.find_syntax(language, path)).find_all()
    return tuple(each for each in found if each.text)


def prompts_at(prompts: tuple[Prompt, ...], first: int, last: int) -> list[Prompt]:
    """Those of the prompts that rows from *first* to *last* touch."""
    return [each for each in prompts if each.first <= last and first <= each.last]


class _Search:
    """One pass over a text. The row of the latest place is kept, so that no row is measured twice."""

    def __init__(self, content: str, syntax: Syntax) -> None:
        self.content = content
        self.syntax = syntax
        self.row = 0
        self.row_start = 0
        self.indent_end = _blanks(content, 0)
        self.counted = 0

    def find_all(self) -> list[Prompt]:
        prompts = list[Prompt]()
        done = 0
        while (at := self._skip(done)) < len(self.content):
            prompt = self._line(at) or self._block(at)
            if prompt is None:  # a block that is not closed: all else belongs to it
                break
            prompts.append(prompt)
            done = prompt.span.end
        return prompts

    def _skip(self, done: int) -> int:
        while (match := self.syntax.skipped.match(self.content, done)) is not None and match.end() > done:
            done = match.end()
        return done

    def _seek(self, offset: int) -> None:
        """Has the row be that of *offset*, which is not before the latest one."""
        content, since = self.content, self.counted
        rows = content.count("\n", since, offset) + content.count("\r", since, offset)
        rows -= content.count("\r\n", since, offset)
        if rows:
            self.row += rows
            self.row_start = max(content.rfind("\n", since, offset), content.rfind("\r", since, offset)) + 1
            self.indent_end = _blanks(content, self.row_start)
        self.counted = offset

    def _line(self, offset: int) -> Prompt | None:
        content = self.content
        match = self.syntax.in_line.match(content, offset) or self.syntax.at_begin.match(content, offset)
        if match is None:
            return None
        start, sign = match.start("sign"), match["sign"]
        self._seek(start)
        first, is_alone = self.row, self.indent_end == start
        column, texts, end = start - self.row_start, [match["text"].strip()], match.end()
        while (more := self._next_row(end, column, sign)) is not None:
            text, end = more
            texts.append(text)
        return Prompt(
            first=first,
            last=first + len(texts) - 1,
            span=Span(start=start, end=end),
            text="\n".join(texts).strip(),
            is_alone=is_alone,
        )

    def _next_row(self, end: int, column: int, sign: str) -> tuple[str, int] | None:
        """The text of a comment in the row after *end* that goes on, and its end."""
        content = self.content
        terminator = TERMINATOR.match(content, end)
        if terminator is None:
            return None
        begin = terminator.end()
        offset = begin + column
        if not content.startswith(sign, offset) or _blanks(content, begin) != offset:
            return None
        behind = offset + len(sign)
        if content.startswith(sign[-1], behind):  # a longer sign is another one
            return None
        row = ROW.match(content, behind)
        text = row[0].strip() if row is not None else ""
        if row is None or not text or text.startswith(MARK):
            return None
        return row[0].removeprefix(" ").rstrip(), row.end()

    def _block(self, offset: int) -> Prompt | None:
        content = self.content
        for begin, end in self.syntax.in_blocks:
            if (head := begin.match(content, offset)) is None:
                continue
            if (tail := end.search(content, head.end())) is None:
                return None
            self._seek(offset)
            first, is_alone = self.row, self.indent_end == offset
            self._seek(tail.end())
            behind = _blanks(content, tail.end())
            is_alone = is_alone and (behind == len(content) or content[behind] in "\r\n")
            rows = TERMINATOR.split(content[head.end() : tail.start()])
            bare = [rows[0].strip(), *(row[_decoration(row) :].rstrip() for row in rows[1:])]
            return Prompt(
                first=first,
                last=self.row,
                span=Span(start=offset, end=tail.end()),
                text="\n".join(bare).rstrip("* \t\n").lstrip(),
                is_alone=is_alone,
            )
        return None


def _blanks(content: str, start: int) -> int:
    """Returns the end of the blanks that begin at *start*."""
    match = BLANKS.match(content, start)
    return match.end() if match is not None else start


def _decoration(row: str) -> int:
    match = DECORATED.match(row)
    return match.end() if match is not None else 0
