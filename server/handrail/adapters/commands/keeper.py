"""
The keeper of a command: when the command must end, all its processes do, even if the server is killed.

Theory of operation. A keeper is a small process between the server and a command. On Linux it adopts every
process below it whose parent ends ("child subreaper"), so everything that the command starts stays below it,
whatever session, group or environment it chooses. When a pipe from the server closes, the keeper stops
everything below it, and then ends; the kernel closes that pipe if the server is killed. On other systems only
the command's group is stopped. Events are reported as lines on a second pipe: `started` or `failed ERRNO`,
`exited CODE`, `left COUNT`.

This file is run as a script for each command: it imports nothing of ours, and little else.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

PR_SET_CHILD_SUBREAPER = 36
ADOPTS = sys.platform.startswith("linux")
POLL_MS = 20  # how often it is looked whether all has ended
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # meant for the command


def main() -> None:
    """Start the command, tell how it ends, and end what it has started when the pipe closes."""
    watched, status = int(sys.argv[1]), int(sys.argv[2])
    grace_s, adds_locale, program, words = float(sys.argv[3]), sys.argv[4] == "1", sys.argv[5], sys.argv[6:]
    for each in (watched, status):
        os.set_inheritable(each, False)
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for each_signal in IGNORED:
        signal.signal(each_signal, signal.SIG_IGN)
    if ADOPTS:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    command = _Command(tell=lambda row: _tell(status, row))
    if not command.start(program, words, adds_locale=adds_locale):
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    for channel in range(3):  # else who reads from the command would wait for the keeper
        os.dup2(nowhere, channel)
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while all(channel != watched for channel, _ in poll.poll()):
        _empty(woken)
        command.reap()
    poll.unregister(watched)
    for _ in command.end(grace_s):
        if poll.poll(POLL_MS):
            _empty(woken)


class _Command:
    """The command, and all below this process."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.pid, self.has_ended, self.is_alone = 0, False, False

    def start(self, program: str, words: Sequence[str], *, adds_locale: bool) -> bool:
        """Start it; returns whether it runs."""
        failed, failing = os.pipe()  # closed when it runs
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                for each in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
                    signal.signal(each, signal.SIG_DFL)
                environment = dict(os.environb)
                if adds_locale:
                    environment.pop(b"LC_CTYPE", None)
                os.execve(program, list(words), environment)
            except OSError as error:
                os.write(failing, str(error.errno).encode("ascii"))
            finally:
                os._exit(127)
        os.close(failing)
        code = os.read(failed, 10).decode("ascii")
        self.tell(f"failed {code}" if code else "started")
        return not code

    def reap(self) -> None:
        """Let go of processes that have ended; tell of the command."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.pid and not self.has_ended:  # later its number may be another's
                    self.has_ended = True
                    self.tell(f"exited {os.waitstatus_to_exitcode(ended[1])}")
        except ChildProcessError:
            self.is_alone = ADOPTS

    def end(self, grace_s: float) -> Iterator[None]:
        """End everything; report how many processes still ran. They get up to *grace_s* to end."""
        self.reap()
        running = self._running_pids()
        self.tell(f"left {len([pid for pid in running if pid != self.pid])}")
        self._signal(running, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        while running and time.monotonic() < deadline + grace_s:
            yield
            self.reap()
            running = self._running_pids()
            if time.monotonic() > deadline:
                self._signal(running, signal.SIGKILL)
        if not ADOPTS:
            self._signal((), signal.SIGKILL)

    def _running_pids(self) -> Sequence[int]:
        if ADOPTS:
            return () if self.is_alone else _descendants(os.getpid())
        return () if self.has_ended else (self.pid,)

    def _signal(self, pids: Sequence[int], number: signal.Signals) -> None:
        if not ADOPTS or not self.has_ended:  # else its number may be another's by now
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _descendants(top: int) -> list[int]:
    """The processes below *top* that run."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError), open(f"/proc/{entry}/stat", "rb") as stat:
                state, parent = stat.read().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    children.setdefault(int(parent), []).append(int(entry))
    result, left = list[int](), [top]
    while left:
        below = children.get(left.pop(), [])
        result += below
        left += below
    return result


def _tell(status: int, row: str) -> None:
    with suppress(OSError):  # the server may have ended
        os.write(status, f"{row}\n".encode("ascii"))


def _empty(pipe: int) -> None:
    with suppress(BlockingIOError):
        os.read(pipe, 1000)


if __name__ == "__main__":
    main()
    os._exit(0)
