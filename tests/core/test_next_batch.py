"""Which calls can run while others wait for the user's answer."""

from __future__ import annotations

import pytest

from handrail.core.policy.schedule import Touch, next_batch

COMMAND = Touch(anything=True)
EVERYWHERE = Touch(sees_all=True)


def reads(*names: str) -> Touch:
    return Touch(reads=frozenset(names))


def changes(*names: str) -> Touch:
    return Touch(changes=frozenset(names))


@pytest.mark.parametrize(
    ("calls", "asked", "batch"),
    [
        ([reads("a"), reads("b")], set(), (0, 1)),
        ([COMMAND, reads("a")], set(), (0,)),
        ([COMMAND, reads("a"), reads("b")], {0}, (1, 2)),
        ([COMMAND, changes("a")], {0}, ()),
        ([COMMAND, changes("a"), reads("a")], {0}, ()),
        ([COMMAND, changes("a"), reads("b")], {0}, (2,)),
        ([changes("a"), reads("a"), reads("b"), changes("c")], {0}, (2, 3)),
        ([reads("a"), changes("a")], {0}, ()),
        ([changes("a"), COMMAND], {0}, ()),
        ([changes("a"), COMMAND, reads("b")], {0}, ()),
        ([COMMAND, COMMAND], {0, 1}, ()),
        ([COMMAND, COMMAND], {1}, (0,)),
        ([changes("/w/a/b"), reads("/w/a")], set(), (0,)),
        ([changes("/w/a/b"), reads("/w/ab")], set(), (0, 1)),
        ([reads("/w"), changes("/w/a"), reads("/w")], set(), (0,)),
        ([changes("a"), EVERYWHERE], set(), (0,)),
        ([EVERYWHERE, changes("a")], set(), (0,)),
        ([EVERYWHERE, EVERYWHERE, reads("a")], set(), (0, 1, 2)),
        ([COMMAND, changes("a"), EVERYWHERE], {0}, ()),
        ([COMMAND, EVERYWHERE], {0}, (1,)),
        ([changes("a"), EVERYWHERE], {0}, (1,)),
        ([], set(), ()),
    ],
)
def test_next_batch(calls: list[Touch], asked: set[int], batch: tuple[int, ...]) -> None:
    assert next_batch(list(enumerate(calls)), asked) == batch
