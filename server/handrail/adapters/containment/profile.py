"""
The arguments of bubblewrap for one command.

Later mounts cover earlier ones: first the system, then a home folder that is empty except for toolchains,
then the workspace, and over it what is hidden, read-only, or changed only in a layer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from handrail.adapters.containment.ground import LINKS, Kind, Marked
from handrail.adapters.containment.system import MORE, NAMES, SYSTEM, Home, closed_paths
from handrail.core.policy.containment import Need
from handrail.values import dataclass, field

LIMIT_MOUNTS = 300  # bubblewrap reads them all at each one, so 300 already take half a second
ALONE = (
    *("--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-pid", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL", "--disable-userns", "--new-session", "--die-with-parent"),
)
HIDDEN_IN_LAYERS = frozenset({Kind.SECRET, Kind.SPECIAL, Kind.OWN, Kind.CLOSED})
GIT_RUNS = ("hooks", "config", "config.worktree", "info/attributes", "modules")  # not even after a yes

# Made anew by what made them, so that nothing is lost with them.
CACHES = """
    __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .cache .parcel-cache
    .turbo .next .nuxt .svelte-kit .angular .vite .eslintcache .nyc_output .gradle target
    .ipynb_checkpoints .coverage htmlcov coverage .eggs .dart_tool .zig-cache zig-cache zig-out
    .stack-work dist-newstyle _build .build CMakeFiles
"""


class TooManyError(Exception):
    """More would have to be hidden, protected or changed in layers than a command can wait for."""

    def __init__(self, limit: int) -> None:
        """The text says how much is allowed."""
        super().__init__(f"more than {limit:,} files and folders would have to be hidden or protected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A folder that is changed only in a layer: what is written goes to *upper*; the kernel uses *work*."""

    folder: str
    upper: str
    work: str


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """
    The file system as one command sees it; paths are absolute, with links resolved.

    Attributes:
        roots: The workspace folders.
        is_writable: Whether it may write there.
        marked: The hidden or protected paths in them.
        opened: The paths that it sees nevertheless, because it may write in the workspace.
        kept: The paths that neither the snapshot nor a layer covers: it cannot write to them.
        repositories: The git folders outside the workspace that belong to it.
        temporary: The folder that it has as `/tmp`; None for an empty one.
        hidden: An empty file without any permission, which is mounted over hidden files.
        overlays: Whether layers are available.
        copies: The unsaved texts that are mounted over files, by path.
    """

    roots: Sequence[str]
    home: Home
    hidden: str
    is_writable: bool = False
    needs: frozenset[Need] = frozenset()
    marked: Sequence[Marked] = ()
    opened: Sequence[str] = ()
    layers: Sequence[Layer] = ()
    kept: Sequence[str] = ()
    repositories: Sequence[str] = ()
    temporary: str | None = None
    overlays: bool = True
    copies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """
    Attributes:
        arguments: Of bubblewrap, up to the command.
        mounted: The paths that mounts lie on which end if someone replaces the file.
    """

    arguments: tuple[str, ...]
    mounted: tuple[str, ...] = field(default=())


def make_arguments(view: View) -> Made:
    """The arguments for *view*. Raises TooManyError."""
    mounted: list[str] = []
    arguments = [
        *ALONE,
        *(() if Need.NETWORK in view.needs else ("--unshare-net",)),
        *_machine(view),
        *_roots(view),
        *_workspace_mounts(view, mounted),
    ]
    return Made(arguments=tuple(arguments), mounted=tuple(mounted))


def _machine(view: View) -> Iterator[str]:
    for path in SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)
    for path in MORE:
        if os.path.isdir(path) and os.path.realpath(path) == path:
            yield from ("--ro-bind", path, path)
    yield from ("--proc", "/proc", "--dev", "/dev", *_anyone("/dev/shm"))
    yield from ("--bind", view.temporary, "/tmp") if view.temporary else _anyone("/tmp")
    yield from (*_anyone("/var/tmp"), "--tmpfs", "/run")
    if Need.NETWORK in view.needs:
        yield from _names()
    yield from _closed_paths(view.hidden)
    yield from _home(view)


def _anyone(path: str) -> Iterator[str]:
    """An empty folder that anybody may write in."""
    yield from ("--perms", "1777", "--tmpfs", path)


def _home(view: View) -> Iterator[str]:
    """A home folder that is empty but for toolchains and caches."""
    home = view.home
    if home.home is not None:
        yield from ("--tmpfs", home.home)
    for path in home.seen:
        yield from ("--ro-bind-try", path, path)
    if view.is_writable:
        for path in home.cached:
            layered = ("--overlay-src", path, "--tmp-overlay", path)
            yield from layered if view.overlays else ("--ro-bind", path, path)
    if Need.REPOSITORY in view.needs:
        for path in home.settings:
            yield from ("--ro-bind-try", path, path)


