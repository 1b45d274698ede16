"""
Restrict a process with Landlock and a filter of system calls, then become the command.

This is a separate program that needs only the standard library: it is started for each command, and its
restrictions apply to everything that the command starts. Sources: landlock(7), seccomp(2), capabilities(7).
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import signal
import stat
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence

TYPE_CHECKING = False  # to import typing for this takes as long as all else here
if TYPE_CHECKING:
    from typing import Any, NoReturn

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15  # and to truncate, and to control devices
RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # by the first version
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every processor
ASKS_VERSION, PATH_BENEATH = 1, 1
NO_TCP, NO_SOCKETS_OR_SIGNALS = 3, 3
DECIDES_TCP, DECIDES_SIGNALS = 4, 6  # from these versions on

DIES_WITH_PARENT = 1
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
DROP_BOUND, AMBIENT, CLEAR_ALL = 24, 47, 4
CAPABILITIES_V3, LAST_CAPABILITY = 0x20080522, 63

# What Landlock does not decide: sockets, modes and times of files, other processes, and new namespaces. Each
# with its numbers on x86_64 and aarch64.
DENIED = """
    socket 41 198, ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kill 62 129,
    tkill 200 130, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, pidfd_send_signal 424 424,
    pidfd_getfd 438 438, io_uring_setup 425 425, chmod 90 -, fchmod 91 52, fchmodat 268 53,
    fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, utime 132 -,
    utimes 235 -, futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
    removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16, setxattrat 463 463,
    removexattrat 466 466, file_setattr 469 469, truncate 76 45, unshare 272 97, setns 308 268,
    mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, move_mount 429 429,
    open_tree 428 428, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433,
    mount_setattr 442 442, bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, keyctl 250 219,
    add_key 248 217, request_key 249 218, open_by_handle_at 304 265, msgget 68 186, semget 64 190,
    msgsnd 69 189, msgrcv 70 188, msgctl 71 187, semop 65 193, semtimedop 220 192, semctl 66 191,
    shmget 29 194, shmat 30 196, shmctl 31 195, mq_open 240 180, mq_unlink 241 181,
    kexec_load 246 104, init_module 175 105, finit_module 313 273,
    delete_module 176 106, acct 163 89, swapon 167 224, swapoff 168 225, reboot 169 142,
    sethostname 170 161, setdomainname 171 162, quotactl 179 60, fanotify_init 300 262
"""
DECIDED_BY_ARGUMENTS = "clone 56 220, clone3 435 435, ioctl 16 29, fcntl 72 25, tgkill 234 131"
# Calls about a process or thread, with the argument that names it: zero is the caller itself.
OF_A_PROCESS = """
    prlimit64 302 261 0, sched_setparam 142 118 0, sched_setscheduler 144 119 0, sched_setattr 314 274 0,
    sched_setaffinity 203 122 0, setpriority 141 140 1, ioprio_set 251 30 1
"""
# What a command that writes needs, and `gate` decides about: Landlock can only allow whole folders.
GATED = """
    open 2 -, openat 257 56, creat 85 -, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -,
    unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37,
    symlink 88 -, symlinkat 266 36, truncate 76 45, chmod 90 -, fchmod 91 52, fchmodat 268 53,
    fchmodat2 452 452, chown 92 -, fchown 93 55, lchown 94 -, fchownat 260 54, utimensat 280 88
"""
OPENS = {"open": 1, "openat": 2}  # with the argument that says how
OPENAT2 = "openat2 437 437"  # its arguments lie in memory; programs then call openat
SECCOMP = "seccomp 317 277"
# Not needed where Landlock keeps signals within the command.
SIGNALS = ("kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
FAMILIES = (2, 10, 16)  # of sockets that the network needs: IPv4, IPv6, and what is asked about both
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_TMPFILE & ~os.O_DIRECTORY
MACHINES = ("x86_64", "aarch64")
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32 = 0x40000000  # from here on, x86_64 has its other numbers
NEW_USER = 0x10000000  # of clone
# To type into a terminal, to control a console, to change attributes of files, and to say who is signalled.
CONTROLS = (0x5412, 0x541C, 0x40086602, 0x40046602, 0x401C5820, 0x8901, 0x8902)
SIGNALLED = (8, 15)  # who is, when something happens to what is open: by fcntl

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, FAIL, ASK = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
NUMBER_AT, ARCHITECTURE_AT, FIRST_AT, SECOND_AT = 0, 4, 16, 24  # in the data that a filter sees
SET_FILTER, GIVES_LISTENER, WAITS_UNLESS_KILLED = 1, 1 << 3, 1 << 5
Instruction = tuple[int, int, int, int]

libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """The version of the kernel's Landlock; 0 if there is none."""
    number: int = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ASKS_VERSION)
    return max(number, 0)


