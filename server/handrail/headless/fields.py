"""The fields of a JSON object of the server's, read with the types that they must have."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from handrail.headless.errors import ServerGarbledError

T = TypeVar("T")


class Fields:
    """The fields of one JSON object; what is missing or of a wrong type is a ServerGarbledError."""

    def __init__(self, what: str, json: Any) -> None:
        self._what = what
        self._json: Mapping[str, Any] = json if isinstance(json, Mapping) else {}

    def get(self, name: str) -> Any:
        """Return a field as it is; None if it is missing."""
        return self._json.get(name)

    def text(self, name: str) -> str:
        """Return a string; raises ServerGarbledError."""
        value = self._json.get(name)
        if not isinstance(value, str):
            raise self.missing_field(name)
        return value

    def text_or_none(self, name: str) -> str | None:
        """Return a string, or None if the field is null or missing; raises ServerGarbledError."""
        return None if self._json.get(name) is None else self.text(name)

    def number(self, name: str) -> int:
        """Return an integer; raises ServerGarbledError."""
        value = self._json.get(name)
        if not isinstance(value, int):
            raise self.missing_field(name)
        return value

    def read_list(self, name: str, read: Callable[[Any], T]) -> tuple[T, ...]:
        """Return a list whose items are *read*; raises ServerGarbledError."""
        value = self._json.get(name)
        if not isinstance(value, list):
            raise self.missing_field(name)
        return tuple(read(item) for item in value)

    def missing_field(self, name: str) -> ServerGarbledError:
        """Return the error about a field that is missing or has a wrong type."""
        return ServerGarbledError(
            f"The server's {self._what} has no valid `{name}`. Check that client and server have the same "
            f"version."
        )
