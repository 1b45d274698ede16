"""A quick fix takes the road of every edit: checkpoint first, read back, and what came of it kept."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import Bench
from handrail.adapters.files.disk import Disk
from handrail.core.documents.change import Change, Landing, Status
from handrail.ports import CheckpointError, Terms
from handrail.testing import answer, call, lay_out

MENDED = b"one thing or another\n"


class Loses(Disk):
    """A disk on which the checkpoints are lost just after a document was changed."""

    def __init__(self, state: Path) -> None:
        super().__init__()
        self.state = state

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        landings = await super().apply(changes, label)
        if self.state.is_dir():
            shutil.rmtree(self.state)
            self.state.write_bytes(b"a file where the state folder should be")
        return landings


@pytest.fixture
async def failure(bench: Bench) -> str:
    """The id of an edit that did not land, in a turn that has no checkpoint."""
    lay_out(bench.root, {"a.txt": b"one thing\n"})
    edit = call("patch", path="a.txt", old_string="one thin g", new_string="one thing or another")
    bench.says(answer("", edit), answer("Done."))
    await bench.turn()
    (known,) = bench.host.ledger.open
    return known.id


async def test_it_can_be_taken_back(bench: Bench, failure: str) -> None:
    fixed = await bench.host.apply(failure, 0)
    assert (fixed.outcome.status, fixed.warnings) == (Status.LANDED, ())
    assert (bench.root / "a.txt").read_bytes() == MENDED
    assert not bench.host.ledger.open
    (checkpoint,) = await bench.repo.list()
    await bench.restore(checkpoint.id)
    assert (bench.root / "a.txt").read_bytes() == b"one thing\n"


async def test_without_a_checkpoint_it_is_not_made(bench: Bench, failure: str) -> None:
    bench.state.write_bytes(b"a file where the state folder should be")
    with pytest.raises(CheckpointError):
        await bench.host.apply(failure, 0)
    assert (bench.root / "a.txt").read_bytes() == b"one thing\n"
    assert [known.id for known in bench.host.ledger.open] == [failure]


async def test_without_a_checkpoint_it_is_made_if_the_user_has_set_so(bench: Bench, failure: str) -> None:
    bench.state.write_bytes(b"a file where the state folder should be")
    bench.terms = Terms(needs_checkpoint=False)
    fixed = await bench.host.apply(failure, 0)
    assert fixed.outcome.status is Status.LANDED
    assert fixed.outcome.uncovered is not None
    assert "a.txt was changed without a checkpoint, so the change cannot be undone" in fixed.warnings[0]
    assert (bench.root / "a.txt").read_bytes() == MENDED
    assert not bench.host.ledger.open


async def test_what_came_of_it_cannot_be_kept_and_it_has_landed_all_the_same(
    bench: Bench, failure: str
) -> None:
    bench.editor = Loses(bench.state)
    fixed = await bench.host.apply(failure, 0)
    assert fixed.outcome.status is Status.LANDED
    assert fixed.warnings[0].startswith(
        "handrail could not store the text that the document has after this edit: "
    )
    assert (bench.root / "a.txt").read_bytes() == MENDED
    assert not bench.host.ledger.open
