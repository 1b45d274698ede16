"""Look into a shadow repository with git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path


class Shadow:
    """The checkpoints that servers have left in a state folder."""

    def __init__(self, state: Path) -> None:
        self.repositories = sorted(state.glob("handrail/*/checkpoints.git"))

    def git(self, *argv: str) -> str:
        """What git says of the one repository."""
        (repository,) = self.repositories
        command = ["git", "--git-dir", str(repository), *argv]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    @property
    def turns(self) -> list[str]:
        """The refs, one a checkpoint; none where nothing was ever kept."""
        return (
            self.git("for-each-ref", "--format=%(refname)", "refs/handrail/turns").split()
            if self.repositories
            else []
        )

    def files(self, turn: str) -> dict[str, str]:
        """What a checkpoint holds of documents, by area and path: `before/a.txt`, `unsaved/a.txt`, …"""
        (ref,) = [each for each in self.turns if each.endswith(turn)]
        names = self.git("ls-tree", "-r", "--name-only", ref).splitlines()
        return {name: self.git("show", f"{ref}:{name}") for name in names if "/" in name}
