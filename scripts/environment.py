"""
The project's own virtual environment, made on first use and renewed when what it should hold has changed.

Needs nothing but Python; `check.py` and `demo.py` begin here. Versions are pinned in `constraints.txt`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv"
OLDEST = (3, 11)


def ensure(extras: tuple[str, ...] = ()) -> Path:
    """
    Make sure that `.venv` holds this project with *extras*.

    Returns:
        Its Python. Exits with a sentence if that cannot be done.
    """
    if sys.version_info < OLDEST:
        sys.exit(
            f"handrail needs Python 3.11 or newer; this is {sys.version.split()[0]}. Run it with a newer one."
        )
    python = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = FOLDER / f"handrail-{'-'.join(extras) or 'plain'}"
    wanted = _fingerprint(extras)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted and python.exists():
        return python
    print(f"Preparing {FOLDER.relative_to(ROOT)} (once) ...", flush=True)
    if not python.exists() and _run(sys.executable, "-m", "venv", str(FOLDER)):
        sys.exit("Python's module venv does not work here; on Debian and Ubuntu: apt install python3-venv.")
    names = f".[{','.join(extras)}]" if extras else "."
    if _run(str(python), *PIP, "install", "-qq", "--constraint", "constraints.txt", "--editable", names):
        sys.exit("Installing failed; pip says above why. The packages come from the Python package index.")
    stamp.write_text(wanted, encoding="utf-8")
    return python


PIP = ("-m", "pip", "--disable-pip-version-check")


def clean() -> dict[str, str]:
    """The environment for child processes: nobody else's Python path, virtual environment or git settings."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in dropped}


def _fingerprint(extras: tuple[str, ...]) -> str:
    """What the environment should hold, as one line; it changes when the folder is moved, too."""
    read = (ROOT / "pyproject.toml").read_bytes() + (ROOT / "constraints.txt").read_bytes()
    return f"{ROOT} {sys.version} {extras} {hashlib.sha256(read).hexdigest()}"


def _run(*command: str) -> int:
    return subprocess.run(command, cwd=ROOT, env=clean(), check=False).returncode
