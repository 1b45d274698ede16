"""
A bare git repository that is ours alone: objects and refs on disk, written in process.

What `write` was given is on the disk before it returns, so a ref can never name what a crash has lost, and
a ref changes at once or not at all. Folders are 0700 and files 0600 whatever the umask; plain git can read
everything, and its own housekeeping keeps those modes. What the objects mean is decided in `shadow_record`.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from dulwich.errors import FileFormatException
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile
from dulwich.refs import DiskRefsContainer, Ref

from handrail.adapters import files
from handrail.ports import CheckpointError

Object = TypeVar("Object", bound=ShaFile)

# What git shows without being told which ref; `fsck` wants it among the heads.
NEWEST = "refs/heads/newest"

# `sharedRepository` is git's way to say which modes files get; nothing is thrown away behind our back.
CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tsharedRepository = 0600
\tlogAllRefUpdates = false
[gc]
\tauto = 0
"""

FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/handrail/turns")

OBJECT_ID = re.compile(rb"[0-9a-f]{40}")
COMPRESSION = 1  # a checkpoint is waited for; packing makes up for it later


class Store:
    """The repository in *folder*, which need not be there until something is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._objects = DiskObjectStore(folder / "objects")
        self._refs = DiskRefsContainer(folder)

    def make(self, state: Path) -> None:
        """Make the repository, complete or not at all, and the folders down to it from *state*."""
        if (self.folder / "HEAD").exists():
            return
        self.make_home(state)
        new = self.folder.with_name(f"{self.folder.name}.{secrets.token_hex(8)}")
        try:
            for folder in FOLDERS:
                _make_folders(new.parent, new / folder)
            _write(new / "config", CONFIG.encode())
            _write(new / "HEAD", f"ref: {NEWEST}\n".encode())
            os.rename(new, self.folder)
        except OSError:
            shutil.rmtree(new, ignore_errors=True)
            if not (self.folder / "HEAD").exists():  # else another server was quicker, with the same
                raise
        files.sync_folder(self.folder.parent)

    def make_home(self, state: Path) -> None:
        """Make the folder that the repository lies in, and those down to it from *state*."""
        os.makedirs(state, mode=0o700, exist_ok=True)
        _make_folders(state, self.folder.parent)

    def write(self, objects: Iterable[ShaFile]) -> None:
        """Bring *objects* to the disk; those that are there already are left alone."""
        folders = set()
        for each in objects:
            name = each.id.decode()
            folder = self.folder / "objects" / name[:2]
            if (folder / name[2:]).exists():
                continue
            if not folder.exists():
                _make_folders(folder.parent, folder)
                folders.add(folder.parent)
            temporary = folder / f"tmp_obj_{secrets.token_hex(8)}"  # git sweeps up what begins like this
            try:
                _write(temporary, each.as_legacy_object(COMPRESSION))
                os.rename(temporary, folder / name[2:])
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
            folders.add(folder)
        for folder in folders:
            files.sync_folder(folder)

    def point(self, ref: str, commit: ObjectID) -> None:
        """Make *ref* name *commit*."""
        path = self.folder / ref
        _make_folders(self.folder, path.parent)  # git removes them when it packs refs
        temporary = self.folder / f"ref-{secrets.token_hex(8)}"  # a stray file below refs/ would be a bad ref
        try:
            _write(temporary, commit + b"\n")
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        files.sync_folder(path.parent)

    def target(self, ref: str) -> ObjectID | None:
        """The commit that *ref* names, None if there is no such ref. Raises CheckpointError on damage."""
        name = Ref(ref.encode())
        try:
            found = self._refs.read_loose_ref(name)
            found = self._refs.get_packed_refs().get(name) if found is None else found
        except NotADirectoryError:
            return None
        except (FileFormatException, ValueError) as error:
            raise CheckpointError(
                f"The checkpoint is damaged: the refs of {self.folder} cannot be read."
            ) from error
        if found is not None and not OBJECT_ID.fullmatch(found):
            raise CheckpointError(f"The checkpoint is damaged: {ref} of {self.folder} names no commit.")
        return None if found is None else ObjectID(found)

    def names(self, base: str) -> Sequence[str]:
        """The names of the refs below *base*, without it."""
        try:
            found = self._refs.subkeys(Ref(base.encode()))
        except NotADirectoryError:
            return []
        return sorted(name.decode("utf-8", "replace") for name in found)

    def read(self, kind: type[Object], name: ObjectID) -> Object:
        """The object *name*, whole and genuine. Raises CheckpointError if it is not."""
        try:
            number, raw = self._objects.get_raw(name)
            found = ShaFile.from_raw_string(number, raw)
            genuine = found.id == name
        except (KeyError, OSError, zlib.error, FileFormatException, ValueError, AssertionError) as error:
            raise self._damaged(name) from error
        if not isinstance(found, kind) or not genuine:
            raise self._damaged(name)
        return found

    def _damaged(self, name: bytes) -> CheckpointError:
        shown = name.decode("ascii", "replace")
        return CheckpointError(f"The checkpoint is damaged: object {shown} of {self.folder} cannot be read.")

    def close(self) -> None:
        """Let go of the packs that were read."""
        self._objects.close()


def _make_folders(base: Path, folder: Path) -> None:
    """Make *folder* and what is missing between it and *base*; all of them are ours alone."""
    for part in [*reversed(folder.relative_to(base).parents[:-1]), folder.relative_to(base)]:
        try:
            os.mkdir(base / part, 0o700)
        except FileExistsError:
            if not (base / part).is_dir():
                raise
        os.chmod(base / part, 0o700)


def _write(path: Path, raw: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | files.BINARY, 0o600)
    try:
        os.chmod(path, 0o600)
        files.fill(handle, raw)
    finally:
        os.close(handle)
