"""
Housekeeping of a repository while nothing is running: removal of unreferenced objects, packing, verification.

Packing holds no lock, because it only copies. Copied and unreferenced objects are removed by the only writer,
which knows that nothing is about to refer to them.
"""

from __future__ import annotations

import logging
from pathlib import Path

from dulwich.objects import Blob, ObjectID

from handrail.adapters.checkpoints.limits import objects_of, reachable
from handrail.adapters.checkpoints.record import Step
from handrail.adapters.checkpoints.store import NEWEST, Store
from handrail.adapters.checkpoints.turns import REFS, Turns
from handrail.adapters.files.failure import in_words
from handrail.adapters.git import program
from handrail.ports import CheckpointError
from handrail.values import dataclass

logger = logging.getLogger(__name__)

LOOSE_LIMIT = 1000  # objects of a file each, before they are packed
CHECK_S = 600.0  # for git to read all that is kept
PACKS_LIMIT = 20  # before they are made one


def drop_unnamed(store: Store) -> int:
    """Removes objects that nothing names; for the one writer. Returns how many."""
    try:
        named = reachable(store)
    except CheckpointError:  # a damaged ref: what it should lead to is not known, so nothing is removed
        return 0
    there = store.sizes().keys()
    if named - there:
        return 0
    unnamed = there - named
    store.drop(unnamed)
    return len(unnamed)


def sweep_packs(store: Store) -> None:
    """Removes what a packing left that was killed; for the one who packs."""
    for stray in store.folder.glob("objects/pack/tmp_*"):
        stray.unlink(missing_ok=True)
    for stray in store.folder.glob("objects/pack/.tmp-*"):
        stray.unlink(missing_ok=True)


def repair_newest(store: Store, turns: Turns) -> None:
    """Has what git shows first name a turn that is there: a crash may have lost the last change of it."""
    try:
        head = store.target(NEWEST)
        if head is None or head in store.sizes():
            return
    except CheckpointError:
        pass
    known = turns.read_all()
    if known:
        store.show_first(known[0].commits[-1])


def is_due(store: Store) -> bool:
    """Whether there is so much that is not packed, or in so many packs, that packing pays."""
    loose = sum(1 for _ in store.loose_objects()) if store.folder.exists() else 0
    return loose > LOOSE_LIMIT or len(_packs(store)) > PACKS_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """A pack of all that `heads` led to, by their refs, when the packs `before` were there."""

    made: Path
    before: tuple[Path, ...]
    heads: dict[str, ObjectID]


def pack(store: Store) -> Packing | None:
    """
    Puts all objects into one new pack and leaves the others, since servers may be writing; returns None if
    that failed.
    """
    sweep_packs(store)
    heads, before = _heads(store), tuple(_packs(store))
    made = store.pack_beside()
    return Packing(made=made, before=before, heads=heads) if made else None


def retire(store: Store, packing: Packing) -> None:
    """Removes what has been packed; for the one writer, who knows what has been named in the meantime."""
    meanwhile = [head for ref, head in _heads(store).items() if packing.heads.get(ref) != head]
    store.retire(packing.made, packing.before, objects_of(store, meanwhile))


def _heads(store: Store) -> dict[str, ObjectID]:
    refs = [*(f"{REFS}/{name}" for name in store.names(REFS)), NEWEST]
    return {ref: head for ref in refs if (head := store.target(ref)) is not None}


def _packs(store: Store) -> list[Path]:
    return list(store.folder.glob("objects/pack/*.pack"))


def problems(store: Store, turns: Turns) -> tuple[int, list[str]]:
    """Returns the number of turns, and the problems of these and of the repository."""
    if not store.folder.exists():
        return 0, []
    result: list[str] = []
    names = store.names(REFS)
    there = store.sizes().keys()
    for name in names:
        try:
            turn = turns.read_ref(name)
            for step in turn.steps:
                _read(store, step)
            for each in objects_of(store, turn.commits):
                if each not in there:
                    result.append(f"{name}: object {each.decode()} is missing.")
        except CheckpointError as error:
            result.append(f"{name}: {error}")
    if store.folder.exists():
        result += _fsck(store.folder)
    return len(names), result


def _read(store: Store, step: Step) -> None:
    for entry in step.entries:
        for kept in entry.images:
            for blob in (kept.blob, kept.unsaved and kept.unsaved.blob):
                if blob:
                    store.read(Blob, ObjectID(blob.encode()))


def _fsck(folder: Path) -> list[str]:
    """Returns the errors that `git fsck` reports, if git is installed."""
    if not program.find():
        return []
    given = (f"--git-dir={folder}", "fsck", "--strict", "--no-dangling", "--no-progress")
    try:
        ended = program.Git(limit_s=CHECK_S, gives_way=True).run(folder, *given)
    except (OSError, program.LateError) as error:
        return [f"Not everything could be checked: {in_words(error)}."]
    said = (ended.stdout + ended.stderr).decode("utf-8", "replace").splitlines()
    return [f"git fsck: {line}" for line in said if not line.startswith("notice:")]
