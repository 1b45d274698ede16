"""The server of a chat: started when it is needed, and again when it has ended; and what it tells."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from handrail.headless.client import Client, Reactions
from handrail.headless.commands.stage import STORE_TIMEOUT_S, server_settings
from handrail.headless.errors import ServerGoneError
from handrail.headless.question import Question
from handrail.headless.server.running import Start
from handrail.headless.show import Show
from handrail.headless.terminal import Stream

KEPT_TURNS = 8  # whose late updates are still told as theirs


class Supervisor:
    """
    One server at a time for a workspace folder; `on_end` is called if it ends by itself.

    Args:
        server: How to start it.
        root: The workspace folder, resolved.
        settings: What it is started with, by name without `handrail.`.
        approve: Answers a question.
    """

    def __init__(
        self,
        server: Start,
        root: Path,
        settings: Mapping[str, object],
        approve: Callable[[Question], Awaitable[str | None]],
    ) -> None:
        self._server = server
        self._root = root
        self._settings = dict(settings)
        self._approve = approve
        self._client: Client | None = None
        self._watch: asyncio.Task[None] | None = None
        self.on_end: Callable[[ServerGoneError], None] = lambda error: None
        self._starting = asyncio.Lock()
        self._screen: Stream | None = None
        self._shows: dict[str, Show] = {}
        self.show = Show(root, as_json=False)

    def write_to(self, screen: Stream | None) -> None:
        """Show everything on *screen* from now on; None is the terminal itself."""
        self._screen = screen
        self._shows.clear()
        self.show = Show(self._root, as_json=False, screen=screen)

    async def client(self, session: str | None) -> Client:
        """The running server, which knows the session. Raises HeadlessError."""
        async with self._starting:
            if self._client is not None and not self._client.is_gone:
                return self._client
            if self._client is not None:
                self.show.note("restarting the server")
                await self.stop()
            reactions = Reactions(
                update=self._update, message=self._message, approve=self._ask, is_attended=True
            )
            client = await Client.start(self._server, self._root, server_settings(self._settings), reactions)
            try:
                if session is not None:
                    params = {"session": session}
                    await client.request("handrail/session/resume", params, timeout_s=STORE_TIMEOUT_S)
            except BaseException:
                await client.stop()
                raise
            self._client = client
            self._watch = asyncio.create_task(self._tell_end(client))
            return client

    async def stop(self) -> None:
        """End the server, after everything that can be saved is; the rest is named."""
        client, self._client = self._client, None
        if self._watch is not None:
            self._watch.cancel()
        if client is not None:
            self.show.unsaved_documents(await client.workspace.save_all())
            await client.stop()

    @property
    def mode(self) -> str:
        """What turns may do in a session for which nothing else was chosen."""
        return str(self._settings.get("mode", "edit"))

    def change_model(self, model: str) -> str:
        """Use another model from the next turn on; gives its name as the server is told it."""
        self._settings["model"] = model
        told = server_settings({"model": model})
        if self._client is not None:
            self._client.configure(told)
        return str(told["model"])

    async def _tell_end(self, client: Client) -> None:
        self.on_end(await client.end())

    def _update(self, params: dict[str, Any]) -> None:
        turn, client = str(params.get("turn")), self._client
        if turn not in self._shows:
            self._shows[turn] = Show(self._root, as_json=False, screen=self._screen)
            for old in list(self._shows)[:-KEPT_TURNS]:
                del self._shows[old]
        self.show = self._shows[turn]
        line_text = client.workspace.line_text if client is not None else lambda uri, line: None
        self.show.update(params, line_text)

    def _message(self, params: dict[str, Any]) -> None:
        self.show.message(params)

    async def _ask(self, params: dict[str, Any]) -> str | None:
        return await self._approve(Question.of(params))
