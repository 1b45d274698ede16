"""
The paths by which a user's rule may mean a file: those through its links, and those below workspace folders.

A path may lead through several links. Each of them, with all links before it resolved, is another spelling.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from handrail.adapters.files import paths

LIMIT_LINKS = 1_000  # in a path: the longest path has room for fewer, if they do not lead to others
LIMIT_NAMES = 4_096  # that are left of a path while its links are followed
OF_PROCESS = re.compile("/proc/(?:self|thread-self)")  # these links mean something else for each process


def plain_spelling(path: str) -> str:
    """An absolute path with one slash at its beginning; on Windows, `..` goes before links are followed."""
    if sys.platform == "win32":
        return os.path.normpath(path)
    return f"/{path.lstrip('/')}"


def link_spellings(path: str) -> tuple[str, ...] | None:
    """
    Returns one spelling of *path* for each link that it leads through.

    Args:
        path: Absolute, as `plain_spelling` returns it.

    Returns:
        None if the path means something else for each process, or if its links lead to too many others.
    """
    done, left = _split(path)
    found, seen = dict[str, None](), set[tuple[str, ...]]()
    while left:
        name = left.pop(0)
        if name in ("", os.curdir):
            continue
        if name == os.pardir:
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, name)
        try:
            target = os.readlink(here)
        except (OSError, ValueError):
            done = here
            continue
        if OF_PROCESS.fullmatch(here) or len(seen) == LIMIT_LINKS or len(left) > LIMIT_NAMES:
            return None
        if (here, *left) in seen:  # the links form a circle
            break
        seen.add((here, *left))
        if (spelled := _join_below(here, left)) is not None:
            found[spelled] = None
        if os.path.isabs(target):
            done, names = _split(_without_prefix(target))
        else:
            names = target.split(os.sep)
        left = [*names, *left]
    return tuple(found)


def _split(path: str) -> tuple[str, list[str]]:
    """The beginning of an absolute path, such as `/`, and the names after it."""
    drive, rest = os.path.splitdrive(path)
    return drive + os.sep, rest.split(os.sep)


def _without_prefix(target: str) -> str:
    """The target of a link without the prefix that Windows may give it."""
    if target.startswith("\\\\?\\UNC\\"):
        return "\\\\" + target.removeprefix("\\\\?\\UNC\\")
    return target.removeprefix("\\\\?\\")


def _join_below(folder: str, names: Sequence[str]) -> str | None:
    """The path of what *names* lead to below *folder*; None if they lead out of it."""
    result: list[str] = []
    for name in names:
        if name == os.pardir:
            if not result:
                return None
            result.pop()
        elif name not in ("", os.curdir):
            result.append(name)
    return os.path.join(folder, *result)


Names = Mapping[str, frozenset[str]]


def names_of(roots: Sequence[Path], reals: Sequence[Path]) -> Names:
    """
    Returns the workspace folders with the names by which a rule may mean them: none if there is only one.

    Args:
        roots: The folders, as the client spells them.
        reals: Where they really are.
    """
    result = dict[str, frozenset[str]]()
    for root, real, name in zip(roots, reals, paths.root_names(roots), strict=True):
        named = frozenset({name, root.name}) if len(roots) > 1 else frozenset[str]()
        for each in (os.fspath(root), os.fspath(real)):
            result[each] = result.get(each, frozenset()) | named
    return result


def rule_paths(path: str, folders: Names) -> tuple[str, ...]:
    """
    Returns the paths to which a rule for the absolute *path* may be written.

    Returns:
        The paths relative to each folder that has it in it and, if there are several, the same after the
        folder's name; `""` is the folder itself. Outside all folders, the path itself.
    """
    found = dict[str, None]()
    for top, names in folders.items():
        for each in paths.paths_below(path, (Path(top),)) if paths.FOLDS_CASE else _relative_paths(path, top):
            below = "" if each == os.curdir else each
            found[below] = None
            found |= dict.fromkeys(f"{name}/{below}" if below else name for name in sorted(names))
    return tuple(found) or (Path(path).as_posix(),)


def _relative_paths(path: str, top: str) -> tuple[str, ...]:
    """The same as `paths_below`, where a path has one spelling, and quicker."""
    if path == top:
        return ("",)
    start = top if top.endswith(os.sep) else top + os.sep
    return (path[len(start) :].strip(os.sep),) if path.startswith(start) else ()
