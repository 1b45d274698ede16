"""Notebooks: refused where the editor shows their cells, since these may hold what no file has."""

from __future__ import annotations

import pytest

from e2e.conftest import Stage
from e2e.habits import NEOVIM, VSCODE, Habits
from e2e.prompts import block, statuses

CELLS = '{"cells": [\n  "one"\n]}\n'
EDIT = block("a.ipynb", '  "one"', '  "two"')


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
@pytest.mark.parametrize(
    "edit", [EDIT, "*** Begin Patch\n*** Delete File: a.ipynb\n*** End Patch\n"], ids=["edit", "delete"]
)
async def test_a_notebook_is_left_alone_with_what_to_do_instead(
    stage: Stage, habits: Habits, edit: str
) -> None:
    path = stage.put("a.ipynb", CELLS)
    editor = await stage.start(habits)
    given = await editor.request("turn.apply", edits=edit)
    assert statuses(given["report"]) == ["edit-rejected"]
    assert "handrail does not edit notebooks" in given["text"]
    assert path.read_text() == CELLS


@pytest.mark.parametrize("habits", [VSCODE], ids=["vscode"])
async def test_a_notebook_that_is_open_as_text_is_text(stage: Stage, habits: Habits) -> None:
    editor = await stage.start(habits)
    uri = editor.desk.open(stage.put("a.ipynb", CELLS))
    assert statuses((await editor.request("turn.apply", edits=EDIT))["report"]) == ["landed"]
    assert editor.desk[uri] == CELLS.replace("one", "two")


@pytest.mark.parametrize("habits", [NEOVIM], ids=["neovim"])
async def test_an_editor_without_notebooks_has_only_text(stage: Stage, habits: Habits) -> None:
    path = stage.put("a.ipynb", CELLS)
    editor = await stage.start(habits)
    assert statuses((await editor.request("turn.apply", edits=EDIT))["report"]) == ["landed"]
    assert path.read_text() == CELLS.replace("one", "two")
