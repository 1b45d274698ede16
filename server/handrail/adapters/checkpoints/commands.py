"""
Find what commands changed: a snapshot of the work trees before, one after, and the difference as pre-images.

The snapshot is in a scratch store next to the repository, with a note about it that survives a crash. Only
what a command changed goes into the repository, in full, so that no checkpoint depends on anything else.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dulwich.objects import ShaFile

from handrail.adapters.checkpoints.record import Entry, change, keep
from handrail.adapters.checkpoints.touched import Touched, images_of, mode_now, touched_rights
from handrail.adapters.checkpoints.tree import stored_path
from handrail.adapters.files import files, links
from handrail.adapters.files.paths import fold_case, root_names, shown_path
from handrail.adapters.git import program
from handrail.adapters.worktrees import plain, stats
from handrail.adapters.worktrees.git import Git, split
from handrail.adapters.worktrees.snapshot import Trees
from handrail.adapters.worktrees.state import Difference, TreeState
from handrail.core.checkpoint import CommandChange, NotCovered, Snapshot, StepId
from handrail.ports import CheckpointError
from handrail.values import dataclass, replace

SCRATCH, NOTES = "trees", "commands"  # beside the repository
EDITS = ".edits"  # beside a note
NO_GIT = "git is not installed and the folder is too large to copy, so changes by commands are not recorded"
NOTHING = "0" * 40  # git's name for the blob of a path that is not there
GONE = "removed by the command; checkpoints do not include repositories"
SAVED = "saved in the editor while the command ran, so the change counts as the user's"
EDITED = "also edited by another call while the command ran, so the change counts as that call's"
DAMAGED = "The snapshot that was taken before the command is missing or damaged."
UNKNOWN = "changed by the command; its earlier text is unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandChanges:
    """The changes that a command made: for the step, for the store, and for the caller."""

    entries: tuple[Entry, ...]
    blobs: tuple[ShaFile, ...]
    changes: tuple[CommandChange, ...]
    not_covered: tuple[NotCovered, ...]

    def drop(self, identities: Set[str], why: str) -> CommandChanges:
        """
        Returns the changes without those of the documents *identities*, which the command did not make; *why*
        says so.
        """
        theirs = [each for each in self.entries if each.identity in identities]
        uris = {each.uri for each in theirs}
        return replace(
            self,
            entries=tuple(each for each in self.entries if each not in theirs),
            changes=tuple(each for each in self.changes if each.uri not in uris),
            not_covered=(*self.not_covered, *(NotCovered(path=each.path, reason=why) for each in theirs)),
        )


class Commands:
    """Snapshots around commands; *home* is the state folder of the workspace, and exists."""

    def __init__(self, home: Path, roots: Sequence[Path]) -> None:
        self._home = home
        self._roots = tuple(Path(os.path.realpath(root)) for root in roots)
        self._names = root_names(roots)

    def take_before(self, step: StepId, since: str = "") -> Snapshot:
        """Takes the snapshot, which is compared with that of *since* too. Raises CheckpointError, OSError."""
        name = f"{step.number}-{os.getpid()}-{secrets.token_hex(8)}"
        roots = [os.fspath(root) for root in self._roots]
        note = {"step": asdict(step), "roots": roots, "process": os.getpid()}
        damage: CheckpointError | None = None
        if program.find():
            try:
                return self._take_before(name, note, since)
            except CheckpointError as error:  # git cannot do it
                damage = error
        tree = plain.take(self._roots)
        if tree is None and damage is not None:
            raise damage
        if tree is None:
            return Snapshot(id="", not_covered=self._with_reasons(dict.fromkeys(roots, NO_GIT)))
        self._write(name, {**note, "plain": asdict(tree)})
        return Snapshot(id=name, not_covered=self._with_reasons(tree.left_out))

    def _take_before(self, name: str, note: Mapping[str, object], since: str) -> Snapshot:
        """Takes the snapshot with git. Raises CheckpointError, OSError."""
        known = self._read(since).get("taken") if since else None
        before = _state(known) if known else TreeState()
        taken = Trees(self._home / SCRATCH, self._roots).take_anew(before)
        self._write(name, {**note, "taken": taken.to_json()})
        crowded = tuple(self._shown_path(Path(top)) for top, seen in taken.seen.items() if seen is None)
        not_covered = self._with_reasons(taken.left_out)
        return Snapshot(id=name, not_covered=not_covered, crowded=crowded, borrows=taken.borrows)

    def find_changes(self, name: str, until: str = "") -> CommandChanges:
        """
        Returns what has changed from snapshot *name* to *until*, or to now. Raises CheckpointError, OSError.
        """
        if not name:
            left_out = dict.fromkeys(map(os.fspath, self._roots), NO_GIT)
            return CommandChanges(entries=(), blobs=(), changes=(), not_covered=self._with_reasons(left_out))
        note, later = self._read(name), self._read(until) if until else {}
        left_out = {}
        if "plain" in note:
            now = plain.PlainFiles(**later["plain"]) if "plain" in later else plain.take(self._roots)
            touched = self._plain(plain.PlainFiles(**note["plain"]), now, left_out)
        else:
            touched = self._whole(note, later, left_out)
        entries, blobs, changes = [], list[ShaFile](), []
        for each in touched:
            entry, made = self._entry(each)
            entries.append(entry)
            blobs += made
            if found := change(entry):
                changes.append(CommandChange(uri=entry.uri, path=entry.path, change=found.change))
        return CommandChanges(
            entries=tuple(entries),
            blobs=tuple(blobs),
            changes=tuple(changes),
            not_covered=self._with_reasons(left_out),
        )

    def _whole(
        self, note: dict[str, Any], later: dict[str, Any], left_out: dict[str, str]
    ) -> Iterator[Touched]:
        """Yields the differences between work trees; adds to *left_out* what is unknown or not kept."""
        before = _state(note["taken"])
        trees = Trees(self._home / SCRATCH, self._roots)
        after = _state(later["taken"]) if "taken" in later else trees.take(before)
        for path, reason in {**before.left_out, **after.left_out}.items():
            same = before.stamps.get(path) == after.stamps.get(path)
            left_out[path] = reason if same else f"changed by the command, and {reason}"
        left_out |= dict.fromkeys((each for each in before.repositories if not os.path.lexists(each)), GONE)
        groups = list(trees.differences(before, after))
        differing = _join(each for _, group in groups for each in group)
        mode_after = after.mode if "taken" in later else mode_now  # what has changed since is another's
        yield from touched_rights(trees.store_of, before, _other_modes(after.rights, differing), left_out)
        for git, group in groups:
            mine = [differing.pop(each.path) for each in group if each.path in differing]
            contents = _contents([git, *(other for other, _ in groups if other is not git)], mine)
            folders = _folders(git, before.trees.get(os.fspath(git.work_tree)), mine)
            for each in mine:
                images = images_of(each, contents, before.mode(each.path), mode_after(each.path))
                if images and not each.modes[1] and (hidden := _hiding_path(each.path, after.left_out)):
                    images = images[0], links.read_image(each.path)
                    if images[1] is not None and hidden == os.fspath(each.path):
                        del left_out[hidden]
                if not each.modes[0] and (hidden := _hiding_path(each.path, before.left_out)):
                    left_out[hidden] = UNKNOWN
                elif images is None:
                    left_out[os.fspath(each.path)] = "changed by the command; its earlier text cannot be read"
                else:
                    touched = Touched(path=each.path, before=images[0], after=images[1], new_folders=folders)
                    shared = stats.has_other_names(each.path, before.stat_of(each.path))
                    yield replace(touched, is_shared=shared)

    def _plain(
        self, before: plain.PlainFiles, after: plain.PlainFiles | None, left_out: dict[str, str]
    ) -> Iterator[Touched]:
        """Yields the differences between two copies; adds to *left_out* what is unknown or not kept."""
        if after is None:
            raise CheckpointError(
                "Without git, a folder this large cannot be compared with its earlier state."
            )
        left_out.update(after.left_out)
        new = frozenset(after.folders() - before.folders())
        for path in sorted({**before.files, **after.files}):
            if path not in before.files and (hidden := _hiding_path(Path(path), before.left_out)):
                left_out[hidden] = UNKNOWN
            elif path not in after.files and (hidden := _hiding_path(Path(path), after.left_out)):
                left_out[hidden] = f"changed by the command, and {after.left_out[hidden]}"
            elif before.files.get(path) != after.files.get(path):
                images = before.image(path), after.image(path)
                shared = stats.has_other_names(Path(path), None)
                touched = Touched(path=Path(path), before=images[0], after=images[1], new_folders=new)
                yield replace(touched, is_shared=shared)

    def left_behind(self) -> list[tuple[str, StepId]]:
        """The snapshots of processes that died before their command had ended."""
        result = []
        for path in sorted((self._home / NOTES).glob("*.json")):
            try:
                note = self._read(path.stem)
                if not _lives(note["process"]):
                    result.append((path.stem, StepId(**{**note["step"], "restores": ()})))  # it ran a command
            except (CheckpointError, KeyError, TypeError, OverflowError):
                path.unlink(missing_ok=True)
        return result

    def edited_documents(self, name: str) -> list[str]:
        """The documents that calls have edited since the snapshot *name*, if its process has died since."""
        try:
            rows = (self._home / NOTES / f"{name}{EDITS}").read_text(encoding="ascii").splitlines()
            return [json.loads(row) for row in rows]
        except (FileNotFoundError, ValueError):  # none, or one that was cut
            return []

    def forget(self, name: str) -> None:
        """Removes the note of snapshot *name*, which is no longer needed."""
        for suffix in (".json", EDITS):
            (self._home / NOTES / f"{name}{suffix}").unlink(missing_ok=True)

    def _entry(self, each: Touched) -> tuple[Entry, list[ShaFile]]:
        before, of_before = keep(each.before)
        after, of_after = keep(each.after) if each.after is not None else (None, [])
        if before.blob is None:
            made = [folder for folder in each.path.parents if folder in each.new_folders]
        else:  # where a file was there may be a folder now
            made = [each.path] if each.path.is_dir() and not each.path.is_symlink() else []
        entry = Entry(
            uri=files.uri_of(each.path),
            identity=files.uri_of(fold_case(os.fspath(each.path))),  # resolved before the command made links
            path=self._shown_path(each.path),
            stored=stored_path(each.path, self._roots, self._names),
            link=None,
            made_folders=tuple(map(files.uri_of, made)),
            before=before,
            after=after,
            is_shared=each.is_shared,
        )
        return entry, [*of_before, *of_after]

    def _with_reasons(self, reasons: dict[str, str]) -> tuple[NotCovered, ...]:
        return tuple(
            NotCovered(path=self._shown_path(Path(path)), reason=reason) for path, reason in reasons.items()
        )

    def _shown_path(self, path: Path) -> str:
        return shown_path(os.fspath(path), self._roots, self._names)

    def _write(self, name: str, note: dict[str, object]) -> None:
        folder = self._home / NOTES
        os.makedirs(folder, mode=0o700, exist_ok=True)
        files.create(folder / f"{name}.json", json.dumps(note).encode("ascii"), 0o600)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            note: dict[str, Any] = json.loads((self._home / NOTES / f"{name}.json").read_bytes())
            return note
        except (ValueError, FileNotFoundError, RecursionError) as error:
            raise CheckpointError(DAMAGED) from error


def _state(given: dict[str, Any]) -> TreeState:
    """Reads the state in a note. Raises CheckpointError."""
    try:
        return TreeState.from_json(given)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(DAMAGED) from error


def note_edited(home: Path, uris: Iterable[str]) -> None:
    """Calls edit these documents while commands of this process run: they are not the commands'."""
    try:
        names = os.listdir(home / NOTES)
    except (FileNotFoundError, NotADirectoryError):
        return
    rows = [f"{json.dumps(uri)}\n" for uri in uris]
    for name in names:
        if f"-{os.getpid()}-" in name and name.endswith(".json"):
            with (home / NOTES / name).with_suffix(EDITS).open("a", encoding="ascii") as file:
                file.writelines(rows)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # someone else's, so it lives
        return True
    return True


