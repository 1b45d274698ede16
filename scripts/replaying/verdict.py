"""
Cases, and what the engine made of them: right, refused or wrong.
"""

from __future__ import annotations

import base64
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from replaying.changes import Change, hunks
from replaying.classes import CLASSES, NOT_UNIQUE, Class, Duty
from replaying.document import Hunk
from replaying.notation import Fields, Written, request

Engine = Callable[[Fields], Mapping[str, object]]


@dataclass(frozen=True)
class Case:
    """
    A request and what is right.

    Attributes:
        right: The files that should have changed; None for one that is gone.
        already: Whether it should be found to be there already.
    """

    name: str
    kind: Class
    notation: str
    request: Fields
    right: Mapping[str, bytes | None]
    already: bool = False


@dataclass
class Count:
    """How often each verdict was given in one class."""

    verdicts: Counter[str] = field(default_factory=Counter)

    @property
    def all(self) -> int:
        """All cases."""
        return sum(self.verdicts.values())


def cases(
    kind: Class, found: Sequence[Hunk], changes: Sequence[Change], seed: str, limit: int
) -> Iterator[Case]:
    """Up to *limit* cases of a class, drawn by the seed."""
    chance = random.Random(f"{seed} {kind.name}")
    if kind.make is not None:
        yield from _wholes(kind, changes, chance, limit)
        return
    assert kind.spoil is not None
    made = 0
    for hunk in chance.sample(found, len(found)):
        if made == limit:
            return
        spoiled = kind.spoil(hunk, chance)
        if spoiled is None:
            continue
        made += 1
        notation = chance.choice(spoiled.notations)
        truth = spoiled.hunk
        hint = spoiled.hint
        if hint is None and notation == "udiff" and spoiled.style.numbers == "right":
            hint = truth.start + 1
        written = Written(spoiled.parts, hint, spoiled.style)
        fields = request(notation, truth.path, truth.document, written)
        is_right = kind.duty is not Duty.REFUSED and not spoiled.already
        right = {truth.path: truth.after.raw} if is_right else {}
        yield Case(f"{truth.path}:{hunk.start + 1}", kind, notation, fields, right, spoiled.already)


def _wholes(kind: Class, changes: Sequence[Change], chance: random.Random, limit: int) -> Iterator[Case]:
    assert kind.make is not None
    made = 0
    order = chance.sample(range(len(changes)), len(changes))
    for at, first in enumerate(order):
        if made == limit:
            return
        drawn = [changes[each] for each in (order + order)[at : at + 4]]
        if changes[first].before is None or len({change.path for change in drawn}) < len(drawn):
            continue
        whole = kind.make(drawn, chance)
        if whole is not None:
            made += 1
            notation = str(whole.request["kind"])
            yield Case(changes[first].path, kind, notation, whole.request, whole.right)


def pools(changes: Sequence[Change], seed: str) -> tuple[list[Hunk], list[Hunk]]:
    """The hunks of all changes: those whose old text is unique, and the others."""
    chance = random.Random(f"{seed} hunks")
    found = [hunk for change in changes for hunk in hunks(change, chance)]
    return [hunk for hunk in found if hunk.is_unique], [hunk for hunk in found if not hunk.is_unique]


def judge(case: Case, reply: Mapping[str, object]) -> str:
    """The verdict: "right", "refused" or "wrong"."""
    status, changed = reply["status"], changes_of(case, reply)
    if status == "failed":
        return "wrong" if changed else "refused"
    if case.kind.duty is Duty.REFUSED:
        return "wrong"
    if status == "already":
        return "right" if case.already and not changed else "wrong"
    return "right" if changed == dict(case.right) and not case.already else "wrong"


def changes_of(case: Case, reply: Mapping[str, object]) -> dict[str, bytes | None]:
    """The files that a reply says have changed."""
    after, files = reply.get("after_b64"), reply.get("files")
    if isinstance(after, str):
        return {str(case.request["path"]): base64.b64decode(after)}
    if isinstance(files, dict):
        return {path: None if raw is None else base64.b64decode(raw) for path, raw in files.items()}
    return {}


def is_good(case: Case, verdict: str) -> bool:
    """Whether this is what was asked of the engine, one case alone."""
    match case.kind.duty:
        case Duty.REFUSED:
            return verdict == "refused"
        case Duty.MAY:
            return verdict != "wrong"
        case _:
            return verdict == "right"


def shortfalls(counts: Mapping[Class, Count]) -> list[str]:
    """What the counts lack of what is asked; empty if they hold."""
    found = [
        f"{kind.name}: {count.verdicts['wrong']} wrong"
        for kind, count in counts.items()
        if count.verdicts["wrong"]
    ]
    landing = (Duty.PLAIN, Duty.LANDS)
    for duties, least, name in (
        ((Duty.PLAIN,), 0.99, "plain and whitespace classes"),
        (landing, 0.97, "what must land"),
    ):
        chosen = [count for kind, count in counts.items() if kind.duty in duties]
        right, total = sum(count.verdicts["right"] for count in chosen), sum(count.all for count in chosen)
        if total and right < least * total:
            found.append(f"{name}: {right} of {total} right ({right / total:.1%}), {least:.0%} are asked")
    return found


ALL = (*CLASSES, NOT_UNIQUE)
