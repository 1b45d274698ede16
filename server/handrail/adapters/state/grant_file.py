"""
The user's permanent permissions, stored for each workspace in the state folder.

A grant applies only to its workspace: the same command line may do something else in another one. A file that
cannot be read grants nothing; failing to write it is not fatal.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from handrail.adapters.files.files import in_thread
from handrail.adapters.state.home import workspace_folder
from handrail.core.policy.grants import Grant

logger = logging.getLogger(__name__)

NAME = "grants.json"
LIMIT_GRANTS = 1_000  # the oldest go first
LIMIT_BYTES = 10_000_000


class GrantFile:
    """The Grants port."""

    def __init__(self, state: Path, roots: Callable[[], Sequence[Path]]) -> None:
        self._state = state
        self._roots = roots

    async def load(self) -> frozenset[Grant]:
        """All that was allowed in this workspace."""
        return frozenset(await in_thread(_read, self._file))

    async def add(self, grants: frozenset[Grant]) -> None:
        """Allow this too from now on."""
        await in_thread(_write, self._file, grants, frozenset())

    async def remove(self, grants: frozenset[Grant]) -> None:
        """Ask about this again from now on."""
        await in_thread(_write, self._file, frozenset(), grants)

    @property
    def _file(self) -> Path:
        return workspace_folder(self._state, self._roots()) / NAME


def _read(file: Path) -> list[Grant]:
    try:
        if file.stat().st_size > LIMIT_BYTES:
            return []
        fields = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    pairs = (
        [each for each in fields if isinstance(each, list) and len(each) == 2]
        if isinstance(fields, list)
        else []
    )
    return [Grant(tool=t, subject=s) for t, s in pairs if isinstance(t, str) and isinstance(s, str)]


def _write(file: Path, grants: frozenset[Grant], gone: frozenset[Grant]) -> None:
    kept = [each for each in _read(file) if each not in grants | gone]
    pairs = [[each.tool, each.subject] for each in (*kept, *grants)][-LIMIT_GRANTS:]
    beside = file.with_name(f"{NAME}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(pairs), encoding="utf-8")
        beside.replace(file)
    except OSError as error:
        logger.warning("The rules that your answers added could not be stored: %s", error)