def is_known() -> bool:
    """Whether the numbers of this processor's system calls are known."""
    return platform.machine() in MACHINES


def restrict(rules: Sequence[tuple[str, int]], *, has_network: bool = False) -> None:
    """
    Closes all of the file system but *rules*: paths with the rights to what is below them. Raises OSError.

    Paths that are not there are left out.
    """
    has = version()
    handled = next(rights for since, rights in sorted(RIGHTS.items(), reverse=True) if since <= has)
    attributes = struct.pack("=Q", handled)
    attributes += struct.pack("=Q", 0 if has_network else NO_TCP) if has >= DECIDES_TCP else b""
    attributes += struct.pack("=Q", NO_SOCKETS_OR_SIGNALS) if has >= DECIDES_SIGNALS else b""
    ruleset = _check(libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for path, rights in rules:
        try:
            at = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        mode = os.fstat(at).st_mode
        allowed = rights & handled if stat.S_ISDIR(mode) else rights & handled & OF_FILES
        if not stat.S_ISLNK(mode):  # what it leads to has a rule of its own, if any
            rule = struct.pack("=Qi", allowed, at)
            _check(libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0))
        os.close(at)
    _check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check(libc.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def drop_capabilities() -> None:
    """Permanently gives up all rights of root except those to its files. Raises OSError."""
    for number in range(LAST_CAPABILITY + 1):
        libc.prctl(DROP_BOUND, number, 0, 0, 0)  # fails without the right to, and then there is none
    libc.prctl(AMBIENT, CLEAR_ALL, 0, 0, 0)
    _check(libc.capset(struct.pack("=Ii", CAPABILITIES_V3, 0), struct.pack("=6I", *[0] * 6)))


def filter_calls() -> None:
    """Refuses the system calls that Landlock does not decide about. Raises OSError."""
    header, _program = _compile(_filter(platform.machine(), _denied_calls()))
    _check(libc.prctl(SET_SECCOMP, FILTER, header, 0, 0))


def filter_calls_of_work(*, has_network: bool, gates_reads: bool) -> int:
    """
    The same for a command that writes: what `gate` decides about is asked on a descriptor. Raises OSError.

    Args:
        gates_reads: Whether the gate decides about calls that only read, too.

    Returns:
        The descriptor.
    """
    machine = platform.machine()
    denied = _denied_calls()
    for name in (*numbers_of(GATED, machine), *(SIGNALS if version() >= DECIDES_SIGNALS else ())):
        denied.pop(name, None)
    if has_network:
        del denied["socket"]
    asked = [each for row in _gate_rows(machine, gates_reads=gates_reads) for each in row]
    header, _program = _compile(_filter(machine, denied, asked))
    call = numbers_of(SECCOMP, machine)["seccomp"]
    flags = GIVES_LISTENER | WAITS_UNLESS_KILLED
    handle: int = libc.syscall(call, SET_FILTER, flags, header)
    if handle < 0:  # an older kernel, where a signal may have a call made twice
        handle = _check(libc.syscall(call, SET_FILTER, GIVES_LISTENER, header))
    return handle


def _compile(rows: Sequence[Instruction]) -> tuple[bytes, ctypes.Array[ctypes.c_char]]:
    program = b"".join(struct.pack("=HBBI", *each) for each in rows)
    buffer = ctypes.create_string_buffer(program, len(program))
    return struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer)), buffer


def _denied_calls() -> dict[str, int]:
    """The system calls that are refused, whatever their arguments."""
    machine = platform.machine()
    denied = numbers_of(DENIED, machine)
    if version() < DECIDES_SIGNALS:
        denied["tgkill"] = numbers_of(DECIDED_BY_ARGUMENTS, machine)["tgkill"]
    return denied


def _gate_rows(machine: str, *, gates_reads: bool) -> Iterator[Sequence[Instruction]]:
    """The rows about calls that are asked about, and of sockets."""
    for name, number in numbers_of(GATED, machine).items():
        if name in OPENS and not gates_reads:
            yield (EQUAL, 0, 4, number), (LOAD, 0, 0, FIRST_AT + 8 * OPENS[name])
            yield (ANY_BIT, 0, 1, WRITES), (RETURN, 0, 0, ASK), (RETURN, 0, 0, ALLOW)
        else:
            yield (EQUAL, 0, 1, number), (RETURN, 0, 0, ASK)
    (number,) = numbers_of(OPENAT2, machine).values()
    yield (EQUAL, 0, 1, number), (RETURN, 0, 0, FAIL | errno.ENOSYS)
    socket = numbers_of(DENIED, machine)["socket"]
    yield (EQUAL, 0, 3 + len(FAMILIES), socket), (LOAD, 0, 0, FIRST_AT)
    for left, family in enumerate(reversed(FAMILIES)):
        yield ((EQUAL, len(FAMILIES) - left, 0, family),)
    yield (RETURN, 0, 0, FAIL | errno.EACCES), (RETURN, 0, 0, ALLOW)


