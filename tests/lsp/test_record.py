"""What is recorded of a served document: its state is found alone, and nothing is written twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from handrail.adapters.served.folder import ServedFolder
from handrail.core.documents.page import Line, Page
from handrail.lsp.served import record
from handrail.lsp.served.record import PageRecord

PAGE = Page(lines=(Line('ours, "s-2"]\n', "a"), Line("theirs", None)))


def served(folder: Path) -> ServedFolder:
    return ServedFolder(state=folder / "state", roots=lambda: [folder])


@pytest.mark.parametrize("state", ["s-1", 'a "quoted" one', "back\\slash", "é ⏎", "", '", "s-2'])
async def test_a_state_is_read_as_it_was_written(tmp_path: Path, state: str) -> None:
    kept = served(tmp_path)
    await PageRecord(kept).write("chat-1.md", PAGE, None, state)
    note = await kept.kept_note("chat-1.md")
    assert record.state_of(note or "") == state
    found = await PageRecord(kept).read("chat-1.md", ())
    assert found is not None
    assert (found.page, found.saved, found.state) == (PAGE, PAGE, state)


@pytest.mark.parametrize(
    "note",
    [
        "",
        "no JSON",
        "[]",
        "[1, 2, 3]",
        '["s-1"]',
        '[1, 2, "\\x"]',
        '[1, 2, "s-1"',
        json.dumps([1, 2, "x" * 2_000]),
    ],
)
def test_what_is_no_record_has_no_state(note: str) -> None:
    assert record.state_of(note) is None


async def test_only_what_differs_from_the_record_is_written(tmp_path: Path) -> None:
    kept = served(tmp_path)
    one = PageRecord(kept)
    await one.write("chat-1.md", PAGE, None, "s-1")
    (file,) = (tmp_path / "state").rglob("*chat-1.md*")
    file.unlink()
    await one.write("chat-1.md", Page(lines=tuple(PAGE.lines)), PAGE, "s-1")
    assert not file.exists()
    others = [(Page(lines=PAGE.lines[:1]), None, "s-1"), (PAGE, Page(), "s-1"), (PAGE, None, "s-2")]
    for page, saved, state in others:
        await one.write("chat-1.md", page, saved, state)
        assert file.exists()
        file.unlink()
