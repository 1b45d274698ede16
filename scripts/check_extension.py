"""Check the extension's types and lint with the tools that `install_editors` has put into the cache."""

from __future__ import annotations

import os
import subprocess
import sys

import install_editors
from environment import ROOT


def main() -> int:
    """Run `npm run check`; the exit code is its own."""
    node = install_editors.install_node()
    path = os.pathsep.join((str(node), os.environ.get("PATH", "")))
    command = (str(node / "npm"), "run", "--silent", "check")
    done = subprocess.run(command, cwd=ROOT / "client-vscode", env=os.environ | {"PATH": path}, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
