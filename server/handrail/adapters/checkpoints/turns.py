"""
The turns of a shadow repository: read as chains of steps, written step by step.

A turn is a ref, a step is a commit on the step before it. A step that grows is committed again; the commit of
the ref is complete at every moment. Which documents a step stores is decided in `repository`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree

from handrail.adapters.checkpoints import pack
from handrail.adapters.checkpoints.packs import SMALL_BYTES
from handrail.adapters.checkpoints.record import Step, change, from_json, join_steps
from handrail.adapters.checkpoints.store import NEWEST, RefChange, Store
from handrail.adapters.checkpoints.tree import RECORD, commit
from handrail.core.checkpoint import Checkpoint, CheckpointStep, StepId
from handrail.ports import CheckpointError, LostCheckpointError
from handrail.values import dataclass

logger = logging.getLogger(__name__)

REFS = "refs/handrail/turns"
STEP = re.compile(r"(?P<turn>.+)\.(?P<number>\d+)", re.DOTALL)
KNOWN_SHOWN = 5  # ids that an error names


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """
    A turn as it is kept; without steps if it is not.

    Attributes:
        steps: Ascending.
        commits: The commit of each step.
        own: For each step, the other objects that hold its record and so belong to it alone.
    """

    steps: tuple[Step, ...] = ()
    commits: tuple[ObjectID, ...] = ()
    own: tuple[tuple[ObjectID, ...], ...] = ()

    @property
    def name(self) -> str:
        """The turn's id."""
        return self.steps[0].id.turn

    @property
    def pinned(self) -> bool:
        """Whether no limit may remove it."""
        return any(step.id.pinned for step in self.steps)

    def step(self, wanted: StepId) -> Step | None:
        """The step of that number."""
        return next((step for step in self.steps if step.id.number == wanted.number), None)

    @property
    def blobs(self) -> set[ObjectID]:
        """The objects that hold what it keeps of documents."""
        kept = [kept for step in self.steps for entry in step.entries for kept in entry.images]
        names = [name for each in kept for name in (each.blob, each.unsaved and each.unsaved.blob) if name]
        return {ObjectID(name.encode()) for name in names}


def checkpoint_of(turn: Turn) -> Checkpoint:
    """Returns the description of a stored turn."""
    first = turn.steps[0]
    return Checkpoint(
        id=turn.name,
        session=first.id.session,
        turn=turn.name,
        label=first.id.label,
        time=first.time,
        root=first.roots[0] if first.roots else "",
        steps=tuple(
            CheckpointStep(
                id=f"{turn.name}.{step.id.number}",
                paths=tuple(entry.path for entry in join_steps([step]) if change(entry)),
                call=step.id.call,
            )
            for step in turn.steps
        ),
        paths=tuple(path for path in map(change, join_steps(turn.steps)) if path),
    )


