"""
How long the edit engine takes to find and plan a block, next to `text.split("\\n")` of the same text.

The texts are files of Python's standard library, one after the other; the block stands at three quarters of
the text, is spoiled in the ways in which models spoil it, and gets one line more in its middle. *Cold* begins
with the bare text, *warm* with what an earlier search of the same text has prepared. Yardstick and engine are
timed in turn, in processor time, and the ratio is the median of those of each round.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import sysconfig
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import truediv
from pathlib import Path

import bench_peers
from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk
from handrail.core.documents.text import Text
from handrail.core.patches.hunk import Hunk
from handrail.core.planning import plan

LINES = {2_000: 15, 20_000: 11, 100_000: 5}  # lines of the text: rounds
BLOCKS = (5, 20, 80)
PLACE = 0.75  # of the text, where the block is taken
ADDED = "added = True"

MEMORY = 6.0  # times the text
GROWTH = 1.5  # of the worst ratio from 20,000 to 100,000 lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """
    A way to spoil a block.

    Attributes:
        spoil: From the rows of the document to those that a model would send.
        verdict: Tier of the match, or code of the failure, that must come of it.
        cold, warm: Bounds for 20 lines in 20,000, as multiples of the yardstick; None where there is none.
    """

    spoil: Callable[[list[str]], list[str]]
    verdict: str
    cold: float | None
    warm: float | None = None


def _halved(rows: list[str]) -> list[str]:
    return [" " * (_depth(row) // 2) + row.lstrip(" ") for row in rows]


def _tabbed(rows: list[str]) -> list[str]:
    return ["\t" * (_depth(row) // 4) + " " * (_depth(row) % 4) + row.lstrip(" ") for row in rows]


def _dedented(rows: list[str]) -> list[str]:
    least = min(_depth(row) for row in rows if row.strip())
    return [row[least:] for row in rows]


def _depth(row: str) -> int:
    return len(row) - len(row.lstrip(" "))


def _smart(rows: list[str]) -> list[str]:
    return [row.replace("'", "\u2019").replace('"', "\u201d").replace(" = ", "\u00a0= ") for row in rows]


def _near(rows: list[str]) -> list[str]:
    """One token is off in the longest inner row that is not beside the middle, where the new line goes."""
    middle = len(rows) // 2
    away = (at for at in range(1, len(rows) - 1) if at not in (middle - 1, middle))
    at = max(away, key=lambda at: len(rows[at]))
    return [*rows[:at], rows[at][:-3] + "zq" + rows[at][-2:], *rows[at + 1 :]]


KINDS = {
    "exact": Kind(spoil=list, verdict="safe", cold=6),
    "trailing blanks": Kind(spoil=lambda rows: [row + "  " for row in rows], verdict="safe", cold=10, warm=2),
    "2 for 4": Kind(spoil=_halved, verdict="normalised", cold=10, warm=2),
    "tabs": Kind(spoil=_tabbed, verdict="normalised", cold=10, warm=2),
    "dedented": Kind(spoil=_dedented, verdict="normalised", cold=10, warm=2),
    "smart quotes": Kind(spoil=_smart, verdict="normalised", cold=10, warm=2),
    "near": Kind(spoil=_near, verdict="anchored", cold=30),
    "nearfirst": Kind(spoil=lambda rows: ["q" + rows[0], *rows[1:]], verdict="anchored", cold=30),
    "absent": Kind(spoil=list, verdict="no-match", cold=12, warm=8),
    "dup": Kind(spoil=list, verdict="ambiguous-match", cold=30),
}
WORST = 30.0  # cold, any kind and block in 100,000 lines
STEP = 4  # columns, by which the library is indented
FEW = 5  # characters; shorter rows tell no place from another


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One search: *old* becomes *new* in *content*; `after` is what must come of it, None if nothing."""

    lines: int
    block: int
    name: str
    content: str
    hunk: Hunk
    after: str | None

    @property
    def kind(self) -> Kind:
        """How the block was spoiled."""
        return KINDS[self.name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Medians of one case, in seconds and as multiples of the yardstick, and what came of it."""

    case: Case
    split: float
    cold: float
    warm: float
    cold_ratio: float
    warm_ratio: float
    verdict: str

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """For cold and warm, as multiples of the yardstick."""
        if self.case.lines == max(LINES):
            return WORST, None
        is_bound = (self.case.lines, self.case.block) == (20_000, 20)
        return (self.case.kind.cold, self.case.kind.warm) if is_bound else (None, None)

    @property
    def is_missed(self) -> bool:
        """Whether a bound is missed, or the verdict is another than it must be."""
        ratios = zip((self.cold_ratio, self.warm_ratio), self.bounds, strict=True)
        over = (bound is not None and ratio > bound for ratio, bound in ratios)
        return any(over) or self.verdict != self.case.kind.verdict


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table and what was missed; 1 if anything was."""
    parser = argparse.ArgumentParser(prog="bench.py edit", description=__doc__)
    parser.add_argument("--lines", type=int, nargs="+", choices=LINES, default=list(LINES))
    parser.add_argument("--aider", type=Path, help="a checkout of aider, to run beside")
    parser.add_argument("--hermes", type=Path, help="a checkout of Hermes, to run beside")
    options = parser.parse_args(argv)
    peers = bench_peers.loaded(aider=options.aider, hermes=options.hermes)
    figures = []
    print("\n".join(header(list(peers))))
    for case in cases(options.lines):
        figures.append(measured(case))
        beside = [bench_peers.timed(peer, case.content, case.hunk) for peer in peers.values()]
        print(row(figures[-1], beside), flush=True)
    missed = [f"{named(each.case)}: {each.verdict}" for each in figures if each.is_missed]
    missed += list(_growth(figures))
    missed += list(_memory(options.lines))
    print("\n" + ("\n".join(f"- MISSED: {line}" for line in missed) or "All bounds are kept."))
    return 1 if missed else 0


# ---- Cases ------------------------------------------------------------------------------------------


def library() -> list[str]:
    """The lines of Python's standard library, as many as are needed."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found: list[str] = []
    for path in (*sorted(root.glob("*.py")), *sorted(root.glob("*/*.py"))):
        raw = path.read_bytes()
        if raw.isascii() and b"\r" not in raw:
            found += raw.decode("ascii").split("\n")
        if len(found) > 1.3 * max(LINES):
            break
    return found


def cases(sizes: Sequence[int]) -> Iterator[Case]:
    """All cases for texts of so many lines."""
    source = library()
    for lines in sizes:
        rows = source[:lines]
        for block in BLOCKS:
            at = _place(rows, block)
            foreign = source[_place(source, block, max(LINES) + 10_000) :][:block]
            for name in KINDS:
                yield _case(rows, (at, at + block), name, foreign)


def _place(rows: list[str], block: int, first: int | None = None) -> int:
    """From three quarters on (or *first*), where a block fit to be spoiled stands, and is nowhere else."""
    plain = "\n".join(row.strip() for row in rows)
    starts = range(int(PLACE * len(rows)) if first is None else first, len(rows) - block)
    return next(at for at in starts if _is_fit(rows[at : at + block], plain))


def _is_fit(block: list[str], plain: str) -> bool:
    """Whether a block is indented in whole steps and at two depths, has a string, and is unique."""
    bare = [row.strip() for row in block]
    bounds = (bare[0], bare[-1], *_middle(bare))
    depths = {_depth(row) for row in block if row.strip()}
    is_code = min(depths) >= STEP and len(depths) > 1 and not any(depth % STEP for depth in depths)
    telling = sum(len(row) > FEW for row in bare) >= 0.7 * len(bare)
    text = "\n".join(bare)
    return (
        is_code
        and telling
        and all(len(row) > FEW for row in bounds)
        and '"' in text
        and plain.count(text) == 1
    )


def _middle(rows: list[str]) -> list[str]:
    return rows[len(rows) // 2 - 1 : len(rows) // 2 + 1]


def _case(rows: list[str], span: tuple[int, int], name: str, foreign: list[str]) -> Case:
    kind, block = KINDS[name], rows[slice(*span)]
    old = kind.spoil(foreign if name == "absent" else block)
    middle = len(old) // 2
    above = old[middle - 1]
    new = [*old[:middle], above[: len(above) - len(above.lstrip())] + ADDED, *old[middle:]]
    after = [*rows[: span[0] + middle], block[middle - 1][: _depth(block[middle - 1])] + ADDED]
    after += rows[span[0] + middle :]
    document = [*rows, *block] if name == "dup" else rows
    return Case(
        lines=len(rows),
        block=len(block),
        name=name,
        content="\n".join(document) + "\n",
        hunk=Hunk(number=1, old="\n".join(old), new="\n".join(new)),
        after="\n".join(after) + "\n" if kind.verdict in ("safe", "normalised", "anchored") else None,
    )


# ---- Measuring --------------------------------------------------------------------------------------


def measured(case: Case) -> Figure:
    """The medians of one case."""
    split, cold, warm = [], [], []
    for _ in range(LINES[case.lines]):
        split.append(_seconds(lambda: case.content.split("\n")))
        text = Text(case.content)
        cold.append(_seconds(partial(plan.plan, text, [case.hunk])))
        warm.append(_seconds(partial(plan.plan, text, [case.hunk])))
    return Figure(
        case=case,
        split=statistics.median(split),
        cold=statistics.median(cold),
        warm=statistics.median(warm),
        cold_ratio=statistics.median(map(truediv, cold, split)),
        warm_ratio=statistics.median(map(truediv, warm, split)),
        verdict=_verdict(case),
    )


def _seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _verdict(case: Case) -> str:
    """The tier or the code, or `wrong` if other bytes come of it than must."""
    made = plan.plan(Text(case.content), [case.hunk])[0].result
    if not isinstance(made, PlannedHunk):
        return made.code.value
    return made.tier.value if edit.apply(case.content, made.edits) == case.after else "wrong"


def _growth(figures: Sequence[Figure]) -> Iterator[str]:
    """Whether the worst ratio grows with the text."""
    worst = {
        lines: max((f.cold_ratio for f in figures if f.case.lines == lines), default=None)
        for lines in (20_000, 100_000)
    }
    few, many = worst.values()
    if few is None or many is None:
        return
    growth = f"{many / few:.2f} of it (≤ {GROWTH})"
    print(f"\nThe worst case at 20,000 lines is {few:.1f}x; at 100,000 {many:.1f}x, {growth}")
    if many > GROWTH * few:
        yield "the ratio grows with the text"


def _memory(sizes: Sequence[int]) -> Iterator[str]:
    """Whether what a text keeps after a search costs more than it may."""
    for case in cases(sizes):
        if (case.block, case.name) != (20, "absent"):
            continue
        tracemalloc.start()
        text = Text(case.content)
        plan.plan(text, [case.hunk])
        share = tracemalloc.get_traced_memory()[0] / sys.getsizeof(case.content)
        tracemalloc.stop()
        print(f"The index of {case.lines:,} lines costs {share:.1f} times the text (≤ {MEMORY:.0f})")
        if share > MEMORY:
            yield f"memory of the index at {case.lines:,} lines"


# ---- Printing ---------------------------------------------------------------------------------------


def header(peers: Sequence[str]) -> tuple[str, str]:
    """The head of the table."""
    names = ["lines", "block", "kind", "split, ms", "cold, ms", "x split", "warm, ms", "x split", "verdict"]
    names += [f"{peer}, ms" for peer in peers]
    return "| " + " | ".join(names) + " |", "|--:|--:|---" + "|--:" * 5 + "|---" + "|--:" * len(peers) + "|"


def row(figure: Figure, beside: Sequence[str]) -> str:
    """One line of the table."""
    case = figure.case
    cold, warm = (
        f"{ratio:.1f}" + (f" (≤ {bound:g})" if bound is not None else "")
        for ratio, bound in zip((figure.cold_ratio, figure.warm_ratio), figure.bounds, strict=True)
    )
    cells = [f"{case.lines:,}", str(case.block), case.name, f"{figure.split * 1e3:.2f}"]
    cells += [f"{figure.cold * 1e3:.2f}", cold, f"{figure.warm * 1e3:.2f}", warm]
    cells += [figure.verdict + (" MISSED" if figure.is_missed else ""), *beside]
    return "| " + " | ".join(cells) + " |"


def named(case: Case) -> str:
    """A case in words."""
    return f"{case.name}, {case.block} lines in {case.lines:,}"


if __name__ == "__main__":
    sys.exit(main())
