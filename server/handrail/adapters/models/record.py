"""
Record the answers of a model, in the form that `scripted:FILE` replays.

The file is rewritten after every answer, so an interrupted turn leaves the answers up to then.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from handrail.core.conversation.message import Message, Piece, Response, ToolOffer
from handrail.ports.errors import ProviderError
from handrail.ports.models import Prepared, Provider


class Record:
    """Provider port around another one."""

    def __init__(self, inner: Provider, file: Path) -> None:
        self._inner, self._file = inner, file
        self._answers: list[object] = []

    @property
    def context_tokens(self) -> int:
        """As the inner one says."""
        return self._inner.context_tokens

    async def prepare(self) -> None:
        """As the inner one does. Raises ProviderError."""
        if isinstance(self._inner, Prepared):
            await self._inner.prepare()

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """Ask the inner provider. Raises ProviderError, even if only the file cannot be written."""
        async with aclosing(self._inner.complete(messages, tools)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Response):
                    self._answers.append(_as_json(piece))
                    self._write()
                yield piece

    def _write(self) -> None:
        text = json.dumps(self._answers, ensure_ascii=False, indent=1)
        try:
            self._file.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise ProviderError(f"The record {self._file} cannot be written: {error.strerror}.") from error


def _as_json(response: Response) -> dict[str, object]:
    fields: dict[str, object] = {"text": response.text, "stop": response.stop.value}
    if response.calls:
        fields["calls"] = [
            {"id": call.id, "name": call.name, "arguments": call.arguments} for call in response.calls
        ]
    if response.reason:
        fields["reason"] = response.reason
    return fields
