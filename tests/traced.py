"""What programs ask of the kernel: they are run under `strace`, and what it has written is read."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from handrail.core.policy.commands.table import TABLE

MARKER = "/handrail-line-"  # what is opened to say which line comes now

PROGRAMS = frozenset({*TABLE, "git"})
# What a command that only reads never asks of the kernel, whether it would get it or not.
_CHANGES = """
    creat unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir link linkat symlink symlinkat mknod
    mknodat chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat truncate utime utimes utimensat
    futimesat setxattr lsetxattr fsetxattr removexattr lremovexattr mount umount2 ptrace unshare setns kill
    clock_settime settimeofday adjtimex clock_adjtime sethostname chroot pivot_root bpf io_uring_setup
"""
CHANGES = frozenset(_CHANGES.split())
SPEAKS = frozenset({"connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg"})
TRACED = (*sorted(CHANGES | SPEAKS), "socket", "open", "openat", "openat2", "execve", "execveat")
CALL = re.compile(r"(?:(\d+) +)?(\w+)\((.*)\) += (-?\w+)(?:<([^>]*)>)?")
UNFINISHED = re.compile(r"(?:(\d+) +)?(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"(?:(\d+) +)?<\.\.\. \w+ resumed>(.*)$")
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
ALLOWED = re.compile(r"/dev/(?:null|tty)|/proc/self/task/\d+/comm")
# The names of users are looked up; what is sent without an address goes where a `connect` before it led.
HARMLESS = re.compile(
    r'sun_path="/(?:var/)?run/nscd/socket"|sun_path="/var/lib/sss/|, NULL, 0$|msg_name=NULL'
)


def tracing(log: Path) -> tuple[str, ...]:
    """What runs a program so that *log* is written; empty where it cannot be."""
    strace = shutil.which("strace")
    if strace is None:
        return ()
    begin = (strace, "-f", "--seccomp-bpf", "-qq", "-y", "-s", "500", "-e", "signal=none")
    tried = subprocess.run((*begin, "-o", os.devnull, "true"), capture_output=True, check=False)
    wanted = ",".join(f"?{name}" for name in TRACED)
    return () if tried.returncode else (*begin, "-e", f"trace={wanted}", "-o", os.fspath(log))


def mark(number: int) -> None:
    """Say in the trace which line comes now."""
    try:
        os.close(os.open(f"{MARKER}{number}", os.O_RDONLY))
    except OSError:
        return


def complaints(log: Path, folder: Path, is_protected: Callable[[str], bool]) -> dict[int, list[str]]:
    """
    What is wrong with what was traced, by the numbers of lines.

    Args:
        log: What `tracing` has written.
        folder: Where no program may come from.
        is_protected: Whether a path may be opened by git only, which shows nothing of it.
    """
    found: dict[int, list[str]] = {}
    number, programs = -1, dict[str, str]()
    with log.open(encoding="utf-8", errors="replace") as rows:
        for pid, name, given, result, opened in _calls(rows):
            if MARKER in given:
                number = int(given.partition(MARKER)[2].partition('"')[0])
            elif number >= 0:
                if name == "execve" and result == "0":
                    programs[pid] = _first(given)
                complaint = _complaint(name, given, opened, folder)
                is_git = os.path.basename(programs.get(pid, "git")) == "git"
                if opened and not is_git and is_protected(opened):
                    complaint = complaint or f"reads {_first(given)}"
                if complaint:
                    found.setdefault(number, []).append(complaint)
    return found


def _calls(rows: Iterable[str]) -> Iterator[tuple[str, str, str, str, str]]:
    """Process, name, arguments, result and opened path of each call, even of one that is in two rows."""
    begun: dict[str, str] = {}
    for row in rows:
        whole = row.rstrip("\n")
        if unfinished := UNFINISHED.match(whole):
            begun[unfinished[1] or ""] = unfinished[2]
            continue
        if resumed := RESUMED.match(whole):
            whole = f"{resumed[1] or ''} {begun.pop(resumed[1] or '', '')}{resumed[2]}".lstrip()
        if match := CALL.match(whole):
            yield match[1] or "", match[2], match[3], match[4], match[5] or ""


def _first(given: str) -> str:
    match = TEXT.search(given)
    return match[1] if match else ""


def _complaint(name: str, given: str, opened: str, folder: Path) -> str:
    """What is wrong with a call of the kernel, whatever it is for; empty for nothing."""
    path = _first(given)
    if name in CHANGES:
        return f"{name} {path or given[:60]}"
    if name in SPEAKS:
        return "" if HARMLESS.search(given) else f"{name} {given[:80]}"
    if name == "socket":
        return "" if given.startswith("AF_UNIX") else f"socket {given[:40]}"
    if name.startswith("execve"):
        is_known = os.path.basename(path) in PROGRAMS and not path.startswith(os.fspath(folder))
        return "" if is_known or "/git-core/" in path else f"runs {path}"
    writes = WRITES.search(given.replace(path, "")) and not ALLOWED.fullmatch(opened or path)
    return f"opens {path} for writing" if writes else ""
