"""
Ask the user before a call runs: one question at a time, and everything but a clear yes is a no.

A client that opted in gets `handrail/approval/request`, others `window/showMessageRequest`. No answer in
time, null, an error, an unknown title and a lost connection are all no.
"""

from __future__ import annotations

import asyncio

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from handrail.lsp import protocol, wire
from handrail.lsp.client import Client
from handrail.ports import Question

ALLOW, DENY = "allow", "deny"
TITLES = {"Allow": ALLOW, "Deny": DENY}
TIMEOUT_S = 300.0


class LspApprover:
    """Approver port for one client."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._one_at_a_time = asyncio.Lock()
        self.client = Client()

    async def ask(self, question: Question) -> bool:
        """Whether the user said yes."""
        async with self._one_at_a_time:
            if self.client.approvals:
                return await self._ask_own(question)
            return await self._ask_standard(question)

    async def _ask_own(self, question: Question) -> bool:
        params = protocol.ApprovalRequestParams(
            turn=question.turn,
            tool=question.tool,
            subject=question.subject,
            detail=question.detail,
            choices=[ALLOW, DENY],
        )
        answer = await self._answer(protocol.APPROVAL_REQUEST, wire.write(params))
        try:
            return wire.read(protocol.ApprovalRequestResult, answer).choice == ALLOW
        except wire.InvalidParams:
            return False

    async def _ask_standard(self, question: Question) -> bool:
        params = lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning,
            message=f"handrail: allow {question.tool} on {question.subject}? {question.detail}",
            actions=[lsp.MessageActionItem(title=title) for title in TITLES],
        )
        answer = await self._answer(lsp.WINDOW_SHOW_MESSAGE_REQUEST, params)
        return isinstance(answer, lsp.MessageActionItem) and TITLES.get(answer.title) == ALLOW

    async def _answer(self, method: str, params: object) -> object:
        sent = self._server.protocol.send_request_async(method, params)
        await asyncio.wait([sent], timeout=TIMEOUT_S)
        if not sent.done():
            return None
        try:
            return sent.result()
        except JsonRpcException:
            return None
