"""
Renders a command's output as a terminal would show it, as plain text.

Escape sequences are removed; of a line that is overwritten again and again, such as a progress bar, the last
state stays.
"""

from __future__ import annotations

import re

# Control sequences, commands to the operating system (titles, links), and other escapes.
ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]",
    re.MULTILINE,
)
CONTROLS = re.compile(r"[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def plain(output: str) -> str:
    """*output* without escape sequences, overwritten text and control characters; lines end in LF."""
    if not CONTROLS.search(output) and "\r" not in output and "\x08" not in output:
        return output
    text = ESCAPES.sub("", output).replace("\r\n", "\n")
    if "\r" in text or "\x08" in text:
        text = "\n".join(_last_state(line) for line in text.split("\n"))
    return CONTROLS.sub("", text)


def _last_state(line: str) -> str:
    """Returns the final text of a line; a shorter text leaves the rest of a longer one that it overwrites."""
    shown = ""
    for text in reversed(line.split("\r")):
        shown += (_without_backspaces(text) if "\x08" in text else text)[len(shown) :]
    return shown


def _without_backspaces(text: str) -> str:
    """A text from which each backspace has taken the character before it."""
    kept: list[str] = []
    for character in text:
        if character != "\x08":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
