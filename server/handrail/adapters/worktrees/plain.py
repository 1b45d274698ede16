"""
Snapshots of small folders without git: all files as they are, kept in the note of the command.

A folder that is too large for a note is not stored at all, and this is reported: half a snapshot would be
mistaken for a whole one.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path

from handrail.adapters.files import files
from handrail.adapters.files.failure import reason
from handrail.adapters.files.paths import INTERNAL
from handrail.core.checkpoint import LINK, Image
from handrail.values import dataclass, field

LIMIT_FILES = 2_000
LIMIT_BYTES = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainFiles:
    """
    All files and links at one moment; paths are absolute.

    Attributes:
        files: The bytes in base64, and the mode as in `Image`.
        left_out: What else is there, and why it is not kept.
    """

    files: dict[str, list[str | int]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def image(self, path: str) -> Image:
        """Returns the image of a path."""
        if path not in self.files:
            return Image(raw=None)
        raw, mode = self.files[path]
        return Image(raw=base64.b64decode(str(raw)), mode=int(mode))

    def folders(self) -> set[Path]:
        """The folders that held something."""
        return {folder for path in self.files for folder in Path(path).parents}


def take(roots: Sequence[Path]) -> PlainFiles | None:
    """All files and links below *roots* but version control's own; None if they are too many or too large."""
    plain = PlainFiles()
    size = 0
    for root in roots:
        for at, folders, names in os.walk(
            root, onerror=lambda error: _leave_out(plain, error.filename, error)
        ):
            folders[:] = [each for each in folders if each not in INTERNAL]
            for name in (*names, *(each for each in folders if os.path.islink(os.path.join(at, each)))):
                path = Path(at, name)
                try:
                    raw, mode = _read_path(path)
                except files.TooLargeError:
                    return None
                except files.NotPlainError:
                    plain.left_out[os.fspath(path)] = "it is a pipe, a socket or a device"
                except OSError as error:
                    _leave_out(plain, os.fspath(path), error)
                else:
                    size += len(raw)
                    if len(plain.files) >= LIMIT_FILES or size > LIMIT_BYTES:
                        return None
                    plain.files[os.fspath(path)] = [base64.b64encode(raw).decode("ascii"), mode]
    return plain


def _read_path(path: Path) -> tuple[bytes, int]:
    """Returns the bytes and mode of a file, or the target of a link."""
    if path.is_symlink():
        return os.fsencode(os.readlink(path)), LINK
    there = files.read(path, LIMIT_BYTES)
    return there.raw, there.mode


def _leave_out(plain: PlainFiles, path: str, error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        plain.left_out[path] = reason(error)[0]
