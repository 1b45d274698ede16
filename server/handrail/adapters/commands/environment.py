"""
The environment that commands run in: without keys, and without what would change what a command means.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from handrail.core.policy.environment import inherited

SET: Mapping[str, str] = {
    "GIT_EDITOR": "true",  # nobody is there to edit
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "TERM": "dumb",
    # A repository's own settings must not run a program when its state is only looked at.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "gc.autoDetach",  # what is left behind is ended
    "GIT_CONFIG_VALUE_1": "false",
}


def of_commands(environment: Mapping[str, str]) -> dict[str, str]:
    """What a command gets of *environment*."""
    kept = inherited(environment)
    folders = kept.get("PATH", os.defpath).split(os.pathsep)
    # The folder that a command runs in may hold anything, by any name.
    kept["PATH"] = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
    return {**kept, **SET}
