"""
Patterns with stars as regular expressions without catastrophic backtracking.

`.*a.*a.*a.*b` tries every way to divide a text among the stars. But the part between two stars need only be
searched for once, at the first place where it fits: if the rest does not fit after that, it does not fit
after a later one. So all but the last is in an atomic group, which is not entered again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

PIECE = re.compile(r"(?P<folders>(?<![^/])(?:\*\*/)+)|(?P<any>\*\*+)|(?P<star>\*)|(?P<one>\?)")
BRACKETS = re.compile(r"\[(?P<not>[!^]?)(?P<held>[^\]/]+)\]")


def text_regex(pattern: str) -> re.Pattern[str]:
    """A pattern in which `*` is any text; a blank and a star at its end may both be missing."""
    tail = r"(?: .*)?" if pattern.endswith(" *") else ""
    first, *others = map(re.escape, re.split(r"\*+", pattern.removesuffix(" *") if tail else pattern))
    made = "".join((first, *(f"(?>.*?{each})" for each in others[:-1] if each)))
    return re.compile(f"{made}.*{others[-1]}{tail}" if others else made + tail, re.DOTALL)


def path_regex(pattern: str, *, has_brackets: bool = False) -> re.Pattern[str]:
    """
    A pattern in which `*` and `?` end at a slash and `**` does not.

    `**/` is any number of folders, `/**` at the end a folder and all that is in it.
    """
    tail = "(?:/.*)?" if pattern.endswith("/**") else ""
    blocks = list(_blocks(pattern.removesuffix("/**") if tail else pattern, has_brackets))
    firsts, (before, last) = blocks[:-1], blocks[-1]
    made = "".join(f"(?>{LAZY[begin]}{_between_stars(block, '?')})" for begin, block in firsts)
    return re.compile(f"{made}{before}{_between_stars(last)}{tail}", re.DOTALL)


FOLDERS, ANY = "(?:.*/)?", ".*"
LAZY = {"": "", FOLDERS: "(?:.*?/)??", ANY: ".*?"}


def _blocks(pattern: str, has_brackets: bool) -> Iterator[tuple[str, list[str]]]:
    """Yields the text between two `**`: how it begins, and its parts, which single stars separate."""
    begins, parts, at = "", [""], 0
    for piece in PIECE.finditer(pattern):
        parts[-1] += _literal(pattern[at : piece.start()], has_brackets)
        at = piece.end()
        match piece.lastgroup:
            case "one":
                parts[-1] += "[^/]"
            case "star":
                parts.append("")
            case group:
                yield begins, parts
                begins, parts = FOLDERS if group == "folders" else ANY, [""]
    parts[-1] += _literal(pattern[at:], has_brackets)
    yield begins, parts


def _between_stars(parts: Sequence[str], lazy: str = "") -> str:
    """
    Returns the pattern for the text between two `**`; *lazy* is `?` where the first place decides, as another
    `**` follows.
    """
    first, *others = parts
    if not others:
        return first
    return "".join(
        (first, *(f"(?>[^/]*?{each})" for each in others[:-1] if each), f"[^/]*{lazy}", others[-1])
    )


def _literal(text: str, has_brackets: bool) -> str:
    if not has_brackets:
        return re.escape(text)
    made, at = "", 0
    for found in BRACKETS.finditer(text):
        held = re.sub(r"([\\\[\]^&~|])", r"\\\1", found["held"])
        made += re.escape(text[at : found.start()]) + f"(?!/)[{'^' if found['not'] else ''}{held}]"
        at = found.end()
    return made + re.escape(text[at:])
