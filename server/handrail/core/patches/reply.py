"""
Find the edit blocks in a reply copied from any chat, in order, and the prose around them.

These are V4A envelopes, SEARCH/REPLACE blocks below a file name, unified diffs, and fences with a whole file
and its path. `notations` parses the blocks; nothing is judged here, so a truncated block is passed on
unchanged and fails in its parser.
"""

from __future__ import annotations

import re

from handrail.core.documents.text import to_lf
from handrail.core.patches import naming, notations
from handrail.core.patches.git_head import PREAMBLE
from handrail.core.patches.notations import Notation
from handrail.core.patches.search_replace import REPLACE, block_end, opens_block
from handrail.core.patches.unified import COUNTS, RANGE, is_file_head
from handrail.core.patches.v4a import BEGIN, END
from handrail.patterns import lazy_pattern
from handrail.values import dataclass, replace

FENCE = lazy_pattern(r"^( {0,3})(`{3,}|~{3,})\s*([^`]*)$")
DIFF_LINE = lazy_pattern(rf"^[ +\-@\\]|{PREAMBLE.pattern}")
SECTION_HEAD = lazy_pattern(r"^\*\*\* (?:Add|Update|Delete) File: \S")  # an envelope that lacks its begin
DIFF_START = lazy_pattern(r"^diff --git ")
DIFF_HEAD = lazy_pattern(r"^@@|^diff |^--- ")
DIFFS = ("diff", "patch")
PROSE = ("markdown", "md", "mdx", "txt", "text", "rst")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """
    One edit block.

    A whole file whose fence never ends, or ends at a place that is not certain, is passed on as a V4A
    envelope without its end, which is refused where it is read.

    Attributes:
        notation: How it is written; None for the whole content of a file.
        path: The file name next to it; empty if the text itself names files, or no name was found.
        text: The block with LF; for a whole file its content.
        others: Other possible readings of that name.
    """

    notation: Notation | None
    path: str
    text: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The blocks of a reply in order, all blocks below the name of one file as one; and the rest of it."""

    blocks: tuple[Block, ...]
    prose: str


def read(reply: str) -> Reply:
    """Find the blocks of *reply*."""
    reader = _Reader(to_lf(reply).split("\n"))
    reader.run()
    prose = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in reader.prose)).strip()
    return Reply(blocks=_group(reader.blocks), prose=prose)


def _group(blocks: list[Block]) -> tuple[Block, ...]:
    kept: list[Block] = []
    first: dict[tuple[Notation, str], int] = {}
    for block in blocks:
        if block.notation is None or block.notation.names_files:
            kept.append(block)
            continue
        at = first.setdefault((block.notation, block.path), len(kept))
        if at == len(kept):
            kept.append(block)
        else:
            kept[at] = replace(kept[at], text=f"{kept[at].text}\n{block.text}")
    return tuple(kept)


class _Reader:
    """One pass over the lines of a reply."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.blocks: list[Block] = []
        self.prose: list[str] = []
        self.path = ""  # the file that the last SEARCH block was for
        self.others: tuple[str, ...] = ()  # names that may be meant instead
        self.floor = 0  # what stands above this line belongs to something else
        self.mark = ""  # of the fence around the blocks
        self.wrapping = -1  # the line that ends it, where that is certain
        ends = (at for at in range(len(lines) - 1, -1, -1) if lines[at].rstrip() == END)
        self.last_end = next(ends, -1)  # of an envelope

    def run(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if self._ends_wrapping(line):
                self.at += 1
                self.floor, self.mark, self.wrapping = self.at, "", -1
            elif line.rstrip() == BEGIN or (self.at < self.last_end and SECTION_HEAD.match(line)):
                self._take(notations.V4A, "", self._end(BEGIN, END))
            elif opens_block(self.lines, self.at):
                self._search_replace()
            elif DIFF_START.match(line) or is_file_head(self.lines, self.at):
                self._take(notations.UNIFIED, "", self._diff_end())
            elif own := self._own_end():
                self._take(own[0], "" if own[0].names_files else self._path_of_block(), own[1])
            elif fence := FENCE.match(line):
                self._fence(fence)
            else:
                self.prose.append(line)
                self.at += 1

    def _take(self, notation: Notation, path: str, end: int) -> None:
        text = "\n".join(self.lines[self.at : end])
        is_last = not any(map(str.strip, self.lines[end:]))
        if notation is notations.UNIFIED and is_last and self.mark and self.wrapping < 0:
            text = f"{self.mark}\n{text}"  # it does not end, so the parser looks whether the diff is whole
        others = self.others if path else ()
        self.blocks.append(Block(notation=notation, path=path, text=text, others=others))
        self.at = self.floor = end

    # ---- Where blocks end -------------------------------------------------------------------------

    def _own_end(self) -> tuple[Notation, int] | None:
        """The notation that says itself that a block begins here, and the line past its end."""
        for notation in notations.NOTATIONS.values():
            if notation.ends_at is not None and (end := notation.ends_at(self.lines, self.at)) is not None:
                return notation, max(end, self.at + 1)
        return None

    def _end(self, begin: str, end: str) -> int:
        """The line past an envelope; one that is cut short ends where the next begins, or with the reply."""
        for at in range(self.at + 1, len(self.lines)):
            if self.lines[at].rstrip() == end:
                return at + 1
            if self.lines[at].rstrip() == begin:
                return at
        return len(self.lines)

    def _search_replace(self) -> None:
        self.path = self._path_of_block()
        start, last = self.at, 0
        for at in range(start + 1, len(self.lines)):
            if opens_block(self.lines, at) or (last and FENCE.match(self.lines[at])):
                break
            last = at if REPLACE.match(self.lines[at]) else last
        else:
            at = len(self.lines)
        end = block_end(self.lines, start)
        if not last and end is not None:
            self._take(notations.SEARCH_REPLACE, self.path, end)
            if self.lines[end - 1].startswith("="):  # the fence behind it shows that this is the end
                self.blocks[-1] = replace(self.blocks[-1], text=f"{self.blocks[-1].text}\n```")
            return
        self._take(notations.SEARCH_REPLACE, self.path, last + 1 if last else at)
        if not last:
            # Cut short: what follows may be another file's, and its name may stand inside this text.
            self.path, self.floor = "", start + 1

    def _diff_end(self) -> int:
        if self.at < self.wrapping:
            end = self.wrapping
        else:
            end, left = self.at + 1, (0, 0)
            while end < len(self.lines) and self._is_diff_line(end, left):
                left = _rows_left(left, self.lines[end])
                end += 1
        while not self.lines[end - 1].strip():
            end -= 1
        return end

    def _is_diff_line(self, at: int, left: tuple[int, int]) -> bool:
        """Whether a diff that no fence ends goes on; *left* is how many rows its hunk has still announced."""
        line = self.lines[at]
        if line.strip():
            return bool(DIFF_LINE.match(line))
        later = (self.lines[i] for i in range(at, len(self.lines)))
        rest = next((line for line in later if line.strip()), "")
        return bool(DIFF_HEAD.match(rest) or (DIFF_LINE.match(rest) and max(left) > 0))

    # ---- Fences -----------------------------------------------------------------------------------

    def _fence(self, fence: re.Match[str]) -> None:
        closing, is_sure = self._closing_line(fence)
        self._dedent(len(fence[1]), closing)
        info = fence[3].strip()
        language = info.partition(" ")[0].partition(":")[0].lower()
        above = "" if naming.in_info(info) else self._path_above_fence(language)
        path = naming.in_info(info) or above
        if self._wraps(closing, anywhere=not path and language not in PROSE, is_diff=path.endswith(DIFFS)):
            self.path = path or self.path
            self.mark, self.wrapping = fence[2], closing if is_sure else -1
            self.at += 1
            return
        is_sure = is_sure and not (path.endswith(PROSE) and self._may_be_inner(fence, closing))
        text = "".join(line + "\n" for line in self.lines[self.at + 1 : closing])
        block = _fenced_block(language, path, text)
        if block is not None and block.notation is notations.UNIFIED and closing == len(self.lines):
            block = replace(block, text=f"{fence[2]}\n{block.text}")
        if block is not None and block.notation is None and not is_sure:
            lines = "".join(f"+{line}\n" for line in text.splitlines())
            block = Block(notation=notations.V4A, path="", text=f"{BEGIN}\n*** Add File: {path}\n{lines}")
        if block is None:
            self.prose += self.lines[self.at : closing + 1]
            if self._holds_name(closing):
                self.at = closing + 1
                return  # the name may be that of a block below
        else:
            self.blocks.append(block)
            self._drop_line_of(above)
        self.at = self.floor = closing + 1

    def _holds_name(self, closing: int) -> bool:
        """Whether the fence here contains only the name of a file."""
        filled = [line for line in self.lines[self.at + 1 : closing] if line.strip()]
        return len(filled) == 1 and bool(naming.on_line(filled[0]))

    def _ends_wrapping(self, line: str) -> bool:
        found = FENCE.match(line) if self.mark else None
        return found is not None and not found[3].strip() and found[2].startswith(self.mark)

    def _closing_line(self, fence: re.Match[str]) -> tuple[int, bool]:
        """The line that ends the fence, inner fences passed over; else past the last line, and unsure."""
        depth = 0
        for at in range(self.at + 1, len(self.lines)):
            found = FENCE.match(self.lines[at])
            if not found or len(found[1]) > len(fence[1]) or not found[2].startswith(fence[2]):
                continue
            if found[3].strip():
                depth += 1
            elif depth:
                depth -= 1
            else:
                return at, True
        return len(self.lines), False

    def _may_be_inner(self, fence: re.Match[str], closing: int) -> bool:
        """Whether the end of the fence may be the beginning of one inside it: a bare one follows."""
        for at in range(closing + 1, len(self.lines)):
            if (found := FENCE.match(self.lines[at])) and found[2].startswith(fence[2]):
                return not found[3].strip() and not self._own_path_above(at)
        return False

    def _dedent(self, by: int, closing: int) -> None:
        for at in range(self.at + 1, min(closing, len(self.lines))) if by else ():
            line = self.lines[at]
            self.lines[at] = line[min(by, len(line) - len(line.lstrip(" "))) :]

    def _wraps(self, closing: int, *, anywhere: bool, is_diff: bool) -> bool:
        """Whether a fence is only wrapping around blocks: one opens where its text begins, or anywhere."""
        filled = [at for at in range(self.at + 1, min(closing, len(self.lines))) if self.lines[at].strip()]
        if anywhere:
            return any(map(self._opens_block, filled))
        first = filled[:1]
        if first and naming.on_line(self.lines[first[0]]):
            first = filled[1:2]
        return not is_diff and any(map(self._opens_block, first))

    def _opens_block(self, at: int) -> bool:
        line = self.lines[at]
        opens = line.rstrip() == BEGIN or DIFF_START.match(line) or is_file_head(self.lines, at)
        own = (each.ends_at for each in notations.NOTATIONS.values() if each.ends_at is not None)
        return (
            bool(opens)
            or opens_block(self.lines, at)
            or any(ends(self.lines, at) is not None for ends in own)
        )

    # ---- File names -------------------------------------------------------------------------------

    def _own_path_above(self, at: int) -> str:
        above = (self.lines[i] for i in range(at - 1, max(self.floor, at - 3) - 1, -1))
        return naming.on_line(next((line for line in above if line.strip()), ""))

    def _path_above_fence(self, language: str) -> str:
        path = self._own_path_above(self.at)
        return path if naming.may_hold_file(path, language) else ""

    def _path_of_block(self) -> str:
        """Returns the file of the SEARCH block here: named above it, or that of the block before."""
        above = [at for at in range(self.at - 1, self.floor - 1, -1) if self.lines[at].strip()]
        above = [at for at in above if not FENCE.match(self.lines[at])]
        if above and (path := naming.on_line_above_block(self.lines[above[0]])):
            self.others = ()
            self._drop_line_of(path)
            return path
        for at in above:
            mentioned, spaced = naming.in_sentence(self.lines[at]), naming.with_blanks(self.lines[at])
            if mentioned or spaced:
                self.others = (spaced,) if spaced and mentioned else ()
                return next(iter(mentioned or (spaced,))) if len(mentioned) < 2 else ""
            if at == above[0] and naming.may_end_in_name(self.lines[at]):
                return ""
        return self.path

    def _drop_line_of(self, path: str) -> None:
        """Removes the line with the name of a file above its block from the prose."""
        while path and self.prose and not self.prose[-1].strip():
            self.prose.pop()
        if path and len(self.prose) > 2 and FENCE.match(self.prose[-1]) and FENCE.match(self.prose[-3]):
            if naming.on_line(self.prose[-2]) == path:
                del self.prose[-3:]
        elif path and self.prose and naming.on_line_above_block(self.prose[-1]) == path:
            self.prose.pop()


def _rows_left(left: tuple[int, int], line: str) -> tuple[int, int]:
    """Returns how many old and new rows of a hunk are still to come after *line*."""
    if counts := COUNTS.match(line):
        return int(counts[1] or 1), int(counts[2] or 1)
    if RANGE.match(line):
        return 1_000_000, 1_000_000  # it does not say
    return left[0] - (not line.startswith("+")), left[1] - (not line.startswith("-"))


def _fenced_block(language: str, path: str, text: str) -> Block | None:
    """The block that a fence is, if it wraps none: a headless diff, or a whole file; None for prose."""
    if language in DIFFS and not path.endswith(DIFFS):
        begins = text.startswith("@@")
        if not path and not begins:
            return None
        head = f"--- {path}\n+++ {path}\n" if path else ""
        return Block(notation=notations.UNIFIED, path="", text=head + ("" if begins else "@@\n") + text)
    return Block(notation=None, path=path, text=text) if path else None
