"""
The screen of a chat: what was said above, then the line that grows, the input, and one line of state.

A message and the answer to a question are typed in inputs of their own, so no text that was begun as a
message can become an answer. A question takes the keys only while no message is begun; else it waits until
that is sent or cleared, or Tab is pressed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import AnyFormattedText
from prompt_toolkit.history import History
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from handrail.headless import terminal
from handrail.headless.chat import mentions
from handrail.headless.chat.questions import QuestionQueue
from handrail.headless.chat.screen import Screen, last_rows
from handrail.headless.question import Question
from handrail.values import dataclass

MENU_ROWS = 6
REDRAW_S = 0.03  # at most this often, however fast text comes
STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "question": "ansiyellow bold",
        "status": "ansibrightblack",
        "completion-menu": "noreverse bg:default",
        "completion-menu.completion": "noreverse bg:default",
        "completion-menu.completion.current": "reverse",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """
    The chat's callbacks for the console: what keys do, and what is shown.

    Attributes:
        send: Something was typed and sent.
        interrupt: Ctrl-C was pressed; takes whether a message is begun, and gives whether it goes.
        leave: Ctrl-D was pressed, with nothing typed.
        status: What to say below the input, the most important first.
        show_question: Another question can be answered.
        explain_answers: What was typed answers no question.
    """

    send: Callable[[str], None]
    interrupt: Callable[[bool], bool]
    leave: Callable[[], None]
    status: Callable[[], Sequence[str]]
    show_question: Callable[[Question], None]
    explain_answers: Callable[[Question], None]


class Console:
    """The screen and the keys of a chat; `screen` is what is written to."""

    def __init__(
        self,
        actions: Actions,
        completer: Completer,
        history: History,
        streams: tuple[Input, Output] | None = None,
    ) -> None:
        self._actions = actions
        given, output = streams or (create_input(), create_output())
        if isinstance(output, Vt100_Output):
            output.enable_cpr = False  # nothing here needs to know where the cursor is
        self.screen = Screen(output)
        self._waiting = QuestionQueue(self._question_changed)
        self._message = Buffer(
            multiline=True,
            completer=completer,
            complete_while_typing=True,
            history=history,
            accept_handler=self._send,
            on_text_changed=lambda _: self._message_changed(),
        )
        self._answer = Buffer(multiline=False, accept_handler=self._take_answer)
        self._application = Application[None](
            layout=Layout(self._layout(), focused_element=self._message),
            key_bindings=self._keys(),
            style=STYLE,
            input=given,
            output=output,
            erase_when_done=True,
            min_redraw_interval=REDRAW_S,
        )

    async def run(self) -> None:
        """Draw and handle keys until `close` is called."""
        self.screen.attach(self._application)
        try:
            await self._application.run_async(handle_sigint=False)
        finally:
            self.screen.attach(None)

    def close(self) -> None:
        """End `run`."""
        if self._application.is_running and not self._application.is_done:
            self._application.exit()

    def fail(self, error: BaseException) -> None:
        """End `run` with an error."""
        if self._application.is_running and not self._application.is_done:
            self._application.exit(exception=error)

    async def ask(self, question: Question) -> str:
        """Have the person answer; the choice. When cancelled, the question goes."""
        return await self._waiting.ask(question)

    def refresh(self) -> None:
        """Draw the state again."""
        self._application.invalidate()

    @property
    def is_answering(self) -> bool:
        """Whether what is typed answers a question."""
        return self._application.layout.current_buffer is self._answer

    def _send(self, buffer: Buffer) -> bool:
        text = buffer.text
        loop = asyncio.get_running_loop()
        loop.call_soon(self._actions.send, text)
        loop.call_soon(self._offer_answer)
        return False

    def _take_answer(self, buffer: Buffer) -> bool:
        question = self._waiting.first
        if question is not None and not self._waiting.answer(buffer.text):
            if not self._message.text:
                self._message.text = buffer.text
                self._message.cursor_position = len(buffer.text)
            self._actions.explain_answers(question)
        return False

    def _message_changed(self) -> None:
        """Let a waiting question take the keys once no message is begun."""
        if not self._message.text and self._waiting.first is not None:
            asyncio.get_running_loop().call_soon(self._offer_answer)

    def _question_changed(self) -> None:
        self._answer.reset()
        self._application.layout.focus(self._message)
        if self._waiting.first is not None:
            self._actions.show_question(self._waiting.first)
            if not self._message.text:  # after the keys that are being handled
                asyncio.get_running_loop().call_soon(self._offer_answer)
        self.refresh()

    def _offer_answer(self) -> None:
        """Give the keys to the question, unless the user has begun a message since."""
        if self._waiting.first is not None and not self._message.text and not self.is_answering:
            terminal.forget_typed()
            self._focus_answer()

    def _focus_answer(self) -> None:
        self._message.cancel_completion()
        self._application.layout.focus(self._answer)
        self.refresh()

    def _layout(self) -> HSplit:
        answering = Condition(lambda: self.is_answering)
        growing = Condition(lambda: bool(self.screen.open))
        return HSplit(
            [
                ConditionalContainer(
                    Window(FormattedTextControl(self._open_line), dont_extend_height=True), growing
                ),
                ConditionalContainer(
                    self._input(self._answer, self._answer_prefix, "class:question"), answering
                ),
                ConditionalContainer(self._input(self._message, lambda: "> ", "class:prompt"), ~answering),
                ConditionalContainer(CompletionsMenu(max_height=MENU_ROWS), ~answering),
                Window(FormattedTextControl(self._status), height=1, style="class:status"),
            ],
            align=VerticalAlign.TOP,
        )

    def _input(self, buffer: Buffer, prefix: Callable[[], str], style: str) -> Window:
        def line_prefix(line: int, wrapped: int) -> AnyFormattedText:
            return [(style, prefix() if line == wrapped == 0 else "  ")]

        return Window(
            BufferControl(buffer),
            height=lambda: Dimension(min=1, max=max(1, self._rows // 2)),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=line_prefix,
        )

    def _answer_prefix(self) -> str:
        question = self._waiting.first
        return f"{question.hint} " if question is not None else "> "

    def _open_line(self) -> str:
        return last_rows(self.screen.open, self._columns, max(1, self._rows // 2))

    def _status(self) -> str:
        parts = list(self._actions.status())
        if self._waiting.first is not None and not self.is_answering:
            parts.insert(0, "Tab: answer")
        line = parts[0] if parts else ""
        for part in parts[1:]:
            if len(line) + len(part) + 3 < self._columns:
                line += f" | {part}"
        return line[: self._columns - 1]

    @property
    def _columns(self) -> int:
        return self._application.output.get_size().columns

    @property
    def _rows(self) -> int:
        return self._application.output.get_size().rows

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        answering = Condition(lambda: self.is_answering)
        completing = Condition(lambda: _is_completing(self._message))
        chosen = Condition(lambda: _has_choice(self._message)) & ~answering
        turning = Condition(lambda: self._waiting.first is not None) & (answering | ~completing)
        nothing = Condition(lambda: not self._application.current_buffer.text)
        keys.add("enter", filter=~chosen)(_accept)
        keys.add("enter", filter=chosen)(_choose)
        keys.add("escape", "enter", filter=~answering)(_begin_line)
        keys.add("tab", filter=turning)(lambda _: self._switch_input())
        keys.add("tab", filter=~turning)(_complete)
        keys.add("c-c")(lambda _: self._interrupt())
        keys.add("c-z")(lambda event: event.app.suspend_to_background())
        keys.add("c-d", filter=nothing)(lambda _: self._actions.leave())
        return keys

    def _switch_input(self) -> None:
        """Turn from the message to the question, and back."""
        if self.is_answering:
            self._application.layout.focus(self._message)
        else:
            self._focus_answer()

    def _interrupt(self) -> None:
        if self._actions.interrupt(bool(self._message.text)):
            self._message.reset()


def _accept(event: KeyPressEvent) -> None:
    event.current_buffer.validate_and_handle()


def _choose(event: KeyPressEvent) -> None:
    """Take the completion; a command runs at once."""
    event.current_buffer.complete_state = None
    if event.current_buffer.text.startswith("/"):
        event.current_buffer.validate_and_handle()


def _begin_line(event: KeyPressEvent) -> None:
    event.current_buffer.insert_text("\n")


def _complete(event: KeyPressEvent) -> None:
    if event.current_buffer.complete_state is not None:
        event.current_buffer.complete_next()
    else:
        event.current_buffer.start_completion(insert_common_part=True)


def _is_completing(buffer: Buffer) -> bool:
    """Whether a command or a path is being typed, so Tab is meant for that."""
    before = buffer.document.current_line_before_cursor
    is_begun = mentions.unfinished_mention(before) is not None or buffer.text.startswith("/")
    return buffer.complete_state is not None or is_begun


def _has_choice(buffer: Buffer) -> bool:
    return buffer.complete_state is not None and buffer.complete_state.current_completion is not None