def _of_others(machine: str) -> Iterator[Instruction]:
    """The rows about calls that are for the caller itself only."""
    for row in OF_A_PROCESS.split(","):
        *numbers, argument = row.split()[1:]
        yield EQUAL, 0, 4, int(numbers[MACHINES.index(machine)])
        yield LOAD, 0, 0, FIRST_AT + 8 * int(argument)
        yield EQUAL, 1, 0, 0
        yield RETURN, 0, 0, FAIL | errno.EPERM
        yield RETURN, 0, 0, ALLOW


def _filter(machine: str, denied: Mapping[str, int], asked: Sequence[Instruction] = ()) -> list[Instruction]:
    numbers = numbers_of(DECIDED_BY_ARGUMENTS, machine)
    return [
        (LOAD, 0, 0, ARCHITECTURE_AT),
        (EQUAL, 1, 0, AUDIT[machine]),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        *(((AT_LEAST, 0, 1, X32), (RETURN, 0, 0, KILL)) if machine == "x86_64" else ()),
        *(each for name, number in denied.items() for each in _refusal(number, _error(name))),
        *asked,
        (EQUAL, 0, 1, numbers["clone3"]),
        (RETURN, 0, 0, FAIL | errno.ENOSYS),  # its flags lie in memory; libraries then call clone
        (EQUAL, 0, 4, numbers["clone"]),
        (LOAD, 0, 0, FIRST_AT),
        (ANY_BIT, 0, 1, NEW_USER),
        (RETURN, 0, 0, FAIL | errno.EPERM),
        (RETURN, 0, 0, ALLOW),
        *_of_others(machine),
        *_control_rows(numbers["ioctl"], CONTROLS),
        *_control_rows(numbers["fcntl"], SIGNALLED),
        (RETURN, 0, 0, ALLOW),
    ]


def _control_rows(number: int, controls: Sequence[int]) -> Iterator[Instruction]:
    """The rows about a call that is refused if its second argument is one of *controls*."""
    yield EQUAL, 0, 2 + 2 * len(controls), number
    yield LOAD, 0, 0, SECOND_AT
    yield from (each for control in controls for each in _refusal(control))
    yield RETURN, 0, 0, ALLOW


def numbers_of(table: str, machine: str) -> dict[str, int]:
    """The system calls of a table that this processor has."""
    rows = (row.split() for row in table.split(","))
    numbers_by_name = {name: numbers[MACHINES.index(machine)] for name, *numbers in rows}
    return {name: int(number) for name, number in numbers_by_name.items() if number != "-"}


def _error(name: str) -> int:
    """
    Returns the error with which a call fails; programs work without attributes if a file system has none.
    """
    return errno.EOPNOTSUPP if "xattr" in name else errno.EPERM


def _refusal(value: int, error: int = errno.EPERM) -> Iterator[Instruction]:
    yield EQUAL, 0, 1, value
    yield RETURN, 0, 0, FAIL | error


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def read_input() -> tuple[dict[str, Any], dict[str, str], Sequence[str]]:
    """The rules, options and command that this program was given."""
    words, options = sys.argv[1:], dict[str, str]()
    with open(words.pop(0), encoding="utf-8", errors="surrogateescape") as file:
        rules = json.load(file)
    while (name := words.pop(0)) != "--":
        options[name] = words.pop(0)
    return rules, options, words


def exec_command(command: Sequence[str], options: Mapping[str, str]) -> NoReturn:
    """Tells that all is closed, and runs the command in place of this program."""
    program, *arguments = command
    if told := options.get("--json-status-fd"):
        os.set_inheritable(int(told), False)
        os.write(int(told), b'{"landlocked": true}')
    try:
        os.execv(program, [options.get("--argv0", program), *arguments])
    except OSError as error:
        os.write(2, os.fsencode(f"{program}: {error.strerror}\n"))
        sys.exit(126)


def main() -> None:
    """`enter.py RULES [--json-status-fd N] [--argv0 NAME] --chdir FOLDER -- PROGRAM [ARGUMENT ...]`."""
    rules, options, command = read_input()
    os.chdir(options["--chdir"])
    os.environ.update(rules["environment"])
    libc.prctl(DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    restrict([(path, rights) for path, rights in rules["paths"]])
    drop_capabilities()
    filter_calls()
    exec_command(command, options)


if __name__ == "__main__":
    main()
