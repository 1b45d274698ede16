"""Blocks of one call that build on earlier ones land, fail and are undone together with them."""

from __future__ import annotations

import pytest

from bench import Bench
from handrail.testing import answer, call, lay_out

ROWS = b"one\ntwo\nthree\n"


def blocks(*pairs: tuple[str, str], **more: object) -> dict[str, object]:
    patch = "\n".join(f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE" for old, new in pairs)
    return call("patch", path="a.txt", mode="search_replace", patch=patch, **more)


ON_NEW_TEXT = (("one", "1\nnew"), ("new\ntwo", "newer\n2"))
FAILS = ("nowhere", "four")


async def test_both_blocks_land_and_the_model_is_told(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    bench.says(answer("", blocks(*ON_NEW_TEXT)), answer("Done."))
    report = await bench.turn()
    assert (bench.root / "a.txt").read_bytes() == b"1\nnewer\n2\nthree\n"
    assert [each.status.value for each in report.outcomes] == ["landed", "landed"]
    assert "The document does not have the search text before hunk 1 is made" in bench.texts()[-1]
    await bench.restore(report.turn)
    assert (bench.root / "a.txt").read_bytes() == ROWS


@pytest.mark.parametrize("partial", [False, True])
async def test_another_block_that_fails(bench: Bench, partial: bool) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    bench.says(answer("", blocks(*ON_NEW_TEXT, FAILS, partial=partial)), answer("Done."))
    report = await bench.turn()
    status = "landed" if partial else "failed"
    assert [each.status.value for each in report.outcomes] == [status, status, "failed"]
    assert (bench.root / "a.txt").read_bytes() == (b"1\nnewer\n2\nthree\n" if partial else ROWS)
    together = "Or send this edit together with hunk 1, without the edit that does not fit."
    assert (together in bench.texts()[-1]) is not partial


async def test_a_block_that_builds_on_one_that_fails(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": ROWS})
    wrong = (("four", "1\nnew"), ("new\ntwo", "newer\n2"), ("three", "3"))
    bench.says(answer("", blocks(*wrong, partial=True)), answer("Done."))
    report = await bench.turn()
    assert [each.status.value for each in report.outcomes] == ["failed", "failed", "landed"]
    assert (bench.root / "a.txt").read_bytes() == b"one\ntwo\n3\n"


async def test_blocks_that_no_encoding_can_write_fail_together(bench: Bench) -> None:
    lay_out(bench.root, {".editorconfig": b"[*]\ncharset = latin1\n", "a.txt": ROWS})
    wrong = (("one", "1\nnew"), ("new\ntwo", "\u4e2d\n2"), ("three", "3"))
    bench.says(answer("", blocks(*wrong, partial=True)), answer("Done."))
    report = await bench.turn()
    assert [each.status.value for each in report.outcomes] == ["failed", "failed", "landed"]
    assert (bench.root / "a.txt").read_bytes() == b"one\ntwo\n3\n"
    failure = report.outcomes[1].failure
    assert failure is not None
    assert failure.message.endswith("hunk 1 of a.txt. So this edit was not made.")
    assert failure.steps == ("Fix the edit that does not fit, then send the call again.",)
