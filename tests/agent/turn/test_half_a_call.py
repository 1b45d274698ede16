"""A call of which one part does not land is taken back, without what others did to its files meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from bench import Bench
from handrail.adapters.files.disk import Disk
from handrail.core.documents.change import Change, Landing
from handrail.testing import answer, call, lay_out, snapshot

Act = Callable[[], object]


class Neighbour(Disk):
    """The disk, on which another process is at work: before a change of `b`, and after one of `a`."""

    def __init__(self, before_b: Act, after_a: Act = lambda: None) -> None:
        super().__init__()
        self.before_b, self.after_a = before_b, after_a

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        found = list[Landing]()
        for change in changes:
            if change.uri.endswith("/b"):
                self.before_b()
            found += await super().apply([change], label)
            if change.uri.endswith("/a"):
                after_a, self.after_a = self.after_a, lambda: None
                after_a()
        return tuple(found)


FIRST = call("patch", path="a", mode="replace", old_string="one", new_string="ONE")
DELETES = "*** Delete File: a\n"
MOVES = "*** Update File: a\n*** Move to: c\n@@\n-ONE\n+1\n"


@pytest.mark.parametrize("part", [DELETES, MOVES], ids=["deleted", "moved"])
@pytest.mark.parametrize("typed", ["", "typed\n"], ids=["", "typed between them"])
async def test_a_file_that_comes_back_is_as_it_was_before_the_call(
    bench: Bench, part: str, typed: str
) -> None:
    """Not as it was before the step: an edit of the same answer stands, and so does what was typed since."""
    lay_out(bench.root, {"a": b"one\ntwo\n", "b": b"b\n"})
    now = f"ONE\ntwo\n{typed}"
    bench.editor = Neighbour(
        lambda: (bench.root / "b").write_text("other\n"), lambda: (bench.root / "a").write_text(now)
    )
    patch = f"*** Begin Patch\n{part}*** Update File: b\n@@\n-b\n+B\n*** End Patch\n"
    bench.says(answer("", FIRST, call("patch", mode="v4a", patch=patch)), answer("Done."))
    report = await bench.turn()
    assert report.outcomes[0].status.value == "landed"
    assert snapshot(bench.root) == {"a": now.encode(), "b": b"other\n"}
    await bench.restore(report.turn)
    assert snapshot(bench.root) == {"a": f"one\ntwo\n{typed}".encode(), "b": b"other\n"}


async def test_a_hunk_is_taken_back_whole_or_not_at_all(bench: Bench) -> None:
    """It changes two places, and somebody has written into one of them."""
    lay_out(bench.root, {"a": b"one\nk1\nk2\nk3\ntwo\nk4\nk5\nthree\n", "b": b"b\n"})
    path = bench.root / "a"
    bench.editor = Neighbour(
        lambda: (bench.root / "b").write_text("other\n"),
        lambda: path.write_text(path.read_text().replace("TWO", "TWO and mine")),
    )
    hunks = "@@\n-one\n+ONE\n k1\n k2\n k3\n-two\n+TWO\n@@\n-three\n+THREE\n"
    patch = f"*** Begin Patch\n*** Update File: a\n{hunks}*** Update File: b\n@@\n-b\n+B\n*** End Patch\n"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    report = await bench.turn()
    assert [outcome.status.value for outcome in report.outcomes] == ["landed", "failed", "failed"]
    assert path.read_text() == "ONE\nk1\nk2\nk3\nTWO and mine\nk4\nk5\nthree\n"
