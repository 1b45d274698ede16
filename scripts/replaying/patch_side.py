"""
Ways in which a model writes a hunk badly: the document is as it is, the patch is not.

Each takes a hunk and gives it back with a spoiled patch, or None if it does not lend itself to that.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

from replaying.document import Hunk, Part, Parts, fold
from replaying.notation import AIDER, CLINE, HINTED, REPLACE, ROO, STRINGS, UNIFIED, V4A, Style
from replaying.spoiled import (
    Spoiled,
    each_row,
    indent_of,
    kept_rows,
    removed_rows,
    with_other_token,
    with_row,
)

STRING = re.compile(r"""("[^"]*"|'[^']*')""")
SPACED = re.compile(r"\w \w")
ODD = "“”‘’–—‑\u00a0\u202f"
MARKERS = ("...", "# ...", "// ...", "# ... existing code ...", "// ... rest of the code ...", "[...]", "…")


def plain(hunk: Hunk, chance: random.Random) -> Spoiled:
    """As it stands, with a line number or without."""
    hint = chance.choice((None, hunk.start + 1))
    return Spoiled(hunk, hunk.parts, hint, style=Style(ends_line=chance.random() < 0.5))


# ---- Blanks ---------------------------------------------------------------------------------------


def trailing_blanks(hunk: Hunk, chance: random.Random) -> Spoiled:
    """Rows that the document should have end in blanks that are not there."""
    chosen = {chance.randrange(len(hunk.old))}
    rows = iter(range(10_000))

    def spoil(row: str) -> str:
        return (
            row + chance.choice(("  ", " ", "\t")) if next(rows) in chosen or chance.random() < 0.4 else row
        )

    return Spoiled(hunk, each_row(hunk.parts, spoil, added=False))


