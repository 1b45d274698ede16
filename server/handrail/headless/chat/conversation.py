"""
A chat: what happens to what is typed, and what is told of it.

One thing is done at a time, a turn or a command that needs the server; what is sent while a turn runs reaches
that turn, and what comes at another time is the next message. A server that has ended is started again by the
next message, with the same session.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from handrail.headless import values
from handrail.headless.chat import mentions, slash
from handrail.headless.chat.console import Console
from handrail.headless.chat.files import Files
from handrail.headless.chat.link import Link
from handrail.headless.commands.stage import ANSWER_TIMEOUT_S, STORE_TIMEOUT_S
from handrail.headless.commands.turn import CANCEL_TIMEOUT_S
from handrail.headless.errors import HeadlessError, RequestRefusedError, ServerGoneError
from handrail.headless.question import Question
from handrail.headless.show import Show

AGAIN = "Press Ctrl-C again, or Ctrl-D, to leave."
NO_SESSION = "No message has been sent in this chat yet."


@dataclass(kw_only=True)
class Told:
    """What the chat knows of its session and its settings."""

    session: str | None
    mode: str
    model: str
    used: str = ""
    last_turn: str | None = None


class Conversation:
    """What a chat does; `console` is set before anything is typed."""

    console: Console

    def __init__(self, link: Link, told: Told, files: Files) -> None:
        self.link = link
        self.told = told
        self._files = files
        self._next = deque[str]()
        self._turn: str | None = None  # while it runs
        self._work: asyncio.Task[None] | None = None
        self._beside = set[asyncio.Task[None]]()
        self._is_stopping = False
        self._is_leaving = False
        self._may_leave = False  # the last thing that was pressed is a Ctrl-C at an empty line

    @property
    def show(self) -> Show:
        """What the person sees."""
        return self.link.show

    def send(self, text: str) -> None:
        """Obey a command, or send a message: to the turn that runs, else as the next one."""
        self._may_leave = False
        if not text.strip() or self._is_leaving:
            return
        command = slash.parse(text)
        if isinstance(command, slash.Unknown):
            self.show.note(command.why)
        elif isinstance(command, slash.Command):
            self.show.said(text.strip())
            self._obey(command)
        elif not _is_sound(text):
            self.show.note(
                "What was typed holds bytes that are not in the terminal's encoding; it is not sent."
            )
        else:
            self.show.said(text.rstrip())
            self._say(text)

    def interrupt(self, has_begun: bool) -> bool:
        """Stop the turn, else clear the line, else leave when pressed twice; whether the line is cleared."""
        if self._is_leaving:
            self.console.close()
        elif self._work is not None:
            self._stop()
        elif has_begun:
            return True
        elif self._may_leave:
            self.leave()
        else:
            self._may_leave = True
            self.show.note(AGAIN, "")
        return False

    def leave(self) -> None:
        """Stop the turn that runs, and end the chat."""
        if self._is_leaving:
            self.console.close()
            return
        self._is_leaving = True
        self._next.clear()
        if self._work is None:
            self.console.close()
        else:
            self._stop()
            self._do_beside(self._close_after(self._work))

    def state(self) -> list[str]:
        """What stands below the input."""
        if self._work is None:
            return [self.told.mode, self.told.model, "/help"]
        if self._is_stopping:
            return ["stopping"]
        return ["working", "Ctrl-C stops", self.told.mode, self.told.model]

    def shown(self, question: Question) -> None:
        """Show a question in full."""
        self.show.question(question)
        if question.more:
            self.show.line(f"  {question.more}")

    def unclear(self, question: Question) -> None:
        """Say what can be typed."""
        self.show.note(
            f"That is no answer to the question: type one of {question.hint}; Enter alone is a no."
        )

    async def end(self) -> None:
        """Let go of what still runs."""
        tasks = [*self._beside, *([self._work] if self._work is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _say(self, text: str) -> None:
        if self._work is None:
            self._do(self._take_turn(text))
        elif self._turn is not None and not self._is_stopping:
            self._do_beside(self._steer(self._turn, text))
        else:
            self._queue(text, "It is sent when this is done.")

    def _queue(self, text: str, why: str) -> None:
        self._next.append(text)
        self.show.line(f"  {why}")

    def _obey(self, command: slash.Command) -> None:
        match command.name:
            case "help":
                self.show.line("\n".join(slash.help_lines()))
            case "quit":
                self.leave()
            case "cost":
                self.show.line(self.told.used or "Nothing is known yet: no turn has ended in this chat.")
            case "mode":
                self._mode(command.argument)
            case "model":
                self._model(command.argument)
            case _ if self.told.session is None:
                self.show.line(NO_SESSION)
            case _ if self._work is not None:
                self.show.note(f"/{command.name} has to wait until the turn has ended; Ctrl-C stops it.")
            case "undo":
                self._do(self._undo(self.told.session))
            case _:
                self._do(self._checkpoints(self.told.session))

    def _mode(self, mode: str) -> None:
        problem = slash.mode_problem(mode) if mode else ""
        if problem:
            self.show.note(problem)
            return
        self.told.mode = mode or self.told.mode
        self.show.line(f"mode {self.told.mode}{', from the next turn on' if mode and self._work else ''}")

    def _model(self, model: str) -> None:
        if model:
            self.told.model = self.link.change_model(model)
        self.show.line(f"model {self.told.model}{', from the next turn on' if model and self._work else ''}")

    def _stop(self) -> None:
        if self._is_stopping:
            self.show.note("It is being stopped; Ctrl-D leaves without waiting for it.")
            return
        self._is_stopping = True
        self.console.refresh()
        if self._turn is not None:
            self._do_beside(self._cancel(self._turn))

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = asyncio.create_task(self._guarded(work))
        self._work.add_done_callback(self._done)
        self.console.refresh()

    def _done(self, work: asyncio.Task[None]) -> None:
        """Begin what was sent meanwhile."""
        self._work, self._is_stopping = None, False
        self._failed(work)
        if self._next and not self._is_leaving:
            self._do(self._take_turn(self._next.popleft()))
        self.console.refresh()

    def _do_beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(work))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        task.add_done_callback(self._failed)

    def _failed(self, task: asyncio.Task[None]) -> None:
        """End the chat at an error of ours; it is raised by whoever runs it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.console.fail(error)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ServerGoneError as error:
            self.show.note(
                f"error: {error}\nYour next message starts the server again and continues the session."
            )
        except HeadlessError as error:
            self.show.note(f"error: {error}")

    async def _take_turn(self, prompt: str) -> None:
        client = await self.link.client(self.told.session)
        asked = {"prompt": prompt, "mode": self.told.mode, **await self._context(prompt)}
        if self.told.session is not None:
            asked["session"] = self.told.session
        begun = await client.request("handrail/turn/start", asked, timeout_s=ANSWER_TIMEOUT_S)
        self._turn, self.told.session = values.turn_id(begun), values.session_id(begun)
        turn = self.told.last_turn = self._turn
        if self._is_stopping:
            self._do_beside(self._cancel(turn))
        try:
            json = await client.request("handrail/turn/wait", {"turn": turn}, timeout_s=None)
        finally:
            self._turn = None
            self._files.forget()
            self.show.unsaved(await client.workspace.save_all())
        report = values.turn_report(json)
        self.told.used = report.used_by_session or self.told.used
        self.show.report(report, undo="/undo")

    async def _context(self, prompt: str) -> dict[str, Any]:
        """The files that a prompt names."""
        if "@" not in prompt:
            return {}
        named = mentions.mentioned(prompt, frozenset(await self._files.paths()))
        return {"context": [{"uri": self.link.uri(path)} for path in named]} if named else {}

    async def _steer(self, turn: str, text: str) -> None:
        client = await self.link.client(self.told.session)
        try:
            params = {"turn": turn, "text": text}
            await client.request("handrail/turn/steer", params, timeout_s=ANSWER_TIMEOUT_S)
        except RequestRefusedError:  # it has just ended
            if self._work is None:
                self._do(self._take_turn(text))
            else:
                self._queue(text, "The turn has ended, so this is the next message.")
        else:
            self.show.line("  The model reads this at its next step.", "2")

    async def _cancel(self, turn: str) -> None:
        client = await self.link.client(self.told.session)
        await client.request("handrail/turn/cancel", {"turn": turn}, timeout_s=CANCEL_TIMEOUT_S)

    async def _close_after(self, work: asyncio.Task[None]) -> None:
        await asyncio.wait([work], timeout=CANCEL_TIMEOUT_S)
        self.console.close()

    async def _checkpoints(self, session: str) -> None:
        client = await self.link.client(session)
        found = await client.request(
            "handrail/checkpoint/list", {"session": session}, timeout_s=STORE_TIMEOUT_S
        )
        self.show.checkpoints(
            [values.checkpoint(each) for each in (found if isinstance(found, list) else ())]
        )

    async def _undo(self, session: str) -> None:
        """Take the last turn of the session back, whoever has begun it."""
        client = await self.link.client(session)
        known = await client.request(
            "handrail/session/resume", {"session": session}, timeout_s=STORE_TIMEOUT_S
        )
        *_, last = values.turns(known) or [None]
        if last is None:
            self.show.line("There is no turn left to take back.")
            return
        wish: Mapping[str, Any] = {"checkpoint": last.turn, "conversation": True}
        json = await client.request("handrail/checkpoint/restore", dict(wish), timeout_s=STORE_TIMEOUT_S)
        self.show.line(
            f"Taken back: {last.prompt.strip().splitlines()[0] if last.prompt.strip() else last.turn}"
        )
        self.show.restored(values.restore_report(json))
        self.show.unsaved(await client.workspace.save_all())
        self._files.forget()


def _is_sound(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
