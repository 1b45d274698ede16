"""
System calls that the kernel asks about before it makes them: the caller, the arguments, and the answer.

The caller waits for the answer. Memory behind a pointer may change at any time, so nothing that was read
there is passed to the kernel: either we act ourselves and answer with the result, or the kernel continues and
decides by its own rules. Source: seccomp_unotify(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from handrail.values import dataclass

RECEIVE, SEND, IS_VALID, ADD_FD = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
REQUEST, RESPONSE, ADDITION = "=QIIiIQ6Q", "=QqiI", "=QIIII"
GO_ON = 1
LIMIT_PATH, PAGE = 4096, 4096
AT_FDCWD = -100

libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Call:
    """
    A system call.

    Attributes:
        thread: The number of the thread that makes it.
        waits: Says whether that still waits: else its number may be another's by now.
    """

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]
    waits: Callable[[int], bool]

    def descriptor(self, index: int) -> int:
        """An argument that is a descriptor, or a number with a sign."""
        return ctypes.c_int(self.arguments[index]).value

    def bytes_at(self, index: int, count: int) -> bytes:
        """Reads the memory to which an argument points. Raises OSError."""
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), count, self.arguments[index])

    def path(self, index: int) -> str:
        """A path that an argument points to. Raises OSError."""
        at, read = self.arguments[index], b""
        with open(f"/proc/{self.thread}/mem", "rb", buffering=0) as memory:
            while b"\0" not in read and len(read) < LIMIT_PATH:
                read += os.pread(memory.fileno(), PAGE - (at + len(read)) % PAGE, at + len(read))
        name, end, _ = read.partition(b"\0")
        if not end or not self.waits(self.id):
            raise OSError(errno.ENAMETOOLONG, "no path")
        return os.fsdecode(name)

    def folder(self, index: int | None) -> str:
        """
        Returns the folder in which a relative path begins, from the descriptor in an argument if the call has
        one. Raises OSError.
        """
        descriptor = AT_FDCWD if index is None else self.descriptor(index)
        link = "cwd" if descriptor == AT_FDCWD else f"fd/{descriptor}"
        found = os.readlink(f"/proc/{self.thread}/{link}")
        if not self.waits(self.id):
            raise OSError(errno.EINTR, "it has ended")
        return found

    def umask(self) -> int:
        """Returns the umask of the caller. Raises OSError."""
        with open(f"/proc/{self.thread}/status", encoding="utf-8", errors="replace") as rows:
            return next(int(row.split()[1], 8) for row in rows if row.startswith("Umask:"))


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The answer to a call.

    Attributes:
        error: The number of an error; 0 for none.
        opened: A descriptor of ours that the caller gets as its own; -1 for none.
        closes: Whether it is closed when the caller becomes another program.
        goes_on: Whether the kernel makes the call, as far as it lets the caller.
    """

    error: int = 0
    opened: int = -1
    closes: bool = False
    goes_on: bool = False


class Listener:
    """The descriptor on which the kernel asks."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def receive(self) -> Call | None:
        """The next call; None if its caller has ended."""
        buffer = bytearray(struct.calcsize(REQUEST))
        with suppress(OSError):
            self._ask(RECEIVE, buffer)
            number, thread, _, call, _, _, *arguments = struct.unpack(REQUEST, buffer)
            return Call(number, thread, call, tuple(arguments), self.is_waiting)
        return None

    def is_waiting(self, number: int) -> bool:
        """Whether the call of this number still waits for its answer."""
        with suppress(OSError):
            self._ask(IS_VALID, bytearray(struct.pack("=Q", number)))
            return True
        return False

    def answer(self, call: Call, answer: Answer) -> None:
        """Lets the caller continue with *answer*."""
        value, error = 0, answer.error
        if answer.opened >= 0:
            try:
                value = self._hand_over(call, answer)
            except OSError as problem:  # the caller has too much open, or has ended
                error = problem.errno or errno.EMFILE
        flags = GO_ON if answer.goes_on else 0
        with suppress(OSError):  # the caller may have ended
            self._ask(SEND, bytearray(struct.pack(RESPONSE, call.id, value, -error, flags)))

    def _hand_over(self, call: Call, answer: Answer) -> int:
        """The number by which the caller has what was opened for it, and we no more. Raises OSError."""
        flags = os.O_CLOEXEC if answer.closes else 0
        try:
            added = struct.pack(ADDITION, call.id, 0, answer.opened, 0, flags)
            return self._ask(ADD_FD, bytearray(added))
        finally:
            os.close(answer.opened)  # before the caller can run what it has written

    def _ask(self, request: int, buffer: bytearray) -> int:
        at = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        status: int = libc.ioctl(self.descriptor, ctypes.c_ulong(request), at)
        if status < 0:
            raise OSError(ctypes.get_errno(), "ioctl")
        return status


@contextmanager
def open_path(path: str, *, at: int | None = None) -> Iterator[int]:
    """A descriptor of a file or folder that only names it, and never through a link. Raises OSError."""
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    try:
        yield handle
    finally:
        os.close(handle)


def kernel_path(descriptor: int) -> str:
    """The path by which the kernel knows what is open. Raises OSError."""
    return os.readlink(magic(descriptor))


def magic(descriptor: int) -> str:
    """A path that leads to what is open, whatever becomes of its name."""
    return f"/proc/self/fd/{descriptor}"
