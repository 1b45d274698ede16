"""
Make what a call printed and came to fit to be read: without keys, and for a model no longer than is allowed.

What is too long is kept aside first, so that `read_output` can read all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from handrail.core.conversation.message import ToolResult
from handrail.core.results import redact, truncate
from handrail.ports import Ports


async def fitted(result: ToolResult, ports: Ports) -> ToolResult:
    """*result* as the model gets it."""
    text = redact.redact(result.text, ports.secrets())
    cut = truncate.head_tail(text, ports.terms.output_chars)
    if cut is not None:
        text = truncate.shortened(text, cut, await ports.spills.keep(text))
    return result if text == result.text else replace(result, text=text)


@dataclass(kw_only=True)
class Live:
    """
    What a command prints, told as it comes and without keys.

    Attributes:
        tell: Told what is certain to hold no part of a key.
    """

    ports: Ports
    tell: Callable[[str], None]
    _held: str = ""

    def add(self, text: str) -> None:
        """Something was printed."""
        told, self._held = redact.settled(self._held + text, self.ports.secrets())
        if told:
            self.tell(told)

    def end(self) -> None:
        """Nothing more will be printed."""
        if self._held:
            self.tell(redact.redact(self._held, self.ports.secrets()))
            self._held = ""
