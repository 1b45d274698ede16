"""
One server process and the workspace that it works on: what an editor's LSP client is.

It declares what it can do, and nothing else: text edits with versions, create, rename and delete, saving,
answering approvals. What a turn or a checkpoint is, and what a person sees, is for `run` and `show`.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from handrail import __version__
from handrail.headless.connection import Connection
from handrail.headless.errors import HeadlessError, ServerGarbledError, ServerGoneError
from handrail.headless.server.running import Start
from handrail.headless.text import ENCODINGS
from handrail.headless.workspace import Sync, Workspace
from handrail.values import dataclass

PROTOCOL_VERSION = 1
INITIALIZE_TIMEOUT_S = 30.0  # in which the server does nothing; see `Connection.request`
SHUTDOWN_TIMEOUT_S = 5.0

ERROR_LEVELS = ("ERROR ", "CRITICAL ")  # how a server's log begins an entry
FRAME = '  File "'  # how a traceback begins a line
FULL_SYNC = 1  # LSP's TextDocumentSyncKind

# No one looks at a document here while it is edited. On the disk the server compares and writes at once, so
# of many runs that edit one file all can land; and owner, attributes and hard links are kept.
SETTINGS = {"edits.closedDocuments": "disk"}

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": list(ENCODINGS)},
    "textDocument": {"synchronization": {"didSave": True}},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {
            "documentChanges": True,
            "failureHandling": "textOnlyTransactional",
            "resourceOperations": ["create", "rename", "delete"],
        },
        "workspaceFolders": True,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactions:
    """
    The owner's callbacks for messages from the server.

    `update` gets the params of `handrail/turn/update`, `message` those of `window/showMessage`, and `approve`
    those of `handrail/approval/request`; it gives one of their choices, or None if no one answers.
    `is_attended` says whether someone could.
    """

    update: Callable[[dict[str, Any]], None]
    message: Callable[[dict[str, Any]], None]
    approve: Callable[[dict[str, Any]], Awaitable[str | None]]
    is_attended: bool


class Client:
    """A running, initialized server with its workspace."""

    def __init__(self, connection: Connection, root: Path, reactions: Reactions) -> None:
        self.workspace = Workspace(root, connection.notify)
        self._connection = connection
        self._reactions = reactions
        self._reload_is_due = False
        for method, handler in (
            ("workspace/applyEdit", self._apply_edit),
            ("workspace/workspaceFolders", self._folders),
            ("window/showMessage", reactions.message),
            ("window/showMessageRequest", self._no_choice),
            ("handrail/turn/update", self._update),
            ("handrail/approval/request", self._approve),
            ("handrail/client/save", self._save),
        ):
            connection.on(method, handler)

    @classmethod
    async def start(
        cls, server: Start, root: Path, settings: dict[str, Any], reactions: Reactions
    ) -> "Client":
        """
        Start a server for the folder *root* and initialize it.

        Args:
            server: How to start it.
            root: The workspace folder, resolved.
            settings: By name without `handrail.`; what is missing is as in `SETTINGS`, or the default.
            reactions: To what the server says by itself.

        Raises:
            HeadlessError: It does not start, does not answer, or is not a handrail server that we understand.
        """
        connection = await Connection.start(server)
        try:
            client = cls(connection, root, reactions)
            await client._initialize(settings)
        except BaseException:
            await connection.close()
            raise
        return client

    async def request(self, method: str, params: dict[str, Any], *, timeout_s: float | None) -> Any:
        """Send a request; see `Connection.request`."""
        return await self._connection.request(method, params, timeout_s=timeout_s)

    @property
    def is_gone(self) -> bool:
        """Whether the server has ended, so no request can succeed."""
        return self._connection.is_gone

    @property
    def logged_error(self) -> str:
        """The last error that the server logged, for people; empty if it logged none."""
        rows = self._connection.said.splitlines()
        starts = [number for number, row in enumerate(rows) if row.startswith(ERROR_LEVELS)]
        if not starts and any(row.startswith(FRAME) for row in rows):  # only the end is kept of a long log
            starts = [0]
        return "\n".join(("handrail's log ends with:", *rows[starts[-1] :])) if starts else ""

    async def end(self) -> ServerGoneError:
        """Wait until the server is gone, and say why."""
        return await self._connection.end()

    def configure(self, settings: dict[str, Any]) -> None:
        """Change settings, by name without `handrail.`; others stay as the server was started with."""
        self._connection.notify("workspace/didChangeConfiguration", {"settings": {"handrail": settings}})

    async def stop(self) -> None:
        """End the server as LSP has it, or as it must be; takes bounded time and does not fail."""
        try:
            async with asyncio.timeout(SHUTDOWN_TIMEOUT_S):  # whatever the server is at then
                await self._connection.request("shutdown", None, timeout_s=None)
        except (HeadlessError, TimeoutError):  # gone or silent: closing deals with both
            pass
        finally:
            self._connection.notify("exit", None)
            await self._connection.close()

    async def _initialize(self, settings: dict[str, Any]) -> None:
        folder = self._folder()
        opted_in = {
            "turnUpdates": True,
            "approvals": True,
            "unattended": not self._reactions.is_attended,
            "services": ["save"],
            "settings": {**SETTINGS, **settings},
        }
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": "handrail headless", "version": __version__},
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": CAPABILITIES,
            "initializationOptions": {"handrail": opted_in},
        }
        answer = await self._connection.request("initialize", params, timeout_s=INITIALIZE_TIMEOUT_S)
        self.workspace.sync = _sync(answer)
        self._connection.notify("initialized", {})

    def _folder(self) -> dict[str, str]:
        root = self.workspace.root
        return {"uri": root.as_uri(), "name": root.name}

    def _folders(self, _params: dict[str, Any]) -> list[dict[str, str]]:
        return [self._folder()]

    async def _apply_edit(self, params: dict[str, Any]) -> dict[str, Any]:
        return await self.workspace.apply(params.get("edit"))

    async def _save(self, params: dict[str, Any]) -> dict[str, Any]:
        uris = params.get("uris")
        wanted = [uri for uri in uris if isinstance(uri, str)] if isinstance(uris, list) else []
        return {"saved": await self.workspace.save(wanted)}

    def _update(self, params: dict[str, Any]) -> None:
        event = params.get("event")
        if isinstance(event, dict) and event.get("kind") == "toolResult":
            self._reload_soon()
        self._reactions.update(params)

    def _reload_soon(self) -> None:
        """See what a tool wrote behind our back; once for all results that arrive together."""
        if not self._reload_is_due:
            self._reload_is_due = True
            asyncio.get_running_loop().call_soon(self._reload)

    def _reload(self) -> None:
        self._reload_is_due = False
        self.workspace.reload()

    async def _approve(self, params: dict[str, Any]) -> dict[str, str] | None:
        choice = await self._reactions.approve(params)
        return None if choice is None else {"choice": choice}

    def _no_choice(self, _params: dict[str, Any]) -> None:
        """Answer a question that no one here can answer: null is no."""


def _sync(answer: Any) -> Sync:
    """Read what the server can do; refuse one that we could not work with."""
    capabilities = _object(_object(answer).get("capabilities"))
    ours = _object(_object(capabilities.get("experimental")).get("handrail"))
    version = ours.get("protocolVersion")
    if version != PROTOCOL_VERSION:
        raise ServerGarbledError(
            f"The server speaks version {version} of the protocol, but this client needs version "
            f"{PROTOCOL_VERSION}. Install the same version of both."
            if version
            else "The program that was started is not a handrail server. Check the command that starts it."
        )
    encoding = capabilities.get("positionEncoding", "utf-16")
    if encoding not in ENCODINGS:
        raise ServerGarbledError(
            f"The server counts positions in {encoding}, which this client did not offer."
        )
    sync = capabilities.get("textDocumentSync")
    kind = _object(sync).get("change") if isinstance(sync, dict) else sync
    saves = bool(_object(sync).get("save"))
    return Sync(encoding=encoding, incremental=kind != FULL_SYNC, saves=saves)


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
