"""
A bare git repository of our own: objects and refs on disk, written in process.

Written objects are on the disk before a ref names them, and a ref changes atomically: the sync of the ref
commits the names of the objects too, which is what git itself relies on. Only the ref of what is newest is
written over: it can be found out again. Folders are 0700 and files 0600 whatever the umask; plain git can
read everything, and its own housekeeping keeps those modes. Objects that are written together form one pack,
and small packs are joined: creating a file for each object would take longer than everything else. What the
objects mean is decided in `record`.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from dulwich.errors import FileFormatException
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile
from dulwich.refs import DiskRefsContainer, Ref

from handrail.adapters.checkpoints import pack, private
from handrail.adapters.checkpoints.pack import DAMAGE
from handrail.adapters.checkpoints.packs import Packs, Written, remove_caches
from handrail.adapters.files import files
from handrail.adapters.git import program
from handrail.ports import CheckpointError, LostCheckpointError
from handrail.values import dataclass

logger = logging.getLogger(__name__)

Object = TypeVar("Object", bound=ShaFile)

# What git shows without being told which ref; `fsck` wants it among the heads.
NEWEST = "refs/heads/newest"
HEAD = f"ref: {NEWEST}\n".encode()

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

PACK_S = 600.0  # for git to pack all that is kept
TEMPORARY = "new-"  # beside what git knows, so that nothing takes it for a bad ref, or for its own
SPARES = ("spare-0", "spare-1", "spare-2")  # empty files there, which the next writer names and fills


BLOCK_BYTES = 4096  # of a file system: what a small file takes
LINKS_BARE = 4  # of the folder of objects without loose ones, where links are counted: two folders and itself

OBJECT_ID = re.compile(rb"[0-9a-f]{40}")
REF = re.compile(OBJECT_ID.pattern + rb"\n")
REF_BYTES = 41


@dataclass(frozen=True, slots=True, kw_only=True)
class RefChange:
    """A ref is to name a commit; `is_newest` if git is to show that one first."""

    ref: str
    commit: ObjectID
    is_newest: bool


class Store:
    """The repository in *folder*, which need not be there until something is written."""

    def __init__(self, folder: Path, written: Written | None = None) -> None:
        self.folder, self._base = folder, os.fspath(folder)
        self._packs = Packs(self._path("objects/pack"), written)

    @cached_property
    def _objects(self) -> DiskObjectStore:
        return DiskObjectStore(self.folder / "objects")

    @cached_property
    def _refs(self) -> DiskRefsContainer:
        return DiskRefsContainer(self.folder)

    def make(self, state: Path) -> None:
        """Makes the repository, complete or not at all, and the folders down to it from *state*."""
        if self._is_made():
            return
        self.make_home(state)
        new = self.folder.with_name(f"{self.folder.name}.{secrets.token_hex(8)}")
        try:
            for folder in FOLDERS:
                private.make_folders(new.parent, new / folder)
            private.write(new / "config", CONFIG.encode())
            private.write(new / "HEAD", HEAD)
            os.rename(new, self.folder)
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            if (self.folder / "HEAD").exists():  # another server was quicker, with the same
                pass
            elif error.errno in (errno.ENOTEMPTY, errno.EEXIST) and self.folder.is_dir():
                self._complete()
            else:
                raise
        files.sync_folder(self.folder.parent)

    def _complete(self) -> None:
        """Makes what is missing in the folder, which was removed but for a part."""
        self._write_files({self._path("config"): CONFIG.encode()})
        for folder in FOLDERS:
            private.make_folders(self.folder.parent, self.folder / folder)
        self._write_files({self._path("HEAD"): HEAD})

    def _is_made(self) -> bool:
        """Returns whether the repository exists; repairs the files by which git recognises it."""
        head = self._path("HEAD")
        try:
            with open(head, "rb") as file:
                sound = file.read() == HEAD
        except FileNotFoundError:
            sound = False
        if not sound and (self.folder / "objects").is_dir():
            self._write_files({head: HEAD})
            sound = True
        return sound

    def make_home(self, state: Path) -> None:
        """Makes the folder that the repository lies in, and those down to it from *state*."""
        if not os.path.isdir(state):
            os.makedirs(state, mode=0o700, exist_ok=True)
        private.make_folders(state, self.folder.parent)

    def write(self, new: Iterable[pack.Entry], change: RefChange, gone: Set[ObjectID]) -> None:
        """
        Brings objects to the disk, and then has a ref name one of them.

        Args:
            new: All that the commit needs and that is not known to be there.
            change: What names the commit, from when on all is on the disk.
            gone: The objects that nothing refers to from then on.
        """
        entries = {entry.name: entry for entry in new}
        loose = gone | entries.keys()  # what is written again may have been damaged
        joined = self._packs.packs_to_join(sum(len(entry.raw) for entry in entries.values()), gone)
        for entry in (entry for each in joined.values() for entry in each):
            entries.setdefault(entry.name, entry)
        wanted = self._packs.files_of(entries.values())
        if change.is_newest:
            wanted[self._path(NEWEST)] = change.commit + b"\n"
        wanted[self._path(change.ref)] = change.commit + b"\n"
        self._write_files(wanted)
        try:
            for path in joined.keys() - wanted.keys():
                self._packs.remove(path)
            self._unlink(loose)
        except OSError:  # what is written counts; what is left over takes room, and a later step tries again
            logger.warning("Packs that are no longer needed could not be removed", exc_info=True)

    def show_first(self, commit: ObjectID) -> None:
        """Has git show *commit* unless it is told what to show."""
        self._write_files({self._path(NEWEST): commit + b"\n"})

    def _path(self, name: str) -> str:
        return f"{self._base}{os.sep}{name}"

    def _write_files(self, wanted: dict[str, bytes]) -> None:
        """Writes files, by path, atomically, in this order; when it returns, the last one is on the disk."""
        temporary: dict[str, str] = {}
        spares = iter([self._path(name) for name in SPARES])
        newest, start = self._path(NEWEST), self._path(f"{TEMPORARY}{secrets.token_hex(8)}-")
        try:
            with private.new_files() as handles:
                for path, raw in wanted.items():
                    if path != newest:
                        name = next(spares, "")
                        is_there = private.is_spare(name)
                        temporary[path] = name if is_there else f"{start}{len(temporary)}"
                        handles.append(private.open_new(temporary[path], raw, is_there=is_there))
                private.sync_together(handles)
            for path, raw in wanted.items():
                # What is newest can be found out again, see `housekeeping`: it need not be on the disk.
                if path == newest and not private.overwrite(path, raw):
                    temporary[path] = f"{start}{len(temporary)}"
                    with private.create(temporary[path], raw):
                        pass
                if path in temporary:
                    private.replace(temporary[path], path, self.folder)
        except BaseException:
            for written in temporary.values():
                with suppress(OSError):
                    os.unlink(written)
            raise
        files.sync_folder(os.path.dirname(path))
        private.prepare([self._path(name) for name in SPARES])

    def remove_ref(self, ref: str) -> None:
        """Removes *ref*, wherever it is kept."""
        self._refs.remove_if_equals(Ref(ref.encode()), None)

    def drop(self, names: Set[ObjectID]) -> None:
        """Removes objects that no ref needs; those in large packs stay until git packs again."""
        self._unlink(names)
        for path, left in self._packs.packs_without(names):
            if left:
                self._write_files(self._packs.files_of(left))
            self._packs.remove(os.fspath(path))

    def _unlink(self, names: Iterable[ObjectID]) -> None:
        base = self._path("objects")
        try:
            if os.stat(base).st_nlink == LINKS_BARE and os.path.isdir(self._path("objects/info")):
                return
            there = frozenset(os.listdir(base))  # we make no loose objects, so there are hardly ever some
        except FileNotFoundError:
            return
        for name in map(bytes.decode, names):
            if name[:2] in there and (path := Path(base, name[:2], name[2:])).exists():
                remove_caches(Path(base))
                path.unlink(missing_ok=True)

    def is_sound(self, each: ShaFile) -> bool:
        """Whether an object is there, whole and genuine."""
        from_disk = Store(self.folder)  # what this server remembers is of no use to others
        try:
            from_disk.read(type(each), each.id)
        except CheckpointError:
            return False
        finally:
            from_disk.close()
        return True

    def sizes(self) -> dict[ObjectID, int]:
        """All objects, and what each takes on the disk."""
        found = self._packs.sizes()
        for name in self.loose_objects():
            path = self.folder / "objects" / name[:2].decode() / name[2:].decode()
            with suppress(FileNotFoundError):
                found[name] = -(-path.stat().st_size // BLOCK_BYTES) * BLOCK_BYTES
        return found

    def loose_objects(self) -> Iterator[ObjectID]:
        """The objects that have a file each."""
        with suppress(FileNotFoundError):  # someone has removed the folder
            yield from self._objects._iter_loose_objects()

    def repack(self) -> None:
        """Has git make one pack of all that refs lead to, and removes the rest; for the one writer."""
        self._objects.close()
        remove_caches(self.folder / "objects")
        self._git("repack", "-a", "-d", "-q")

    def pack_beside(self) -> Path | None:
        """Has git make one pack of all that refs lead to, and removes nothing; None if it could not."""
        base = self.folder / "objects" / "pack"
        said = self._git("pack-objects", "--all", "--non-empty", "-q", "--delta-base-offset", f"{base}/pack")
        files.sync_folder(base)
        return base / f"pack-{said}.pack" if said else None

    def retire(self, made: Path, before: Iterable[Path], needed: Set[ObjectID]) -> None:
        """Removes those of the packs *before* whose *needed* objects are all in the pack *made*."""
        held = self._packs.retire(made, before, needed)
        self._unlink(held & set(self.loose_objects()))

    def _git(self, *args: str) -> str | None:
        """
        Returns the output of git; None, and a line in the log, if git is missing, fails or takes too long.
        """
        if not program.find() or not self.folder.exists():
            return None
        git = program.Git(limit_s=PACK_S, gives_way=True)
        try:
            ended = git.run(self.folder, f"--git-dir={self.folder}", *args)
        except (OSError, program.LateError) as error:
            logger.warning("Packing failed: %s", error)
            return None
        if ended.returncode:
            logger.warning("Packing failed: %s", ended.stderr.decode("utf-8", "replace").strip())
            return None
        return ended.stdout.decode("ascii").strip()

    def sweep(self) -> None:
        """Removes what writers left that have died; for who is the only writer."""
        strays = [
            *self.folder.glob(f"{TEMPORARY}*"),
            *self.folder.glob("refs/**/*.lock"),
            *self.folder.glob("*.lock"),
        ]
        for stray in strays:
            stray.unlink(missing_ok=True)
        for stray in self.folder.parent.glob(f"{self.folder.name}.*"):  # half a repository
            shutil.rmtree(stray, ignore_errors=True)

    def target(self, ref: str) -> ObjectID | None:
        """
        Returns the commit that *ref* names; None if the ref does not exist. Raises CheckpointError on damage.
        """
        path = self._path(ref)
        try:
            with open(path, "rb", buffering=0) as file:
                raw = file.read(REF_BYTES + 1)
        except (OSError, ValueError):
            raw = b""
            if not os.path.lexists(path) and not os.path.lexists(self._path("packed-refs")):
                return None
        if REF.fullmatch(raw):
            return ObjectID(raw[:-1])
        name = Ref(ref.encode())  # git has packed it, or it is damaged
        try:
            found = self._refs.read_loose_ref(name)
            found = self._refs.get_packed_refs().get(name) if found is None else found
        except NotADirectoryError:
            return None
        except (FileFormatException, ValueError) as error:
            raise LostCheckpointError(
                f"The checkpoint is damaged: the refs of {self.folder} cannot be read."
            ) from error
        if found is not None and not OBJECT_ID.fullmatch(found):
            raise LostCheckpointError(
                f"The checkpoint is damaged: {ref} of {self.folder} does not name a commit."
            )
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
            number, raw = self._raw(name)
            found = ShaFile.from_raw_string(number, raw, name)
        except DAMAGE as error:
            is_lost = not isinstance(error, OSError)  # which may pass
            error_class = LostCheckpointError if is_lost else CheckpointError
            raise error_class(self._describe_damage(name)) from error
        if not isinstance(found, kind):
            raise LostCheckpointError(self._describe_damage(name))
        return found

    def _raw(self, name: ObjectID) -> tuple[int, bytes]:
        """The kind and content of an object, genuine; a damaged pack does not hide what others hold."""
        if (found := self._packs.find(name)) is not None:
            return found
        try:
            return pack.genuine(name, *self._objects.get_raw(name))
        except DAMAGE:
            if (found := self._packs.search(name)) is not None:
                return found
            loose = self._objects._get_loose_object(name)
            if loose is None:
                raise
            return pack.genuine(name, loose.type_num, loose.as_raw_string())

    def _describe_damage(self, name: bytes) -> str:
        shown = name.decode("ascii", "replace")
        return f"The checkpoint is damaged: object {shown} of {self.folder} cannot be read."

    def close(self) -> None:
        """Lets go of the packs that were read."""
        if "_objects" not in vars(self):
            return
        with suppress(BufferError):  # an error on its way still looks into a damaged one, which goes with it
            self._objects.close()
