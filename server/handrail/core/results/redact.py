"""
Take the values of keys out of text before a model reads it, and keys out of an environment.

A variable is a key by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

REDACTED = "[key removed by handrail]"
KEY_NAME = re.compile(
    r"(?:^|_)(?:API|ACCESS|AUTH|SECRET)?_?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT)S?(?:_|$)"
    r"|PASSWORD$",
    re.IGNORECASE,
)
SHORTEST_CHARS = 8  # what is shorter would be found in any text


def redact(text: str, secrets: Sequence[str]) -> str:
    """*text* without the *secrets*, the longest first, so that none is left in part."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        text = text.replace(secret, REDACTED) if secret else text
    return text


def settled(text: str, secrets: Sequence[str]) -> tuple[str, str]:
    """
    Take keys out of text that is not all there yet.

    Returns:
        What is certain of *text*, without the *secrets*; and its end, which may be the beginning of one, as
        it is: to be put before what comes next.

    Cost: length of the text and square of the longest secret.
    """
    start = len(text) - max((_begun(text, secret) for secret in secrets), default=0)
    while (earlier := min((_across(text, secret, start) for secret in secrets), default=start)) < start:
        start = earlier
    return redact(text[:start], secrets), text[start:]


def secrets(environment: Mapping[str, str], also: str = "") -> tuple[str, ...]:
    """The values of *environment* that are keys by their name, or by being called *also*."""
    values = (value.strip() for name, value in environment.items() if name == also or KEY_NAME.search(name))
    return tuple(value for value in values if len(value) >= SHORTEST_CHARS)


def without(environment: Mapping[str, str]) -> dict[str, str]:
    """*environment* as commands may have it: without keys."""
    return {name: value for name, value in environment.items() if not KEY_NAME.search(name)}


def _begun(text: str, secret: str) -> int:
    """How many characters at the end of *text* are the beginning of *secret*, but not all of it."""
    return next((size for size in range(len(secret) - 1, 0, -1) if text.endswith(secret[:size])), 0)


def _across(text: str, secret: str, place: int) -> int:
    """Where a *secret* begins that *place* lies within; else *place*."""
    if not secret:
        return place
    found = text.find(secret, max(place - len(secret) + 1, 0), place + len(secret) - 1)
    return found if 0 <= found < place else place
