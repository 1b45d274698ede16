"""
Read what V4A envelopes and unified diffs have in common: hunks of rows with a sign, in sections by file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from handrail.core.failure import Code, Failure
from handrail.core.patches.hunk import UNSIGNED, FilePatch, Hunk, Operation, bad

END_OF_FILE = "*** End of File"
NO_NEWLINE = "\\ No newline"
MARKER_LIKE = re.compile(
    r"^\*\*\*\s?(?:(?:Begin|End) Patch|(?:Add|Update|Delete) File|Move to|End of File)"
    r"|^@@|^diff --git |^(?:<{5,}|>{5,}|={5,})(?: |$)|^`{3}|^~{3}",
    re.IGNORECASE,
)


def signed_hunk(
    lines: Sequence[str], body: tuple[int, int], number: int, scope: tuple[str, ...]
) -> Hunk | Failure | None:
    """
    The hunk of these lines; None if it changes nothing. Blank lines behind it are padding.

    A row without a sign may be context that lost its blank; whether it is, the document decides.
    """
    first, end = body
    while end > first and not lines[end - 1]:
        end -= 1
    at_end = end > first and lines[end - 1].rstrip() == END_OF_FILE
    numbers = [at for at in range(first, end - at_end) if not lines[at].startswith(NO_NEWLINE)]
    signs = [_split_sign(lines[at]) for at in numbers]
    bare = [at for at, (sign, _) in zip(numbers, signs, strict=True) if sign == UNSIGNED]
    markers = [at for at in bare if MARKER_LIKE.match(lines[at])]
    wrong = [
        bad(at + 1, lines[at], "a hunk line beginning with ' ', '+' or '-'") for at in (markers or bare)[:1]
    ]
    if wrong and (markers or not any(sign in "+-" for sign, _ in signs)):
        return wrong[0]
    old = [row for sign, row in signs if sign != "+"]
    new = [row for sign, row in signs if sign != "-"]
    if not any(sign in "+-" for sign, _ in signs):
        return None
    if old and not any(row.strip() for row in old):
        return bad(first + 1, lines[first], "a non-blank line among the lines of context")
    blank = new == [""]
    return Hunk(
        number=number,
        old="\n".join(old),
        new="\n".join(new),
        scope=scope,
        at_end=at_end,
        leaves_blank=blank,
        signs="".join(sign for sign, _ in signs),
        unsigned=wrong[0] if wrong else None,
    )


def _split_sign(line: str) -> tuple[str, str]:
    """The sign of a line and its row; a line that is wholly empty is a blank row of context."""
    if line[:1] in ("", " ", "+", "-"):
        return line[:1] or " ", line[1:]
    return UNSIGNED, line


def join_sections(sections: list[FilePatch]) -> tuple[FilePatch, ...] | Failure:
    """Sections for one file become one, also for `./a` and `a`; two that cannot both hold are a bad patch."""
    files: dict[str, FilePatch] = {}
    hunks: dict[str, list[Hunk]] = {}
    for section in sections:
        name = _plain(section.path)
        earlier = files.get(name)
        if earlier is None:
            files[name] = section
        elif earlier.operation is section.operation is Operation.UPDATE and earlier.move_to is None:
            notes = tuple(dict.fromkeys((*earlier.notes, *section.notes)))
            files[name] = replace(section, path=earlier.path, notes=notes)
        else:
            return contradiction(section.path)
        hunks.setdefault(name, []).extend(section.hunks)
    left = Counter([*files, *(_plain(patch.move_to) for patch in files.values() if patch.move_to)])
    twice = [name for name, times in left.items() if times > 1]
    if twice:
        return contradiction(twice[0])
    return tuple(replace(patch, hunks=_number(hunks[name])) for name, patch in files.items())


def _plain(path: str) -> str:
    """Returns *path* without parts that lead nowhere; `..` may lead through a link."""
    return re.sub(r"(?<!^)/{2,}", "/", re.sub(r"(?:^|(?<=/))(?:\./+)+", "", path))


def _number(hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    return tuple(replace(hunk, number=number) for number, hunk in enumerate(hunks, 1))


def contradiction(path: str) -> Failure:
    """The failure for a patch that says two things of one file that cannot both hold."""
    return Failure(
        code=Code.BAD_PATCH,
        message=f"The patch has two conflicting sections for {path}.",
        steps=("Send one section for each file.",),
    )
