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
