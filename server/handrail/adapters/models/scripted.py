"""
Answers from a JSON file, for tests and demos: handled like those of a real model, but deterministic.

The file holds a list of assistant messages, each with any of `text` (a string), `calls` (a list of
`{id?, name, arguments}`, the arguments an object, or a string that is sent as it is), `stop` (see
StopReason) and `reason`. The n-th answer of a session is the n-th message.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from handrail.core.conversation.message import (
    AssistantMessage,
    Delta,
    Message,
    Piece,
    Response,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolOffer,
)
from handrail.core.failure import why_not_json
from handrail.counts import count_of
from handrail.ports.errors import ProviderError


class Scripted:
    """Provider port that replays a file; it is read again for every answer."""

    def __init__(self, script: Path) -> None:
        self._script = script
        self._given = 0

    context_tokens = 1_000_000  # nothing is ever left out for its sake

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """The next message of the script. Raises ProviderError if there is none, or it cannot be read."""
        answers = self._read()
        number = sum(isinstance(message, AssistantMessage) for message in messages)
        said = [message for message in messages if not isinstance(message, SystemMessage)]
        if len(said) > 1:  # an empty answer is in no history, and was given all the same
            number = max(number, self._given)
        self._given = number + 1
        if number >= len(answers):
            raise ProviderError(
                f"The script {self._script} has only {count_of(len(answers), 'message')}, and the session "
                "needs one more."
            )
        response = self._response(answers[number], number)
        if response.text:
            yield Delta(text=response.text)
        yield response

    def _read(self) -> list[object]:
        try:
            script = json.loads(self._script.read_text(encoding="utf-8"))
        except OSError as error:
            raise ProviderError(f"The script {self._script} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise ProviderError(
                f"The script {self._script} is not valid JSON: {why_not_json(error)}."
            ) from error
        if not isinstance(script, list):
            raise ProviderError(f"The script {self._script} must hold a list of messages.")
        return script

    def _response(self, answer: object, number: int) -> Response:
        try:
            if not isinstance(answer, Mapping):
                raise TypeError("it is not an object")
            calls = tuple(
                _call(call, f"c{number + 1}-{position}")
                for position, call in enumerate(answer.get("calls", ()), 1)
            )
            stop = StopReason(answer.get("stop", "tool-calls" if calls else "finish"))
            text = answer.get("text", "")
            if not isinstance(text, str):
                raise TypeError("its text is not a string")
            return Response(text=text, calls=calls, stop=stop, reason=str(answer.get("reason", "")))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProviderError(
                f"Message {number + 1} of the script {self._script} is invalid: {error}"
            ) from error


def _call(call: Mapping[str, object], default_id: str) -> ToolCall:
    arguments = call.get("arguments", {})
    return ToolCall(
        id=str(call.get("id", default_id)),
        name=str(call["name"]),
        arguments=arguments if isinstance(arguments, str) else json.dumps(arguments),
    )
