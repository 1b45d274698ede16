"""
The gate: format, lint, types, import contracts, generated files and all tests, in a virtual environment of
its own. What CI runs is this with `--all`.

`--all` adds what needs larger installs (VS Code, Emacs, the extension's tools); without it those tests are
deselected. Further arguments go to pytest, whose summary is the last line.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import environment

EXTRAS = ("dev", "editors")
PARALLEL = ("--numprocesses", "logical", "--maxprocesses", "8", "--dist", "loadgroup")
LARGE = "vscode or emacs or releases or model"


def main(argv: list[str]) -> int:
    """Run every step; stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--all", action="store_true", help="with the real VS Code, Emacs and the extension's checks"
    )
    options, rest = parser.parse_known_args(argv)
    python = environment.ensure(EXTRAS)
    if options.all:  # checkpoints in any order; what has begun takes up to half a minute more
        os.environ.setdefault("HANDRAIL_MACHINE_S", "200")
    for name, command in _steps(python, everything=options.all):
        began = time.monotonic()
        code = _run(command)
        print(f"{'ok' if code == 0 else 'FAILED'}  {name} ({time.monotonic() - began:.1f} s)", flush=True)
        if code:
            return code
    selected = () if options.all else ("-m", f"not ({LARGE})")
    return _run((str(python), "-m", "pytest", *PARALLEL, *selected, *rest))


def _steps(python: Path, *, everything: bool) -> list[tuple[str, tuple[str, ...]]]:
    tool = python.parent
    steps: list[tuple[str, tuple[str, ...]]] = [
        ("format", (str(tool / "ruff"), "format", "--check", "--quiet", ".")),
        ("lint", (str(tool / "ruff"), "check", "--quiet", ".")),
        ("types", (str(tool / "mypy"), "--no-error-summary")),
        ("import contracts", (str(python), "scripts/contracts.py")),
        ("generated files", (str(python), "scripts/generate.py", "--check")),
    ]
    if everything:
        steps += [("editors", (str(python), "scripts/install_editors.py"))]
        steps += [("extension: types and lint", (str(python), "scripts/check_extension.py"))]
    return steps


def _run(command: tuple[str, ...]) -> int:
    kept = environment.clean()
    kept["PATH"] = os.pathsep.join((str(environment.FOLDER / "bin"), kept.get("PATH", "")))
    return subprocess.run(command, cwd=environment.ROOT, env=kept, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
