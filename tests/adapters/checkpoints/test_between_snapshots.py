"""What differs between two snapshots, while a command runs on: each change is found once, by whom it is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from adapters.kit import change, changed, left_out, plan, raws, shadow, step
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.core.checkpoint import EditorActivity, Kind


@pytest.fixture(params=["git", "plain"])
def kept(
    request: pytest.FixtureRequest, state: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> ShadowRepo:
    """A repository whose snapshots are taken with git, and without."""
    if request.param == "plain":
        monkeypatch.setattr("handrail.adapters.checkpoints.commands.program.find", lambda: None)
    for name in ("a", "b"):
        (root / name).write_bytes(b"one\n")
    return shadow(state, root)


async def test_what_changes_after_the_later_snapshot_is_not_found(kept: ShadowRepo, root: Path) -> None:
    first = await kept.before_command(step(number=1))
    (root / "log").write_bytes(b"1\n")
    (root / "a").write_bytes(b"two\n")
    second = await kept.before_command(step(number=2), since=first)
    (root / "log").write_bytes(b"1\n2\n")
    (root / "b").unlink()
    third = await kept.before_command(step(number=3), since=second)
    (root / "log").write_bytes(b"1\n2\n3\n")
    found = [
        await kept.after_command(step(number=1), first, until=second),
        await kept.after_command(step(number=2), second, until=third),
        await kept.after_command(step(number=3), third),
    ]
    assert [changed(each) for each in found] == [
        {"a": Kind.CHANGED, "log": Kind.CREATED},
        {"b": Kind.DELETED, "log": Kind.CHANGED},
        {"log": Kind.CHANGED},
    ]
    restored = await plan(kept)
    assert raws(restored[uri_of(root / "log")]) == (None, b"1\n2\n3\n")
    assert restored[uri_of(root / "log")].gaps == ()


async def test_permissions_and_text_of_the_same_size_and_time_are_found(kept: ShadowRepo, root: Path) -> None:
    (root / "a").chmod(0o644)
    first = await kept.before_command(step(number=1))
    (root / "a").chmod(0o600)
    (root / "b").write_bytes(b"two\n")
    second = await kept.before_command(step(number=2), since=first)
    (root / "b").write_bytes(b"six\n")
    assert changed(await kept.after_command(step(number=1), first, until=second)) == {
        "a": Kind.CHANGED,
        "b": Kind.CHANGED,
    }
    assert changed(await kept.after_command(step(number=2), second)) == {"b": Kind.CHANGED}


@pytest.mark.parametrize("name", [b"two\nlines", b"caf\xe9", "\u00e9\U0001f600".encode(), b'"\\'], ids=repr)
async def test_names_of_all_kinds_are_known_again(kept: ShadowRepo, root: Path, name: bytes) -> None:
    path = root / os.fsdecode(name)
    path.write_bytes(b"one\n")
    path.chmod(0o644)
    first = await kept.before_command(step(number=1))
    path.chmod(0o600)
    second = await kept.before_command(step(number=2), since=first)
    path.write_bytes(b"two\n")
    assert [
        each.change for each in (await kept.after_command(step(number=1), first, until=second)).changes
    ] == [Kind.CHANGED]
    (each,) = (await kept.after_command(step(number=2), second)).changes
    assert each.uri == uri_of(path)
    restored = (await plan(kept))[uri_of(path)]
    assert (restored.before.raw, restored.before.mode) == (b"one\n", 0o644)


async def test_what_a_call_has_edited_is_not_the_commands_and_is_named(kept: ShadowRepo, root: Path) -> None:
    snapshot = await kept.before_command(step(number=1))
    await change(kept, step(number=2), root / "a", b"edited\n")
    (root / "b").write_bytes(b"of the command\n")
    activity = EditorActivity(edited=[uri_of(root / "a")])
    effects = await kept.after_command(step(number=1), snapshot, activity)
    assert changed(effects) == {"b": Kind.CHANGED}
    assert "edited by another call" in left_out(effects)["a"]


async def test_a_store_that_is_gone_in_between_is_made_anew(
    kept: ShadowRepo, root: Path, state: Path
) -> None:
    first = await kept.before_command(step(number=1))
    for scratch in state.glob("handrail/*/trees"):
        shutil.rmtree(scratch)
    (root / "a").write_bytes(b"two\n")
    second = await kept.before_command(step(number=2), since=first)
    (root / "b").write_bytes(b"two\n")
    assert changed(await kept.after_command(step(number=2), second)) == {"b": Kind.CHANGED}
