"""
Keys of model providers: where they come from, and which values of the environment must not be told.

A key comes from the environment or from the system's keyring, never from a settings file.
"""

from __future__ import annotations

from collections.abc import Mapping

from handrail.core.results import redact

SERVICE = "handrail"  # what the keyring files our keys under


class Keys:
    """Finds keys, and knows the values of all that no output may show."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._kept: set[str] = set()

    def variable(self, name: str) -> str:
        """The variable of the environment called *name*; empty if it is not set."""
        return self._environment.get(name, "").strip()

    def find(self, name: str) -> str:
        """
        The key called *name*: the variable of that name, else the keyring's entry; empty without both.

        The keyring may be slow, and may wait for its user to unlock it.
        """
        if key := self.variable(name):
            return key
        key = _from_keyring(name) or ""
        self._kept.update({key} if len(key) >= redact.SHORTEST_CHARS else ())
        return key

    def secrets(self, also: str = "") -> tuple[str, ...]:
        """The values of the environment's keys, of the variable *also*, and of what the keyring has given."""
        return (*redact.secrets(self._environment, also), *self._kept)


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