def trailing_blanks_uneven(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A kept row ends in blanks in the search text, and not in the replacement."""
    places = kept_rows(hunk.parts)
    if not places:
        return None
    part, row = chance.choice(places)
    whole = hunk.parts[part].old
    before, kept, behind = whole[:row], whole[row], whole[row + 1 :]
    cut = [Part(before, before), Part((kept + "  ",), (kept,)), Part(behind, behind)]
    parts = hunk.parts[:part] + tuple(each for each in cut if each.old) + hunk.parts[part + 1 :]
    return Spoiled(hunk, parts, notations=STRINGS)


def dedented(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The whole hunk stands further left than in the document."""
    indents = [indent_of(row) for row in (*hunk.old, *hunk.new) if row.strip()]
    common = indents[0]
    while not all(indent.startswith(common) for indent in indents):
        common = common[:-1]
    if not common:
        return None
    step = 1 if common.startswith("\t") else chance.choice((2, 4))
    cut = len(common) if chance.random() < 0.7 or step > len(common) else step
    return Spoiled(hunk, each_row(hunk.parts, lambda row: row[min(cut, len(indent_of(row))) :]))


def from_first_word(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The strings begin at the first word of a kept row, and are exact from there."""
    first = hunk.parts[0]
    indent = indent_of(first.old[0]) if first.is_kept else ""
    if not indent or not fold(first.old[0]):
        return None
    row = first.old[0].removeprefix(indent)
    parts = with_row(hunk.parts, (0, 0), (row,))
    text = "\n".join(row for part in parts for row in part.old)
    if "\n".join(hunk.document.rows).count(text) != 1:
        return None
    return Spoiled(hunk, parts, notations=(REPLACE,))


def other_step(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Two blanks a step where the document has four, or the other way round."""
    step = step_of(hunk)
    if step not in (2, 4):
        return None
    wanted = 6 - step

    def rescaled(row: str) -> str:
        indent = indent_of(row)
        return " " * (len(indent) // step * wanted) + row[len(indent) :]

    return Spoiled(hunk, each_row(hunk.parts, rescaled))


def step_of(hunk: Hunk) -> int:
    """The blanks of one step, if all rows of the hunk and nearly all of the document keep to it; else 0."""
    widths = [indent_of(row) for row in hunk.document.rows if row.strip()]
    own = [indent_of(row) for row in (*hunk.old, *hunk.new) if row.strip()]
    known = [indent_of(row) for row in hunk.old if row.strip()]
    if any("\t" in indent for indent in own) or not any(map(len, known)):
        return 0
    for step in (4, 2):
        fits = [not len(indent) % step and "\t" not in indent for indent in widths]
        is_seen = step == 4 or any(len(indent) % 4 for indent in known)
        if sum(fits) >= 0.95 * len(widths) and all(not len(indent) % step for indent in own):
            return step if is_seen else 0
    return 0


def spaces_for_tabs(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The patch indents by blanks, the document by tabs."""
    indents = [indent_of(row) for row in (*hunk.old, *hunk.new) if row.strip()]
    if not any("\t" in indent for indent in indents) or any(" " in indent for indent in indents):
        return None
    width = chance.choice((2, 4, 4, 8))
    return Spoiled(
        hunk, each_row(hunk.parts, lambda row: re.sub("^\t+", lambda m: " " * (width * len(m[0])), row))
    )


def tabs_for_spaces(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The patch indents by tabs, the document by blanks."""
    step = step_of(hunk)
    if not step:
        return None
    return Spoiled(
        hunk, each_row(hunk.parts, lambda row: re.sub("^ +", lambda m: "\t" * (len(m[0]) // step), row))
    )


# ---- Characters -----------------------------------------------------------------------------------


def curled(row: str) -> str:
    """*row* with its straight quotes curled, opening and closing in turn."""
    out, is_open = [], False
    for character in row:
        if character == '"':
            out.append("”" if is_open else "“")
            is_open = not is_open
        else:
            out.append("’" if character == "'" else character)
    return "".join(out)


def smart_quotes(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Smart quotes in the rows that the document should have; the added ones are as they should be."""
    if not any(curled(row) != row for row in hunk.old) or _has_odd(hunk):
        return None
    return Spoiled(hunk, each_row(hunk.parts, curled, added=False))


def _has_odd(hunk: Hunk) -> bool:
    """Whether rows of the hunk have odd characters of their own: which are meant, nobody could tell."""
    return any(mark in row for row in (*hunk.old, *hunk.new) for mark in ODD)


def smart_quotes_throughout(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Smart quotes everywhere, where the document has none at all."""
    if not any(curled(row) != row for row in hunk.old) or _has_odd(hunk):
        return None
    return Spoiled(hunk, each_row(hunk.parts, curled))


def odd_blanks_and_dashes(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """No-break spaces and dashes in rows that the document should have."""

    def spoil(row: str) -> str:
        body = row.lstrip(" \t")
        odd = body.replace("-", "–", 1) if chance.random() < 0.5 else body.replace(" ", "\u00a0", 1)
        return row[: len(row) - len(body)] + odd

    parts = each_row(hunk.parts, spoil, added=False)
    return Spoiled(hunk, parts) if parts != hunk.parts and not _has_odd(hunk) else None


def literal_quotes(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Every double quote carries a backslash, as inside JSON."""
    if not any('"' in row for row in hunk.old) or any("\\" in row for row in (*hunk.old, *hunk.new)):
        return None
    return Spoiled(hunk, each_row(hunk.parts, lambda row: row.replace('"', '\\"')))


def literal_tabs(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Tabs are written as a backslash and a letter."""
    rows = (*hunk.old, *hunk.new)
    if not any("\t" in row for row in hunk.old) or any("\\" in row for row in rows):
        return None
    return Spoiled(hunk, each_row(hunk.parts, lambda row: row.replace("\t", "\\t")))


def literal_everything(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The strings went through JSON twice: one line with literal line ends."""
    if len(hunk.old) < 2:
        return None
    old, new = (json.dumps("\n".join(rows), ensure_ascii=False)[1:-1] for rows in (hunk.old, hunk.new))
    return Spoiled(hunk, (Part((old,), (new,)),), notations=(REPLACE,))


def spaced_string(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A string of a removed row has two blanks where the document has one: another string."""
    return _spaced(hunk, chance, removed_rows(hunk.parts))


def spaced_string_kept(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A string of a kept row has two blanks where the document has one."""
    return _spaced(hunk, chance, kept_rows(hunk.parts))


def _spaced(hunk: Hunk, chance: random.Random, places: list[tuple[int, int]]) -> Spoiled | None:
    found = [at for at in places if _quoted(hunk.parts[at[0]].old[at[1]])]
    if not found:
        return None
    at = chance.choice(found)
    row = hunk.parts[at[0]].old[at[1]]
    quoted = _quoted(row)
    assert quoted is not None
    inner = re.sub(r"(\w) (\w)", r"\1  \2", quoted[0], count=1)
    return Spoiled(hunk, with_row(hunk.parts, at, (row[: quoted.start()] + inner + row[quoted.end() :],)))


def _quoted(row: str) -> re.Match[str] | None:
    """The first string of *row* that has a blank between words."""
    return next((found for found in STRING.finditer(row) if SPACED.search(found[0])), None)


def crlf_patch(hunk: Hunk, chance: random.Random) -> Spoiled:
    """The patch has CRLF line ends, the document has LF."""
    return Spoiled(replace(hunk, document=hunk.document.with_eol("\n")), hunk.parts, style=Style(eol="\r\n"))


# ---- Blank rows -----------------------------------------------------------------------------------


def blank_missing(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A blank row among kept rows was left out."""
    hunk = hunk.widened(6, 6)
    places = [
        (p, r)
        for p, part in enumerate(hunk.parts)
        if part.is_kept
        for r in range(1, len(part.old) - 1)
        if not part.old[r].strip() and part.old[r - 1].strip() and part.old[r + 1].strip()
    ]
    if not places or not hunk.is_unique:
        return None
    return Spoiled(hunk, with_row(hunk.parts, chance.choice(places), ()))


def blank_extra(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A blank row stands among kept rows that is not there."""
    hunk = hunk.widened(4, 4)
    places = [
        (p, r)
        for p, part in enumerate(hunk.parts)
        if part.is_kept
        for r in range(1, len(part.old))
        if part.old[r].strip() and part.old[r - 1].strip()
    ]
    if not places or not hunk.is_unique:
        return None
    at = chance.choice(places)
    return Spoiled(hunk, with_row(hunk.parts, at, ("", hunk.parts[at[0]].old[at[1]])))


def blank_edges(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Search text and replacement begin or end with a blank row that is not there."""
    first, last = hunk.parts[0], hunk.parts[-1]
    if not (first.is_kept and last.is_kept and first.old[0].strip() and last.old[-1].strip()):
        return None
    blank = (Part(("",), ("",)),)
    parts = chance.choice((blank + hunk.parts, hunk.parts + blank, blank + hunk.parts + blank))
    around = (
        hunk.document.rows[max(0, hunk.start - 1) : hunk.start] + hunk.document.rows[hunk.end : hunk.end + 1]
    )
    return Spoiled(hunk, parts, notations=STRINGS) if all(map(str.strip, around)) else None


def bare_blanks(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Blank context rows have lost their space."""
    if "" not in (row for part in hunk.parts if part.is_kept for row in part.old):
        return None
    return Spoiled(hunk, hunk.parts, hunk.start + 1, style=Style(bare_blanks=True), notations=(V4A, UNIFIED))


# ---- Memory ---------------------------------------------------------------------------------------


def token_off(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A word of a kept row is misremembered."""
    return _misremembered(hunk.widened(4, 4), chance, kept_rows(hunk.widened(4, 4).parts))


def token_off_removed(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """A word of a removed row is misremembered."""
    return _misremembered(hunk, chance, removed_rows(hunk.parts))


def _misremembered(hunk: Hunk, chance: random.Random, places: list[tuple[int, int]]) -> Spoiled | None:
    if not places or not hunk.is_unique:
        return None
    at = chance.choice(places)
    other = with_other_token(hunk.parts[at[0]].old[at[1]], chance)
    if other is None:
        return None
    return Spoiled(hunk, with_row(hunk.parts, at, (other,)), chance.choice((None, hunk.start + 1)))


def fabricated(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Half of the rows that the document should have are made up."""
    hunk = hunk.widened(3, 3)
    places = kept_rows(hunk.parts) + removed_rows(hunk.parts)
    if len(places) < 4 or not hunk.is_unique:
        return None
    parts = hunk.parts
    others = [row for row in hunk.document.rows if fold(row) and row not in hunk.old] or ["pass"]
    for at in chance.sample(places, (len(places) + 1) // 2):
        made_up = with_other_token(chance.choice(others), chance) or "made up"
        parts = with_row(parts, at, (indent_of(parts[at[0]].old[at[1]]) + made_up.strip(),))
    return Spoiled(hunk, parts)


def elided(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The middle of a long run of kept rows is three dots, in search text and replacement."""
    hunk = hunk.widened(10, 10)
    runs = [p for p, part in enumerate(hunk.parts) if part.is_kept and len(part.old) >= 5]
    if not runs or not hunk.is_unique:
        return None
    at = chance.choice(runs)
    rows = hunk.parts[at].old
    shown = (*rows[:2], indent_of(rows[2]) + chance.choice(MARKERS), *rows[-2:])
    return Spoiled(hunk, (*hunk.parts[:at], Part(shown, shown), *hunk.parts[at + 1 :]))


# ---- Nothing to do --------------------------------------------------------------------------------


def no_change(hunk: Hunk, chance: random.Random) -> Spoiled:
    """Search text and replacement are the same."""
    return Spoiled(hunk, tuple(Part(part.old, part.old) for part in hunk.parts if part.old))


def empty_search(hunk: Hunk, chance: random.Random) -> Spoiled:
    """There is no search text."""
    return Spoiled(hunk, (Part((), hunk.new),), notations=(REPLACE, ROO, AIDER, CLINE))


def blank_search(hunk: Hunk, chance: random.Random) -> Spoiled:
    """The search text is a blank row."""
    return Spoiled(hunk, (Part(("",), hunk.new),), notations=(REPLACE, V4A))


# ---- Numbers --------------------------------------------------------------------------------------


def wrong_hint(hunk: Hunk, chance: random.Random) -> Spoiled:
    """The line number is far off, and the text is unique."""
    hint = max(1, hunk.start + 1 + chance.choice((-1, 1)) * chance.randrange(55, 400))
    return Spoiled(hunk, hunk.parts, hint, notations=HINTED)


def wrong_numbers(hunk: Hunk, chance: random.Random) -> Spoiled:
    """A unified diff whose line numbers and counts are wrong."""
    hint = max(1, hunk.start + 1 + chance.randrange(-200, 200))
    return Spoiled(hunk, hunk.parts, hint, style=Style(numbers="wrong"), notations=(UNIFIED,))


def no_numbers(hunk: Hunk, chance: random.Random) -> Spoiled:
    """A unified diff without line numbers."""
    return Spoiled(hunk, hunk.parts, style=Style(numbers="none"), notations=(UNIFIED,))


def meant_escapes(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The added rows mention escapes that are to be written as they are."""
    return _with_added(hunk, 'path = "dir\\run.bat\\n\\t" + \'\\r\\n\' + "\\\\"')


def _with_added(hunk: Hunk, row: str) -> Spoiled | None:
    at = next((p for p, part in enumerate(hunk.parts) if not part.is_kept and part.new), None)
    if at is None:
        return None
    part = hunk.parts[at]
    changed = Part(part.old, (*part.new, indent_of(part.new[-1]) + row))
    parts: Parts = (*hunk.parts[:at], changed, *hunk.parts[at + 1 :])
    return Spoiled(replace(hunk, parts=parts), parts)


# ---- What stands around and between the rows ------------------------------------------------------

FENCES = (("```\n", "```\n"), ("```diff\n", "```"), ("~~~\n", "~~~\n"))
HEREDOCS = (
    ("apply_patch <<'EOF'\n", "EOF\n"),
    ('apply_patch << "PATCH"\n', "PATCH\n"),
    ("cat <<'EOF' | apply_patch\n", "EOF\n"),
    ("%%bash\napply_patch <<'EOF'\n", "EOF\n"),
    ("bash -lc \"apply_patch <<'EOF'\n", 'EOF"\n'),
    ("```bash\napply_patch <<'EOF'\n", "EOF\n```\n"),
    ("Here is the patch:\n\n", "\nThis is all that it takes.\n"),
)
DIFF_WRAPPERS = (*FENCES, ("git apply <<'EOF'\n", "EOF\n"), ("```sh\npatch -p1 <<'EOF'\n", "EOF\n```\n"))


def wrapped(hunk: Hunk, chance: random.Random) -> Spoiled:
    """A V4A patch in a fence, a heredoc or prose, indented or not."""
    wrapper, indent = chance.choice((*FENCES, *HEREDOCS)), chance.choice(("", "", "  ", "\t"))
    return Spoiled(hunk, hunk.parts, style=Style(wrapper=wrapper, indent=indent), notations=(V4A,))


def wrapped_diff(hunk: Hunk, chance: random.Random) -> Spoiled:
    """A unified diff in a fence or a heredoc."""
    style = Style(wrapper=chance.choice(DIFF_WRAPPERS))
    return Spoiled(hunk, hunk.parts, style=style, notations=(UNIFIED,))


def rows_without_blank(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """Kept rows have lost the blank before them, all of them or some."""
    kept: list[int] = []
    number = 0
    for part in hunk.parts:
        rows = part.old if part.is_kept else (*part.old, *part.new)
        kept += [number + at for at, row in enumerate(rows) if part.is_kept and _may_lose_blank(row)]
        number += len(rows)
    rows = tuple(row for part in hunk.parts if part.is_kept for row in part.old if fold(row))
    if not kept or any(not _may_lose_blank(row) for row in rows):
        return None
    chosen = kept if chance.random() < 0.6 else [at for at in kept if chance.random() < 0.5] or kept[:1]
    return Spoiled(hunk, hunk.parts, style=Style(unsigned=frozenset(chosen)), notations=(V4A, UNIFIED))


def _may_lose_blank(row: str) -> bool:
    """Whether a row without the blank before it can be told from all that has a meaning in a patch."""
    return (
        bool(row.strip())
        and row[0] not in "+-@\\"
        and not re.match(r"\*\*\*|diff |index |```|~~~|[<=>]{5}", row)
    )


def doubled_divider(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The divider of a block stands twice, or in place of its end above a closing fence."""
    if any(re.match(r"={3,}\s*$|[<>|]{7}", row) for row in (*hunk.document.rows, *hunk.new)) or not hunk.new:
        return None
    twice = chance.random() < 0.5 and len(hunk.new) > 0
    style = Style(divider=2) if twice else Style(divider=0, wrapper=("```\n", "```\n"))
    return Spoiled(hunk, hunk.parts, style=style, notations=(AIDER, ROO))


def other_markers(hunk: Hunk, chance: random.Random) -> Spoiled | None:
    """The markers of a block are of another length, in lower case, of dashes, or without their word."""
    if any(re.match(r"[-<>=+]{3}", row) for row in (*hunk.old, *hunk.new)):
        return None
    return Spoiled(hunk, hunk.parts, style=Style(markers=chance.choice(OTHER_MARKERS)), notations=(AIDER,))


OTHER_MARKERS = (
    ("--- SEARCH", "=======", "+++ REPLACE"),
    ("<<< SEARCH", "===", ">>> REPLACE"),
    ("<<<<<<< search", "=======", ">>>>>>> replace"),
    ("<<<<<<<<<<<< SEARCH", "============", ">>>>>>>>>>>> REPLACE"),
    ("<<<<<<< SEARCH", "=======", ">>>>>>>"),
)
