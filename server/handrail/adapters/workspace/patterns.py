"""
Patterns of .gitignore, matched in linear time.

A pattern comes from a repository or a model, and a regular expression made of `*a*a*a*a*b` tries every way to
divide a name among the stars: a name of 60 letters takes years. But the part between two stars need only be
searched for once, at the first place where it fits: if the rest does not fit after that, it does not fit
after a later one. So each star except the last does not backtrack (an atomic group); the same applies to the
part between two `**/`.

    *a*b*c       [^/]*a[^/]*b[^/]*c     becomes  (?>[^/]*?a)(?>[^/]*?b)[^/]*c
    **/x/**/y    (?:.+/)?x(?:/.+)?/y    becomes  (?>(?:.+?/)??x(?=/))(?:/.+)?/y
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

STAR, ANYWHERE, BETWEEN = "[^/]*", "^(?:.+/)?", "(?:/.+)?"  # as pathspec writes `*`, `**/` and `/**`
LIMIT_PATTERN_CHARS = 4_096  # as long as a path can be
LIMIT_PATTERNS = 10_000  # of one file


class LinearPattern(GitIgnoreSpecPattern):
    """A pattern of .gitignore whose regular expression does not try anything twice."""

    __slots__ = ()

    @classmethod
    def pattern_to_regex(cls, pattern: str) -> tuple[str | None, bool | None]:  # type: ignore[override]  # of bytes as well, there
        """The regular expression, and whether it includes; see pathspec."""
        regex, include = super().pattern_to_regex(pattern)
        return (None if regex is None else linear(regex)), include


def spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """
    The rules in *lines*; a line that is not a pattern, or is too long for one, is left out, as git does.
    """
    kept = [line for line in lines if len(line) <= LIMIT_PATTERN_CHARS][:LIMIT_PATTERNS]
    try:
        return _compile(kept)
    except (ValueError, re.error, RecursionError, OverflowError):
        return _compile(filter(_is_pattern, kept))


def linear(regex: str) -> str:
    """A regular expression of pathspec's as one that matches the same and tries nothing twice."""
    *firsts, last = regex.split(BETWEEN)
    made = []
    for number, block in enumerate(firsts):
        begins = "" if number == 0 else "(?:/.+?)??"
        if block.startswith(ANYWHERE):
            begins = "(?:.+?/)??"
            made.append("^")
        made.append(f"(?>{begins}{_atomic(block.removeprefix(ANYWHERE))}(?=/))")
    begins = BETWEEN if firsts else ""
    if last.startswith(ANYWHERE):
        last, begins = last.removeprefix(ANYWHERE), ANYWHERE
    return "".join((*made, begins, _atomic(last)))


def _atomic(block: str) -> str:
    """Returns the pattern between two `**/`, with each star but the last in an atomic group."""
    first, *others = block.split(STAR)
    if not others:
        return block
    *between, last = others
    return "".join((first, *(f"(?>[^/]*?{each})" for each in between if each), STAR, last))


def _compile(lines: Iterable[str]) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(lines, LinearPattern, backend="simple")


def _is_pattern(line: str) -> bool:
    try:
        _compile([line])
    except (ValueError, re.error, RecursionError, OverflowError):
        return False
    return True
