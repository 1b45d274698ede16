"""
The built-in default: a prompt that is a reply copied from any chat is answered without a model.

Each V4A envelope, each file's SEARCH/REPLACE blocks, each unified diff and each fence with a path becomes a
tool call of its own, in order. The answer is the prose of the reply. A prompt without any edit block is
answered with the supported formats, and how to have a model answer instead.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from handrail.core.conversation.as_text import call_of
from handrail.core.conversation.message import (
    Delta,
    Message,
    Piece,
    Response,
    StopReason,
    ToolMessage,
    ToolOffer,
    UserMessage,
)
from handrail.core.patches import reply

READABLE = """\
- *** Begin Patch ... *** End Patch (V4A)
- <<<<<<< SEARCH ... ======= ... >>>>>>> REPLACE, with the file's name on the line above
- a unified diff (--- a/file, +++ b/file, @@)
- a code fence with a whole file, its path after the language or on the line above"""
NO_BLOCKS = f"""\
This text has no edit block, and no model is configured to answer it.

The chosen model is "paste": handrail applies a reply that you copied from a chat. It reads:
{READABLE}

To have a model answer instead, choose one, such as anthropic:NAME, openai:NAME or ollama:NAME:
- in VS Code: run “Handrail: Choose Where Answers Come From…”
- in another editor: set handrail.model in its settings
- in a conversation, also in `handrail chat`: type `/model MODEL`
- for `handrail run`: add `--model MODEL`
- in a terminal, permanently: `handrail config set model MODEL`"""
NO_BLOCKS_TO_APPLY = f"""\
The reply has no edit block. It can have:
{READABLE}

To have a model answer a text, use `handrail run --model MODEL`, with a MODEL such as anthropic:NAME,
openai:NAME or ollama:NAME."""


class Paste:
    """
    Provider port that needs no model.

    Args:
        partial: Whether what fits of a block is to land although the rest of it does not.
        no_blocks: The answer to a prompt without any edit block.
    """

    def __init__(self, *, partial: bool = True, no_blocks: str = NO_BLOCKS) -> None:
        self._partial, self._no_blocks = partial, no_blocks

    context_tokens = 1_000_000  # nothing is ever left out for its sake

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        """First the tool calls that the pasted reply stands for, then its prose."""
        last = max(
            at
            for at, message in enumerate(messages)
            if isinstance(message, UserMessage) and not message.is_ours
        )
        prompt = messages[last]
        assert isinstance(prompt, UserMessage)
        pasted = reply.read(prompt.text)
        if not pasted.blocks:
            text = self._no_blocks
            yield Delta(text=text)
            yield Response(text=text, stop=StopReason.REFUSED, reason=text.partition("\n")[0])
        elif not any(isinstance(message, ToolMessage) for message in messages[last:]):
            calls = tuple(
                call_of(f"p{len(messages)}-{number}", block, partial=self._partial)
                for number, block in enumerate(pasted.blocks, 1)
            )
            yield Response(text="", calls=calls, stop=StopReason.TOOL_CALLS)
        else:
            text = pasted.prose or "The reply has no text besides its edits."
            yield Delta(text=text)
            yield Response(text=text, is_literal=True)
