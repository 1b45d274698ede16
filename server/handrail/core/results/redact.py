"""
Take the values of keys out of text before a model reads it.

Which values are keys is decided where the environment is known.
"""

from __future__ import annotations

from collections.abc import Sequence

REDACTED = "[key removed by handrail]"


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


def _begun(text: str, secret: str) -> int:
    """How many characters at the end of *text* are the beginning of *secret*, but not all of it."""
    return next((size for size in range(len(secret) - 1, 0, -1) if text.endswith(secret[:size])), 0)


def _across(text: str, secret: str, place: int) -> int:
    """Where a *secret* begins that *place* lies within; else *place*."""
    if not secret:
        return place
    found = text.find(secret, max(place - len(secret) + 1, 0), place + len(secret) - 1)
    return found if 0 <= found < place else place
