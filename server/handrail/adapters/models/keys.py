"""
Keys of model providers: where they come from, and which values of the environment must stay secret.

A key comes from the editor, the environment or the system's keyring, never from a settings file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from handrail.core.results import key_names, redact

SERVICE = "handrail"  # what the keyring files our keys under


class Keys:
    """Finds keys, and knows the values of all that no output may show."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._at_start = dict(environment)  # what goes to users and models is searched for these all the time
        self._kept: set[str] = set()
        self._used: dict[str, None] = {}  # the keys that were found for models
        self._ask: Callable[[str], str] = lambda name: ""

    def ask_first(self, ask: Callable[[str], str]) -> None:
        """Look for keys with *ask* first: what the user's editor keeps was put there for us."""
        self._ask = ask

    def variable(self, name: str) -> str:
        """The variable of the environment called *name*; empty if it is not set."""
        return self._environment.get(name, "").strip()

    def find(self, name: str) -> str:
        """
        The key called *name*: the editor's, the variable of that name, or the keyring's entry; else empty.

        An editor and a keyring may be slow, and may wait for their user to unlock them.
        """
        key = self._ask(name).strip() or self.variable(name) or _read_keyring(name) or ""
        is_known = key == self.variable(name) and key_names.KEY_NAME.search(name) is not None
        if len(key) >= redact.SHORTEST_CHARS and not is_known:
            self._kept.add(key)
        self._used.update({key: None} if key else {})
        return key

    def secrets(self, also: str = "") -> tuple[str, ...]:
        """The values of the environment's keys, of the variable *also*, and of what else was found."""
        known = key_names.secrets(self._at_start, also)
        return (*known, *(self._kept.difference(known) if self._kept else ()))

    def of_models(self, names: Iterable[str]) -> tuple[str, ...]:
        """Returns the keys that were found for models, and the values of the variables *names*."""
        return tuple(dict.fromkeys((*filter(None, map(self.variable, names)), *tuple(self._used))))


def _read_keyring(name: str) -> str | None:
    try:
        import keyring  # an extra, and slow to import
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(SERVICE, name)
    except KeyringError:
        return None
