"""
Show a change to people: the unified diff of edits that are already known.

Only the lines that the edits touch are examined; no difference is computed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from handrail.core.documents.edit import TextEdit, apply, whole_lines
from handrail.core.documents.text import Text, split_lines

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
QUOTED = re.compile(r'[\x00-\x1f\x7f"\\]')
ESCAPES = dict(zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True))
DRIVE = re.compile(r"[A-Za-z]:[/\\]")


def unified_diff(path: str, base: Text, edits: Sequence[TextEdit], context: int = 3, to: str = "") -> str:
    """
    The change as a unified diff for people.

    Args:
        path: Named in the two header lines.
        base: The text before.
        edits: The change, ascending, without overlap.
        context: How many unchanged lines to show around each change.
        to: The path after the change, if it is another one.

    Returns:
        LF-terminated text; empty if nothing changes. Line ends themselves are not shown.
    """
    blocks = _line_blocks(base, edits)
    if not blocks:
        return ""
    out = [f"--- {side('a', path)}", f"+++ {side('b', to or path)}"]
    growth = 0
    for group in _groups(blocks, context):
        first, last = max(0, group[0][0] - context), min(len(base.rows), group[-1][1] + context)
        body, at = [], first
        for start, end, new in group:
            body += [" " + row for row in base.rows[at:start]]
            body += ["-" + row for row in base.rows[start:end]]
            body += ["+" + row for row in new]
            at = end
        body += [" " + row for row in base.rows[at:last]]
        old_count = last - first
        new_count = old_count + sum(len(new) - (end - start) for start, end, new in group)
        # A range of no rows is named by the row above it.
        old_start, new_start = first + (old_count > 0), first + growth + (new_count > 0)
        out.append(f"@@ -{old_start},{old_count} +{new_start},{new_count} @@")
        out += body
        growth += new_count - old_count
    return "\n".join(out) + "\n"


def _line_blocks(base: Text, edits: Sequence[TextEdit]) -> list[tuple[int, int, list[str]]]:
    """Edits widened to whole rows (first, past the last, new rows), those that share a row as one."""
    blocks: list[tuple[int, int, list[TextEdit]]] = []
    for edit in edits:
        lines = whole_lines(base, edit)
        first = base.line_at(lines.start)
        last = first if lines.start == lines.end else base.line_at(max(lines.start, lines.end - 1)) + 1
        last = min(last, len(base.rows))
        if blocks and first < blocks[-1][1]:
            blocks[-1] = (blocks[-1][0], max(last, blocks[-1][1]), [*blocks[-1][2], edit])
        else:
            blocks.append((first, last, [edit]))
    result = []
    for first, last, inside in blocks:
        start = base.starts[first]
        end = base.starts[last] if last < len(base.starts) else len(base.content)
        moved = [replace(edit, span=edit.span.shift(-start)) for edit in inside]
        new = [line.rstrip("\r\n") for line in split_lines(apply(base.content[start:end], moved))]
        result.append(_without_equal_ends(base, (first, last, new)))
    return result


def _without_equal_ends(base: Text, block: tuple[int, int, list[str]]) -> tuple[int, int, list[str]]:
    first, last, new = block
    while first < last and len(new) > 1 and base.rows[first] == new[0]:
        first, new = first + 1, new[1:]
    while first < last and len(new) > 1 and base.rows[last - 1] == new[-1]:
        last, new = last - 1, new[:-1]
    return first, last, new


def _groups(blocks: list[tuple[int, int, list[str]]], context: int) -> list[list[tuple[int, int, list[str]]]]:
    groups = [[blocks[0]]]
    for block in blocks[1:]:
        if block[0] - groups[-1][-1][1] <= 2 * context:
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


def side(letter: str, path: str) -> str:
    """
    Returns how the header of a diff names a file: `a/` or `b/` stands before relative paths only.

    A name with control characters is quoted as git does it, so that it is one line.
    """
    name = path if path.startswith("/") or DRIVE.match(path) else f"{letter}/{path}"
    return f'"{QUOTED.sub(_escape, name)}"' if CONTROL.search(name) else name


def _escape(character: re.Match[str]) -> str:
    return "\\" + ESCAPES.get(character[0], f"{ord(character[0]):03o}")


def creation_diff(path: str, text: Text) -> str:
    """A new document as a unified diff."""
    body = [f"--- /dev/null\n+++ {side('b', path)}\n@@ -0,0 +1,{len(text.rows)} @@\n"]
    return "".join([*body, *(f"+{row}\n" for row in text.rows)])


def deletion_diff(path: str, text: Text) -> str:
    """A removed document as a unified diff."""
    body = [f"--- {side('a', path)}\n+++ /dev/null\n@@ -1,{len(text.rows)} +0,0 @@\n"]
    return "".join([*body, *(f"-{row}\n" for row in text.rows)])
