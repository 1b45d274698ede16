"""
A bare git repository that is ours alone: objects and refs on disk, written in process.

What `write` was given is on the disk before a ref names it, and a ref changes at once or not at all: the
sync of the ref commits the names of the objects too, which is what git itself relies on. Folders are 0700
and files 0600 whatever the umask; plain git can read everything, and its own housekeeping keeps those modes.
What the objects mean is decided in `shadow_record`.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from dulwich.errors import FileFormatException
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile
from dulwich.refs import DiskRefsContainer, Ref

from handrail.adapters import files
from handrail.ports import CheckpointError

logger = logging.getLogger(__name__)

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

TEMPORARY_OBJECT = "tmp_obj_"  # git's own sweeping knows what begins like this
TEMPORARY_REF = "ref-"  # not below refs/, where it would be taken for a bad ref

BLOCK_BYTES = 4096  # of a file system: what a small file takes

OBJECT_ID = re.compile(rb"[0-9a-f]{40}")
SYNCS = 16  # at once
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
        """Bring *objects* to the disk; those that are there already, and sound, are left alone."""
        temporary: dict[Path, Path] = {}
        try:
            for each in objects:
                name = each.id.decode()
                folder = self.folder / "objects" / name[:2]
                path = folder / name[2:]
                if path in temporary or (path.exists() and self._is_sound(each)):
                    continue
                if not folder.exists():
                    _make_folders(folder.parent, folder)
                temporary[path] = folder / f"{TEMPORARY_OBJECT}{secrets.token_hex(8)}"
                _write(temporary[path], each.as_legacy_object(COMPRESSION), lasting=False)
            with ThreadPoolExecutor(SYNCS) as beside:  # the disk makes one of syncs that come together
                list(beside.map(_sync, temporary.values()))
            for path, written in temporary.items():
                os.replace(written, path)
        except BaseException:
            for written in temporary.values():
                with suppress(OSError):
                    os.unlink(written)
            raise

    def _is_sound(self, each: ShaFile) -> bool:
        try:
            self.read(type(each), each.id)
        except CheckpointError:
            return False
        return True

    def point(self, ref: str, commit: ObjectID, *, lasting: bool = True) -> None:
        """Make *ref* name *commit*; unless it is *lasting*, a crash of the system may undo that."""
        path = self.folder / ref
        _make_folders(self.folder, path.parent)  # git removes them when it packs refs
        temporary = self.folder / f"{TEMPORARY_REF}{secrets.token_hex(8)}"
        with _removed_on_failure(temporary):
            _write(temporary, commit + b"\n", lasting=lasting)
            os.replace(temporary, path)
        if lasting:
            files.sync_folder(path.parent)

    def unpoint(self, ref: str) -> None:
        """Remove *ref*, wherever it is kept."""
        self._refs.remove_if_equals(Ref(ref.encode()), None)

    def drop(self, names: Iterable[ObjectID]) -> None:
        """Remove objects that nothing names any more; those in packs stay until the next packing."""
        for name in names:
            (self.folder / "objects" / name[:2].decode() / name[2:].decode()).unlink(missing_ok=True)

    def has(self, name: ObjectID) -> bool:
        """Whether there is an object of that name."""
        return name in self._objects

    def size(self, name: ObjectID) -> int:
        """What a loose object takes on the disk; 0 for one in a pack."""
        path = self.folder / "objects" / name[:2].decode() / name[2:].decode()
        try:
            return -(-path.stat().st_size // BLOCK_BYTES) * BLOCK_BYTES
        except FileNotFoundError:
            return 0

    def loose(self) -> Iterator[ObjectID]:
        """The objects that have a file each."""
        return self._objects._iter_loose_objects()

    def repack(self, *, everything: bool) -> None:
        """
        Put what refs lead to into a pack, with git; without git nothing is packed.

        Args:
            everything: Make one pack of all, without what nothing names any more.
        """
        git = shutil.which("git")
        if git is None or not self.folder.exists():
            return
        self._objects.close()
        ended = subprocess.run(
            (
                git,
                "--git-dir",
                os.fspath(self.folder),
                "repack",
                "-d",
                "-q",
                *(("-a",) if everything else ()),
            ),
            capture_output=True,
            env={"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"},
            check=False,
        )
        if ended.returncode:
            logger.warning("Packing failed: %s", ended.stderr.decode("utf-8", "replace").strip())

    def sweep(self) -> None:
        """Remove what writers left that have died; for who is the only writer."""
        strays = [
            *self.folder.glob(f"objects/??/{TEMPORARY_OBJECT}*"),
            *self.folder.glob(f"{TEMPORARY_REF}*"),
        ]
        for stray in [*strays, *self.folder.glob("refs/**/*.lock"), *self.folder.glob("*.lock")]:
            stray.unlink(missing_ok=True)
        for stray in self.folder.parent.glob(f"{self.folder.name}.*"):  # half a repository
            shutil.rmtree(stray, ignore_errors=True)

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


@contextmanager
def _removed_on_failure(temporary: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _write(path: Path, raw: bytes, *, lasting: bool = True) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | files.BINARY, 0o600)
    try:
        os.chmod(path, 0o600)
        if lasting:
            files.fill(handle, raw)
        else:
            view = memoryview(raw)
            while view:
                view = view[os.write(handle, view) :]
    finally:
        os.close(handle)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR | files.BINARY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
