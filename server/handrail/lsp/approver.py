"""
Ask the user: one question at a time, and everything but one of its choices is no answer.

A client that opted in gets `handrail/approval/request`, others `window/showMessageRequest`. No answer in
time, null, an error, an unknown title and a lost connection are all none.
"""

from __future__ import annotations

import asyncio

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.lsp import protocol, wire
from handrail.lsp.client import Client
from handrail.ports import ALLOW, ALWAYS, DENY, FOR_SESSION, Question

# Other choices are shown as they are.
TITLES = {ALLOW: "Allow", FOR_SESSION: "Allow for This Session", ALWAYS: "Always Allow Here", DENY: "Deny"}
TIMEOUT_S = 300.0


class LspApprover:
    """Approver port for one client."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._one_at_a_time = asyncio.Lock()
        self.client = Client()

    async def ask(self, question: Question) -> str | None:
        """The user's choice; None if there is none."""
        async with self._one_at_a_time:
            ask = self._ask_own if self.client.approvals else self._ask_standard
            choice = await ask(question)
        return choice if choice in question.choices else None

    async def _ask_own(self, question: Question) -> str | None:
        params = protocol.ApprovalRequestParams(
            turn=question.turn,
            tool=question.tool,
            subject=question.subject,
            detail=question.detail,
            choices=list(question.choices),
        )
        answer = await self._answer(protocol.APPROVAL_REQUEST, wire.write(params))
        try:
            return wire.read(protocol.ApprovalRequestResult, answer).choice
        except wire.InvalidParams:
            return None

    async def _ask_standard(self, question: Question) -> str | None:
        titles = {TITLES.get(choice, choice): choice for choice in question.choices}
        asks_leave = ALLOW in question.choices
        message = f"allow {question.tool} on {question.subject}? {question.detail}"
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning if asks_leave else lsp.MessageType.Info,
            message=f"handrail: {message if asks_leave else question.subject}",
            actions=[lsp.MessageActionItem(title=title) for title in titles],
        )
        answer = await self._answer(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params)
        return titles.get(answer.title) if isinstance(answer, lsp.MessageActionItem) else None

    async def _answer(self, method: str, params: object) -> object:
        sent = self._server.protocol.send_request_async(method, params)
        await asyncio.wait([sent], timeout=TIMEOUT_S)
        if not sent.done():
            return None
        try:
            return sent.result()
        except JsonRpcException:
            return None
