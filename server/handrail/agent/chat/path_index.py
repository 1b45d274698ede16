r"""
Find paths by what is typed of them, among very many, at each keystroke.

Theory of operation. The paths stand in one text, the shortest first, each on a line of its own, with case
folded. Looking for the typed text there costs a few scans at most, and stops when enough is found: first
`\ntyped`, the paths that begin so; then those whose last name does; then all others that have it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate


class PathIndex:
    """Paths that can be typed, relative to the workspace with `/`: those with a line end are left out."""

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self.paths = tuple(sorted((path for path in paths if "\n" not in path), key=_order))
        folded = [path.casefold() for path in self.paths]
        self._text = "\n" + "".join(f"{path}\n" for path in folded)
        self._starts = list(accumulate((len(path) + 1 for path in folded), initial=1))[:-1]

    def matches(self, typed: str, limit: int) -> list[str]:
        """The paths that may be meant: those that begin so, then those whose name does, then others."""
        wanted = typed.removeprefix("./").casefold()
        result = dict[int, None]()
        for offsets in (self._beginnings(wanted), self._names(wanted), self._any(wanted)):
            for offset in offsets:
                if len(result) == limit:
                    break
                result[bisect_right(self._starts, offset) - 1] = None
        return [self.paths[number] for number in result]

    def _beginnings(self, wanted: str) -> Iterator[int]:
        at = self._text.find(f"\n{wanted}")
        while 0 <= at < len(self._text) - 1:
            yield at + 1
            at = self._text.find(f"\n{wanted}", at + 1)

    def _names(self, wanted: str) -> Iterator[int]:
        if "/" not in wanted:
            yield from (each.start() for each in re.finditer(rf"/{re.escape(wanted)}[^/\n]*\n", self._text))

    def _any(self, wanted: str) -> Iterator[int]:
        at = self._text.find(wanted) if wanted else -1  # all begin with nothing
        while at >= 0:
            yield at
            at = self._text.find(wanted, self._text.index("\n", at))


def _order(path: str) -> tuple[int, str]:
    return len(path), path