class Turns:
    """The turns in *store*; *known* saves reading the same chain again, by the commit at its end."""

    def __init__(self, store: Store, known: dict[ObjectID, Turn]) -> None:
        self.store = store
        self._known = known

    def read(self, name: str) -> Turn:
        """The turn *name*; without steps if nothing of it is kept. Raises CheckpointError."""
        return self._read(_ref(name))

    def read_ref(self, name: str) -> Turn:
        """The turn whose ref is called *name* below `REFS`. Raises CheckpointError."""
        return self._read(f"{REFS}/{name}")

    def _read(self, ref: str) -> Turn:
        head = self.store.target(ref)
        if head is None:
            return Turn()
        if head not in self._known:
            self._know(self._chain(head))
        return self._known[head]

    def read_all(self) -> Sequence[Turn]:
        """All turns that can be read, the newest first."""
        turns = []
        for name in self.store.names(REFS):
            try:
                head = self.store.target(f"{REFS}/{name}")
                turns.append(self._chain(head) if head else Turn())
            except CheckpointError as error:
                logger.warning("Left out of the list of checkpoints: %s: %s", name, error)
        kept = [turn for turn in turns if turn.steps]
        return sorted(kept, key=lambda turn: (turn.steps[0].serial, turn.steps[0].time), reverse=True)

    def read_some(self) -> Sequence[Turn]:
        """The same; raises CheckpointError if there are some and none can be read."""
        found = self.read_all()
        if not found and (names := self.store.names(REFS)):
            none = "The only checkpoint" if len(names) == 1 else f"None of the {len(names)} checkpoints"
            damaged = "cannot be read: it is" if len(names) == 1 else "can be read: they are"
            raise CheckpointError(
                f"{none} in {self.store.folder} {damaged} damaged. Restore the folder from a backup, or "
                "remove it. In a terminal, `handrail checkpoint verify` shows the damage."
            )
        return found

    def is_newest(self, turn: Turn) -> bool:
        """Whether no turn was begun after *turn*."""
        return self._newest() in turn.commits

    def next_serial(self) -> int:
        """The number of a turn that is begun now, or of a step that an older turn begins now."""
        newest = self._newest()
        try:
            if newest is not None:
                return 1 + (self._known.get(newest) or self._chain(newest)).steps[0].serial
        except CheckpointError:
            logger.warning("The newest checkpoint is damaged; searching the others.")
        return 1 + max((turn.steps[0].serial for turn in self.read_all()), default=0)

    def _newest(self) -> ObjectID | None:
        try:
            return self.store.target(NEWEST)
        except CheckpointError:  # the next turn sets it anew
            return None

    def write(self, turn: Turn, changed: Step, blobs: Sequence[ShaFile]) -> None:
        """
        Commits a step that is new or has grown, and commits the steps after it again.

        Args:
            turn: The turn as it was read.
            changed: The step as it shall be.
            blobs: The objects that it names, which may be in the repository already.

        Raises:
            OSError: The ref still names what it named before.
        """
        number = changed.id.number
        before = tuple(step for step in turn.steps if step.id.number < number)
        after = tuple(step for step in turn.steps if step.id.number > number)
        commits, own = list(turn.commits[: len(before)]), list(turn.own[: len(before)])
        there = self._blobs_to_keep(blobs, turn)
        entries = [pack.entry_of(each) for each in blobs if each.id not in there]
        for step in (changed, *after):
            made = commit(step, commits[-1] if commits else None)
            commits.append(made.name)
            own.append(made.own)
            entries += made.entries
        now = Turn(steps=(*before, changed, *after), commits=tuple(commits), own=tuple(own))
        is_newest = not turn.steps or self.is_newest(turn)
        ref = RefChange(ref=_ref(changed.id.turn), commit=commits[-1], is_newest=is_newest)
        self.store.write(entries, ref, _objects(turn) - _objects(now))
        self._know(now)

    def _blobs_to_keep(self, blobs: Sequence[ShaFile], turn: Turn) -> set[ObjectID]:
        """
        The large ones of *blobs* that need not be written again, as a turn that is still there names them.

        What is small is sooner written than looked for; and what no ref names may vanish any moment.
        """
        large = [each for each in blobs if each.raw_length() > SMALL_BYTES]
        if not large:
            return set()
        known = [each for head, each in self._known.items() if self.store.target(_ref(each.name)) == head]
        named = {name for each in (turn, *known) for name in each.blobs}
        return {each.id for each in large if each.id in named and self.store.is_sound(each)}

    def remove(self, turns: Sequence[Turn]) -> None:
        """Forgets turns; what only they held is left for `housekeeping` to sweep up."""
        newest = self._newest()
        for turn in turns:
            self.store.remove_ref(_ref(turn.name))
        self._known.clear()
        if newest is not None and any(newest in turn.commits for turn in turns):
            left = self.read_all()
            if left:
                self.store.show_first(left[0].commits[-1])
            else:
                self.store.remove_ref(NEWEST)

    def _know(self, turn: Turn) -> None:
        self._known.clear()  # one is enough: a turn comes back at each of its steps
        self._known[turn.commits[-1]] = turn

    def _chain(self, head: ObjectID) -> Turn:
        steps, commits, own = [], [], []
        at: ObjectID | None = head
        while at is not None:
            made = self.store.read(Commit, at)
            tree = self.store.read(Tree, made.tree)
            if RECORD.encode() not in tree:
                raise LostCheckpointError(f"The checkpoint is damaged: commit {at.decode()} has no {RECORD}.")
            _, record = tree[RECORD.encode()]
            steps.append(from_json(self.store.read(Blob, record).data))
            commits.append(at)
            own.append((made.tree, record))
            at = made.parents[0] if made.parents else None
        return Turn(steps=tuple(reversed(steps)), commits=tuple(reversed(commits)), own=tuple(reversed(own)))


def _objects(turn: Turn) -> set[ObjectID]:
    return {*turn.commits, *(name for names in turn.own for name in names)}


def _ref(turn: str) -> str:
    """The ref of a turn: ids are opaque, refs are picky."""
    return f"{REFS}/" + re.sub(r"[^A-Za-z0-9_-]", lambda match: _percent(match[0]), turn)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def steps_of(turns: Turns, name: str) -> tuple[Step, ...]:
    """The steps that an id means. Raises CheckpointError if it means none."""
    steps = turns.read(name).steps
    if not steps and (found := STEP.fullmatch(name)):
        of_turn, first = turns.read(found["turn"]).steps, int(found["number"])
        if first in [step.id.number for step in of_turn]:
            steps = tuple(step for step in of_turn if step.id.number >= first)
    if not steps:
        raise unknown([turn.name for turn in turns.read_all()[:KNOWN_SHOWN]], name)
    return steps


def add_later(turns: Turns, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """These steps of a turn, and those of all turns that were begun later, as they followed each other."""
    began = turns.read(steps[0].id.turn).steps[0].serial
    later = [turn for turn in turns.read_all() if turn.steps[0].serial > began]
    ascending = sorted(later, key=lambda turn: turn.steps[0].serial)
    chain = (*steps, *(step for turn in ascending for step in turn.steps))
    return tuple(sorted(chain, key=lambda step: step.serial))


def unknown(known: Sequence[str], name: str) -> LostCheckpointError:
    """The error for an id that means nothing; *known* are those that do, the newest first."""
    some = ", ".join(known[:KNOWN_SHOWN])
    newest = "It has" if len(known) == 1 else "The newest are:"
    those = f"{newest} {some}." if known else "It has no checkpoints yet."
    return LostCheckpointError(f"This workspace has no checkpoint {name}. {those}")
