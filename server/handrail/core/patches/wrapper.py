"""
Find a patch inside the wrappers that models put around it: code fences, heredocs, cell magics, a line of
prose.

A wrapper is ignored only if it cannot belong to the patch, and does not change what the patch means: a
command that goes to another folder, or that writes the patch into a file, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.core.failure import Failure
from handrail.core.patches.hunk import bad_line, show_line
from handrail.patterns import lazy_pattern

LEFT_OUT = "The lines around the patch were ignored."
GOES_ELSEWHERE = (
    "which would apply the patch in another folder, or write it into a file. Leave this line out, and name "
    "each file in the patch by its path from the workspace folder."
)
MAY_BE_PART = (
    "which is outside the patch but looks like a line of it. Move it into the patch, or leave it out."
)
MAY_LOSE_BACKSLASH = (
    "In a heredoc with an unquoted delimiter, a shell would remove the backslash before '$', '`' or '\\', so "
    "it is unclear whether the file is to have it. Send the patch without the heredoc."
)
FENCE = lazy_pattern(r"^\s*(?:`{3,}|~{3,})[^`~]*$")
HEREDOC = lazy_pattern(
    r"""
    ^\s* [$!%]* \s*
    (?: (?:bash|sh|zsh) \s+ -l?c \s+ ["'] )?
    (?: [\w./-]*apply[_-]?patch \s* (?: "?\$\(\s*cat )?
      | (?: git\s+apply | patch ) OPTIONS | cat | bash | sh )? \s*
    <<-? \s* (?: '(?P<single>\w+)' | "(?P<double>\w+)" | \\(?P<slash>\w+) | (?P<bare>\w+) )
    \s* (?: \| \s* (?: [\w./-]*apply[_-]?patch | (?: git\s+apply | patch ) OPTIONS ) )? \s*
    $""".replace("OPTIONS", r"(?: \s+ (?: -p\d | -v | --verbose | --index | - ) )*"),
    re.VERBOSE,
)
ELSEWHERE = lazy_pattern(r"^\W*(?:cd|pushd|chdir)\s|<<|(?:^|[^-=])>>?\s*[\w./~$\"']+\s*$")
SIGNED = lazy_pattern(r"^[\s+\-@\\]|^\*\*\*|^diff --git |^[<>=]{4}")
EXPANDED = lazy_pattern(r"\\[$`\\]")


def check_left_out(lines: Sequence[str], around: Sequence[int], inside: tuple[int, int]) -> Failure | None:
    """
    Returns why the lines *around* a patch cannot be left out; None if they can.

    Args:
        lines: All lines.
        around: The numbers of those before and behind the patch.
        inside: The first line of the patch, and the one past its last.
    """
    for at in around:
        line = lines[at]
        heredoc = HEREDOC.match(line)
        if not line.strip() or FENCE.match(line):
            continue
        if heredoc is None and ELSEWHERE.search(line):
            return bad_line(f"Line {at + 1} is {show_line(line)}, {GOES_ELSEWHERE}")
        if heredoc is None and SIGNED.match(line):
            return bad_line(f"Line {at + 1} is {show_line(line)}, {MAY_BE_PART}")
        if heredoc is not None and heredoc["bare"] and (wrong := _check_expansion(lines, inside)) is not None:
            return wrong
    return None


def _check_expansion(lines: Sequence[str], inside: tuple[int, int]) -> Failure | None:
    """A shell would remove these backslashes; it is unclear whether the file has them."""
    for at in range(*inside):
        if EXPANDED.search(lines[at]):
            return bad_line(f"Line {at + 1} is {show_line(lines[at])}. {MAY_LOSE_BACKSLASH}")
    return None


def filled_range(lines: Sequence[str]) -> tuple[int, int]:
    """The first of *lines* that is not blank, and the one past the last."""
    first, end = 0, len(lines)
    while first < end and not lines[first].strip():
        first += 1
    while end > first and not lines[end - 1].strip():
        end -= 1
    return first, end


def is_open(above: Sequence[str]) -> bool:
    """Whether a fence or a heredoc begins in the lines *above* a patch, and does not end there."""
    return sum(map(bool, map(FENCE.match, above))) % 2 == 1 or any(map(HEREDOC.match, above))


def pair_around(lines: Sequence[str]) -> tuple[int, int]:
    """
    The lines inside a fence or a heredoc, if one stands around all of *lines* that are not blank.

    Returns:
        The first line inside, and the one past the last; all lines if nothing stands around them.
    """
    first, end = filled_range(lines)
    while end - first >= 2 and _is_pair(lines[first], lines[end - 1]):
        first, end = first + 1, end - 1
        while first < end and not lines[first].strip():
            first += 1
        while end > first and not lines[end - 1].strip():
            end -= 1
    return first, end


def _is_pair(opening: str, closing: str) -> bool:
    if fence := FENCE.match(opening):
        mark = fence[0].strip()[:3]
        return closing.strip().startswith(mark) and not closing.strip().strip(mark[0])
    heredoc = HEREDOC.match(opening)
    return heredoc is not None and closing.strip().rstrip("\"')") in heredoc.groups()
