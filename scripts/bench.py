"""
Measure one subject against its yardstick and its bounds: `bench.py SUBJECT [options]`.

A subject is a module `bench_SUBJECT.py` beside this one; it prints a Markdown table and ends with 1 if a
bound is missed. All figures are ratios taken in one run, so that noisy machines tell the same.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import environment

PREFIX = "bench_"


def main() -> int:
    """Run the subject in the project's virtual environment; returns its exit code."""
    argv = sys.argv[1:]
    modules = {path.stem.removeprefix(PREFIX): path for path in Path(__file__).parent.glob(f"{PREFIX}*.py")}
    if not argv or argv[0] not in modules:
        print(f"usage: bench.py {{{','.join(sorted(modules))}}} [options]", file=sys.stderr)
        return 2
    python = environment.ensure(("dev", "editors"))
    return subprocess.run([python, modules[argv[0]], *argv[1:]], check=False).returncode


if __name__ == "__main__":
    environment.run(main)
