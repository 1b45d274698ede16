"""
Problems that other programs find in documents: which of them an edit has caused, and what the model reads.

A problem is new if no problem of the same kind was at its place before the edit. Places move along with the
edit: a line that the edit left alone is the same line wherever it went, and any line of a rewritten block may
stand for any line of the block before. Messages of programs are quoted, and limited in length.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum

from handrail.core.documents import edit
from handrail.core.documents.text import split_lines
from handrail.core.results import sanitize
from handrail.counts import count_hidden
from handrail.values import dataclass

LIMIT_TOLD = 20  # of one block
LIMIT_LISTED = 200  # when the model asks for more
MESSAGE_CHARS = 300
PATH_CHARS = 300
NAME_CHARS = 60  # of a program, or of a kind of problem


class Severity(StrEnum):
    """The severity of a problem; only errors and warnings are reported after edits."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


SERIOUS = (Severity.ERROR, Severity.WARNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """
    A problem that a program reports on a line.

    Attributes:
        line: Counted from 0.
        source: The program.
        code: Its name for this kind of problem.
    """

    line: int
    message: str
    severity: Severity = Severity.ERROR
    source: str = ""
    code: str = ""

    @property
    def kind(self) -> tuple[str, str, str]:
        """
        What it has in common with the same problem elsewhere, without numbers, which may be those of lines.
        """
        return self.source, self.code, re.sub(r"\d+", "0", self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentProblems:
    """Problems of the document with the display name *path*, nearest to the edit first."""

    path: str
    problems: tuple[Problem, ...]


def caused_problems(
    before: Sequence[Problem] | None, base: str, after: Sequence[Problem], now: str
) -> tuple[Problem, ...]:
    """Returns the errors and warnings that an edit has caused, nearest to the change first; see `rank`."""
    return tuple(problem for _, problem in rank(before, base, after, now))


def rank(
    before: Sequence[Problem] | None, base: str, after: Sequence[Problem], now: str
) -> tuple[tuple[int, Problem], ...]:
    """
    Returns the errors and warnings that an edit has caused, each with its distance to the change in lines.

    Args:
        before: The problems of the text *base*; None if they are unknown. Then only problems in lines that
            the edit wrote count, since others may be old.
        after: The problems of the text *now*.

    Cost: that of a comparison of the texts by lines.
    """
    blocks = edit.opcodes(split_lines(base), split_lines(now))
    serious = [each for each in after if each.severity in SERIOUS]
    if before is None:
        new = [each for each in serious if any(k <= each.line < m for _, _, k, m in blocks)]
    else:
        new = _without_old(serious, before, blocks)
    ranked = ((_distance(each.line, blocks), each) for each in dict.fromkeys(new))
    return tuple(sorted(ranked, key=lambda each: (each[0], each[1].line)))


def _without_old(
    after: Sequence[Problem], before: Sequence[Problem], blocks: Sequence[edit.Block]
) -> list[Problem]:
    ranges = defaultdict[tuple[str, str, str], list[tuple[int, int]]](list)
    for each in before:
        ranges[each.kind].append(_lines_after(each.line, blocks))
    for kind in ranges:
        ranges[kind].sort(key=lambda span: (span[1], span[0]))
    new = []
    for each in sorted(after, key=lambda each: each.line):
        known = ranges[each.kind]
        at = next((at for at, (first, last) in enumerate(known) if first <= each.line <= last), None)
        if at is None:
            new.append(each)
        else:
            known.pop(at)
    return new


def _lines_after(line: int, blocks: Sequence[edit.Block]) -> tuple[int, int]:
    """
    Returns the first and the last line of the text after an edit that may correspond to a line before it.
    """
    shift = 0
    for i, j, k, m in blocks:
        if line < i:
            break
        if line < j:
            return k, max(k, m - 1)
        shift = m - j
    return line + shift, line + shift


def _distance(line: int, blocks: Sequence[edit.Block]) -> int:
    """Returns the distance of a line to the nearest changed one."""
    return min((max(k - line, line - max(k, m - 1), 0) for _, _, k, m in blocks), default=0)


# ---- What the model reads -----------------------------------------------------------------------------


def report_new(listed: Sequence[DocumentProblems], unknown: Mapping[str, Sequence[str]]) -> str:
    """
    Returns the text for the model after edits; empty if there is nothing to report.

    Args:
        unknown: The paths of documents with unknown problems, by the reason, which is a sentence.
    """
    rows = [row(each.path, problem) for each in listed for problem in each.problems]
    texts = []
    if rows:
        what = "a new problem" if len(rows) == 1 else f"{len(rows):,} new problems"
        texts += [f"After your edits, there {'is' if len(rows) == 1 else 'are'} {what}:", *rows[:LIMIT_TOLD]]
    if more := len(rows[LIMIT_TOLD:]):
        texts.append(f"{count_hidden(more)}; the problems tool lists {'it' if more == 1 else 'them'}.")
    for why, paths in unknown.items():
        names = ", ".join(_line(path, PATH_CHARS) for path in paths[:LIMIT_TOLD])
        texts.append(f"It is unknown whether your edits caused problems in {names}. {why}")
    return "\n".join(texts)


def report_all(listed: Sequence[DocumentProblems], unknown: Sequence[str] = ()) -> str:
    """Returns all known problems, as text for the model."""
    rows = [row(each.path, problem) for each in listed for problem in each.problems]
    texts = rows[:LIMIT_LISTED]
    if more := len(rows[LIMIT_LISTED:]):
        texts.append(f"{count_hidden(more)}.")
    texts += [f"{_line(path, PATH_CHARS)}: unknown; no report came in time." for path in unknown]
    return "\n".join(texts) or "No problems are reported."


def row(path: str, problem: Problem) -> str:
    """Returns a problem as one line, with its line number."""
    names = (_line(name, NAME_CHARS) for name in (problem.source, problem.code))
    program = " ".join(filter(None, names))
    said = _line(problem.message, MESSAGE_CHARS) + (f" ({program})" if program else "")
    return f"{_line(path, PATH_CHARS)}:{problem.line + 1}: {problem.severity.value}: {said}"


def _line(text: str, limit: int) -> str:
    return sanitize.clean(text, limit).replace("\n", " ").replace("\t", " ")
