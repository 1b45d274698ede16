"""
The person at the terminal: Ctrl-C, questions, standard input, and whether to use colour.

Reading never blocks the event loop, so that a dying server or a Ctrl-C is noticed while a question is open.
"""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import Awaitable, Mapping
from types import TracebackType
from typing import Protocol, Self, TypeVar

from handrail.headless.errors import HeadlessError, InterruptedByUserError

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]  # there is no such module

T = TypeVar("T")

READ_BYTES = 65536
INDENT = " " * 6  # of what goes on in a further line; no line of ours begins like that
CANNOT_ASK = "handrail cannot ask: standard input or standard error is not a terminal."

# What Python calls printable and people cannot see: fillers, joiners, variation selectors.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


class Stream(Protocol):
    """An output for text: a stream of Python's, or a screen of our own."""

    @property
    def encoding(self) -> str:
        """The encoding of the characters that it takes."""

    def write(self, text: str, /) -> object:
        """Write a text."""

    def flush(self) -> None:
        """Let what was written be seen."""

    def isatty(self) -> bool:
        """Whether it is a terminal."""

    def fileno(self) -> int:
        """Return its file descriptor."""


class Interrupts:
    """Ctrl-C and its like while the block runs: an error in what is being waited for, not a dead process."""

    def __init__(self) -> None:
        self._pressed = asyncio.Event()
        names = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
        self._signals = [getattr(signal, name) for name in names if hasattr(signal, name)]

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        try:
            for number in self._signals:
                loop.add_signal_handler(number, self._pressed.set)
        except (NotImplementedError, RuntimeError, ValueError):
            self._signals = []  # Windows, or not the main thread: Python's own Ctrl-C stays in force
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._signals:
            asyncio.get_running_loop().remove_signal_handler(number)

    async def guard(self, waited_for: Awaitable[T]) -> T:
        """
        Wait, but not beyond an interrupt; *waited_for* is then cancelled.

        Raises:
            InterruptedByUserError: Each interrupt ends one wait.
        """
        wanted = asyncio.ensure_future(waited_for)
        pressed = asyncio.create_task(self._pressed.wait())
        try:
            await asyncio.wait((wanted, pressed), return_when=asyncio.FIRST_COMPLETED)
            if wanted.done():
                return wanted.result()
        finally:
            for task in (wanted, pressed):
                task.cancel()
            await asyncio.gather(wanted, pressed, return_exceptions=True)
        self._pressed.clear()
        raise InterruptedByUserError("Interrupted.")


def can_ask() -> bool:
    """Whether someone is there to answer."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def require_screen(command: str) -> None:
    """Raise HeadlessError, with what to do instead, unless a screen can be drawn for someone who types."""
    instead = "Use `handrail run PROMPT` for one turn; `handrail run -` reads the prompt from standard input."
    if not all(each is not None and each.isatty() for each in (sys.stdin, sys.stdout)):
        raise HeadlessError(f"`{command}` needs a terminal on standard input and output. {instead}")
    if os.environ.get("TERM", "") == "dumb":
        raise HeadlessError(
            f"`{command}` needs a terminal that can move its cursor, but TERM is `dumb`. {instead}"
        )


async def ask(prompt: str) -> str:
    """Ask on stderr; what is typed from now on, which is nothing at the end of the input."""
    sys.stdout.flush()
    forget_typed()
    print(f"{prompt} ", end="", file=sys.stderr, flush=True)
    answer = await _read_some(sys.stdin.fileno())
    return answer.decode("utf-8", "replace")


def forget_typed() -> None:
    """Discard what was typed before a question was shown; it is not an answer."""
    if termios is not None:
        with contextlib.suppress(termios.error, ValueError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def read_prompt(argument: str, name: str = "prompt") -> str:
    """
    Give the prompt that a command-line argument means; `-` is all of standard input.

    Args:
        argument: As it was typed.
        name: What people call it.

    Raises:
        HeadlessError: It is empty or not UTF-8.
    """
    try:
        if argument == "-":
            prompt = (await _read_all()).decode("utf-8-sig")
        else:
            prompt = argument
            prompt.encode("utf-8")  # Python smuggles other bytes through arguments as lone surrogates
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise HeadlessError(
            f"The {name} is not UTF-8 (position {error.start + 1}). Convert it to UTF-8."
        ) from error
    if not prompt.strip():
        way = "" if argument == "-" else ": give it as an argument, or `-` to read it from standard input"
        raise HeadlessError(f"The {name} is empty{way}.")
    return prompt


async def _read_all() -> bytes:
    pieces: list[bytes] = []
    while sys.stdin is not None and (piece := await _read_some(sys.stdin.fileno())):
        pieces.append(piece)
    return b"".join(pieces)


async def _read_some(descriptor: int) -> bytes:
    """Read what is there, waiting for something to be; empty at the end."""
    loop = asyncio.get_running_loop()
    readable = loop.create_future()
    try:
        loop.add_reader(descriptor, _resolve, readable)
    except (NotImplementedError, PermissionError):  # Windows, or a plain file, which never blocks
        return await asyncio.to_thread(os.read, descriptor, READ_BYTES)
    try:
        await readable
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, READ_BYTES)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def wants_colour(stream: Stream, environment: Mapping[str, str]) -> bool:
    """
    Whether to colour: `NO_COLOR` says no; otherwise `FORCE_COLOR` says yes; otherwise a terminal that can
    show colours.
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environment.get("TERM") != "dumb"


def visible(text: str) -> str:
    """Replace characters that a terminal would act on or hide; line feeds and tabs stay."""
    return "".join(_show(character) for character in text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Replace line feeds and tabs too: a file name must not look like other lines."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _show(character: str) -> str:
    if character in "\n\t" or (character.isprintable() and not _UNSEEN.match(character)):
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def hang(text: str) -> str:
    """Indent all lines but the first, so that none of them can look like a line of ours."""
    return re.sub(rf"\n(?!{INDENT})", f"\n{INDENT}", text)
