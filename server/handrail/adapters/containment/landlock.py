"""
Contain commands with Landlock, where the kernel or a container refuses new namespaces.

Landlock rules can only allow a folder, with everything below it. So a folder in which something is hidden is
not allowed as a whole, but each of its other entries is. Names, sizes and times of hidden files remain
visible, and files cannot be covered. `enter` restricts the process of a read-only command; for one that
writes, `gate` carries out what happens next to protected files. A test program in each must fail at
everything that is forbidden, as with bubblewrap.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

import handrail
from handrail.adapters.containment import enter, pool
from handrail.adapters.containment.ground import Kind, Marked
from handrail.adapters.containment.probe import SAID_CHARS, TIMEOUT_S
from handrail.adapters.containment.profile import GIT_RUNS, TooManyError, View
from handrail.adapters.containment.system import MORE, NAMES, SYSTEM, Home, closed_paths
from handrail.adapters.files.failure import in_words
from handrail.core.policy.containment import Need
from handrail.core.policy.environment import inherited_variables
from handrail.values import dataclass, replace

LIMIT_RULES = 20_000
READ = enter.EXECUTE | enter.READ_FILE | enter.READ_DIR
WRITE = (1 << 15) - 1 - READ  # all that Landlock knows of files, but for devices
KEEPS_SIZES = 3  # from this version on a file that may not be written cannot be emptied either
# What programs keep in the home folder, where nothing is written.
CACHES = {
    "XDG_CACHE_HOME": "cache",
    "GOCACHE": "cache/go-build",
    "npm_config_cache": "cache/npm",
    "CCACHE_DIR": "cache/ccache",
}
STARTS_GATE = (
    "import sys; sys.path.append(sys.argv.pop(1)); from handrail.adapters.containment import gate; "
    "gate.main()"
)
PACKAGES = os.fspath(Path(handrail.__file__).parent.parent)
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
found["read files"] = open(seen).read() == "seen"
fails("hide files", lambda: open(hidden).read())
fails("protect folders", lambda: open(made, "w"))
fails("protect files", lambda: open(seen, "a"))
fails("protect permissions", lambda: os.chmod(seen, 0o777))
fails("prevent renames", lambda: os.rename(seen, made))
fails("block the network", lambda: socket.create_connection(("127.0.0.1", int(outer)), timeout=2))
fails("block sockets", lambda: socket.socket(socket.AF_UNIX))
fails("block signals", lambda: os.kill(int(sys.argv[3]), 0))
print(json.dumps(found))
"""
# The same, for one that writes.
TRIES_OF_WORK = """
import json, os, socket, sys
trial, outer, server = sys.argv[1:4]
found = {}
def fails(name, work):
    try:
        work()
    except OSError:
        found[name] = True
    else:
        found[name] = False
hidden, kept, new = (os.path.join(trial, name) for name in ("hidden", "kept", "new"))
fails("hide files", lambda: open(hidden).read())
fails("protect files", lambda: open(hidden, "a"))
fails("protect folders", lambda: open(os.path.join(kept, "new"), "w"))
fails("prevent renames", lambda: os.rename(kept, new))
fails("protect permissions", lambda: os.chmod(hidden, 0o777))
fails("protect other folders", lambda: open(os.path.join(os.path.dirname(trial), "new"), "w"))
fails("block the network", lambda: socket.create_connection(("127.0.0.1", int(outer)), timeout=2))
fails("block sockets", lambda: socket.socket(socket.AF_UNIX))
fails("block signals", lambda: os.kill(int(server), 0))
try:
    os.mkdir(new)
    with open(os.path.join(new, "file"), "w") as file:
        file.write("new")
    found["write files"] = open(os.path.join(new, "file")).read() == "new"
except OSError:
    found["write files"] = False
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landlock:
    """
    A Landlock that holds, of this version.

    Attributes:
        why_no_work: Why it cannot hold commands that write; empty if it can.
    """

    version: int
    why_no_work: str = ""

    @property
    def program(self) -> str:
        """The program with which a command is started."""
        return sys.executable

    def arguments(self, view: View, folder: Path) -> tuple[str, ...]:
        """The arguments of `program`; writes the rules into *folder*. Raises TooManyError, OSError."""
        temporary = view.temporary or os.fspath(folder / "tmp")
        os.makedirs(temporary, mode=0o700, exist_ok=True)
        rules = _of_work(view, temporary, folder) if view.is_writable else _of_look(view, temporary)
        told = folder / "rules"
        told.write_text(json.dumps(rules), encoding="utf-8", errors="surrogateescape")
        starts = ("-c", STARTS_GATE, PACKAGES) if view.is_writable else (enter.__file__,)
        return ("-I", "-S", *starts, os.fspath(told))


def find(roots: Sequence[Path], folder: Path, port: int) -> tuple[Landlock | None, str]:
    """The kernel's Landlock if it holds in the workspace, or why there is none; see `probe.find`."""
    if not sys.platform.startswith("linux"):
        return None, ""
    if not (has := enter.version()):
        return None, "the kernel has no Landlock"
    if not enter.is_known():
        return None, "handrail does not support Landlock on this processor"
    landlock = Landlock(version=has)
    if why := _why_not(landlock, roots, folder, port, works=False):
        return None, why
    if has < KEEPS_SIZES:
        return replace(landlock, why_no_work=f"Landlock version {KEEPS_SIZES} or later is needed"), ""
    return replace(landlock, why_no_work=_why_not(landlock, roots, folder, port, works=True)), ""


