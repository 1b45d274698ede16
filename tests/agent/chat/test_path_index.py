"""Paths are found by what is typed of them: on the server and in `handrail chat` alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.agent.chat.path_index import PathIndex
from handrail.headless.chat.files import LIMIT, FileIndex

Matches = Callable[[Sequence[str], str], list[str]]
BOTH: dict[str, Matches] = {
    "server": lambda paths, typed: PathIndex(paths).matches(typed, LIMIT),
    "chat": lambda paths, typed: FileIndex(paths).matches(typed),
}
both = pytest.mark.parametrize("matches", BOTH.values(), ids=BOTH)


def ranked(paths: Sequence[str], typed: str) -> list[str]:
    """What is to be found, in words: path by path."""
    wanted = typed.removeprefix("./").casefold()

    def rank(path: str) -> int:
        folded = path.casefold()
        ranks = folded.startswith(wanted), folded.rpartition("/")[2].startswith(wanted), wanted in folded
        return ranks.index(True) if any(ranks) else len(ranks)

    return [path for path in sorted(paths, key=lambda path: (rank(path), len(path), path)) if rank(path) < 3][
        :LIMIT
    ]


@both
def test_the_nearest_come_first(matches: Matches) -> None:
    paths = ("docs/api.md", "src/api.py", "api/x.py", "src/map.py", "zapier.txt")
    assert matches(paths, "api") == ["api/x.py", "src/api.py", "docs/api.md", "zapier.txt"]
    assert matches(paths, "./SRC/") == ["src/api.py", "src/map.py"]
    assert matches(paths, "nothing") == []
    assert matches((), "") == []
    assert matches([f"{number}.txt" for number in range(1_000)], "") == [
        f"{number}.txt" for number in range(LIMIT)
    ]
    assert matches(("a\nb.txt", "a b.txt"), "b.t") == ["a b.txt"], "a line end cannot be typed"


NAME = st.text("aAbß./\\*İ[", min_size=1, max_size=7)


@both
@given(paths=st.lists(NAME, unique=True, max_size=80), typed=st.text("aAbß./\\*İ[", max_size=3))
def test_they_are_those_that_are_found_one_by_one(matches: Matches, paths: list[str], typed: str) -> None:
    assert matches(paths, typed) == ranked(paths, typed)
