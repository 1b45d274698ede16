"""
The part of the screen above the line that is typed: what was written stays there, and scrolls away.

Whole lines are written above what prompt_toolkit draws; a line that is not whole yet, such as streamed text,
is drawn by it, and so can grow.
"""

import asyncio

from prompt_toolkit.application import Application
from prompt_toolkit.output import Output
from prompt_toolkit.utils import get_cwidth

TAB = "    "  # in what is drawn; written lines keep theirs


class Screen:
    """A stream whose text goes above the application's own lines."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._whole = ""
        self._is_due = False
        self._application: Application[None] | None = None
        self.open = ""  # the line that is not whole yet

    @property
    def encoding(self) -> str:
        """The encoding of the characters that it takes."""
        return self._output.encoding()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return True

    def fileno(self) -> int:
        """Return its file descriptor."""
        return self._output.fileno()

    def write(self, text: str) -> None:
        """Write text; whole lines are seen soon, the rest is drawn."""
        if "\n" in text:
            whole, _, self.open = (self.open + text).rpartition("\n")
            self._whole += whole + "\n"
        else:
            self.open += text
        if self._application is None:
            self._write_lines()
        elif not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._write_lines)

    def flush(self) -> None:
        """Do nothing: `write` sees to it."""

    def attach(self, application: Application[None] | None) -> None:
        """Write above what this application draws; None when it is over, with what is still to be written."""
        self._application = application
        if application is None:
            self.open, rest = "", self.open
            self._whole += f"{rest}\n" if rest else ""
            self._write_lines()

    def _write_lines(self) -> None:
        self._is_due = False
        whole, self._whole = self._whole, ""
        if whole:
            if self._application is not None:
                self._application.renderer.erase()
            self._output.write_raw(whole.replace("\n", "\r\n"))
            self._output.flush()
        if self._application is not None:
            self._application.invalidate()


def last_rows(text: str, columns: int, rows: int) -> str:
    """The end of a long line, broken into at most *rows* rows of that width."""
    text = text[-columns * rows :].replace("\t", TAB)  # a character takes a column, or two
    broken, width = [""], 0
    for character in text:
        wide = get_cwidth(character)
        if width + wide > columns:
            broken.append("")
            width = 0
        broken[-1] += character
        width += wide
    return "\n".join(broken[-rows:])
