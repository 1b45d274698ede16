"""
Patches that are more than one hunk: several hunks, several files, files added, moved and deleted.

Each takes files that changed and gives a request with the files that are right afterwards.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from replaying.changes import Change, clusters
from replaying.document import Document, Hunk, Part, Parts, fold
from replaying.notation import (
    AIDER,
    V4A,
    Fields,
    Style,
    Written,
    added,
    blocks,
    envelope,
    patch_request,
    replace_request,
    replacements,
    update,
    v4a_hunk,
)
from replaying.spoiled import indent_of, removed_rows, with_other_token, with_row

PLAIN = Style()
SIDES = (attrgetter("old"), attrgetter("new"))
WORD = re.compile(r"[A-Za-z_]\w{3,}")


@dataclass(frozen=True)
class Whole:
    """A request, and the files that it should change; None for one that is gone."""

    request: Fields
    right: Mapping[str, bytes | None]


Maker = Callable[[Sequence[Change], random.Random], Whole | None]


def _hunks(change: Change) -> list[Hunk]:
    """All differences of a file as hunks with three rows of context; none if one of them is not unique."""
    assert change.before is not None
    assert change.after is not None
    made = []
    for cluster in clusters(change.before.rows, change.after.rows, joined=7):
        parts: list[Part] = []
        at = cluster[0][0]
        for i, j, k, m in cluster:
            kept = change.before.rows[at:i]
            parts += [Part(kept, kept)] if kept else []
            parts.append(Part(change.before.rows[i:j], change.after.rows[k:m]))
            at = j
        made.append(Hunk(change.path, change.before, cluster[0][0], tuple(parts)).widened(3, 3))
    usable = all(hunk.is_unique and len(hunk.old) <= 120 and hunk.old != hunk.new for hunk in made)
    return made if usable and len(made) <= 25 else []


def _after(hunks: Sequence[Hunk]) -> bytes:
    """The file with all *hunks* made, from the last to the first."""
    document = hunks[0].document
    for hunk in sorted(hunks, key=lambda hunk: -hunk.start):
        document = document.spliced(hunk.start, hunk.parts)
    return document.raw


def _changed(changes: Sequence[Change], least: int) -> list[tuple[Change, list[Hunk]]]:
    both = [each for each in changes if each.before is not None and each.after is not None]
    found = [(each, _hunks(each)) for each in both]
    return [(each, hunks) for each, hunks in found if len(hunks) >= least]


def _request(files: Mapping[str, Document], *sections: str) -> Fields:
    return patch_request(V4A, files, envelope(list(sections)))


def _section(hunks: Sequence[Hunk]) -> str:
    return update(hunks[0].path, [v4a_hunk(hunk.parts, PLAIN) for hunk in hunks])


def _named(change: Change) -> Document:
    assert change.before is not None
    return change.before


def several_hunks(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """All differences of one file, in order."""
    found = _changed(changes[:1], 2)
    if not found:
        return None
    change, hunks = found[0]
    return Whole(_request({change.path: _named(change)}, _section(hunks)), {change.path: _after(hunks)})


def out_of_order(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """All differences of one file, in any order, in one section or several."""
    found = _changed(changes[:1], 2)
    if not found:
        return None
    change, hunks = found[0]
    mixed = chance.sample(hunks, len(hunks))
    sections = [_section(mixed)] if chance.random() < 0.5 else [_section([hunk]) for hunk in mixed]
    return Whole(_request({change.path: _named(change)}, *sections), {change.path: _after(hunks)})


def several_files(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """All differences of several files."""
    found = _changed(changes[:4], 1)
    if len(found) < 2:
        return None
    files = {change.path: _named(change) for change, _ in found}
    right = {change.path: _after(hunks) for change, hunks in found}
    return Whole(_request(files, *(_section(hunks) for _, hunks in found)), right)


def several_diffs(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """All differences of several files as one unified diff with wrong numbers."""
    found = _changed(changes[:4], 1)
    if not found:
        return None
    text = ""
    for change, hunks in found:
        text += f"--- a/{change.path}\n+++ b/{change.path}\n"
        for hunk in hunks:
            text += f"@@ -{max(1, hunk.start + chance.randrange(-30, 30))},3 +1,3 @@\n"
            text += v4a_hunk(hunk.parts, PLAIN).removeprefix("@@\n")
    files = {change.path: _named(change) for change, _ in found}
    right = {change.path: _after(hunks) for change, hunks in found}
    return Whole(patch_request("udiff", files, text), right)


def several_replacements(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """All differences of one file as search and replacement strings in one request."""
    found = _changed(changes[:1], 2)
    if not found:
        return None
    change, hunks = found[0]
    strings = [_strings(hunk.parts) for hunk in hunks]
    return Whole(replacements(change.path, _named(change), strings), {change.path: _after(hunks)})


def one_bad_replacement(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """Several search and replacement strings, one of which removes a row that is not there."""
    found = _changed(changes[:1], 2)
    if not found:
        return None
    change, hunks = found[0]
    places = [number for number, hunk in enumerate(hunks) if removed_rows(hunk.parts)]
    bad = chance.choice(places) if places else 0
    wrong = _bad(hunks[bad], chance) if places else None
    if wrong is None:
        return None
    strings = [_strings(wrong if number == bad else hunk.parts) for number, hunk in enumerate(hunks)]
    return Whole(replacements(change.path, _named(change), strings), {})


def _strings(parts: Parts) -> dict[str, object]:
    old, new = ("\n".join(row for part in parts for row in side(part)) for side in SIDES)
    return {"old": old, "new": new, "start_line": None}


def several_blocks(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """All differences of several files as SEARCH/REPLACE blocks, each below its file's name."""
    found = _changed(changes[:4], 1)
    if len(found) < 2:
        return None
    pieces = [
        f"{change.path}\n```\n{blocks(AIDER, Written(hunk.parts, None, PLAIN))}```\n"
        for change, hunks in found
        for hunk in hunks
    ]
    files = {change.path: _named(change) for change, _ in found}
    right = {change.path: _after(hunks) for change, hunks in found}
    return Whole(patch_request("search_replace", files, "\n".join(pieces)), right)


