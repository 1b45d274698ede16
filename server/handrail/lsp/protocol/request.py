"""The type of a request: a command and a custom request of one name."""

from __future__ import annotations

from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One message from client to server.

    Attributes:
        name: `noun.verb`; the command is `handrail.noun.verb`, the request `handrail/noun/verb`.
        params: The type of its params.
        result: The type of its result; None answers null.
        does: One sentence for the documentation.
    """

    name: str
    params: type
    result: object
    does: str

    @property
    def command(self) -> str:
        """The name for `workspace/executeCommand`."""
        return f"handrail.{self.name}"

    @property
    def method(self) -> str:
        """The name of the custom request."""
        return "handrail/" + self.name.replace(".", "/")
