"""
The server under test as users have it: a program `handrail` on the PATH.

Only its clock is a test's: it stands still but for the seconds that the folder's file `clock` says.
"""

import os
import stat
import sys
from pathlib import Path

import handrail


def environment(folder: Path) -> dict[str, str]:
    """Make the program in *folder*; the environment in which it is found and keeps its state there."""
    program = folder / "bin" / "handrail"
    program.parent.mkdir()
    package = Path(handrail.__file__).parent.parent
    clock = f'[ "$1" = serve ] && set -- "$@" "--clock={folder / "clock"}"'
    program.write_text(
        f'#!/bin/sh\n{clock}\nPYTHONPATH="{package}" exec "{sys.executable}" -m handrail "$@"\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {
        **os.environ,
        "PATH": f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "XDG_STATE_HOME": str(folder / "state"),
    }