def one_bad_hunk(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """Several hunks and files, of which one hunk removes a row that is not there: nothing is to change."""
    found = _changed(changes[:4], 1)
    if sum(len(hunks) for _, hunks in found) < 2:
        return None
    places = [
        (f, h)
        for f, (_, hunks) in enumerate(found)
        for h, hunk in enumerate(hunks)
        if removed_rows(hunk.parts)
    ]
    if not places:
        return None
    bad = chance.choice(places)
    sections = []
    for f, (change, hunks) in enumerate(found):
        shown = []
        for h, hunk in enumerate(hunks):
            parts: Parts | None = _bad(hunk, chance) if (f, h) == bad else hunk.parts
            if parts is None:
                return None
            shown.append(v4a_hunk(parts, PLAIN))
        sections.append(update(change.path, shown))
    return Whole(_request({change.path: _named(change) for change, _ in found}, *sections), {})


def _bad(hunk: Hunk, chance: random.Random) -> Parts | None:
    at = chance.choice(removed_rows(hunk.parts))
    other = with_other_token(hunk.parts[at[0]].old[at[1]], chance)
    return None if other is None else with_row(hunk.parts, at, (other,))


def additions_below_scope(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """Added rows without any context, below the header that names the row above them."""
    for change, hunks in _changed(changes[:1], 1):
        document = _named(change)
        for hunk in hunks:
            at = hunk.start
            for part in hunk.parts:
                if not part.old and at and part.new[0].strip() and part.new[-1].strip():
                    header = document.rows[at - 1]
                    if (
                        fold(header)
                        and document.count((header,)) == 1
                        and header.strip() == header.strip(" @")
                    ):
                        only = (Part((), part.new),)
                        section = update(change.path, [v4a_hunk(only, Style(scopes=(header.strip(),)))])
                        right = {change.path: document.spliced(at, only).raw}
                        return Whole(_request({change.path: document}, section), right)
                at += len(part.old)
    return None


def additions_at_end(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """Added rows without any context and without a header: they go to the end."""
    for change, hunks in _changed(changes[:1], 1):
        document = _named(change)
        new = next(
            (p.new for hunk in hunks for p in hunk.parts if p.new and not p.is_kept and fold("".join(p.new))),
            None,
        )
        if new and new[0].strip() and new[-1].strip() and document.rows[-len(new) :] != new:
            only = (Part((), new),)
            section = update(change.path, [v4a_hunk(only, Style(at_end=chance.random() < 0.5))])
            right = {change.path: document.spliced(len(document.rows), only).raw}
            return Whole(_request({change.path: document}, section), right)
    return None


# ---- Files ----------------------------------------------------------------------------------------


def _file(changes: Sequence[Change]) -> tuple[str, Document] | None:
    for change in changes:
        document = change.before or change.after
        if (
            document
            and document.rows
            and document.eols[-1]
            and set(document.eols) == {"\n"}
            and len(document.rows) < 600
        ):
            return change.path, document
    return None


def add_move_delete(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """One file is added, one deleted, and one moved with its differences made."""
    found, other = _changed(changes[:1], 1), _file(changes[1:])
    if not found or other is None or other[0] == changes[0].path:
        return None
    change, hunks = found[0]
    moved = update(change.path, [v4a_hunk(hunk.parts, PLAIN) for hunk in hunks], f"moved/{change.path}")
    files = {change.path: _named(change), other[0]: other[1]}
    sections = [moved, added(f"new/{other[0]}", other[1]), f"*** Delete File: {other[0]}\n"]
    right = {
        change.path: None,
        f"moved/{change.path}": _after(hunks),
        f"new/{other[0]}": other[1].raw,
        other[0]: None,
    }
    return Whole(_request(files, *chance.sample(sections, 3)), right)


def files_in_the_way(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """A file is added or moved onto another, or one that is not there is changed: nothing is to change."""
    found, other = _changed(changes[:1], 1), _file(changes[1:])
    if not found or other is None or other[0] == changes[0].path:
        return None
    change, hunks = found[0]
    files = {change.path: _named(change), other[0]: other[1]}
    sections = chance.choice(
        (
            [_section(hunks), added(other[0], Document(("new",), ("\n",)))],
            [update(change.path, [v4a_hunk(hunk.parts, PLAIN) for hunk in hunks], other[0])],
            [_section(hunks), "*** Delete File: not/there.txt\n"],
            [_section(hunks), update("not/there.txt", [v4a_hunk(hunks[0].parts, PLAIN)])],
        )
    )
    return Whole(_request(files, *sections), {})


# ---- Replace all ----------------------------------------------------------------------------------


def replace_all(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """A word that stands several times, as a string."""
    return _replace_all(changes, chance, lambda document, word: document)


def replace_all_lookalikes(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """A word that stands several times, among others that look like it."""

    def with_lookalikes(document: Document, word: str) -> Document:
        alike = (word.upper() + "_", word[:-1] + "-" + word[-1], " ".join(word))
        return document.with_inserted(chance.randrange(len(document.rows)), alike)

    return _replace_all(changes, chance, with_lookalikes)


def only_lookalikes(changes: Sequence[Change], chance: random.Random) -> Whole | None:
    """A row that stands nowhere, while others resemble it: nothing is to change."""
    change = changes[0]
    if change.before is None:
        return None
    rows = [row for row in change.before.rows if len(fold(row)) >= 12 and WORD.search(row)]
    if not rows:
        return None
    row = chance.choice(rows)
    other = with_other_token(row, chance)
    if other is None or change.before.count((other,)) or other in "\n".join(change.before.rows):
        return None
    hunk = {"old": other, "new": indent_of(other) + "replaced()", "start_line": None}
    return Whole(replace_request(change.path, change.before, hunk, everywhere=True), {})


def _replace_all(
    changes: Sequence[Change], chance: random.Random, around: Callable[[Document, str], Document]
) -> Whole | None:
    change = changes[0]
    if change.before is None or len(set(change.before.eols) - {""}) > 1:
        return None
    words = [word for row in change.before.rows for word in WORD.findall(row)]
    often = sorted({word for word in words if words.count(word) >= 2})[:200]
    if not often:
        return None
    word = chance.choice(often)
    document = around(change.before, word)
    new = "renamed_" + word[::-1]
    right = document.with_rows(tuple(row.replace(word, new) for row in document.rows)).raw
    hunk = {"old": word, "new": new, "start_line": None}
    fields = replace_request(change.path, document, hunk, everywhere=True)
    return Whole(fields, {change.path: right})
