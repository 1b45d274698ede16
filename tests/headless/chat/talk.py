"""A chat with a real server and the scripted model, typed into and read like a terminal."""

from __future__ import annotations

import asyncio
import io
import json
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from e2e.servers import run_handrail
from handrail.headless.chat.command import ChatOptions, chat
from handrail.headless.commands.stage import SERVER
from handrail.testing import lay_out, script

HANGS_S = 90  # then a test fails, with what was shown
COLUMNS = 300  # so that the line below the input has all its parts, however long the path of a script is
ALT_ENTER, CLEAR, CTRL_C, CTRL_D, ENTER, TAB, UP = "\x1b\r", "\x15", "\x03", "\x04", "\r", "\t", "\x1b[A"


class Terminal(io.StringIO):
    """What was drawn, and news of more."""

    encoding = "utf-8"

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.columns = columns
        self.news = asyncio.Event()

    def write(self, text: str) -> int:
        self.news.set()
        return super().write(text)

    def size(self) -> Size:
        return Size(rows=24, columns=self.columns)


class Talk:
    """A chat that runs."""

    def __init__(self, keys: PipeInput, terminal: Terminal, over: asyncio.Task[int]) -> None:
        self._keys = keys
        self._terminal = terminal
        self._read = 0
        self.over = over

    @property
    def shown(self) -> str:
        return self._terminal.getvalue().replace("\r\n", "\n")

    def type(self, text: str) -> None:
        self._keys.send_text(text)

    async def say(self, text: str, then: str) -> None:
        """Type a message, send it, and wait for what comes then."""
        self.type(text + ENTER)
        await self.until(then)

    async def until(self, text: str) -> None:
        """Wait until *text* is shown after what was waited for before."""
        await self.until_it_holds(lambda: text in self.shown[self._read :], f"no {text!r}")
        self._read = self.shown.index(text, self._read) + len(text)

    async def until_it_holds(self, holds: Callable[[], bool], otherwise: str = "it never held") -> None:
        try:
            async with asyncio.timeout(HANGS_S):
                while not holds():
                    assert not self.over.done(), f"{otherwise}, and the chat is over:\n{self.shown}"
                    self._terminal.news.clear()
                    await asyncio.wait(
                        {self.over, asyncio.ensure_future(self._terminal.news.wait())},
                        return_when=asyncio.FIRST_COMPLETED,
                    )
        except TimeoutError:
            raise AssertionError(f"{otherwise}:\n{self.shown}") from None

    async def leave(self) -> int:
        self.type(CLEAR + CTRL_D)
        async with asyncio.timeout(HANGS_S):
            return await self.over


class Place:
    """A workspace, a script for the model, and chats there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workspace"
        self.state = folder / "state"
        self.history = folder / "history" / "chat"
        self._script = folder / "script.json"
        lay_out(self.root, {"a.txt": b"one\ntwo\n", ".env": b"KEY=1\n"})

    def file(self, name: str) -> str:
        return (self.root / name).read_text()

    @asynccontextmanager
    async def chat(
        self,
        *answers: Mapping[str, object],
        columns: int = COLUMNS,
        files: Sequence[str] = ("a.txt", "src/b c.txt"),
        server: tuple[str, ...] = SERVER,
        settings: Mapping[str, object] | None = None,
        **more: object,
    ) -> AsyncGenerator[Talk]:
        chosen = {"model": script(self._script, *answers)} if answers else dict(settings or {})
        with create_pipe_input() as keys:
            terminal = Terminal(columns)
            output = Vt100_Output(terminal, terminal.size, term="xterm")
            options = ChatOptions(
                workspace=self.root,
                settings=chosen,
                files=lambda: files,
                history=self.history,
                server=server,
                streams=(keys, output),
                **more,  # type: ignore[arg-type]  # of tests
            )

            async def chatting() -> int:
                with create_app_session(keys, output):  # several chats in one process
                    return await chat(options)

            over = asyncio.create_task(chatting())
            talk = Talk(keys, terminal, over)
            try:
                await talk.until("/help")
                yield talk
                if not over.done():
                    await talk.leave()
            finally:
                over.cancel()
                await asyncio.gather(over, return_exceptions=True)

    async def fork(self, session: str) -> str:
        """Another session with all turns of this one, made by the command; its id."""
        argv = ["session", "fork", session, "--workspace", str(self.root), "--json"]
        ended = await asyncio.to_thread(run_handrail, argv, folder=self.root, environment=os.environ)
        assert ended.returncode == 0, ended
        return str(json.loads(ended.stdout)["session"])

    def journal(self) -> str:
        """All that the server has written down."""
        files = [path for path in self.state.rglob("*") if path.is_file()]
        return "".join(path.read_bytes().decode("utf-8", "replace") for path in files)

    def requests(self) -> list[object]:
        return [json.loads(line) for line in self.journal().splitlines() if line.startswith("{")]
