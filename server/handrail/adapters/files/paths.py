"""
Paths as strings that can be compared: one identity for every spelling of a file, and its display name.

Nothing is judged here; links are followed where the identity of a file asks for it.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from handrail.adapters.files.files import uri_of

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj", ".bzr"})
OWN_FOLDER = ".handrail"  # where documents are that are written for people
INTERNAL = VERSION_CONTROL | {OWN_FOLDER}  # never listed, searched or kept
FOLDS_CASE = sys.platform in ("darwin", "win32")


def inside(path: str, roots: Sequence[Path]) -> tuple[int, Path] | None:
    """The number of the innermost of *roots* that has *path* in it, and the path relative to it."""
    return _inside(path, tuple(map(os.fspath, roots)))


@lru_cache(maxsize=256)
def _inside(path: str, roots: tuple[str, ...]) -> tuple[int, Path] | None:
    parts, folded = Path(path).parts, fold_case(path)
    names = parts if folded == path else Path(folded).parts
    best: tuple[int, Path] | None = None
    depth = -1
    for number, root in enumerate(roots):
        above = _folded_parts(root)
        if len(above) > depth and names[: len(above)] == above:
            best, depth = (number, Path(*parts[len(above) :])), len(above)
    return best


@lru_cache(maxsize=64)
def _folded_parts(root: str) -> tuple[str, ...]:
    return Path(fold_case(root)).parts


def shown_path(real: str, roots: Sequence[Path], names: Sequence[str]) -> str:
    """
    Shows the path of a file to people and models; `Folders.resolve` reads it.

    Args:
        real: Its path, with every link resolved.
        roots: The workspace folders, likewise.
        names: What the folders are called.

    Returns:
        The path relative to its folder, after the folder's name if there are several; absolute outside all
        folders; the URI if the name is not text.
    """
    home = inside(real, roots)
    if home is None:
        path = Path(real).as_posix()
    else:
        path = Path(*names[home[0] : home[0] + 1] if len(roots) > 1 else (), home[1]).as_posix()
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return uri_of(real)
    return path


def paths_below(path: str, roots: Sequence[Path]) -> tuple[str, ...]:
    """The path relative to each of *roots* that has it in it, with `/`."""
    parts, folded = Path(path).parts, fold_case(path)
    names = parts if folded == path else Path(folded).parts
    tops = (_folded_parts(os.fspath(root)) for root in roots)
    return tuple(Path(*parts[len(top) :]).as_posix() for top in tops if names[: len(top)] == top)


def identity_of(path: Path | str) -> str:
    """The same string for every spelling of a file: links followed, and case where it does not matter."""
    return fold_case(os.path.realpath(path))


def root_names(roots: Sequence[Path]) -> tuple[str, ...]:
    """A name for each of several folders: its own, with a number where an earlier one has it."""
    names: list[str] = []
    for root in roots:
        name = wanted = root.name or "root"
        number = 1
        while name in names:
            number += 1
            name = f"{wanted}-{number}"
        names.append(name)
    return tuple(names)


def fold_case(path: str) -> str:
    """A path by the platform's rule for letter case; nothing is followed."""
    normal = os.path.normcase(path)
    return unicodedata.normalize("NFC", normal).casefold() if FOLDS_CASE else normal