def _why_not(landlock: Landlock, roots: Sequence[Path], folder: Path, port: int, *, works: bool) -> str:
    """Returns why it cannot be used; empty if it can."""
    beside = folder / f"beside-{works:d}"
    trial = beside / "trial"
    (trial / "kept").mkdir(parents=True)
    (trial / "hidden").write_text("secret")
    (trial / "seen").write_text("seen")
    at = os.fspath(trial)
    view = View(
        roots=(*(os.path.realpath(root) for root in roots), at),
        home=Home(home=None, seen=(sys.base_prefix, sys.prefix), cached=(), settings=()),
        hidden="",
        is_writable=works,
        marked=(
            Marked(f"{at}/hidden", Kind.SECRET, is_folder=False),
            Marked(f"{at}/kept", Kind.KEPT, is_folder=True),
        ),
    )
    try:
        tries = TRIES_OF_WORK if works else TRIES
        said = _try(landlock, view, beside, (tries, at, str(port), str(os.getpid())))
    except (OSError, ValueError, TooManyError, subprocess.SubprocessError) as error:
        return f"Landlock does not run here: {in_words(error)[:SAID_CHARS]}"
    broken = [name for name, holds in said.items() if not holds]
    if broken or not said:
        return f"Landlock does not work: it fails to {' and to '.join(broken) or 'report what it restricts'}"
    return ""


