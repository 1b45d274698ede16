"""
Distinguish prompts that the user has typed from all others, so that saving a document can send them.

Only observed typing counts: a prompt is foreign if it was in the document when it was opened, if an edit of
the agent wrote it, or if it appeared while the file changed on disk. A prompt that changes because the user
types in it keeps its status. A prompt that was sent stays sent, so the editor's undo, which brings it back,
sends nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from handrail.core.documents.in_code.prompts import Prompt
from handrail.values import dataclass, field

LAST_KEYS = 20  # an editor may tell of the last keys only after it has saved them


class Origin(Enum):
    """Whose a prompt is."""

    TYPED = auto()
    SENT = auto()
    FOREIGN = auto()


@dataclass(slots=True)
class TypedPrompts:
    """
    The prompts of one open document, and whose each is.

    Attributes:
        texts, origins: Of each of them, in order.
        written: The texts of prompts that the agent has written.
        sent: The texts of prompts that were sent.
    """

    texts: list[str] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)

    def on_open(self, prompts: Sequence[Prompt]) -> None:
        """Takes these for other programs': it is not known where they came from."""
        self.texts = [each.text for each in prompts]
        self.origins = [Origin.FOREIGN] * len(prompts)

    def on_change(self, prompts: Sequence[Prompt], *, is_typed: bool) -> None:
        """
        The document has been changed.

        Args:
            prompts: The prompts that it has now.
            is_typed: Whether only the user can have done it.
        """
        texts = [each.text for each in prompts]
        if texts == self.texts:
            return
        head, tail = _equal_ends(self.texts, texts)
        before = self.origins[head : len(self.origins) - tail]
        new = texts[head : len(texts) - tail]
        lost = [*zip(self.texts[head:], before, strict=False), *[("", None)] * len(new)]
        origins = [self._origin(text, *was, is_typed=is_typed) for text, was in zip(new, lost, strict=False)]
        self.origins = [*self.origins[:head], *origins, *self.origins[len(self.origins) - tail :]]
        self.texts = texts

    def _origin(self, text: str, old: str, before: Origin | None, *, is_typed: bool) -> Origin:
        """Whose a prompt is that stands where the prompt *old* stood *before*, or where none stood."""
        is_longer = bool(old) and text.startswith(old) and len(text) - len(old) <= LAST_KEYS
        if text in self.written or not (is_typed or is_longer):
            return Origin.FOREIGN
        if before is not None:
            return before
        return Origin.SENT if text in self.sent else Origin.TYPED

    def expect(self, prompts: Sequence[Prompt]) -> None:
        """The agent is about to make a text with these prompts."""
        self.written |= {each.text for each in prompts}.difference(self.texts)

    def send(self, text: str) -> None:
        """A prompt is sent, from wherever."""
        self.sent.add(text)
        self.origins = [
            Origin.SENT if each == text and origin is Origin.TYPED else origin
            for each, origin in zip(self.texts, self.origins, strict=True)
        ]

    def unsent_prompts(self, prompts: Sequence[Prompt]) -> list[Prompt]:
        """Those of the document's prompts that the user has typed and that were not sent."""
        if [each.text for each in prompts] != self.texts:
            return []
        return [each for each, origin in zip(prompts, self.origins, strict=True) if origin is Origin.TYPED]


def _equal_ends(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Returns how many values two lists have in common at their beginnings, and then at their ends."""
    least = min(len(one), len(other))
    head = next((at for at in range(least) if one[at] != other[at]), least)
    rest = least - head
    tail = next((at for at in range(rest) if one[-1 - at] != other[-1 - at]), rest)
    return head, tail
