"""What a turn is about to write is kept before it does: what a server leaves that dies in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapters.kit import git, hold, loosened, plan, shadow, step, targets
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.files import uri_of
from handrail.core.checkpoint import Image, Intended, Limits, Target, Unsaved
from handrail.core.documents.text import Text


def intending(path: Path, intended: Intended) -> list[Target]:
    return [Target(uri=uri_of(path), intended=intended)]


def record(repo: ShadowRepo, turn: str = "t-1") -> dict[str, object]:
    found = json.loads(git(repo, "show", f"refs/handrail/turns/{turn}:checkpoint.json"))
    assert isinstance(found, dict)
    return found


async def test_it_is_what_the_turn_left_until_that_is_known(repo: ShadowRepo, root: Path) -> None:
    hold(root / "a", b"one\n")
    await repo.ensure(step(), intending(root / "a", Intended(raw=b"two\n")))
    (each,) = (await plan(repo)).values()
    assert (each.before.raw, each.after and each.after.raw, each.is_seen) == (b"one\n", b"two\n", False)
    assert git(repo, "show", "refs/handrail/turns/t-1:intended/a") == "two\n"
    assert record(repo)["schema"] == 2

    hold(root / "a", b"another\n")
    await repo.record(step(), targets(root / "a"))
    (each,) = (await plan(repo)).values()
    assert (each.before.raw, each.after and each.after.raw, each.is_seen) == (b"one\n", b"another\n", True)
    assert record(repo)["schema"] == 1
    assert "intended" not in str(record(repo)), "it is as it always was"
    assert "intended" not in git(repo, "ls-tree", "-r", "--name-only", "refs/handrail/turns/t-1")


async def test_what_was_written_as_intended_is_kept_once(repo: ShadowRepo, root: Path) -> None:
    hold(root / "a", b"one\n")
    await repo.ensure(step(), intending(root / "a", Intended(raw=b"two\n")))
    hold(root / "a", b"two\n")
    await repo.record(step(), targets(root / "a"))
    assert git(repo, "fsck", "--strict") == "", "nothing dangles"


async def test_text_of_an_editor_leaves_the_file(repo: ShadowRepo, root: Path) -> None:
    hold(root / "a", b"one\n")
    unsaved = Unsaved(text=Text("two\n"), version=7)
    await repo.ensure(step(), intending(root / "a", Intended(raw=None, unsaved=unsaved, leaves_file=True)))
    (each,) = (await plan(repo)).values()
    assert each.after is not None
    assert (each.after.raw, each.after.mode, each.after.unsaved) == (b"one\n", each.before.mode, unsaved)


async def test_what_is_to_be_gone(repo: ShadowRepo, root: Path) -> None:
    hold(root / "a", b"one\n")
    await repo.ensure(step(), intending(root / "a", Intended(raw=None)))
    (each,) = (await plan(repo)).values()
    assert each.after == Image(raw=None)
    (checkpoint,) = await repo.list()
    assert [path.change for path in checkpoint.paths] == ["deleted"]


async def test_a_document_that_is_changed_twice_in_a_step(repo: ShadowRepo, root: Path) -> None:
    """Its pre-image stays, what it is about to become is the second."""
    hold(root / "a", b"one\n")
    await repo.ensure(step(), intending(root / "a", Intended(raw=b"two\n")))
    hold(root / "a", b"two\n")
    await repo.record(step(), targets(root / "a"))
    await repo.ensure(step(), intending(root / "a", Intended(raw=b"three\n")))
    (each,) = (await plan(repo)).values()
    assert (each.before.raw, each.after and each.after.raw, each.is_seen) == (b"one\n", b"three\n", False)


async def test_a_later_step_that_died_counts(repo: ShadowRepo, root: Path) -> None:
    """And what somebody wrote between the two is theirs."""
    hold(root / "a", b"one\n")
    await repo.ensure(step(1), intending(root / "a", Intended(raw=b"two\n")))
    hold(root / "a", b"two\n")
    await repo.record(step(1), targets(root / "a"))
    hold(root / "a", b"two, and theirs\n")
    await repo.ensure(step(2), intending(root / "a", Intended(raw=b"three\n")))
    (each,) = (await plan(repo)).values()
    assert (each.before.raw, each.after and each.after.raw) == (b"one\n", b"three\n")
    assert [(left.raw, found.raw) for left, found in each.gaps] == [(b"two\n", b"two, and theirs\n")]


async def test_it_is_packed_verified_and_not_swept_up(
    repo: ShadowRepo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.adapters.checkpoints.housekeeping.PACKS_LIMIT", 0)
    unsaved = Unsaved(text=Text("three\n"), version=7)
    for number, intended in enumerate((Intended(raw=b"two\n"), Intended(raw=None, unsaved=unsaved))):
        hold(root / "a", b"one\n")
        await repo.ensure(step(turn=f"t-{number}"), intending(root / "a", intended))
    before = [await plan(repo, f"t-{number}") for number in range(2)]
    await repo.tidy()
    await repo.prune(None)
    again = shadow(repo.folder.parents[2], root)
    assert [await plan(again, f"t-{number}") for number in range(2)] == before
    assert (await again.verify()).problems == ()
    for text, turn in (("two\n", "t-0"), ("three\n", "t-1")):
        name = git(
            repo,
            "rev-parse",
            f"refs/handrail/turns/{turn}:{'intended' if turn == 't-0' else 'unsaved-intended'}/a",
        ).strip()
        (lost,) = [path for path in loosened(repo) if f"{path.parent.name}{path.name}" == name]
        raw = lost.read_bytes()
        lost.unlink()
        assert any(turn in problem for problem in (await again.verify()).problems), text
        lost.write_bytes(raw)


async def test_what_is_large_is_left_out_where_room_is_short(repo: ShadowRepo, root: Path) -> None:
    """A checkpoint must not fail, and no other be removed, for what is kept in case of a crash only."""
    repo.set_limits(Limits(max_bytes=300_000))
    hold(root / "a", b"".join(b"%d\n" % number for number in range(15_000)))
    for turn, size, is_kept in (("t-1", 1_000, True), ("t-2", 250_000, False)):
        await repo.ensure(step(turn=turn), intending(root / "a", Intended(raw=bytes(size))))
        (each,) = (await plan(repo, turn)).values()
        assert (each.after is not None) == is_kept
    assert [each.id for each in await repo.list()] == ["t-2", "t-1"]
