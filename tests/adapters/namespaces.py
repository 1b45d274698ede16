"""Whether this machine's kernel lets a user have namespaces, as the system's own program finds."""

from __future__ import annotations

import functools
import shutil
import subprocess


@functools.cache
def allowed() -> bool:
    """Whether a mount, a PID and a user namespace can be had, with a new `/proc`."""
    unshare = shutil.which("unshare")
    command = (unshare, "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "true")
    return unshare is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0
