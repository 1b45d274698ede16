"""
The documents that show questions: one for each that someone wants to see, rewritten while the question is
open.

Only the server's own text counts: a document that someone has edited offers only *No* until it is restored.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from handrail.agent.questions import OpenQuestion
from handrail.core.documents.change import PlannedHunk, Tier, Update
from handrail.core.documents.edit import edits_between
from handrail.core.ledger.report import QuestionEnd
from handrail.lsp.documents import Documents
from handrail.lsp.questions import words
from handrail.ports import Editor
from handrail.ports.errors import ServedError
from handrail.ports.served import ServedDocuments
from handrail.values import dataclass, field

logger = logging.getLogger(__name__)

FOREVER_S = 24 * 3600.0  # how long a client may look at the document of a question that has ended


@dataclass(kw_only=True)
class QuestionDocuments:
    """
    Documents of open questions.

    Attributes:
        served: Writes them.
        opened: The documents that the client holds.
        identify: Gives the identity of a document, whatever the spelling of its URI.
        say: Tells the user something.
        editor: Changes a document that the client holds.
        show: Has the client open a document, or says where it is.
    """

    served: ServedDocuments
    opened: Documents
    identify: Callable[[str], str]
    say: Callable[[str], None]
    editor: Editor
    show: Callable[[str], Awaitable[None]]
    _uris: dict[str, str] = field(default_factory=dict)  # by question

    async def write(self, asked: OpenQuestion) -> tuple[str, str]:
        """Write the document of a question; its URI and text. Raises ServedError."""
        text = words.document(asked.question)
        written = await self.served.write(f"question-{asked.id}.md", text)
        if written.note:
            self.say(written.note)
        self._uris[asked.id] = written.uri
        document = self.opened.find(written.uri)
        if document is not None and not self.shows_all(asked):
            base = document.text
            whole = PlannedHunk(number=None, tier=Tier.SAFE, edits=edits_between(base.content, text))
            await self.editor.apply(
                [Update(uri=document.uri, base=base, hunks=(whole,))], "handrail: question"
            )
        return written.uri, text

    async def present(self, asked: OpenQuestion) -> None:
        """Have the client open the document of a question."""
        try:
            uri, _ = await self.write(asked)
        except ServedError as error:
            self.say(f"{error} Fix the cause, then open the question again.")
        else:
            await self.show(uri)

    def question_of(self, uri: str) -> str | None:
        """The question that the document *uri* shows, if one does."""
        identity = self.identify(uri)
        return next((each for each, own in self._uris.items() if self.identify(own) == identity), None)

    def shows_all(self, asked: OpenQuestion) -> bool:
        """Whether the client holds the document of a question as it was written."""
        uri = self._uris.get(asked.id)
        document = self.opened.find(uri) if uri is not None else None
        if document is None:
            return False
        return document.text.content.replace("\r\n", "\n") == words.document(asked.question)

    async def restore(self, asked: OpenQuestion) -> None:
        """Write the document again if it was removed or changed on the disk."""
        uri = self._uris.get(asked.id)
        if uri is not None and not await self.served.holds(uri, words.document(asked.question)):
            try:
                await self.write(asked)
            except ServedError as error:
                logger.warning("%s", error)

    async def end(self, asked: OpenQuestion, end: QuestionEnd, choice: str | None) -> None:
        """The question has ended: its document says so while the client holds it, and then goes."""
        uri = self._uris.pop(asked.id, None)
        if uri is None:
            return
        if self.opened.find(uri) is None:
            await self.served.remove(uri)
            return
        try:
            await self.served.write(
                f"question-{asked.id}.md", words.closing_words(asked.question, end, choice)
            )
        except ServedError as error:
            logger.warning("%s", error)
        await self.opened.until(lambda: self.opened.find(uri) is None, FOREVER_S)
        await self.served.remove(uri)