def _join(differences: Iterable[Difference]) -> dict[Path, Difference]:
    """Each path once: one that went from a work tree to another has left the one and is new in the other."""
    result: dict[Path, Difference] = {}
    for each in differences:
        known = result.get(each.path, each)
        before, after = (known if known.modes[side] else each for side in (0, 1))
        modes, blobs = (before.modes[0], after.modes[1]), (before.blobs[0], after.blobs[1])
        result[each.path] = replace(each, modes=modes, blobs=blobs)
    return {path: each for path, each in result.items() if each.differs}


def _other_modes(rights: Mapping[str, int], differing: Mapping[Path, object]) -> dict[Path, int]:
    return {Path(path): mode for path, mode in rights.items() if Path(path) not in differing}


def _contents(stores: Sequence[Git], group: Sequence[Difference]) -> dict[str, bytes]:
    """The blobs of *group*, nearly all of which the first of *stores* has."""
    wanted, result = {name for each in group for name in each.blobs}, dict[str, bytes]()
    for git in stores:
        if missing := wanted - result.keys() - {NOTHING}:
            result |= git.blobs(missing)
    return result


def _hiding_path(path: Path, left_out: Mapping[str, str]) -> str | None:
    """
    Returns the left-out path of a snapshot because of which it is unknown whether *path* existed: itself, or
    a folder above it.
    """
    above = map(os.fspath, (path, *path.parents))
    return next((each for each in above if each in left_out), None)


def _folders(git: Git, tree: str | None, group: Sequence[Difference]) -> frozenset[Path]:
    """The folders above new files that held nothing before."""
    top = git.work_tree
    folders = {folder for each in group if not each.modes[0] for folder in each.path.parents if folder != top}
    inside = sorted(folder for folder in folders if folder.is_relative_to(top))
    if tree is None or not inside:
        return frozenset(inside)
    there = {
        top / os.fsdecode(name) for name in split(git.run("ls-tree", "-r", "-d", "-z", "--name-only", tree))
    }
    return frozenset(folder for folder in inside if folder not in there)
