"""
The parts of the machine that contained commands see besides the workspace: the system, and the toolchains on
PATH.

Everything that is not listed is missing: home folders, `/run` and its sockets, other disks. Of the user's
home folder only toolchains and package caches are visible; the caches can be written in a layer that is
discarded.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from handrail.values import dataclass

SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
)
MORE = (
    "/sys/devices/system/cpu",
    "/var/lib/dpkg",
    "/var/lib/ghc",
    "/var/lib/texmf",
    "/run/current-system/sw",
)
NAMES = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")  # what addresses are looked up with
TOOLCHAINS = """
    .pyenv .rbenv .nodenv .nvm .fnm .volta .asdf .sdkman .jdks .rustup .cargo/bin .cargo/env go/bin
    .go .bun/bin .deno/bin .dotnet .ghcup .opam .juliaup .linuxbrew .nix-profile .local/bin
    .local/lib .local/share/uv .local/share/pnpm .local/share/mise .local/share/fnm
    .local/share/virtualenvs .local/pipx .local/share/pipx .conda miniconda3 miniforge3 anaconda3
    mambaforge .npm-global .yarn/bin .composer/vendor .pub-cache/bin .krew/bin .poetry
    .julia/juliaup .phpenv .goenv .jenv .tfenv .local/share/rtx .local/state/fnm_multishells
"""
CACHES = """
    .cache/pip .cache/uv .cache/go-build .cache/yarn .cache/pnpm .cache/pypoetry .cache/ccache
    .ccache .cache/sccache .cache/node-gyp .cache/typescript .cache/deno .cache/ms-playwright
    .cache/puppeteer .cache/Cypress .cache/electron .cache/bazelisk .cache/zig .cache/gopls
    .cache/golangci-lint .npm/_cacache .cargo/registry .cargo/git go/pkg .m2/repository
    .gradle/caches .gradle/wrapper .ivy2/cache .sbt/boot .cache/coursier .nuget/packages
    .pub-cache/hosted .gem/ruby .bundle/cache .cabal/packages .stack/pantry .hex .mix/archives
    .yarn/berry .bun/install/cache .local/share/pnpm/store .julia/packages .julia/compiled
    .composer/cache .conan/data .vcpkg
"""
SETTINGS = (".gitconfig", ".config/git/config")  # who commits; only for commands that may change a repository

LIMIT_PREFIXES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """
    The parts of the user's home that a command sees besides the system.

    Attributes:
        home: The user's home folder, with links resolved; None if there is none.
        seen: Folders and files that can be read.
        cached: Folders that can be read, and written in a layer.
        settings: What git knows of the user.
    """

    home: str | None
    seen: tuple[str, ...]
    cached: tuple[str, ...]
    settings: tuple[str, ...]


@cache
def closed_paths(folder: str = "/etc") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """
    The files and folders of the system's settings that not everybody may read, and we may.

    They are looked for once: what root may read a command of root's could, without any rights of its own.
    """
    files, folders = [], []
    for at, inner, names in os.walk(folder):
        hidden = [name for name in inner if _is_closed(os.path.join(at, name), stat.S_IXOTH | stat.S_IROTH)]
        folders += [os.path.join(at, name) for name in hidden]
        inner[:] = [name for name in inner if name not in hidden]
        files += [path for name in names if _is_closed(path := os.path.join(at, name), stat.S_IROTH)]
    return tuple(files), tuple(folders)


def _is_closed(path: str, bits: int) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISLNK(mode) and mode & bits != bits and os.access(path, os.R_OK)


def home_of(environment_path: str, home: str, pythons: Iterable[str] = ()) -> Home:
    """
    Looks around.

    Args:
        environment_path: PATH.
        home: The user's home folder, or empty.
        pythons: The `pyvenv.cfg` of virtual environments, which say where their Python is.
    """
    real = os.path.realpath(home) if os.path.isabs(home) and os.path.isdir(home) else None
    seen = list(
        dict.fromkeys((*_toolchains(real), *_prefixes(environment_path, real), *_bases(pythons, real)))
    )
    return Home(
        home=real,
        seen=tuple(path for path in seen if not _is_below(path, SYSTEM)),
        cached=_existing_paths(real, CACHES.split()),
        settings=_existing_paths(real, SETTINGS),
    )


def _existing_paths(home: str | None, names: Sequence[str]) -> tuple[str, ...]:
    if home is None:
        return ()
    paths = (os.path.join(home, name) for name in names)
    return tuple(path for path in paths if os.path.exists(path) and os.path.realpath(path) == path)


def _toolchains(home: str | None) -> Sequence[str]:
    return _existing_paths(home, TOOLCHAINS.split())


def _prefixes(search_path: str, home: str | None) -> Iterator[str]:
    """Yields the folders to which those of PATH belong: a program needs its libraries."""
    for folder in search_path.split(os.pathsep)[:LIMIT_PREFIXES]:
        if os.path.isabs(folder) and os.path.isdir(folder):
            yield from _prefix(os.path.realpath(folder), home)
            yield from _bases([os.path.join(os.path.dirname(folder), "pyvenv.cfg")], home)


def _prefix(folder: str, home: str | None) -> Iterator[str]:
    """The folder of programs *folder*, or what is above it if that is theirs alone."""
    above = os.path.dirname(folder)
    is_own = os.path.basename(folder) in {"bin", "sbin", "shims", "Scripts", "condabin"}
    if is_own and not _is_shared(above, home):
        yield above
    elif not _is_shared(folder, home):
        yield folder


def _is_shared(path: str, home: str | None) -> bool:
    """Whether a folder holds more than one toolchain: then it is not shown as a whole."""
    if len(Path(path).parts) <= 2 or (home is not None and (path == home or Path(home).is_relative_to(path))):
        return True
    local = home is not None and path in {os.path.join(home, ".local"), os.path.join(home, ".cargo")}
    return local or path in {"/usr/local", "/var/lib", "/var/cache"} or path.startswith(("/run/", "/proc/"))


def _bases(settings: Iterable[str], home: str | None) -> Iterator[str]:
    """Yields the folders from which the Pythons of virtual environments come."""
    for file in settings:
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:
                text = lines.read(4_000)
        except OSError:
            continue
        for line in text.splitlines():
            name, _, value = line.partition("=")
            folder = os.path.realpath(value.strip())
            if name.strip() == "home" and os.path.exists(os.path.join(folder, "python3")):
                yield from _prefix(folder, home)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
