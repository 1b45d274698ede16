"""
What is told and kept of an edit if the editor saves its document for us, and a formatter runs on that save.

Most of it in VS Code, which opens a closed document in order to edit it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import EMACS, VSCODE, Habits, opt_in
from e2e.prompts import block, patch, statuses, v4a
from handrail.testing import answer, call, snapshot
from handrail.testing.behaviours import Formatter, Reaction, end_last_line, strip_blanks
from handrail.testing.texts import Json

TEXT = "import b\nimport a\nx = 1\n"
CHANGED = "something such as a formatter changed"


def black(text: str) -> str:
    """With double quotes."""
    return text.replace("'", '"')


def isort(text: str) -> str:
    """With sorted imports."""
    rows = text.splitlines(keepends=True)
    imports = sorted(row for row in rows if row.startswith("import"))
    return "".join([*imports, *(row for row in rows if not row.startswith("import"))])


def remove_unused(text: str) -> str:
    """Without what is imported and not used."""
    return text.replace("import unused\n", "")


def format_on_save(editor: Editor, formatter: Formatter, then: Callable[[str], object] | None = None) -> None:
    """A formatter runs whenever the editor saves for us; *then* the user acts before the text is written."""

    def saving(uris: list[str]) -> Json:
        for uri in uris:
            if (formatted := formatter(editor.desk[uri])) != editor.desk[uri]:
                editor.desk.rewrite(uri, formatted)
                editor.desk.tell(loudly=True)
            if then is not None:
                then(uri)
            editor.desk.save(uri)
        return {"saved": uris}

    editor.saving = saving


async def start(stage: Stage, *answers: Json, closed: str = "auto") -> Editor:
    settings = {"edits": {"closedDocuments": closed}, **(stage.script(*answers) if answers else {})}
    return await stage.start(VSCODE, settings=settings, options=opt_in("save", approvals=True))


def notes(report: Json) -> str:
    return " ".join(note for outcome in report["outcomes"] for note in outcome.get("notes", []))


async def restore(editor: Editor, report: Json) -> Json:
    restored: Json = await editor.request("checkpoint.restore", checkpoint=report["checkpoint"])
    assert (restored["conflicts"], restored["partial"]) == ([], [])
    return restored


# ---- A closed document ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formatter", "edit", "is_noted"),
    [
        (black, ("x = 1", "x = 'q'"), True),
        (isort, ("import b", "import b\nimport Z"), False),
        (isort, ("x = 1", "x = 2"), False),
        (remove_unused, ("x = 1", "import unused\nx = 1"), True),
        (strip_blanks, ("x = 1", "x = 1  \ny = 2"), False),
    ],
    ids=["the-same-line", "moved", "other-lines", "removed", "blanks"],
)
async def test_an_edit_that_is_formatted_when_it_is_saved_has_landed(
    stage: Stage, formatter: Formatter, edit: tuple[str, str], is_noted: bool
) -> None:
    editor = await start(stage)
    path = stage.put("a.py", TEXT)
    format_on_save(editor, formatter)
    report = await editor.turn(block("a.py", *edit))
    assert statuses(report) == ["landed"]
    assert path.read_text() == formatter(TEXT.replace(*edit))
    assert (CHANGED in notes(report)) == is_noted
    assert await editor.request("failure.list") == []
    await restore(editor, report)
    assert editor.desk[path.as_uri()] in (TEXT, formatter(TEXT))


async def test_the_other_file_of_a_call_stays_if_one_is_formatted_when_it_is_saved(stage: Stage) -> None:
    editor = await start(stage)
    stage.put("a.py", TEXT)
    format_on_save(editor, black)
    report = await editor.turn(
        v4a("*** Update File: a.py", "@@", "-x = 1", "+x = 'q'", "*** Add File: n.py", "+n = 1")
    )
    assert statuses(report) == ["landed", "landed"]
    assert snapshot(stage.root) == {"a.py": b'import b\nimport a\nx = "q"\n', "n.py": b"n = 1\n"}


@pytest.mark.parametrize(
    ("formatter", "content"),
    [
        (end_last_line, "y = 1"),
        (strip_blanks, "y = 1  \n"),
        (black, "y = 'q'\n"),
        (isort, "import b\nimport a\n"),
    ],
    ids=["last-line", "blanks", "quotes", "imports"],
)
async def test_a_new_file_that_is_formatted_when_it_is_saved_has_landed(
    stage: Stage, formatter: Formatter, content: str
) -> None:
    script = answer("", call("write_file", path="n.py", content=content))
    editor = await start(stage, script, answer("Done."), closed="editor")
    format_on_save(editor, formatter)
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed"]
    assert snapshot(stage.root) == {"n.py": formatter(content).encode()}
    await restore(editor, report)
    assert snapshot(stage.root) == {}


async def test_a_file_that_is_formatted_when_it_is_moved_is_at_one_place(stage: Stage) -> None:
    editor = await start(stage, closed="editor")
    stage.put("a.py", TEXT)
    format_on_save(editor, black)
    report = await editor.turn(v4a("*** Update File: a.py", "*** Move to: b.py", "@@", "-x = 1", "+x = 'q'"))
    assert statuses(report) == ["landed"]
    assert snapshot(stage.root) == {"b.py": b'import b\nimport a\nx = "q"\n'}
    await restore(editor, report)
    assert snapshot(stage.root) == {"a.py": TEXT.encode()}


async def test_a_save_that_the_editor_only_claims_is_none(stage: Stage) -> None:
    """The edit has landed in the editor, and the file still has its earlier text."""
    editor = await start(stage)
    path = stage.put("a.py", TEXT)
    editor.saving = lambda uris: {"saved": uris}
    report = await editor.turn(block("a.py", "x = 1", "x = 2"))
    assert statuses(report) == ["landed"]
    assert CHANGED not in notes(report)
    assert path.read_text() == TEXT
    await restore(editor, report)
    assert editor.desk[path.as_uri()] == TEXT


# ---- What the turn left ---------------------------------------------------------------------------


@pytest.mark.parametrize("formatter", [black, isort], ids=["the-same-line", "other-lines"])
async def test_a_second_edit_that_is_formatted_when_it_is_saved_is_undone_with_the_first(
    stage: Stage, formatter: Formatter
) -> None:
    steps = (answer("", patch("a.py", "x = 1", "x = 2")), answer("", patch("a.py", "x = 2", "x = 'q'")))
    editor = await start(stage, *steps, answer("Done."))
    path = stage.put("a.py", TEXT)
    format_on_save(editor, formatter)
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed", "landed"]
    assert path.read_text() == formatter(TEXT.replace("1", "'q'"))
    editor.saving = lambda uris: {"saved": [uri for uri in uris if editor.desk.save(uri)]}
    await restore(editor, report)
    assert path.read_text() == TEXT


async def edited_and_saved(
    stage: Stage, formatter: Formatter, then: Callable[[Editor, str], object] | None = None
) -> tuple[Editor, Json, Path]:
    """A turn that edits an open document, then runs a command, before which the document is saved."""
    steps = (
        answer("", patch("a.py", "x = 1", "x = 'q'")),
        answer("", call("terminal", command="touch made.txt")),
    )
    editor = await start(stage, *steps, answer("Done."))
    path = stage.put("a.py", TEXT)
    editor.desk.open(path)
    editor.answers = ["allow"]
    format_on_save(editor, formatter, None if then is None else lambda uri: then(editor, uri))
    report = await editor.turn("Do it.")
    editor.saving = lambda uris: {"saved": [uri for uri in uris if editor.desk.save(uri)]}
    assert statuses(report) == ["landed", "landed"]
    return editor, report, path


@pytest.mark.parametrize("formatter", [black, isort], ids=["the-same-line", "other-lines"])
async def test_a_document_that_is_formatted_when_it_is_saved_for_a_command_is_undone(
    stage: Stage, formatter: Formatter
) -> None:
    editor, report, path = await edited_and_saved(stage, formatter)
    assert path.read_text() == formatter(TEXT.replace("1", "'q'"))
    await restore(editor, report)
    assert (editor.desk[path.as_uri()], path.read_text()) == (TEXT, TEXT)


@pytest.mark.parametrize("typed", [" as mine", "\nimport c"], ids=["a-word", "a-row"])
async def test_what_the_user_types_while_a_document_is_saved_for_a_command_stays(
    stage: Stage, typed: str
) -> None:
    def then(editor: Editor, uri: str) -> None:
        editor.desk.type(uri, typed, after="import b")
        editor.desk.tell(loudly=True)

    editor, report, path = await edited_and_saved(stage, lambda text: text, then)
    await restore(editor, report)
    assert editor.desk[path.as_uri()] == TEXT.replace("import b", f"import b{typed}")


@pytest.mark.parametrize("formatter", [black, isort], ids=["the-same-line", "other-lines"])
async def test_what_the_user_types_before_a_document_is_saved_for_a_command_stays(
    stage: Stage, formatter: Formatter
) -> None:
    steps = (
        answer("", patch("a.py", "x = 1", "x = 'q'")),
        answer("", call("terminal", command="touch made.txt")),
    )
    editor = await start(stage, *steps, answer("Done."))
    uri = editor.desk.open(stage.put("a.py", TEXT))
    editor.answers = ["allow", "allow"]  # to run it, and to save the typed text
    format_on_save(editor, formatter)
    editor.behaviours = [Reaction(later=lambda: editor.desk.type(uri, "# mine\n", before="x ="))]
    report = await editor.turn("Do it.")
    assert editor.desk[uri] == formatter(TEXT.replace("x = 1", "# mine\nx = 'q'"))
    editor.saving = lambda uris: {"saved": [uri for uri in uris if editor.desk.save(uri)]}
    await restore(editor, report)
    assert editor.desk[uri] == TEXT.replace("x = 1", "# mine\nx = 1")


# ---- A document whose file the agent removes ------------------------------------------------------

EMACS_PLUGIN = replace(EMACS, has_extension=True)
DELETE = v4a("*** Delete File: a.py")
MOVE = v4a("*** Update File: a.py", "*** Move to: b.py", "@@", "-x = 2", "+x = 3")
STAYS_OPEN = "still has the document open"


@pytest.mark.parametrize("habits", [VSCODE, EMACS_PLUGIN], ids=["vscode", "emacs"])
@pytest.mark.parametrize("removal", [DELETE, MOVE], ids=["deleted", "moved"])
async def test_a_removed_document_that_stays_open_is_told_and_not_saved_again(
    stage: Stage, habits: Habits, removal: str
) -> None:
    steps = (
        answer("", patch("a.py", "x = 1", "x = 2")),
        answer("", call("patch", mode="v4a", patch=removal)),
        answer("", call("terminal", command="touch made.txt")),
    )
    settings = {"terminal": {"save": "always"}, **stage.script(*steps, answer("Done."))}
    editor = await stage.start(habits, settings=settings, options=opt_in("save", approvals=True))
    path = stage.put("a.py", TEXT)
    uri = editor.desk.open(path)
    editor.answers = ["allow"]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed"] * 3
    assert uri in editor.desk.documents
    assert STAYS_OPEN in notes(report)
    assert not path.exists()
    assert editor.saves == []
    await restore(editor, report)
    assert (editor.desk[uri], path.read_text()) == (TEXT, TEXT)


async def test_a_removed_document_that_the_agent_edits_again_is_saved_again(stage: Stage) -> None:
    steps = (
        answer("", patch("a.py", "x = 1", "x = 2")),
        answer("", call("patch", mode="v4a", patch=DELETE)),
        answer("", call("write_file", path="a.py", content="new = 1\n")),
        answer("", call("terminal", command="touch made.txt")),
    )
    editor = await start(stage, *steps, answer("Done."))
    path = stage.put("a.py", TEXT)
    editor.desk.open(path)
    editor.answers = ["allow"]
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed"] * 4
    assert path.read_text() == "new = 1\n"


@pytest.mark.parametrize("removal", [DELETE, MOVE.replace("x = 2", "x = 1")], ids=["deleted", "moved"])
async def test_a_removed_document_that_the_editor_closes_is_not_said_to_be_open(
    stage: Stage, removal: str
) -> None:
    editor = await start(stage, answer("", call("patch", mode="v4a", patch=removal)), answer("Done."))
    path = stage.put("a.py", TEXT)
    uri = editor.desk.open(path)
    report = await editor.turn("Do it.")
    assert statuses(report) == ["landed"]
    assert uri not in editor.desk.documents
    assert STAYS_OPEN not in notes(report)
