"""
A prompt in one short line, for lists of checkpoints and sessions.

The prompt may be a pasted reply, whose first line is often a marker that says nothing: then the label is what
the reply is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.core.results.redact import redact

LIMIT_CHARS = 72
HEADER = re.compile(
    r"\*\*\* (?:Add|Update|Delete) File: (?P<v4a>.+)"
    r"|(?:---|\+{3}) (?:[ab]/)?(?P<diff>(?!/dev/null)[^\t]+)(?:\t.*)?"
)
MARKUP = re.compile(
    r"\*\*\* |`{3}|~{3}|<{5}|-{3}|\+{3}|={3}|>{5}|@@|diff --git |index [0-9a-f]{6}|[<{}\[\]()]+$"
)


def label_of(prompt: str, secrets: Sequence[str] = ()) -> str:
    """The first line of *prompt* that says something, or the file that it edits; without *secrets*."""
    prompt = redact(prompt, secrets)
    lines = [line for each in prompt.splitlines() if (line := each.strip())]
    for line in lines:
        if header := HEADER.fullmatch(line):
            return shorten(f"Edit of {header['v4a'] or header['diff']}")
        if not MARKUP.match(line):
            return shorten(line)
    return shorten(lines[0]) if lines else ""


def shorten(line: str) -> str:
    """A line, short enough for a list."""
    return line if len(line) <= LIMIT_CHARS else line[: LIMIT_CHARS - 1] + "…"
