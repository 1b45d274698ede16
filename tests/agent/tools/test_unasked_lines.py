"""
What runs unasked leaves no mark, reads no protected file and opens no socket: lines drawn at random.

Nothing is contained. Each line is judged as a call of a model is; what would run unasked is run, from its
words, by an ordinary user in a throw-away tree, under `strace` where that is. `python
tests/agent/tools/test_unasked_lines.py 100000 --seed 7` tries as many lines, and prints the smallest line for
each complaint. Among the tests `HANDRAIL_LINES` says how many.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

import traced
from handrail.adapters.commands.ending import MARK
from handrail.adapters.files.files import uri_of
from handrail.core.policy.commands.script import Environment, Script, Stage, Step
from shrink import smallest
from unasked_lines import Ground, Judged, first_bad, ran, search

COUNT = int(os.environ.get("HANDRAIL_LINES", "150"))  # more with `scripts/check.py --all`
linux = pytest.mark.skipif(sys.platform != "linux", reason="what processes do is seen on Linux only")


@linux
def test_what_runs_unasked_leaves_no_mark_and_reads_nothing_protected() -> None:
    found = search(COUNT, seed=12)
    assert found.ran > COUNT // 10
    assert found.complaints == {}


# What would run if the policy let it, and what is said of it; of all but the first ones by strace only.
FOUND = {
    ("touch", "pwned"): "pwned",
    ("cp", "-p", "a.txt", "b.txt"): "changes b.txt",
    ("cat", "hard"): "prints a protected file",
    ("cat", "a.txt"): "",
    ("head", "-c", "0", ".env"): "reads .env",
    ("./tool",): "runs ./tool",
    ("rm", "-f", "nothing"): "unlinkat nothing",
    ("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9"): "socket AF_INET",
}
WITHOUT_STRACE = 4


@linux
def test_what_is_looked_for_is_found() -> None:
    count = len(FOUND) if traced.tracing(Path(os.devnull)) else WITHOUT_STRACE
    with tempfile.TemporaryDirectory(prefix="handrail-lines-") as name:
        ground = Ground(Path(name).resolve())
        ground.make()
        given = [judged(words, ground) for words in list(FOUND)[:count]]
        complaints = {
            each.script.stages[0].words: said for each, _, said in ran(ground, given) if each.script
        }
    assert len(complaints) == count
    assert {words for words, said in complaints.items() if FOUND[words] not in said} == set()
    assert complaints["cat", "a.txt"] == ""


def judged(words: tuple[str, ...], ground: Ground) -> Judged:
    """*words* as if they might run."""
    program = shutil.which(words[0]) or words[0]
    folder = uri_of(ground.root)
    stage = Stage(text=words[0], words=words, folder=folder, program=program, arguments=words[1:])
    script = Script(steps=(Step(after=";", negated=False, stages=(stage,)),))
    environments = {each: {"PATH": os.environ["PATH"], MARK: "fuzz"} for each in (*Environment, None)}
    return Judged(line=" ".join(words), script=script, environments=environments)


def main() -> int:
    """Try as many lines as asked for; returns 1 if there is a complaint."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=1_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--whole", action="store_true", help="print lines as they were drawn")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", "" if traced.tracing(Path()) else "(without strace)", flush=True)
    found = search(asked.count, asked.seed, lambda text: print(text, flush=True))
    for line, complaint in list(found.complaints.items())[:20]:
        print(f"{line!r}\n  {complaint}", flush=True)
        if not asked.whole:
            print(f"  smallest: {smallest(line, first_bad)!r}", flush=True)
    return int(bool(found.complaints))


if __name__ == "__main__":
    sys.exit(main())
