"""The folder of outputs that are kept aside, and the search in it, on the real disk."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from adapters.kit import full_disk
from handrail.adapters.files import scan
from handrail.adapters.state.spill_folder import LIMIT_AGE_S, SpillFolder
from handrail.core.failure import Code, Failure
from handrail.ports import Page


async def keep(spills: SpillFolder, output: str) -> str:
    spill = await spills.keep(output)
    assert spill is not None
    return spill


async def whole(spills: SpillFolder, spill: str) -> str | None:
    page = await spills.page(spill, 0, 1 << 30)
    return page.text if isinstance(page, Page) else None


async def test_an_output_comes_back_as_it_was(tmp_path: Path) -> None:
    spills = SpillFolder(tmp_path / "outputs")
    output = "a\r\nb\rc\n\fd\u2028e\x00\N{GRINNING FACE}"
    spill = await keep(spills, output)
    assert await whole(spills, spill) == output
    page = await spills.page(spill, 3, 4)
    assert page == Page(text="b\rc\n", offset=3, total=len(output))


async def test_half_a_character_is_kept_as_a_question_mark(tmp_path: Path) -> None:
    spills = SpillFolder(tmp_path)
    assert await whole(spills, await keep(spills, "a\ud800b")) == "a?b"


async def test_outputs_are_for_their_user_alone(tmp_path: Path) -> None:
    spill = await keep(SpillFolder(tmp_path / "outputs"), "x")
    assert stat.S_IMODE((tmp_path / "outputs").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "outputs" / spill).stat().st_mode) == 0o600


async def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    spills = SpillFolder(tmp_path, limit_files=3)
    made = []
    for number in range(5):
        made.append(await keep(spills, str(number)))
        os.utime(tmp_path / made[-1], (time.time() - 100 + number,) * 2)
    assert [await whole(spills, spill) for spill in made] == [None, None, "2", "3", "4"]


async def test_the_oldest_go_when_they_are_too_large_together(tmp_path: Path) -> None:
    spills = SpillFolder(tmp_path, limit_bytes=1000)
    first = await keep(spills, "x" * 600)
    second = await keep(spills, "y" * 600)
    assert (await whole(spills, first), await whole(spills, second)) == (None, "y" * 600)
    assert await spills.keep("z" * 1001) is None
    assert await whole(spills, second) is not None


async def test_old_ones_go_and_other_files_stay(tmp_path: Path) -> None:
    spills = SpillFolder(tmp_path)
    old = await keep(spills, "old")
    os.utime(tmp_path / old, (time.time() - LIMIT_AGE_S - 60,) * 2)
    (tmp_path / "notes.txt").write_text("not ours")
    new = await keep(spills, "new")
    assert sorted(os.listdir(tmp_path)) == sorted([new, "notes.txt"])


async def test_a_full_disk_keeps_nothing(tmp_path: Path) -> None:
    spills = SpillFolder(tmp_path)
    with full_disk(1000):
        assert await spills.keep("x" * 100_000) is None
    assert os.listdir(tmp_path) == []


async def test_a_pattern_that_would_take_for_ever_is_given_up(tmp_path: Path) -> None:
    wanted = scan.Scan(pattern=r"(a+)+$", ignore_case=False, limit=10)
    source = scan.Source(name="x", text="a" * 40 + "b")
    with pytest.raises(scan.SlowError):
        await scan.find(wanted, [source], timeout_s=0.5)


async def test_a_search_finds_each_line_once_and_says_if_there_are_more() -> None:
    wanted = scan.Scan(pattern="a", ignore_case=False, limit=2)
    found, more = await scan.find(
        wanted, [scan.Source(name="x", text="a a\nb\n\fa\n"), scan.Source(name="y", text="a")]
    )
    assert [(each.source, each.line_number, each.offset, each.row) for each in found] == [
        ("x", 1, 0, "a a"),
        ("x", 3, 7, "\fa"),
    ]
    assert more


async def test_long_lines_are_shown_around_the_match() -> None:
    wanted = scan.Scan(pattern="needle", ignore_case=False, limit=2)
    (found,), _ = await scan.find(wanted, [scan.Source(name="x", text="x" * 1000 + "needle" + "y" * 1000)])
    assert found.row.startswith("…xxx")
    assert found.row.endswith("yyy…")
    assert "needle" in found.row
    assert len(found.row) == scan.LIMIT_ROW_CHARS + 2


async def test_a_search_of_an_unknown_output_fails(tmp_path: Path) -> None:
    found = await SpillFolder(tmp_path).search("o-0000000000000000", "x", ignore_case=False)
    assert isinstance(found, Failure)
    assert found.code is Code.NO_SUCH_FILE
