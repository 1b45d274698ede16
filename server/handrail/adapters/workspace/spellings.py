"""
The paths by which a user's rule may mean a file: those through its links, and those below workspace folders.

A path may lead through several links. Each of them, with all links before it resolved, is another spelling.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from handrail.adapters.files.paths import paths_below, root_names

LIMIT_LINKS = 40  # in a path; Linux follows no more


def plain_spelling(path: str) -> str:
    """An absolute path with one slash at its beginning; on Windows, `..` goes before links are followed."""
    if sys.platform == "win32":
        return os.path.normpath(path)
    return f"/{path.lstrip('/')}"


def link_spellings(path: str) -> tuple[str, ...]:
    """
    Returns one spelling of *path* for each link that it leads through.

    Args:
        path: Absolute, as `plain_spelling` returns it.
    """
    anchor = os.path.join(os.path.splitdrive(path)[0], os.sep)
    done, left = anchor, path.removeprefix(anchor).split(os.sep)
    found = dict[str, None]()
    links = 0
    while left and links < LIMIT_LINKS:
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
        links += 1
        if (spelled := _join_below(here, left)) is not None:
            found[spelled] = None
        if os.path.isabs(target):
            done = anchor
        left = [*target.removeprefix(anchor).split(os.sep), *left]
    return tuple(found)


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


def rule_paths(path: str, roots: Sequence[Path], reals: Sequence[Path]) -> tuple[str, ...]:
    """
    Returns the paths to which a rule for *path* may be written.

    Args:
        path: Absolute.
        roots: The workspace folders, as the client spells them.
        reals: Where they really are.

    Returns:
        The paths relative to each folder that has it in it and, if there are several, the same after the
        folder's name; `""` is the folder itself. Outside all folders, the path itself.
    """
    found = dict[str, None]()
    for root, real, name in zip(roots, reals, root_names(roots), strict=True):
        for each in paths_below(path, (root, real)):
            below = "" if each == os.curdir else each
            found[below] = None
            if len(roots) > 1:
                found |= dict.fromkeys((f"{name}/{below}", f"{root.name}/{below}"))
    return tuple(found) or (Path(path).as_posix(),)
