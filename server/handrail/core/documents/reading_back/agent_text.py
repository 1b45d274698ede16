r"""
Tell whether the unsaved text of a document is only the agent's.

Theory of operation. The text on disk is the first of a series; each edit adds the text that the document
would have if only the agent had changed it. If the document has one of these texts, all of its unsaved text
is the agent's. The same is true if it has only some of the differences between the first and one of these
texts: the others were undone. Once the user has typed, edits are carried over to the newest text of the
series. If one changes lines of the user's, no one can tell whose text is whose until the document is saved.

    >>> text = AgentText(saved=None, texts=("a\nb\n",))
    >>> text = text.add_edit("a\nb\n", "a\nB\n", ())
    >>> text.is_all_of("a\nB\n"), text.is_all_of("mine\na\nB\n")
    (True, False)
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.documents.edit import TextEdit, apply, edits_between, rebase
from handrail.core.documents.text import Text
from handrail.values import dataclass, replace

LIMIT_TEXTS = 10  # the first and the newest; a user hardly undoes more edits

Edits = Sequence[tuple[str, Sequence[TextEdit]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentText:
    """
    What the agent alone has made of a document since it was last saved.

    Attributes:
        saved: What the editor reported when it last saved the document; the same object until the next save.
        texts: The text on disk, then the text after each edit; empty if no one can tell.
    """

    saved: Text | None
    texts: tuple[str, ...]

    def is_all_of(self, now: str) -> bool:
        """Whether a document with the text *now* differs from the disk only by edits of the agent's."""
        if now in self.texts:
            return True
        if not self.texts:
            return False
        first, *later = self.texts
        ours = [set(edits_between(first, each)) for each in later]
        differences = set(edits_between(first, now)) if ours else set()
        return any(differences <= each for each in ours)

    def add_edit(self, before: str, after: str | None, edits: Edits) -> AgentText:
        """
        Adds what the agent has made of the text *before*.

        Args:
            before: The whole text of the document, with what the user has typed.
            after: What the agent has made of it; None if that is unknown.
            edits: The edits one after the other, each with the text on which it was computed.
        """
        if not self.texts or after is None:
            return replace(self, texts=())
        made = after if self.is_all_of(before) else _carry(edits, self.texts[-1])
        newest = self.texts[1:] if made is None else (*self.texts[1:], made)
        return replace(self, texts=() if made is None else (self.texts[0], *newest[1 - LIMIT_TEXTS :]))


def _carry(edits: Edits, text: str) -> str | None:
    """
    Makes edits in a text without the user's lines; None if they change such lines. They may remove them.
    """
    for base, each in edits:
        moved = rebase(Text(base), each, text)
        if any(one.conflict and one.edit.new for one in moved):
            return None
        text = apply(text, [one.edit for one in moved if not one.conflict])
    return text
