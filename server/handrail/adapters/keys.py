"""
Keys of model providers: where they come from, and which values of the environment must not be told.

A key comes from the environment or from the system's keyring, never from a settings file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

SERVICE = "handrail"  # what the keyring files our keys under
KEY_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|AUTH|SECRET)?_?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT)S?(?:_|$)"
    r"|PASSWORD$",
    re.IGNORECASE,
)
SHORTEST_CHARS = 8  # what is shorter would be found in any text


def find(name: str, environment: Mapping[str, str]) -> str | None:
    """The key called *name*: the variable of that name, else the keyring's entry; None without both."""
    return environment.get(name, "").strip() or _from_keyring(name)


def secrets(environment: Mapping[str, str], also: str = "") -> tuple[str, ...]:
    """The values of *environment* that are keys by their name, or by being called *also*."""
    values = (value.strip() for name, value in environment.items() if name == also or KEY_NAME.search(name))
    return tuple(value for value in values if len(value) >= SHORTEST_CHARS)


def without(environment: Mapping[str, str], also: str = "") -> dict[str, str]:
    """*environment* as commands may have it: without keys."""
    return {name: value for name, value in environment.items() if name != also and not KEY_NAME.search(name)}


def _from_keyring(name: str) -> str | None:
    try:
        import keyring  # an extra, and slow to import
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(SERVICE, name)
    except KeyringError:
        return None
