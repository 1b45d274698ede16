"""Builds the documentation as a site in build/site; a warning, such as a dead link, is an error."""

from __future__ import annotations

import os
import subprocess

import environment


def main() -> int:
    """Runs MkDocs in an environment that has it; the exit code is its own."""
    python = environment.ensure(("dev", "editors", "docs"))
    path = os.pathsep.join((str(environment.ROOT / "scripts"), os.environ.get("PYTHONPATH", "")))
    command = (str(python), "-m", "mkdocs", "build", "--strict")
    own = {"PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1"}  # an advertisement on each run
    done = subprocess.run(command, cwd=environment.ROOT, env=os.environ | own, check=False)
    return done.returncode


if __name__ == "__main__":
    environment.run(main)
