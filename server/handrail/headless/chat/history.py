"""
The messages of earlier chats in a workspace, in a file that only its owner can read.

One line of JSON for each message, written at once, so several chats can share the file. Answers to questions
and commands of the chat are not kept.
"""

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import History

LIMIT_BYTES = 1_000_000  # of the file; of a longer one the older half goes
LIMIT_ENTRY_CHARS = 20_000  # a longer message is in this chat's history only


class MessageHistory(History):
    """
    The history of a workspace.

    Args:
        file: Where it is kept; None keeps it in memory. A file that cannot be used is passed over.
    """

    def __init__(self, file: Path | None) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        """Give the messages, the newest first."""
        if self._file is None:
            return []
        try:
            with os.fdopen(_open(self._file), "rb") as file:
                raw = file.read()
            if len(raw) > LIMIT_BYTES:
                raw = raw[-LIMIT_BYTES // 2 :].partition(b"\n")[2]
                _replace(self._file, raw)
        except OSError:
            return []
        return list(dict.fromkeys(reversed([text for line in raw.splitlines() if (text := _text(line))])))

    def store_string(self, string: str) -> None:
        """Keep a message."""
        if self._file is None or len(string) > LIMIT_ENTRY_CHARS or string.startswith("/"):
            return
        try:
            descriptor = _open(self._file)
            try:
                os.write(descriptor, json.dumps(string).encode() + b"\n")
            finally:
                os.close(descriptor)
        except OSError:
            self._file = None


def _open(file: Path) -> int:
    """Open a file to read and append, for the owner alone; never through a link; only a plain file."""
    for folder in (file.parent.parent, file.parent):  # the mode is for the last one that is made
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    extra = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | extra, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("not a plain file")
    if os.name == "posix":
        os.fchmod(descriptor, 0o600)
    return descriptor


def _replace(file: Path, raw: bytes) -> None:
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as written:
        written.write(raw)
    os.replace(fresh, file)


def _text(line: bytes) -> str:
    """The message of a line; empty if it is not a message."""
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""
