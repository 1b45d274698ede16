"""
Decide which file a patch means, if its name is not that of an existing file.

Diffs often name one file twice, by different names: a folder or an ending before and after. Models leave out
folders, or write them with backslashes. A file is chosen only if no other one can be meant. Whether files
exist is checked elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from handrail.core.failure import Code, Failure
from handrail.core.patches.hunk import FilePatch, Operation

ENDINGS = (".orig", ".old", ".bak", ".new", ".modified", ".updated", ".patched", "~")


def claims(old: str, new: str) -> tuple[str, ...]:
    """The names by which a diff's two file names may mean its one file, the most likely first."""
    if old == new:
        return (old,)
    for ending in ENDINGS:
        if old == new + ending:
            return new, old
        if new == old + ending:
            return old, new
    tail = old.partition("/")[2]
    common = (tail,) if tail and tail == new.partition("/")[2] else ()
    return (old, new, *common)


def spellings(patch: FilePatch) -> tuple[str, ...]:
    """All names to look for, to tell which file *patch* means; empty if only one can be meant."""
    names = (patch.path, *patch.others)
    slashed = (name.replace("\\", "/") for name in names if "\\" in name)
    candidates = tuple(dict.fromkeys((*names, *slashed)))
    return candidates if len(candidates) > 1 else ()


def readings(path: str) -> tuple[str, ...]:
    """
    Returns other readings of the file name *path*: without the marks around it, and without git's prefix.
    """
    bare = path.removesuffix("***").strip().removesuffix(":")
    bare = bare[2:-2] if bare.startswith("**") and bare.endswith("**") else bare
    names = dict.fromkeys((bare, re.sub(r"^[ab]/", "", bare)))
    return tuple(name for name in names if name not in ("", path))


def is_short(patch: FilePatch) -> bool:
    """Whether the name of the file to update may lack its folders."""
    return patch.operation is Operation.UPDATE and "/" not in patch.path and "\\" not in patch.path


def choose_file(patch: FilePatch, there: Collection[str], below: Sequence[str] = ()) -> FilePatch | Failure:
    """
    *patch* for the file that it means.

    Args:
        patch: As it was read.
        there: Those of its `spellings`, and of its path, that are the name of a file.
        below: The files of the same name in folders.
    """
    target = patch.move_to.replace("\\", "/") if patch.move_to is not None else None
    patch = patch if target == patch.move_to else replace(patch, move_to=target)
    names = [name for name in spellings(patch) if name in there]
    if patch.path in there and (len(names) < 2 or _is_first(patch, names)):
        return patch if not patch.others else _with_name(patch, patch.path)
    if not names and patch.others and patch.operation is Operation.ADD:
        return Failure(
            code=Code.BAD_PATCH,
            message=f"The new file may be {' or '.join((patch.path, *patch.others))}; it is not clear which.",
            steps=("Put the name of the file in backticks.",),
        )
    if len(names) > 1:
        return Failure(
            code=Code.BAD_PATCH,
            message=f"The patch may mean {' or '.join(names)}; all of these files exist.",
            steps=(
                "Name only one of them: in a diff, in both the `---` and the `+++` line; above a block, in "
                "backticks.",
            ),
        )
    if names:
        return _with_name(patch, names[0])
    if not there and is_short(patch) and len(below) == 1:
        return _with_name(patch, below[0])
    slashed = patch.path.replace("\\", "/")
    return patch if slashed == patch.path else _with_name(patch, slashed)


def _is_first(patch: FilePatch, names: Sequence[str]) -> bool:
    """Whether its path goes before all other names: a backup's, or one without git's prefix."""
    path = patch.path
    lesser = (path, path.removeprefix("a/"), path.removeprefix("b/"), *(path + ending for ending in ENDINGS))
    return all(name in lesser for name in names)


def _with_name(patch: FilePatch, name: str) -> FilePatch:
    given = " and ".join(dict.fromkeys((patch.path, *patch.others)))
    is_given = name == patch.path and set(patch.others) <= set(readings(name))
    note = () if is_given else (f"The patch names {given}; it was applied to {name}.",)
    return replace(patch, path=name, others=(), notes=(*patch.notes, *note))
