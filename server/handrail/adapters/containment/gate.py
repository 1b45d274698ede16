"""
Contain a command that writes with Landlock, and do for it what Landlock can allow only for whole folders.

Theory of operation. Landlock allows a folder with everything below it. So a folder in which something is
hidden or protected cannot be allowed, and nothing could be created next to that: no `build/` next to `.git`.
Therefore the kernel asks this program, which is not restricted, about each call that opens, creates, moves or
removes a file. It follows the path with all links, and checks where that leads:

- If Landlock allows the place, or the command must not have it, the kernel continues, and decides.
- If it is next to a protected path, this program acts for the command, in a folder that it has opened and
  whose path it has checked since, and by a name there, never through a link.

So a mistake here never weakens Landlock, and can only concern the workspace. Modes, times and owners, which
Landlock does not cover, are only changed here. Among the files created next to protected paths, those that
run later are found afterwards, as with bubblewrap.

Example: `.git` is protected, so the workspace folder `w` cannot be allowed. `open("w/build/x", O_CREAT)`: the
command created `w/build` a moment ago, so it has no rule; it is neither below `.git` nor above it, so `x` is
created here and the command gets the descriptor. `rename("w/.git", "w/old")` is left to Landlock.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct

from handrail.adapters.containment import enter
from handrail.adapters.containment.calls import Gate
from handrail.adapters.containment.notify import Listener
from handrail.adapters.containment.permissions import Permissions
from handrail.adapters.containment.pool import Pool

SUBREAPER, SET_DUMPABLE = 36, 4
IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # meant for the command


def main() -> None:
    """As `enter.main`, for a command that writes; goes on until that has ended, as it has."""
    rules, options, command = enter.read_input()
    os.chdir(options["--chdir"])
    enter.libc.prctl(enter.DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    enter.libc.prctl(SUBREAPER, 1, 0, 0, 0)  # who calls is below us, as the kernel may want it
    enter.drop_capabilities()
    ours, theirs = socket.socketpair()
    woken = _woken_by_children()
    closing = Permissions.of(rules)
    for each in IGNORED:
        signal.signal(each, signal.SIG_IGN)
    pid = os.fork()
    if pid == 0:
        enter.libc.prctl(enter.DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        for each in (*IGNORED, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(each, signal.SIG_DFL)
        os.environ.update(rules["environment"])
        has_network = rules["has_network"]
        enter.restrict([(path, rights) for path, rights in rules["paths"]], has_network=has_network)
        asked = enter.filter_calls_of_work(has_network=has_network, gates_reads=rules["gates_reads"])
        # From here on a call that opens a file waits for an answer.
        theirs.sendmsg([b"asks"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("=i", asked))])
        os.close(asked)
        enter.exec_command(command, options)
    theirs.close()
    _forget_streams(options)
    if (listener := _receive(ours)) >= 0:
        _serve(Listener(listener), Gate(closing, Pool(rules["pool"])), pid, woken)
    _end_as(os.waitpid(pid, 0)[1])


def _serve(listener: Listener, gate: Gate, pid: int, woken: int) -> None:
    """Answers calls until the command ends."""
    poll = select.poll()
    poll.register(listener.descriptor, select.POLLIN)
    poll.register(woken, select.POLLIN)
    os.umask(0)
    os.chdir("/")
    while True:
        for ready, _ in poll.poll():
            if ready == woken:
                os.read(woken, 1000)
                _reap(pid)
            elif (call := listener.receive()) is not None:
                answer = gate.answer(call)
                listener.answer(call, answer)


def _reap(command: int) -> None:
    """Lets go of what has ended, and ends when the command has."""
    while ended := os.waitpid(-1, os.WNOHANG):
        if ended[0] == command:
            _end_as(ended[1])
        if ended[0] == 0:
            return


def _end_as(status: int) -> None:
    """Ends in the way that the command has ended."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        enter.libc.prctl(SET_DUMPABLE, 0, 0, 0, 0)  # its core is not ours
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _woken_by_children() -> int:
    """A pipe that can be read when a child has ended."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def _forget_streams(options: dict[str, str]) -> None:
    """Closes the command's streams: whoever reads from them would otherwise wait for this process too."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for channel in range(3):
        os.dup2(nowhere, channel)
    if told := options.get("--json-status-fd"):
        os.close(int(told))


def _receive(channel: socket.socket) -> int:
    """The descriptor on which the kernel asks; -1 if the command could not be closed in."""
    _, given, _, _ = channel.recvmsg(4, socket.CMSG_SPACE(4))
    channel.close()
    return struct.unpack("=i", given[0][2])[0] if given else -1
