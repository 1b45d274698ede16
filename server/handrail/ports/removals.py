"""Removes answered prompts from documents, each together with the first edit that answers it."""

from __future__ import annotations

from handrail.core.documents.in_code.removal import SentPrompt


class Removals:
    """The prompts that turns answer, until the turn has edited their document or has ended."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[SentPrompt, ...]] = {}

    def expect(self, turn: str, sent: SentPrompt) -> None:
        """Notes a prompt that the first edit of a turn in its document must remove."""
        self._waiting[turn] = (*self._waiting.get(turn, ()), sent)

    def has(self, identity: str, text: str) -> bool:
        """Whether a turn that has not ended answers a prompt with that text in a document."""
        waiting = (each for sent in self._waiting.values() for each in sent)
        return any(each.identity == identity and each.prompt.text == text for each in waiting)

    def sent_prompts(self, turn: str, identity: str) -> tuple[SentPrompt, ...]:
        """Returns the prompts that the next edit of a document by a turn removes."""
        return tuple(each for each in self._waiting.get(turn, ()) if each.identity == identity)

    def on_edit(self, turn: str, identity: str) -> None:
        """Called when the turn has edited the document: prompts that this edit did not remove stay."""
        left = tuple(each for each in self._waiting.get(turn, ()) if each.identity != identity)
        self._waiting[turn] = left
        if not left:
            del self._waiting[turn]

    def on_end(self, turn: str) -> None:
        """Called when the turn has ended: prompts that it has not removed stay."""
        self._waiting.pop(turn, None)
