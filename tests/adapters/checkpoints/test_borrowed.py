"""Objects of the user's that a snapshot uses, and that are gone when the next one is taken."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.kit import changed, plan, raws, step, user_git
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import uri_of
from handrail.adapters.worktrees import presence
from handrail.core.checkpoint import Kind

NAMES = ("a", "b", "deep/c")
Lose = Callable[[Path], None]
LOOSE, PACKED = False, True
CASES: list[tuple[bool, Lose]] = []


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders of objects count as known at once."""
    monkeypatch.setattr(presence, "RACE_NS", 0)


def way(*kept: bool) -> Callable[[Lose], Lose]:
    """A way in which objects go that are *kept* loose, or packed."""

    def note(lose: Lose) -> Lose:
        CASES.extend((each, lose) for each in kept)
        return lose

    return note


def objects(root: Path) -> list[Path]:
    names = [user_git(root, "rev-parse", f":{each}").strip() for each in NAMES]
    return [root / ".git" / "objects" / each[:2] / each[2:] for each in names]


def committed(root: Path) -> None:
    for name in NAMES:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"%b as it was\n" % name.encode())
    user_git(root, "init", "-q")
    user_git(root, "add", "-A")
    user_git(root, "commit", "-q", "-m", "first")


@way(LOOSE)
def objects_that_are_files_of_their_own(root: Path) -> None:
    for path in objects(root):
        path.unlink()


@way(LOOSE)
def one_object(root: Path) -> None:
    objects(root)[1].unlink()


@way(LOOSE)
def objects_that_are_empty_now(root: Path) -> None:
    for path in objects(root):
        path.unlink()
        path.touch()


@way(LOOSE)
def the_folders_of_objects(root: Path) -> None:
    for path in objects(root):
        shutil.rmtree(path.parent)


@way(PACKED)
def the_packs(root: Path) -> None:
    for path in root.glob(".git/objects/pack/*"):
        path.unlink()


@way(PACKED)
def the_folder_of_packs(root: Path) -> None:
    shutil.rmtree(root / ".git" / "objects" / "pack")


@way(LOOSE, PACKED)
def all_objects(root: Path) -> None:
    shutil.rmtree(root / ".git" / "objects")


@way(LOOSE, PACKED)
def packed_meanwhile_and_gone(root: Path) -> None:
    user_git(root, "gc", "-q")
    for path in root.glob(".git/objects/pack/*"):
        path.unlink()


@way(LOOSE, PACKED)
def thrown_away_by_git(root: Path) -> None:
    (root / ".git" / "index").unlink()
    user_git(root, "update-ref", "-d", "HEAD")
    user_git(root, "-c", "gc.reflogExpire=now", "reflog", "expire", "--expire=now", "--all")
    user_git(root, "prune", "--expire=now")


@way(LOOSE, PACKED)
def another_repository_in_its_place(root: Path) -> None:
    shutil.rmtree(root / ".git")
    user_git(root, "init", "-q")
    (root / "other").write_bytes(b"other\n")
    user_git(root, "add", "other")
    user_git(root, "commit", "-q", "-m", "other")


@way(LOOSE, PACKED)
def lent_by_another_repository(root: Path) -> None:
    other = root.parent / "other"
    shutil.copytree(root / ".git" / "objects", other)
    shutil.rmtree(root / ".git" / "objects")
    (root / ".git" / "objects" / "info").mkdir(parents=True)
    (root / ".git" / "objects" / "info" / "alternates").write_text(f"{other}\n")


@pytest.mark.parametrize(
    ("are_packed", "lose"),
    CASES,
    ids=[f"{lose.__name__.replace('_', ' ')}{', packed' * are_packed}" for are_packed, lose in CASES],
)
async def test_what_is_gone_is_read_from_the_disk(
    repo: ShadowRepo, root: Path, are_packed: bool, lose: Lose
) -> None:
    committed(root)
    if are_packed:
        user_git(root, "gc", "-q")
    for number in (1, 2):  # the second one looks for nothing
        snapshot = await repo.before_command(step(number, turn="t-0"))
        await repo.after_command(step(number, turn="t-0"), snapshot)
    lose(root)
    snapshot = await repo.before_command(step())
    for name in NAMES:
        (root / name).write_bytes(b"of the command\n")
    effects = await repo.after_command(step(), snapshot)
    assert changed(effects) == dict.fromkeys(NAMES, Kind.CHANGED)
    restored = await plan(repo)
    for name in NAMES:
        before = b"%b as it was\n" % name.encode()
        assert raws(restored[uri_of(root / name)]) == (before, b"of the command\n"), name


async def test_a_note_that_is_damaged_is_not_believed(repo: ShadowRepo, root: Path, state: Path) -> None:
    committed(root)
    for number, damage in enumerate((b"", b"[", b"[]", b'{"pack": 1}', os.urandom(50)), start=1):
        snapshot = await repo.before_command(step(number))
        for note in state.glob("handrail/*/trees/*/present.json"):
            note.write_bytes(damage)
        for names in state.glob("handrail/*/trees/*/names"):
            names.write_bytes(damage)
        (root / "a").write_bytes(b"%d" % number)
        assert changed(await repo.after_command(step(number), snapshot)) == {"a": Kind.CHANGED}
