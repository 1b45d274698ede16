"""
Write a hunk in each of the notations, as requests to the engine.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from replaying.document import Document, Parts, Rows

MARKER = re.compile(r"(?:<{5,9}|={5,9}|>{5,9}|-{5,9}|\+{5,9}|:(?:start|end)_line:)")

Fields = dict[str, object]

REPLACE, AIDER, CLINE, ROO, V4A, UNIFIED = "replace", "aider", "cline", "roo", "v4a", "udiff"
ALL = (REPLACE, AIDER, CLINE, ROO, V4A, UNIFIED)
HINTED = (REPLACE, ROO, UNIFIED)
STRINGS = (REPLACE, AIDER, CLINE, ROO)


@dataclass(frozen=True)
class Style:
    """
    How a patch is written beyond its rows.

    Attributes:
        eol: The patch's own line ends.
        bare_blanks: Blank rows of context lose the space before them.
        ends_line: Strings end with a line end.
        scopes: `@@` headers above a V4A hunk.
        numbers: A unified diff's line numbers: "right", "wrong" or "none".
        escaped: Whether rows that look like markers are escaped in SEARCH/REPLACE blocks.
        at_end: Whether a V4A hunk says that it stands at the end.
        unsigned: The kept rows that lose the blank before them, by number among all rows of the hunk.
        wrapper: What stands before and behind the patch.
        indent: What stands before each line of the patch.
        markers: Those of a SEARCH/REPLACE block.
        divider: How often the divider of a SEARCH/REPLACE block is written; 0 for one in place of its end.
    """

    eol: str = "\n"
    bare_blanks: bool = False
    ends_line: bool = False
    scopes: Rows = ()
    numbers: str = "right"
    escaped: bool = True
    at_end: bool = False
    unsigned: frozenset[int] = frozenset()
    wrapper: tuple[str, str] = ("", "")
    indent: str = ""
    markers: tuple[str, str, str] = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
    divider: int = 1


@dataclass(frozen=True)
class Written:
    """What a patch says of one hunk; `hint` is a line number, counted from 1."""

    parts: Parts
    hint: int | None
    style: Style


def request(notation: str, path: str, document: Document, patch: Written) -> Fields:
    """A request that makes one hunk in *document*."""
    style = patch.style
    if notation == REPLACE:
        old = "\n".join(row for part in patch.parts for row in part.old)
        new = "\n".join(row for part in patch.parts for row in part.new)
        if style.ends_line or not any(part.new for part in patch.parts):
            old, new = old + "\n", new + "\n" if new else new
        hunk = {"old": _ends(old, style), "new": _ends(new, style), "start_line": patch.hint}
        return replace_request(path, document, hunk, everywhere=False)
    if notation == V4A:
        text = envelope([update(path, [v4a_hunk(patch.parts, style)])])
    elif notation == UNIFIED:
        text = unified(path, patch)
    else:
        text = blocks(notation, patch)
    kind = notation if notation in (V4A, UNIFIED) else "search_replace"
    indented = (
        "".join(style.indent + line for line in text.splitlines(keepends=True)) if style.indent else text
    )
    return patch_request(kind, {path: document}, _ends(indented.join(style.wrapper), style))


def replacements(path: str, document: Document, hunks: Sequence[Mapping[str, object]]) -> Fields:
    """A request with search and replacement strings."""
    before = base64.b64encode(document.raw).decode()
    return {"kind": "replace", "path": path, "before_b64": before, "hunks": hunks, "replace_all": False}


def replace_request(path: str, document: Document, hunk: Mapping[str, object], *, everywhere: bool) -> Fields:
    """A request with one search and replacement string."""
    return {**replacements(path, document, [hunk]), "replace_all": everywhere}


def patch_request(kind: str, files: Mapping[str, Document], text: str) -> Fields:
    """A request with a patch over files."""
    encoded = {path: base64.b64encode(document.raw).decode() for path, document in files.items()}
    return {"kind": kind, "files": encoded, "patch": text}


def _ends(text: str, style: Style) -> str:
    return text.replace("\n", style.eol) if style.eol != "\n" else text


# ---- V4A ------------------------------------------------------------------------------------------


def envelope(sections: list[str]) -> str:
    """A V4A patch."""
    return "*** Begin Patch\n" + "".join(sections) + "*** End Patch\n"


def update(path: str, hunks: list[str], move_to: str = "") -> str:
    """A section that updates a file."""
    return f"*** Update File: {path}\n" + (f"*** Move to: {move_to}\n" if move_to else "") + "".join(hunks)


def added(path: str, document: Document) -> str:
    """A section that adds a file."""
    return f"*** Add File: {path}\n" + "".join(f"+{row}\n" for row in document.rows)


def v4a_hunk(parts: Parts, style: Style) -> str:
    """A hunk below its headers."""
    heads = "".join(f"@@ {scope}\n" for scope in style.scopes) or "@@\n"
    return heads + body(parts, style) + ("*** End of File\n" if style.at_end else "")


def body(parts: Parts, style: Style) -> str:
    """The signed rows of a hunk."""
    lines = []
    number = 0
    for part in parts:
        for row in part.old if part.is_kept else ():
            is_bare = number in style.unsigned or (style.bare_blanks and not row)
            lines.append(row if is_bare else " " + row)
            number += 1
        if not part.is_kept:
            lines += ["-" + row for row in part.old] + ["+" + row for row in part.new]
            number += len(part.old) + len(part.new)
    return "".join(line + "\n" for line in lines)


# ---- The others -----------------------------------------------------------------------------------


def unified(path: str, patch: Written) -> str:
    """A unified diff of one hunk; without a line number, or in a style without numbers, it has none."""
    old, new = (sum(map(len, sides)) for sides in zip(*((p.old, p.new) for p in patch.parts), strict=True))
    head, hint, style = "@@", patch.hint, patch.style
    if style.numbers == "right" and hint is not None:
        head = f"@@ -{hint},{old} +{hint},{new} @@"
    elif style.numbers == "wrong" and hint is not None:
        head = f"@@ -{hint},{old + 2} +{hint + 1},{max(1, new - 1)} @@"
    return f"--- a/{path}\n+++ b/{path}\n{head}\n{body(patch.parts, style)}"


def blocks(notation: str, patch: Written) -> str:
    """A SEARCH/REPLACE block."""
    old = _block_rows((row for part in patch.parts for row in part.old), patch.style)
    new = _block_rows((row for part in patch.parts for row in part.new), patch.style)
    if notation == CLINE:
        return f"------- SEARCH\n{old}=======\n{new}+++++++ REPLACE\n"
    head = f":start_line:{patch.hint}\n-------\n" if notation == ROO and patch.hint is not None else ""
    opening, divider, end = patch.style.markers
    middle = f"{divider}\n" * max(1, patch.style.divider)
    return f"{opening}\n{head}{old}{middle}{new}{end if patch.style.divider else divider}\n"


def _block_rows(rows: Iterable[str], style: Style) -> str:
    return "".join(("\\" if style.escaped and MARKER.match(row) else "") + row + "\n" for row in rows)
