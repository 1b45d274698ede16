"""
The environment that commands run in: without keys, and without what would change what a command means.

Which variables hold keys is told by their names. Their values are also what no output may show.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

KEY_NAME = re.compile(
    r"(?:^|_)(?:API_?)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT)S?(?:_|$)|(?:APIKEY|TOKEN|PASSWORD)$",
    re.IGNORECASE,
)
LEAST_SECRET_CHARS = 8  # a shorter value occurs by chance, and is no key

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
DROPPED = frozenset({"BASH_ENV", "ENV", "CDPATH", "GLOBIGNORE", "BASHOPTS", "SHELLOPTS", "PROMPT_COMMAND"})


def is_key(name: str) -> bool:
    """Whether a variable of that name holds a key."""
    return KEY_NAME.search(name) is not None


def of_commands(environment: Mapping[str, str]) -> dict[str, str]:
    """What a command gets of *environment*."""
    kept = {
        name: value
        for name, value in environment.items()
        if not is_key(name) and name not in DROPPED and not name.startswith(("BASH_FUNC_", "GIT_CONFIG_"))
    }
    folders = kept.get("PATH", os.defpath).split(os.pathsep)
    # The folder that a command runs in may hold anything, by any name.
    kept["PATH"] = os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
    return {**kept, **SET}


def secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of keys in *environment*."""
    found = (value.strip() for name, value in environment.items() if is_key(name))
    return tuple(sorted({value for value in found if len(value) >= LEAST_SECRET_CHARS}))
