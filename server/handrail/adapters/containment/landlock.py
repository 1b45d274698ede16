"""
Hold commands that only read by Landlock, where the kernel or a container refuses new namespaces.

Landlock knows only what is allowed, with all that is below it. So a folder in which something is hidden is
not allowed as a whole, but each of its other entries is. Names, sizes and times of hidden files can be seen,
and nothing can lie over a file. `enter` closes the process; a program in it has to fail at everything that is
promised, as with bubblewrap.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from handrail.adapters.containment import enter
from handrail.adapters.containment.ground import Kind, Marked
from handrail.adapters.containment.probe import SAID_CHARS, TIMEOUT_S
from handrail.adapters.containment.profile import TooManyError, View
from handrail.adapters.containment.system import MORE, SYSTEM, Home, closed
from handrail.core.policy.environment import inherited

LIMIT_RULES = 20_000
READ = enter.EXECUTE | enter.READ_FILE | enter.READ_DIR
WRITE = (1 << 15) - 1 - READ  # all that Landlock knows of files, but for devices
DEVICES = (("/dev/null", enter.READ_FILE | enter.WRITE_FILE), *(
    (path, enter.READ_FILE) for path in ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
))  # fmt: skip
ASKED_OF_THE_KERNEL = ("/proc/cpuinfo", "/proc/meminfo", "/proc/filesystems", "/proc/version", "/proc/stat")

# What a contained program tries, as in `probe`.
TRIES = """
import json, os, socket, sys
trial, outer = sys.argv[1:3]
found = {}
def fails(name, work):
    try:
        work()
    except OSError:
        found[name] = True
    else:
        found[name] = False
seen, hidden, made = (os.path.join(trial, name) for name in ("seen", "hidden", "made"))
found["reads files"] = open(seen).read() == "seen"
fails("hides files", lambda: open(hidden).read())
fails("keeps folders", lambda: open(made, "w"))
fails("keeps files", lambda: open(seen, "a"))
fails("keeps modes", lambda: os.chmod(seen, 0o777))
fails("keeps names", lambda: os.rename(seen, made))
fails("has no network", lambda: socket.create_connection(("127.0.0.1", int(outer)), timeout=2))
fails("has no sockets", lambda: socket.socket(socket.AF_UNIX))
fails("sends no signals", lambda: os.kill(os.getppid(), 0))
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landlock:
    """A Landlock that holds, of this version."""

    version: int

    @property
    def program(self) -> str:
        """What a command is started with."""
        return sys.executable

    def arguments(self, view: View, folder: Path) -> tuple[str, ...]:
        """The arguments of `program`; writes the rules into *folder*. Raises TooManyError, OSError."""
        rules = folder / "rules"
        temporary = folder / "tmp"
        temporary.mkdir(mode=0o700, exist_ok=True)
        paths = [*allowed(view), (os.fspath(temporary), READ | WRITE)]
        told = json.dumps({"paths": paths, "temporary": os.fspath(temporary)})
        rules.write_text(told, encoding="utf-8", errors="surrogateescape")
        return ("-I", "-S", enter.__file__, os.fspath(rules))


def find(roots: Sequence[Path], folder: Path, port: int) -> tuple[Landlock | None, str]:
    """The kernel's Landlock if it holds in the workspace, or why there is none; see `probe.find`."""
    if not sys.platform.startswith("linux"):
        return None, ""
    if not (has := enter.version()):
        return None, "the kernel has no Landlock"
    if not enter.is_known():
        return None, "Landlock is not used on this processor"
    (folder / "hidden").write_text("secret")
    (folder / "seen").write_text("seen")
    at = os.fspath(folder)
    view = View(
        roots=(*(os.path.realpath(root) for root in roots), at),
        home=Home(home=None, seen=(sys.base_prefix, sys.prefix), cached=(), settings=()),
        hidden="",
        marked=(Marked(f"{at}/hidden", Kind.SECRET, is_folder=False),),
    )
    found = Landlock(version=has)
    try:
        beside = folder / "rules-of-trial"
        beside.mkdir()
        said = _tried(found, view, beside, (at, str(port)))
    except (OSError, ValueError, TooManyError, subprocess.SubprocessError) as error:
        return None, f"Landlock does not run here: {str(error)[:SAID_CHARS]}"
    broken = [name for name, holds in said.items() if not holds]
    if broken or not said:
        return None, f"Landlock does not hold: it never {' and never '.join(broken) or 'says what it holds'}"
    return found, ""


def _tried(found: Landlock, view: View, folder: Path, arguments: Sequence[str]) -> dict[str, bool]:
    python = os.path.realpath(sys.executable)
    start = (found.program, *found.arguments(view, folder), "--chdir", "/", "--", python)
    done = subprocess.run(
        [*start, "-I", "-S", "-c", TRIES, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
        env=inherited(os.environ),
    )
    try:
        result: dict[str, bool] = json.loads(done.stdout)
    except ValueError:
        raise ValueError((done.stderr.strip().splitlines() or ["without a word"])[-1]) from None
    return result


def allowed(view: View) -> list[tuple[str, int]]:
    """The paths that a command which only reads may use, with its rights. Raises TooManyError."""
    files, folders = closed()
    hidden = {each.path for each in view.marked if _is_hidden(each.kind) and each.path not in view.opened}
    hidden.update(files, folders)
    tops = [*SYSTEM, *MORE, *view.home.seen, *view.home.cached, *view.repositories, *view.roots, *view.opened]
    found: dict[str, int] = {}
    for top in dict.fromkeys(os.path.realpath(top) for top in tops if os.path.exists(top)):
        above = {parent for path in hidden for parent in _above(path, top)}
        for path, rights in _below(top, hidden, above):
            found[path] = found.get(path, 0) | rights
            if len(found) > LIMIT_RULES:
                raise TooManyError
    return [*found.items(), *DEVICES, *((path, enter.READ_FILE) for path in ASKED_OF_THE_KERNEL)]


def _is_hidden(kind: Kind) -> bool:
    return kind in {Kind.SECRET, Kind.ASKED, Kind.SPECIAL, Kind.OWN}


def _above(path: str, top: str) -> Iterator[str]:
    """The folders from *top* down to the one that holds *path*, if it is below *top*."""
    if path.startswith(f"{top.rstrip('/')}/"):
        while path != top:
            path = os.path.dirname(path)
            yield path


def _below(path: str, hidden: Iterable[str], above: set[str]) -> Iterator[tuple[str, int]]:
    """*path* with all below it, but for what is hidden."""
    if path in hidden:
        return
    if path not in above:
        yield path, READ
        return
    yield path, enter.READ_DIR  # of all below it: Landlock cannot take it away again
    with os.scandir(path) as entries:
        for entry in entries:
            if not entry.is_symlink():
                yield from _below(entry.path, hidden, above)
