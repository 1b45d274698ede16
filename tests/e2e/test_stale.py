"""A8: an editor that stops telling of changes is asked to reopen the document, and nobody else."""

from __future__ import annotations

import pytest

from e2e.conftest import Stage
from e2e.habits import EMACS, NEOVIM, Habits
from e2e.prompts import block, patch, statuses
from handrail.testing import answer, call

TEXT = "one\ntwo\nthree\n"
EDIT = block("a.txt", "two", "TWO")
emacs = pytest.mark.parametrize("habits", [EMACS], ids=["emacs"])


@emacs
async def test_an_editor_that_stopped_telling_is_asked_to_reopen(stage: Stage, habits: Habits) -> None:
    """The user types and saves; the editor tells neither, and holds other lines than its mirror."""
    path = stage.put("a.txt", TEXT)
    editor = await stage.start(habits)
    editor.desk.open(path)
    await editor.request("failure.list")  # the server has seen it
    path.write_text(f"typed\n{TEXT}")
    report = await editor.turn(EDIT)
    assert statuses(report) == ["stale-document"]
    assert "reopen" in report["outcomes"][0]["failure"]["steps"][0]
    assert editor.edits == []
    assert path.read_text() == f"typed\n{TEXT}"


async def test_an_editor_that_tells_is_never_asked(stage: Stage, habits: Habits) -> None:
    path = stage.put("a.txt", TEXT)
    editor = await stage.start(habits)
    uri = editor.desk.open(path)
    editor.desk.type(uri, "typed\n", before="one")
    editor.desk.tell()
    editor.desk.save(uri)
    assert statuses(await editor.turn(EDIT)) == ["landed"]
    editor.desk.save(uri)
    assert statuses(await editor.turn(block("a.txt", "three", "THREE"))) == ["landed"]


async def test_a_dirty_document_whose_file_another_program_changed(stage: Stage, habits: Habits) -> None:
    path = stage.put("a.txt", TEXT)
    editor = await stage.start(habits)
    uri = editor.desk.open(path)
    editor.desk.type(uri, "typed\n", before="one")
    editor.desk.tell()
    await editor.request("failure.list")
    path.write_text("of another program\n")
    assert statuses(await editor.turn(EDIT)) == ["landed"]


async def test_a_document_that_was_dirty_from_the_beginning(stage: Stage, habits: Habits) -> None:
    """As VS Code opens it again after a restart."""
    path = stage.put("a.txt", "other\n")
    editor = await stage.start(habits)
    editor.desk.open(path.as_uri(), TEXT)
    await editor.request("failure.list")
    path.write_text("of another program\n")
    assert statuses(await editor.turn(EDIT)) == ["landed"]


@pytest.mark.parametrize(
    "saved", [TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT, TEXT + "\n", "one  \ntwo\nthree"]
)
@emacs
async def test_what_saving_changes_is_no_other_text(stage: Stage, habits: Habits, saved: str) -> None:
    path = stage.put("a.txt", TEXT)
    editor = await stage.start(habits)
    editor.desk.open(path)
    await editor.request("failure.list")  # the server has seen it
    path.write_bytes(saved.encode())
    assert statuses(await editor.turn(EDIT)) == ["landed"]


@pytest.mark.parametrize("habits", [NEOVIM], ids=["neovim"])
async def test_what_a_command_of_ours_changed_is_no_proof(stage: Stage, habits: Habits) -> None:
    path = stage.put("a.txt", TEXT)
    calls = (
        answer("", call("terminal", command="sed -i s/one/1/ a.txt")),
        answer("", patch("a.txt", "two", "TWO")),
    )
    editor = await stage.start(habits, settings=stage.script(*calls, answer("Done.")))
    editor.desk.open(path)
    await editor.request("failure.list")
    editor.answers = ["allow"]
    report = await editor.turn("Do it.")
    assert statuses(report)[-1] == "landed"