def _names() -> Iterator[str]:
    """Yields the files with which addresses are looked up, where they are links into `/run`."""
    for path in NAMES:
        real = os.path.realpath(path)
        if real != path and os.path.isfile(real):
            yield from ("--ro-bind", real, real)


def _closed_paths(hidden: str) -> Iterator[str]:
    """Yields the files of the system that this user may read, but not everybody."""
    files, folders = closed_paths()
    for path in folders:
        yield from ("--perms", "0000", "--tmpfs", path, "--remount-ro", path)
    for path in files:
        yield from ("--ro-bind", hidden, path)


def _roots(view: View) -> Iterator[str]:
    bind = "--bind" if view.is_writable else "--ro-bind"
    for root in sorted(view.roots):
        yield from (bind, root, root)
    for repository in view.repositories:
        yield from ("--bind" if Need.REPOSITORY in view.needs else "--ro-bind", repository, repository)
    for path, copy in view.copies.items():
        if is_in(path, view.roots):
            yield from ("--ro-bind", copy, path)
    for layer in view.layers:
        yield from ("--overlay-src", layer.folder, "--overlay", layer.upper, layer.work, layer.folder)


def _workspace_mounts(view: View, mounted: list[str]) -> Iterator[str]:
    """Yields the mounts that hide or protect paths in the workspace, and those that show other places."""
    layered = [layer.folder for layer in view.layers]
    count = len(layered)
    hidden = _hidden_folders(view, layered)
    # A folder comes before what is in it. To open a folder opens nothing that is hidden in it.
    for each in sorted(view.marked, key=lambda marked: marked.path):
        if _is_left_open(each, view, hidden):
            continue
        if arguments := tuple(_mount(each, view)):
            yield from arguments
            count += 1
            if not is_in(each.path, layered):
                mounted.append(each.path)
    for path in view.kept if view.is_writable else ():
        if not is_in(path, (*layered, *view.opened)):
            yield from ("--ro-bind-try", path, path)
            count += 1
    for path in view.opened:
        if not is_in(path, view.roots):
            yield from _bind(path, view)
    if count > LIMIT_MOUNTS:
        raise TooManyError(LIMIT_MOUNTS)


def _hidden_folders(view: View, layered: Sequence[str]) -> list[str]:
    return [
        each.path
        for each in view.marked
        if each.is_folder and each.kind not in {Kind.KEPT, Kind.LATER} and each.path not in view.opened
        if each.kind in HIDDEN_IN_LAYERS or not is_in(each.path, layered)
    ]


def _is_left_open(each: Marked, view: View, hidden: Sequence[str]) -> bool:
    """Whether nothing is mounted at a path: it cannot be, or it is open, or it lies in a hidden folder."""
    if each.kind in LINKS or each.path in view.opened:
        return True
    if is_in(os.path.dirname(each.path), hidden) and not is_in(each.path, view.opened):
        return True
    return each.kind not in HIDDEN_IN_LAYERS and is_in(each.path, [layer.folder for layer in view.layers])


def _bind(path: str, view: View) -> Iterator[str]:
    """A path that is opened."""
    yield from ("--bind-try" if view.is_writable else "--ro-bind-try", path, path)


def _mount(each: Marked, view: View) -> Iterator[str]:
    path = each.path
    opened = [inner for inner in view.opened if is_in(inner, [path])]
    if each.kind is Kind.KEPT and Need.REPOSITORY in view.needs:
        for name in GIT_RUNS:
            if os.path.lexists(inner := os.path.join(path, name)):
                yield from ("--ro-bind", inner, inner)
    elif each.kind in {Kind.KEPT, Kind.LATER}:
        if view.is_writable:
            yield from ("--ro-bind", path, path)
            for inner in opened:
                yield from _bind(inner, view)
    elif each.is_folder:
        yield from ("--perms", "0755" if opened else "0000", "--tmpfs", path)
        for inner in opened:
            yield from _bind(inner, view)
        yield from ("--remount-ro", path)
    else:
        yield from ("--ro-bind", view.hidden, path)


def is_in(path: str, folders: Iterable[str]) -> bool:
    """Whether *path* is one of *folders*, or in one of them."""
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def is_cache(path: Path) -> bool:
    """Whether the contents of a folder are a cache, which its program would create again."""
    return path.name in _CACHES or path.name.endswith((".egg-info", ".dist-info"))


_CACHES = frozenset(CACHES.split())
