"""Where state is stored: this user's folder, and one in it for each workspace."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from handrail.adapters.files.paths import fold_case


def state_folder() -> Path:
    """
    Returns the folder in which programs keep their state for this user; `XDG_STATE_HOME` decides on every
    system.
    """
    given = os.environ.get("XDG_STATE_HOME", "")
    return Path(given) if os.path.isabs(given) else platformdirs.user_state_path()


def own_folder(state: Path) -> Path:
    """Returns handrail's folder below *state*, for all workspaces."""
    return state / "handrail"


def workspace_folder(state: Path, roots: Sequence[Path]) -> Path:
    """Returns the folder of a workspace's state below *state*: named after its main folder, unique."""
    if not roots:
        return own_folder(state) / "no-folder"
    real = os.path.realpath(roots[0])
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(real)).strip(".-")[:40] or "folder"
    digest = hashlib.sha256(os.fsencode(fold_case(real))).hexdigest()[:12]
    return own_folder(state) / f"{readable}-{digest}"