def _try(landlock: Landlock, view: View, folder: Path, arguments: Sequence[str]) -> dict[str, bool]:
    python = os.path.realpath(sys.executable)
    start = (landlock.program, *landlock.arguments(view, folder), "--chdir", "/", "--", python)
    done = subprocess.run(
        [*start, "-I", "-S", "-c", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
        env=inherited_variables(os.environ),
        start_new_session=True,
    )
    try:
        result: dict[str, bool] = json.loads(done.stdout)
    except ValueError:
        raise ValueError((done.stderr.strip().splitlines() or ["without a message"])[-1]) from None
    return result


def _of_look(view: View, temporary: str) -> dict[str, object]:
    """The rules of a command that only reads. Raises TooManyError."""
    paths = [*allowed_paths(view), (temporary, READ | WRITE)]
    return {"paths": paths, "environment": {"TMPDIR": temporary}}


def _of_work(view: View, temporary: str, folder: Path) -> dict[str, object]:
    """The rules of a command that writes in the workspace. Raises TooManyError, OSError."""
    hidden, kept = _closed_paths(view, {Kind.LATER, Kind.KEPT, Kind.LINK})
    kept.update(hidden, view.kept)
    if Need.REPOSITORY in view.needs:
        repositories = {each.path for each in view.marked if each.kind is Kind.KEPT and each.is_folder}
        kept -= repositories
        kept.update(os.path.join(path, name) for path in repositories for name in GIT_RUNS)
    kept.difference_update(view.opened)
    areas = [*view.roots, *(view.repositories if Need.REPOSITORY in view.needs else ()), *view.opened]
    areas = [path for path in dict.fromkeys(map(os.path.realpath, areas)) if os.path.exists(path)]
    hides = _Hides(hidden, kept)
    written = dict[str, int]()
    for area in areas:
        hides.add(
            written, hides.rights_below(area, _ancestors_of_all(hidden, area), _ancestors_of_all(kept, area))
        )
    written.update(dict.fromkeys((temporary, *pool.make_spares(folder / "new")), READ | WRITE))
    rights = dict(allowed_paths(replace(view, roots=(), opened=())))
    hides.add(rights, written.items())
    names = [os.path.realpath(name) for name in NAMES] if Need.NETWORK in view.needs else []
    settings = view.home.settings if Need.REPOSITORY in view.needs else ()
    hides.add(rights, ((path, READ) for path in (*names, *settings)))
    return {
        "paths": [*rights.items()],
        "environment": {"TMPDIR": temporary, **{name: f"{temporary}/{at}" for name, at in CACHES.items()}},
        "areas": [*areas, temporary],
        "allowed": [path for path, each in written.items() if each & enter.WRITE_FILE],
        "hidden": sorted(hidden),
        "closed": sorted(kept),
        "has_network": Need.NETWORK in view.needs,
        "gates_reads": bool(hidden),
        "pool": os.fspath(folder / "new"),
    }


def _ancestors_of_all(paths: Iterable[str], top: str) -> set[str]:
    return {parent for path in paths for parent in _ancestors(path, top)}


@dataclass(frozen=True, slots=True)
class _Hides:
    """The paths of the workspace that are hidden or closed to writing, and the others."""

    hidden: Set[str]
    closed: Set[str]

    def add(self, to: dict[str, int], paths: Iterable[tuple[str, int]]) -> None:
        """Adds to the rights *to*. Raises TooManyError."""
        for path, rights in paths:
            to[path] = to.get(path, 0) | rights
            if len(to) > LIMIT_RULES:
                raise TooManyError(LIMIT_RULES)

    def rights_below(self, path: str, above: Set[str], over: Set[str]) -> Iterator[tuple[str, int]]:
        """
        Yields the rights to *path* and all below it, except for hidden and closed paths.

        Args:
            above: The folders above what is hidden.
            over: Those above what is closed.
        """
        if path in self.hidden:
            return
        if path in self.closed:
            yield from _visible_below(path, self.hidden, set(above))
        elif path not in over:
            yield path, READ | WRITE
        else:
            # To run a file tells nothing of it, so what is made there can be run.
            yield path, READ if path not in above else enter.READ_DIR | enter.EXECUTE
            with os.scandir(path) as entries:
                for entry in entries:
                    if not entry.is_symlink():
                        yield from self.rights_below(entry.path, above, over)


def _closed_paths(view: View, kinds: Set[Kind]) -> tuple[set[str], set[str]]:
    """Returns the paths of the workspace that are hidden from a command, and the others of these kinds."""
    marked = [each for each in view.marked if each.path not in view.opened]
    hidden = {each.path for each in marked if _is_hidden(each.kind)}
    return hidden, {each.path for each in marked if each.kind in kinds}


def allowed_paths(view: View) -> list[tuple[str, int]]:
    """The paths that a command which only reads may use, with its rights. Raises TooManyError."""
    files, folders = closed_paths()
    hidden, _ = _closed_paths(view, set())
    hidden.update(files, folders)
    tops = [*SYSTEM, *MORE, *view.home.seen, *view.home.cached, *view.repositories, *view.roots, *view.opened]
    result: dict[str, int] = {}
    for top in dict.fromkeys(os.path.realpath(top) for top in tops if os.path.exists(top)):
        above = _ancestors_of_all(hidden, top)
        for path, rights in _visible_below(top, hidden, above):
            result[path] = result.get(path, 0) | rights
            if len(result) > LIMIT_RULES:
                raise TooManyError(LIMIT_RULES)
    return [*result.items(), *DEVICES, *((path, enter.READ_FILE) for path in ASKED_OF_THE_KERNEL)]


def _is_hidden(kind: Kind) -> bool:
    return kind in {Kind.SECRET, Kind.ASKED, Kind.SPECIAL, Kind.OWN, Kind.CLOSED}


def _ancestors(path: str, top: str) -> Iterator[str]:
    """The folders from *top* down to the one that holds *path*, if it is below *top*."""
    if path.startswith(f"{top.rstrip('/')}/"):
        while path != top:
            path = os.path.dirname(path)
            yield path


def _visible_below(path: str, hidden: Iterable[str], above: set[str]) -> Iterator[tuple[str, int]]:
    """Yields the parts of *path* that are not hidden."""
    if path in hidden:
        return
    if path not in above:
        yield path, READ
        return
    yield path, enter.READ_DIR  # of all below it: Landlock cannot take it away again
    with os.scandir(path) as entries:
        for entry in entries:
            if not entry.is_symlink():
                yield from _visible_below(entry.path, hidden, above)
