"""
For which providers an address or the name of a key was set, kept for this user in the state folder.

Only digests of the values are kept, since an address may contain a password. If the file cannot be read,
nothing is known; if it cannot be written, that is logged.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from pathlib import Path

logger = logging.getLogger(__name__)

NAME = "owners.json"
LIMIT = 200  # values; the oldest go first


class OwnerFile:
    """The Owners port."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / NAME

    def providers_of(self, setting: str, value: str) -> frozenset[str]:
        """The providers for which a setting had this value."""
        return frozenset(_read(self._file).get(_name(setting, value), ()))

    def add(self, setting: str, value: str, provider: str) -> None:
        """Notes that the user has set this value for a provider."""
        known, key = _read(self._file), _name(setting, value)
        if provider in known.get(key, ()):
            return
        known[key] = [*known.pop(key, ()), provider]
        beside = self._file.with_name(f"{NAME}.{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps(dict(list(known.items())[-LIMIT:])), encoding="utf-8")
            beside.replace(self._file)
        except OSError as error:
            logger.warning("The provider of the setting %s could not be stored: %s", setting, error)


def _name(setting: str, value: str) -> str:
    return f"{setting} {hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _read(file: Path) -> dict[str, list[str]]:
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    return {key: [str(each) for each in value] for key, value in fields.items() if isinstance(value, list)}
