"""
Ask one client: with a request of ours if it opted in, otherwise with a message that offers only *No* and
*Show*.

An answer of the client counts if it is a choice; anything else leaves the question open: a notification that
vanishes, an error, and null. When a question ends, its request is cancelled and the client is told.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.agent.questions import NotOpenError, OpenQuestion, Questions
from handrail.core import surfaces
from handrail.core.ledger.report import QuestionEnd
from handrail.lsp import protocol, wire
from handrail.lsp.client import Client
from handrail.lsp.questions import words
from handrail.lsp.questions.documents import QuestionDocuments
from handrail.ports import DENY
from handrail.values import dataclass, field

DETAIL_CHARS = 120  # of why it is asked, in a message
TURN_S = 10.0  # how long a message waits for the one before it
WAYS = (
    "a question is waiting for you. To see it, choose the code action “Show handrail's question” in any open "
    "document, or send the command handrail.approval.show."
)


@dataclass(kw_only=True)
class ClientSurface:
    """
    The Surface of one client.

    Attributes:
        status: Shows for a turn that it waits for the user, or no longer.
        follow: Keeps a task alive.
    """

    server: LanguageServer
    client: Callable[[], Client]
    questions: Callable[[], Questions]
    documents: QuestionDocuments
    status: Callable[[str, str], None]
    say: Callable[[str], None]
    follow: Callable[[asyncio.Task[object]], None]
    _asking: dict[str, asyncio.Task[object]] = field(default_factory=dict)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def begin(self, asked: OpenQuestion) -> None:
        """Ask the client."""
        task: asyncio.Task[object] = asyncio.ensure_future(self._ask(asked))
        self._asking[asked.id] = task
        self.follow(task)
        self._tell(asked.question.turn)

    def remind(self, asked: OpenQuestion) -> None:
        """Say how long it still waits, and that its document is as it was."""
        self._tell(asked.question.turn)
        self.follow(asyncio.ensure_future(self.documents.restore(asked)))

    def end(self, asked: OpenQuestion, end: QuestionEnd, choice: str | None) -> None:
        """Take the question away from the client."""
        self._asking.pop(asked.id).cancel()
        if self.client().approvals:
            told = protocol.ApprovalEndedParams(approval=asked.id, end=end.value, choice=choice)
            self.server.protocol.notify(protocol.APPROVAL_ENDED, wire.write(told))
        self._tell(asked.question.turn)
        self.follow(asyncio.ensure_future(self.documents.end(asked, end, choice)))

    def _tell(self, turn: str) -> None:
        """Say in the status of a turn what it waits for."""
        questions = self.questions()
        mine = [each for each in questions.open if each.question.turn == turn]
        self.status(turn, words.status(mine, questions.seconds_left(mine[0]) if mine else 0.0))

    async def _ask(self, asked: OpenQuestion) -> None:
        choice = await (self._ask_own(asked) if self.client().approvals else self._ask_standard(asked))
        if choice is not None:
            self._answer(asked, choice)
        if self.client().unattended:
            self.questions().expire(asked.id)

    def _answer(self, asked: OpenQuestion, choice: str) -> None:
        try:
            self.questions().answer(asked.id, choice)
        except NotOpenError:
            return  # another surface was first, or it is no choice

    async def _ask_own(self, asked: OpenQuestion) -> str | None:
        left = self.questions().seconds_left(asked)
        answer = await self._request(protocol.APPROVAL_REQUEST, wire.write(words.approval(asked, left)))
        try:
            return wire.read(protocol.ApprovalRequestResult, answer).choice
        except wire.InvalidParams:
            return None

    async def _ask_standard(self, asked: OpenQuestion) -> str | None:
        """Show a message, after those before it; a message that no one answers holds no other up for long."""
        mine = asyncio.ensure_future(self._one_at_a_time.acquire())
        try:
            await asyncio.wait([mine], timeout=TURN_S)
            return await self._message(asked)
        finally:
            if mine.done() and not mine.cancelled():
                self._one_at_a_time.release()
            mine.cancel()

    async def _message(self, asked: OpenQuestion) -> str | None:
        no = words.title_of_no(asked.question)
        why = surfaces.message(asked.question.detail, DETAIL_CHARS)
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning if asked.question.asks_permission else lsp.MessageType.Info,
            message=f"handrail: {words.short(asked.question)} · {why}".removesuffix(" · "),
            actions=[lsp.MessageActionItem(title=title) for title in (no, words.SHOW)],
        )
        answer = await self._request(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params)
        title = answer.title if isinstance(answer, lsp.MessageActionItem) else None
        if title == words.SHOW:
            await self.documents.present(asked)
        elif title is None:
            self.say(f"{WAYS} {words.short(asked.question)}")
        return DENY if title == no else None

    async def _request(self, method: str, params: object) -> object:
        """Returns the client's answer, None for an error; the request is cancelled with this task."""
        number = str(uuid.uuid4())
        sent = self.server.protocol.send_request_async(method, params, msg_id=number)
        sent.add_done_callback(_take_note)
        try:
            await asyncio.wait([sent])
        except asyncio.CancelledError:
            if not sent.done():
                self.server.protocol.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(id=number))
            raise
        try:
            return sent.result()
        except JsonRpcException:
            return None


def _take_note(sent: asyncio.Future[object]) -> None:
    """Retrieve an error that no one waits for, so that asyncio does not report it."""
    if not sent.cancelled():
        sent.exception()
