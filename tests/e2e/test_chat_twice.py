"""A conversation whose document an editor has open under two URIs: it goes on in the first one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.client import Editor, expect_error
from e2e.conftest import Stage
from e2e.habits import Habits
from e2e.test_chat import REQUEST_FAILED, every_editor, opened, says, shows, write
from handrail.testing import answer
from handrail.testing.buffers import path_of

HEADING = "## You\n\n"


def encoded(uri: str, folder: Path) -> str:
    """The URI with a character that needs no encoding encoded."""
    head, _, name = uri.rpartition("/")
    return f"{head}/%{ord(name[0]):02X}{name[1:]}"


def through_a_link(uri: str, folder: Path) -> str:
    """The URI of the file below a link to its folder."""
    path = path_of(uri)
    link = folder / "link"
    link.symlink_to(path.parent, target_is_directory=True)
    return (link / path.name).as_uri()


both_ways = pytest.mark.parametrize("other", [encoded, through_a_link])
OtherUri = Callable[[str, Path], str]


async def twice(stage: Stage, habits: Habits, other: OtherUri) -> tuple[Editor, str, str]:
    """An editor with a conversation of one turn, and the two URIs of its document."""
    editor = await stage.start(habits, settings=stage.script(answer("One."), answer("Two.")))
    uri = await opened(editor)
    await says(editor, uri, "First.\n")
    await shows(editor, uri, f"One.\n\n{HEADING}")
    editor.desk.save(uri)
    again = other(uri, stage.folder)
    editor.desk.open(again)
    await editor.until(lambda: any("is open twice" in each.message for each in editor.messages))
    return editor, uri, again


@every_editor
@both_ways
async def test_it_goes_on_in_the_first_one(stage: Stage, habits: Habits, other: OtherUri) -> None:
    editor, uri, again = await twice(stage, habits, other)
    before = editor.desk[again]
    await says(editor, uri, "Second.\n")
    text = await shows(editor, uri, f"Two.\n\n{HEADING}")
    assert text.count("Second.") == 1
    assert editor.desk[again] == before


@every_editor
@both_ways
async def test_what_is_written_in_the_second_one_is_refused_and_stays(
    stage: Stage, habits: Habits, other: OtherUri
) -> None:
    editor, uri, again = await twice(stage, habits, other)
    write(editor, again, "Second.\n")
    with expect_error(REQUEST_FAILED, "is open twice"):
        await editor.request("chat.send", uri=again)
    assert editor.desk[again].endswith(f"{HEADING}Second.\n")
    editor.desk.close(uri)
    await says(editor, again, "")
    text = await shows(editor, again, f"Two.\n\n{HEADING}")
    assert text.count("Second.") == 1
