"""
A chat: handles typed input, and shows the results.

One thing is done at a time, a turn or a command that needs the server; a message that is sent while a turn
runs goes to that turn, any other is the next message. If the server has ended, the next message starts it
again, with the same session.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from handrail.headless import values
from handrail.headless.chat import requests, slash
from handrail.headless.chat.console import Console
from handrail.headless.chat.files import Files
from handrail.headless.chat.state import ChatState
from handrail.headless.chat.supervisor import Supervisor
from handrail.headless.client import Client
from handrail.headless.commands.stage import ANSWER_TIMEOUT_S
from handrail.headless.commands.turn import CANCEL_TIMEOUT_S
from handrail.headless.errors import HeadlessError, RequestRefusedError, ServerGoneError
from handrail.headless.question import Question
from handrail.headless.show import DIM, Show
from handrail.values import dataclass

Work = Callable[[], Coroutine[Any, Any, None]]

AGAIN = "Press Ctrl-C again, or Ctrl-D, to quit."
RESTARTS = "Your next message starts the server again and continues the session."
WAITS = "This runs after what is running now."
NO_SESSION = "You have not sent a message in this session yet."
LIMIT_OWN = 100  # of the project's commands, in the help


@dataclass(slots=True, kw_only=True)
class _Turn:
    """A turn that runs, the server that runs it, and whether anything was said to it."""

    client: Client
    id: str
    was_steered: bool = False


class Conversation:
    """A conversation at the terminal; `console` is set before anything is typed."""

    console: Console

    def __init__(
        self,
        server: Supervisor,
        state: ChatState,
        files: Files,
        model_problem: Callable[[str], str],
    ) -> None:
        self.server = server
        self.current = state
        self._files = files
        self._model_problem = model_problem
        server.on_end = self._tell_end
        self._next = deque[Work]()
        self._turn: _Turn | None = None  # while it runs
        self._work: asyncio.Task[None] | None = None
        self._beside = set[asyncio.Task[None]]()
        self._told_end: ServerGoneError | None = None
        self._is_stopping = False
        self._can_cancel = False  # what is done can be cancelled, and is not a turn
        self._is_leaving = False
        self._may_leave = False  # the last thing that was pressed is a Ctrl-C at an empty line

    @property
    def show(self) -> Show:
        """The output to the person."""
        return self.server.show

    def send(self, text: str) -> None:
        """Run a command, or send a message: to the running turn, or as the next one."""
        self._may_leave = False
        if not text.strip() or self._is_leaving:
            return
        command = slash.parse(text)
        if isinstance(command, slash.Unknown):
            self._spawn(self._send_own(text))
        elif isinstance(command, slash.Command):
            self.show.sent_message(text.strip())
            self._run_command(command)
        else:
            self._send_message(text)

    def _send_message(self, text: str) -> None:
        if not _is_encodable(text):
            self.show.note("Not sent: your message is not valid in the terminal's encoding.")
        else:
            self.show.sent_message(text.rstrip())
            self._deliver(text)

    async def _send_own(self, text: str) -> None:
        """Send a command that the project has; else say what is wrong with it."""
        file, paths = slash.own_file(text), await self._files.paths()
        wrong = slash.parse(text, slash.own_commands(paths))
        if self._files.has(file) or any(path.endswith(f"/{file}") for path in paths):
            self._send_message(text)
        elif isinstance(wrong, slash.Unknown):
            self.show.note(wrong.why)

    def interrupt(self, has_begun: bool) -> bool:
        """
        Stop the turn; without one, clear the line; without text, leave when pressed twice. Return whether to
        clear the line.
        """
        is_second, self._may_leave = self._may_leave, False
        if self._is_leaving:
            self.console.close()
        elif self._work is not None:
            self._stop()
        elif has_begun:
            return True
        elif is_second:
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
            if not self._is_stopping:
                self._stop()
            self._spawn(self._close_after(self._work))

    def status(self) -> list[str]:
        """The text below the input."""
        if self._work is None:
            return [self.current.mode, self.current.model, "/help"]
        if self._is_stopping:
            return ["stopping", "Ctrl-D: quit without waiting"] if self._is_leaving else ["stopping"]
        return ["Ctrl-C stops", self.current.mode, self.current.model]

    def show_question(self, question: Question) -> None:
        """Show a question in full."""
        self.show.question(question)
        if question.more:
            self.show.line(f"  {question.more}")

    def explain_answers(self, question: Question) -> None:
        """Say what can be typed."""
        alone = "no" if question.asks_permission else "no answer"
        self.show.note(f"That is not an answer: type one of {question.hint}. Enter alone means {alone}.")

    async def end(self) -> None:
        """Let go of what still runs."""
        tasks = [*self._beside, *([self._work] if self._work is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _deliver(self, text: str) -> None:
        if self._work is None:
            self._begin(self._take_turn(text))
        elif self._turn is not None and not self._is_stopping:
            self._spawn(self._steer(self._turn, text))
        else:
            self._queue(lambda: self._take_turn(text), "This message is sent next.")

    def _queue(self, work: Work, why: str) -> None:
        """Do something as soon as nothing else is done."""
        if self._work is None:
            self._begin(work())
        else:
            self._next.append(work)
            self.show.line(f"  {why}", DIM)

    def _run_command(self, command: slash.Command) -> None:
        match command.name:
            case "help":
                self._spawn(self._help())
            case "quit":
                self.leave()
            case "cost":
                self._cost()
            case "mode":
                self._mode(command.argument)
            case "model":
                self._model(command.argument)
            case "stop":
                self._spawn(self._stop_command(command.argument))
            case "new":
                self._queue(self._new, WAITS)
            case "sessions":
                self._queue(lambda: self._sessions(command.argument), WAITS)
            case "review":
                self._queue(lambda: self._review(command.argument), WAITS)
            case name:
                works = {"undo": self._undo, "checkpoints": self._checkpoints, "compact": self._compact}
                self._queue(lambda: self._in_session(works[name]), WAITS)

    async def _in_session(self, work: Callable[[str], Awaitable[None]]) -> None:
        if self.current.session is None:
            self.show.line(NO_SESSION)
        else:
            await work(self.current.session)

    async def _help(self) -> None:
        own = slash.own_commands(await self._files.paths())
        self.show.line("\n".join(slash.help_lines(own[:LIMIT_OWN])))

    def _cost(self) -> None:
        if self.current.used is None:
            self.show.line("No turn has ended in this session yet.")
        else:
            self.show.line(self.current.used or "The model has not reported any tokens in this session.")

    def _mode(self, mode: str) -> None:
        if mode and (problem := slash.mode_problem(mode)):
            self.show.note(problem)
            return
        self.current.mode = mode or self.current.mode
        self.show.line(f"mode {self.current.mode}{self._from_when(mode)}")

    def _model(self, model: str) -> None:
        if model and (problem := self._model_problem(model)):
            self.show.note(problem)
            return
        if model:
            self.current.model = self.server.change_model(model)
        self.show.line(f"model {self.current.model}{self._from_when(model)}")

    def _from_when(self, given: str) -> str:
        return ", from the next turn on" if given and self._work is not None else ""

    def _stop(self) -> None:
        if self._is_stopping:
            self.show.note("Stopping. Ctrl-D quits.")
            return
        self._is_stopping = True
        self.console.refresh()
        if self._turn is not None:
            self._spawn(self._cancel(self._turn))
        elif self._can_cancel and self._work is not None:
            self._work.cancel()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = asyncio.create_task(self._guard(work))
        self._work.add_done_callback(self._on_end)
        self.console.refresh()

    def _on_end(self, work: asyncio.Task[None]) -> None:
        """Begin the turns of messages that were sent while the last one ran."""
        self._work, self._is_stopping = None, False
        self._on_failure(work)
        if self._next and not self._is_leaving:
            self._begin(self._next.popleft()())
        self.console.refresh()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guard(work))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        task.add_done_callback(self._on_failure)

    def _on_failure(self, task: asyncio.Task[None]) -> None:
        """End the chat at an error of ours; it is raised by whoever runs it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.console.fail(error)

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except ServerGoneError as error:
            self._tell_end(error)
        except HeadlessError as error:
            self.show.note(f"error: {error}")

    def _tell_end(self, error: ServerGoneError) -> None:
        """Say once that a server has ended, whoever notices it."""
        if error is not self._told_end:
            self._told_end = error
            self.show.note(f"error: {error}\n{RESTARTS}")

    async def _take_turn(self, prompt: str) -> None:
        client = await self.server.client(self.current.session)
        asked = {"prompt": prompt, "mode": self.current.mode}
        if self.current.session is not None:
            asked["session"] = self.current.session
        begun = await client.request("handrail/turn/start", asked, timeout_s=ANSWER_TIMEOUT_S)
        turn = self._turn = _Turn(client=client, id=values.turn_id(begun))
        self.current.session = values.session_id(begun)
        if self._is_stopping:
            self._spawn(self._cancel(turn))
        try:
            json = await client.request("handrail/turn/wait", {"turn": turn.id}, timeout_s=None)
        finally:
            self._turn = None
            self._files.forget()
            self.show.unsaved_documents(await client.workspace.save_all())
        report = values.turn_report(json)
        self.current.used = report.used_by_session
        (self.current.unstored.add if report.is_unstored else self.current.unstored.discard)(report.session)
        self.show.report(report, in_chat=True)
        if report.state == "failed" and client.logged_error:
            self.show.note(client.logged_error)
        if turn.was_steered and report.state != "finished":
            self.show.line("  The model may not have read your last message. Send it again.", DIM)

    async def _steer(self, turn: "_Turn", text: str) -> None:
        """Say something to the turn; if it has just ended, or its server has, in the next one."""
        params = {"turn": turn.id, "text": text}
        try:
            await turn.client.request("handrail/turn/steer", params, timeout_s=ANSWER_TIMEOUT_S)
        except (RequestRefusedError, ServerGoneError):
            self._queue(lambda: self._take_turn(text), "The turn has ended, so this message is sent next.")
        else:
            turn.was_steered = True
            self.show.line("  The model reads this before its next answer.", DIM)

    async def _cancel(self, turn: "_Turn") -> None:
        params = {"turn": turn.id}
        with contextlib.suppress(RequestRefusedError, ServerGoneError):  # whoever waits for the turn says so
            await turn.client.request("handrail/turn/cancel", params, timeout_s=CANCEL_TIMEOUT_S)

    async def _close_after(self, work: asyncio.Task[None]) -> None:
        await asyncio.wait([work], timeout=CANCEL_TIMEOUT_S)
        self.console.close()

    async def _new(self) -> None:
        """Have the next message begin another session."""
        session, self.current.session, self.current.used = self.current.session, None, None
        self.current.mode_of_session = self.server.mode
        self.show.line("Your next message begins another session.")
        if session is not None:
            self.show.line(f"  to continue the previous one: /sessions {session}", DIM)

    async def _sessions(self, session: str) -> None:
        """Show other sessions, or continue one."""
        client = await self.server.client(self.current.session)
        if not session:
            await requests.list_sessions(client, self.current.session, self.show)
            return
        mode, used = await requests.resume(client, session, self.show, "/sessions lists the sessions.")
        self.current.session, self.current.used = session, used
        self.current.mode = self.current.mode_of_session = mode

    async def _review(self, argument: str) -> None:
        client = await self.server.client(self.current.session)
        await requests.review_changes(client, argument.split(), self.show)
        self.show.unsaved_documents(await client.workspace.save_all())
        self._files.forget()

    async def _compact(self, session: str) -> None:
        client = await self.server.client(session)
        self._can_cancel = True
        try:
            await requests.compact(client, session, self.show)
        except asyncio.CancelledError:
            self.show.note("Stopped: the conversation was not summarised.")
            raise
        finally:
            self._can_cancel = False

    async def _checkpoints(self, session: str) -> None:
        await requests.list_checkpoints(await self.server.client(session), session, self.show)

    async def _undo(self, session: str) -> None:
        client = await self.server.client(session)
        await requests.undo_turn(client, session, self.show)
        self.show.unsaved_documents(await client.workspace.save_all())
        self._files.forget()

    async def _stop_command(self, name: str) -> None:
        client = await self.server.client(self.current.session)
        await requests.stop_background(client, name, self.show)


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
