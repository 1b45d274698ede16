"""
The gate: format, lint, types, import contracts, generated files and all tests, in a virtual environment of
its own. What CI runs is this with `--all`.

`--all` adds what needs larger installs (VS Code, Emacs, the extension's tools); without it those tests are
deselected. Further arguments go to pytest, whose summary is the last line.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import environment

ROOT = environment.ROOT
EXTRAS = ("dev", "editors")
LARGE = "vscode or emacs"


def main(argv: list[str]) -> int:
    """Run every step; stop at the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--all", action="store_true", help="with the real VS Code, Emacs and the extension's checks"
    )
    options, rest = parser.parse_known_args(argv)
    python = environment.ensure(EXTRAS)
    for name, command in _steps(python, with_extension=options.all):
        began = time.monotonic()
        code = _run(command, ROOT / "client-vscode" if command[0].endswith("npm") else ROOT)
        print(f"{'ok' if code == 0 else 'FAILED'}  {name} ({time.monotonic() - began:.1f} s)", flush=True)
        if code:
            return code
    selected = () if options.all else ("-m", f"not ({LARGE})")
    return _run((str(python), "-m", "pytest", *selected, *rest), ROOT)


def _steps(python: Path, *, with_extension: bool) -> list[tuple[str, tuple[str, ...]]]:
    tool = python.parent
    steps: list[tuple[str, tuple[str, ...]]] = [
        ("format", (str(tool / "ruff"), "format", "--check", "--quiet", ".")),
        ("lint", (str(tool / "ruff"), "check", "--quiet", ".")),
        ("types", (str(tool / "mypy"), "--no-error-summary")),
        ("import contracts", (str(python), "scripts/contracts.py")),
        ("generated files", (str(python), "scripts/generate.py", "--check")),
    ]
    if with_extension:
        npm = shutil.which("npm") or "npm"
        steps += [
            ("editors", (str(python), "scripts/install_editors.py")),
            ("extension: install", (npm, "ci", "--silent", "--no-fund", "--no-audit")),
            ("extension: types and lint", (npm, "run", "--silent", "check")),
        ]
    return steps


def _run(command: tuple[str, ...], folder: Path) -> int:
    kept = environment.clean()
    kept["PATH"] = os.pathsep.join((str(environment.FOLDER / "bin"), kept.get("PATH", "")))
    try:
        return subprocess.run(command, cwd=folder, env=kept, check=False).returncode
    except FileNotFoundError:
        print(f"{command[0]} is not installed; --all needs Node.js 20 with npm.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
