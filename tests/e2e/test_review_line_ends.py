"""Pending changes stay what they are in editors that hold LF for the line ends of every file."""

from __future__ import annotations

import pytest

from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import Habits, opt_in
from e2e.prompts import patch
from handrail.testing import answer

BEFORE = "one\ntwo\nthree\n"
EDIT = patch("a.txt", "two\n", "TWO\n")
pytestmark = pytest.mark.parametrize("end", ["\n", "\r\n"])


def plain(text: str) -> str:
    return text.replace("\r\n", "\n")


async def started(stage: Stage, habits: Habits) -> Editor:
    settings = stage.script(answer("", EDIT), answer("Done."))
    own = ("save",) if habits.has_extension else ()
    return await stage.start(habits, settings=settings, options=opt_in(*own))


@pytest.mark.parametrize("types", [True, False])
async def test_a_file_that_was_edited_is_opened(stage: Stage, habits: Habits, end: str, types: bool) -> None:
    editor = await started(stage, habits)
    path = stage.put("a.txt", BEFORE.replace("\n", end))
    await editor.turn("Change it.")
    uri = editor.desk.open(path)
    if types:
        editor.desk.type(uri, " more", after="three")
        editor.desk.tell()
    (hunk,) = await editor.request("review.list")
    assert (plain(hunk["before"]), plain(hunk["after"])) == ("two\n", "TWO\n")
    assert not hunk["editedByUser"]
    await editor.request("review.undo", hunks=[hunk["id"]])
    assert plain(editor.desk[uri]) == (BEFORE.replace("three", "three more") if types else BEFORE)
    assert await editor.request("review.list") == []
    editor.desk.save(uri)
    assert (path.read_bytes().count(b"\r\n") == 3) is (end == "\r\n")


async def test_a_document_that_was_edited_is_closed(stage: Stage, habits: Habits, end: str) -> None:
    editor = await started(stage, habits)
    path = stage.put("a.txt", BEFORE.replace("\n", end))
    uri = editor.desk.open(path)
    await editor.turn("Change it.")
    (open_,) = await editor.request("review.list")
    editor.desk.save(uri)
    editor.desk.close(uri)
    (hunk,) = await editor.request("review.list")
    assert (hunk["id"], hunk["editedByUser"]) == (open_["id"], False)
    assert hunk["before"] == f"two{end}"
    await editor.request("review.undo", hunks=[hunk["id"]])
    assert path.read_bytes() == BEFORE.replace("\n", end).encode()
    assert await editor.request("review.list") == []
