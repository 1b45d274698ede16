"""
The table of the notations in which models write edits; all of them are read into the same hunks.

To add a notation, write its parser and add an entry to `NOTATIONS`: the modes of the tool `patch`, the kinds
of the bare engine and the blocks in pasted replies follow from it. Plain search and replacement strings and
whole-file fences need no parser, so they are not in the table.

Line endings of the patch never matter; those of the document are used. Line numbers are hints. What a hunk
matches and writes is decided in `match` and `plan`. Edit blocks in a pasted reply are found in `reply`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from handrail.core.failure import Failure
from handrail.core.patches.hunk import FilePatch, Hunk, Operation
from handrail.core.patches.search_replace import parse_search_replace
from handrail.core.patches.unified import parse_unified
from handrail.core.patches.v4a import END, parse_v4a
from handrail.values import dataclass

__all__ = [
    "NOTATIONS",
    "SEARCH_REPLACE",
    "UNIFIED",
    "V4A",
    "FilePatch",
    "Hunk",
    "Notation",
    "Operation",
    "parse_search_replace",
    "parse_unified",
    "parse_v4a",
]

NAMES_FILE = re.compile(r"^(?:--- |\+\+\+ |diff --git |rename )\S", re.MULTILINE)

Patches = tuple[FilePatch, ...] | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """
    One way to write edits.

    Attributes:
        name: A `mode` of the tool `patch`, and a `kind` of request to the bare engine.
        read: Reads a patch, given its text, the file named next to it (empty if none is) and other possible
            readings of that name.
        names_files: Whether the text itself names its files, so that no other path is needed.
        title: What a patch in it consists of, in words.
        example: A patch as models are shown it; it changes `a.py`.
        is_edit: Whether a block in a model's answer is certainly an edit, and not a file that it quotes.
        may_report: Whether models also write it to show what they have already done.
        ends_at: For a block that begins at a line of a reply: the line past its end; None if none begins
            there. Without it, `reply` finds the blocks by the text around them.
    """

    name: str
    read: Callable[[str, str, tuple[str, ...]], Patches]
    names_files: bool
    title: str
    example: str
    is_edit: Callable[[str], bool] = bool
    may_report: bool = False
    ends_at: Callable[[Sequence[str], int], int | None] | None = None

    def __str__(self) -> str:
        """Its name."""
        return self.name


def _read_search_replace(text: str, path: str, others: tuple[str, ...]) -> Patches:
    patch = parse_search_replace(path, text, others)
    return patch if isinstance(patch, Failure) else (patch,)


V4A = Notation(
    name="v4a",
    read=lambda text, path, others: parse_v4a(text),
    names_files=True,
    title="a V4A envelope",
    example=(
        "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    x = 1\n+    x = 2\n"
        "*** Add File: b.py\n+y = 1\n*** End Patch"
    ),
    is_edit=lambda text: END in text,
)
SEARCH_REPLACE = Notation(
    name="search_replace",
    read=_read_search_replace,
    names_files=False,
    title="SEARCH/REPLACE blocks",
    example="<<<<<<< SEARCH\n    x = 1\n=======\n    x = 2\n>>>>>>> REPLACE",
)
UNIFIED = Notation(
    name="udiff",
    read=lambda text, path, others: parse_unified(text),
    names_files=True,
    title="a unified diff",
    example="--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n def f():\n-    x = 1\n+    x = 2\n",
    is_edit=lambda text: NAMES_FILE.search(text) is not None,
    may_report=True,
)

NOTATIONS: dict[str, Notation] = {each.name: each for each in (V4A, SEARCH_REPLACE, UNIFIED)}
