"""
Replay real changes through the edit engine, spoiled in the ways in which models spoil them, and count.

    replay.py OLD NEW                two folders, or with --repository DIR two commits of it
    replay.py --packages             consecutive releases of real packages, fetched into .cache once
    replay.py --fetch                only fetches these
    replay.py --made DIR ...         files of these folders, with edits of our own

Right means byte for byte what a careful human would have written; what that is, is computed here without the
engine. Refused is nothing changed. Wrong is anything else, and there must be none. Prints a Markdown table;
exits with 1 if anything is wrong, or less lands than is asked.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from replaying import changes, engines, keeping, made, packages, verdict
from replaying.changes import Change
from replaying.classes import NOT_UNIQUE, Class
from replaying.verdict import Count, Engine

VERDICTS = ("right", "refused", "wrong")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the replay; 1 if it falls short."""
    options = _parser().parse_args(argv)
    if options.fetch:
        list(packages.fetched())
        return 0
    began = time.monotonic()
    found = _changes(options)
    counts: dict[Class, Count] = {}
    with engines.process() if options.process else engines.here() as engine:
        for seed in options.seed:
            _run(found, str(seed), options, engine, counts)
    print(table(counts))
    total, took = sum(count.all for count in counts.values()), time.monotonic() - began
    print(f"\n{total:,} hunks and patches of {len(found):,} changed files, {took:.0f} s.")
    short = verdict.shortfalls(counts)
    print("\n".join(f"- {line}" for line in short))
    return 1 if short else 0


def _changes(options: argparse.Namespace) -> list[Change]:
    if options.packages:
        return [change for old, new in packages.fetched() for change in changes.of_trees(old, new)]
    if options.made:
        return list(made.of_folders(options.made, options.files, str(options.seed[0])))
    if options.old is None or options.new is None:
        sys.exit("Name two folders, or give --packages or --made.")
    if options.repository:
        return list(changes.of_revisions(options.repository, options.old, options.new))
    return list(changes.of_trees(Path(options.old), Path(options.new)))


def _run(
    found: Sequence[Change],
    seed: str,
    options: argparse.Namespace,
    engine: Engine,
    counts: dict[Class, Count],
) -> None:
    unique, others = verdict.pools(found, seed)
    for kind in verdict.ALL:
        if options.only and options.only not in kind.name:
            continue
        pool = others if kind is NOT_UNIQUE else unique
        count = counts.setdefault(kind, Count())
        for case in verdict.cases(kind, pool, found, seed, options.limit):
            reply = engine(case.request)
            given = verdict.judge(case, reply)
            count.verdicts[given] += 1
            if options.keep and not verdict.is_good(case, given):
                keeping.keep(options.keep, case, reply, given)


def table(counts: Mapping[Class, Count]) -> str:
    """The counts as a Markdown table."""
    rows: list[tuple[str, ...]] = [("what was done to the hunk", "asked", "hunks", *VERDICTS)]
    for kind, count in counts.items():
        numbers = (count.all, *(count.verdicts[each] for each in VERDICTS))
        if count.all:
            rows.append((kind.name, kind.duty.value, *map("{:,}".format, numbers)))
    lines = [_line(row) for row in rows]
    return "\n".join([lines[0], "|---|---|--:|--:|--:|--:|", *lines[1:]])


def _line(row: Iterable[str]) -> str:
    return "| " + " | ".join(row) + " |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", nargs="?", help="a folder, or a commit")
    parser.add_argument("new", nargs="?", help="a later one")
    parser.add_argument(
        "--repository", type=Path, metavar="DIR", help="take OLD and NEW as commits of this repository"
    )
    parser.add_argument("--packages", action="store_true", help="releases of real packages")
    parser.add_argument("--fetch", action="store_true", help="only fetch these releases")
    parser.add_argument(
        "--made", type=Path, nargs="+", metavar="DIR", help="edits of our own in these folders"
    )
    parser.add_argument("--files", type=int, default=150, help="how many of them (150)")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="one or more (1)")
    parser.add_argument("--limit", type=int, default=120, help="hunks of each class and seed (120)")
    parser.add_argument("--only", default="", metavar="TEXT", help="classes whose name holds this")
    parser.add_argument("--process", action="store_true", help="through `handrail apply --jsonl`")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write what was not as asked there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
