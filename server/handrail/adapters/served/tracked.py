"""Whether git tracks anything in a folder: read from the index, without starting git."""

from __future__ import annotations

import os
from pathlib import Path

from dulwich.errors import NotGitRepository
from dulwich.index import Index
from dulwich.repo import Repo

from handrail.adapters.git import layout

LIMIT_BYTES = 200_000_000  # of an index
PREFIX_COMPRESSED = 4  # the version of an index that does not hold whole paths


def is_tracked(root: Path, name: str) -> bool:
    """
    Whether git tracks anything in the folder *name* of *root*.

    A repository that cannot be read is one that may track it.
    """
    try:
        return bool(layout.obstacle(root)) or _is_in_index(root, name)
    except NotGitRepository:
        return False
    except layout.UNREADABLE:
        return True


def _is_in_index(root: Path, name: str) -> bool:
    with Repo.discover(os.fspath(root)) as repository:
        index, top = Path(repository.index_path()), Path(repository.path)
        if repository.bare or not index.exists():
            return False
    prefix = (
        os.fsencode(Path(os.path.relpath(os.path.realpath(root / name), os.path.realpath(top))).as_posix())
        + b"/"
    )
    raw = index.read_bytes() if index.stat().st_size <= LIMIT_BYTES else b""
    if raw[:4] != b"DIRC":
        return True
    if int.from_bytes(raw[4:8], "big") < PREFIX_COMPRESSED:
        return prefix in raw  # whole paths stand in it; one that only ends so is a false alarm and harmless
    return any(path.startswith(prefix) for path in Index(os.fspath(index)))
