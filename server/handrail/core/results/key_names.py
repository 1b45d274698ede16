"""Recognise the keys of an environment by their names, and passwords in URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from handrail.core.policy.environment import LOGIN
from handrail.core.results.redact import SHORTEST_CHARS

KEY_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|AUTH|SECRET)?_?"
    r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PAT|CREDENTIAL|CRED|DSN|WEBHOOK|JWT|COOKIE)S?(?:_|$)"
    r"|PASSWORD$|SSHPASS$|_PWD$|^PGPASS",
    re.IGNORECASE,
)


def secrets(environment: Mapping[str, str], also: str = "") -> tuple[str, ...]:
    """The values of *environment* that are keys by name, or called *also*; and passwords in URLs."""
    return _keys_among(tuple(environment.items()), also)


@lru_cache(maxsize=4)
def _keys_among(variables: tuple[tuple[str, str], ...], also: str) -> tuple[str, ...]:
    result: dict[str, None] = {}
    for name, value in variables:
        if name == also or KEY_NAME.search(name):
            result[value.strip()] = None
        result |= dict.fromkeys(login["password"] for login in LOGIN.finditer(value))
    return tuple(value for value in result if len(value) >= SHORTEST_CHARS)
