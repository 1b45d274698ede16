"""Edits land where they belong, whatever stands before them and whatever the editor counts in."""

from __future__ import annotations

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EMACS, LSP_MODE, NEOVIM, VSCODE, Habits
from e2e.prompts import block, patch, statuses
from handrail.testing import answer

pytestmark = pytest.mark.any_client

ENCODINGS = [
    (VSCODE, "utf-16"),
    (EMACS, "utf-16"),
    (NEOVIM, "utf-8"),
    (NEOVIM.with_encoding("utf-16"), "utf-16"),
    (NEOVIM.with_encoding("utf-32"), "utf-32"),
    (LSP_MODE, "utf-32"),
]
encodings = pytest.mark.parametrize(
    ("habits", "encoding"), ENCODINGS, ids=[f"{habits.name}-in-{name}" for habits, name in ENCODINGS]
)

# None of these ends a line: form feed, vertical tab, NEL, line and paragraph separator, the separators.
ODD = "a\fb\x0bc\x85d\u2028e\u2029f\x1cg\x1dh\x1e"
TEXT = f"page\f\n{ODD}\nclef 𝄞 and 👩‍💻, e\u0301: old value; ß\nend\n"


@encodings
async def test_odd_characters_before_the_edit(stage: Stage, habits: Habits, encoding: str) -> None:
    settings = stage.script(answer("", patch("a.txt", "old value", "new 🎉 value")), answer("Done."))
    editor = await stage.start(habits, settings=settings)
    assert editor.desk.encoding == encoding
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    report = await editor.turn("Edit.")
    assert statuses(report) == ["landed"]
    assert editor.desk[uri] == TEXT.replace("old value", "new 🎉 value")
    (given,) = editor.edits
    (edit,) = given["edit"]["documentChanges"][0]["edits"]
    assert edit["range"]["start"]["line"] == 2
    assert edit["newText"] == "new 🎉"


@encodings
async def test_the_mirror_follows_typing_among_odd_characters(
    stage: Stage, habits: Habits, encoding: str
) -> None:
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    for new, before in (("𝄢", "e\u2029"), ("\f", "clef"), ("\r\n", "and"), ("👍", "old"), ("x", "d\u2028")):
        editor.desk.type(uri, new, before=before)
    editor.desk.tell()
    held = editor.desk[uri]
    report = await editor.turn(block("a.txt", "end", "END"))
    assert statuses(report) == ["landed"]
    assert editor.desk[uri] == held.replace("end", "END")
    row = next(line for line in held.split("\n") if "old" in line)
    report = await editor.turn(block("a.txt", row, row.replace("old", "new")))
    assert editor.desk[uri] == held.replace("end", "END").replace("👍old", "👍new")


@encodings
async def test_a_diagnostic_counts_as_the_editor_does(stage: Stage, habits: Habits, encoding: str) -> None:
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    await editor.turn(block("a.txt", "clef 𝄞 and 👩‍💻, e\u0301: other value; ß", "gone"))
    (shown,) = editor.shown_diagnostics(uri)
    row = TEXT.split("\n")[2]
    units = {"utf-8": len(row.encode()), "utf-16": len(row.encode("utf-16-le")) // 2, "utf-32": len(row)}
    assert shown["range"]["start"] == {"line": 2, "character": 0}
    assert shown["range"]["end"] == {"line": 2, "character": units[encoding]}


@encodings
async def test_the_range_of_a_context_is_read_in_the_same_units(
    stage: Stage, habits: Habits, encoding: str
) -> None:
    """A range that ends inside a character, or beyond the text, is no error."""
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.txt", TEXT))
    ends = [{"line": 2, "character": 6}, {"line": 2, "character": 10_000}, {"line": 99, "character": 0}]
    for end in ends:
        span = {"start": {"line": 0, "character": 0}, "end": end}
        report = await editor.turn(block("a.txt", "end", "end"), context=[{"uri": uri, "range": span}])
        assert statuses(report) == ["no-change"]


@pytest.mark.parametrize("habits", [NEOVIM, EMACS], ids=["neovim", "emacs"])
@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
async def test_a_document_of_carriage_returns(stage: Stage, editor: Editor, opened: bool) -> None:
    path = stage.put("a.txt", "one\rtwo\rthree\r")
    uri = editor.desk.open(path) if opened else ""
    report = await editor.turn(block("a.txt", "two", "TWO\ntwo and a half"))
    if opened and "\r" in editor.desk[uri]:
        # To LSP this document has three lines and to the editor it has one: no position would be safe.
        assert statuses(report) == ["edit-rejected"]
        assert editor.desk[uri] == "one\rtwo\rthree\r"
        return
    assert statuses(report) == ["landed"]
    if opened:
        editor.desk.save(uri)
    assert path.read_bytes() == b"one\rTWO\rtwo and a half\rthree\r"


async def test_mixed_line_ends_of_a_closed_file(stage: Stage, editor: Editor) -> None:
    """Every line keeps its own end; a new one takes that of the line before it."""
    path = stage.put("a.txt", b"one\r\ntwo\nthree\rfour\n\r\n\nend")
    report = await editor.turn(
        block("a.txt", "one\ntwo", "1\n2")
        + block("a.txt", "three\nfour", "three\n3.5\nfour")
        + block("a.txt", "end", "END")
    )
    assert statuses(report) == ["landed"] * 3
    assert path.read_bytes() == b"1\r\n2\nthree\r3.5\rfour\n\r\n\nEND"
    assert not editor.edits, "an editor would have made the line ends one kind"
