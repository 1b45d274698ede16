"""
Find what contained commands must not see or change in the workspace folders.

A folder is read again only if its modification time has changed, as it does when something appears in it or
is renamed. A folder that changed just before it was read may change again within the same tick of the file
system's clock, so it is read again the next time.

A folder that cannot be listed is hidden as a whole: a command that guesses the names in it could read the
files, and the folder's owner can open it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path

from handrail.adapters.files.failure import reason
from handrail.values import dataclass, field

LIMIT_FOLDERS = 100_000
# What package managers fill. What packages hold is published; only what lies directly in there is looked at.
INSTALLED = frozenset({"node_modules", ".venv", "venv", ".tox", ".nox", "vendor", ".bundle"})
TICK_NS = 50_000_000  # more than any file system's clock stands still


class Kind(Enum):
    """The kinds of paths in the workspace, by what a contained command may do with them."""

    OPEN = "open"
    SECRET = "secret"  # holds keys or passwords: nowhere seen
    ASKED = "asked"  # asked about before it is read; in folders that are dependencies it is harmless
    LATER = "later"  # runs later: not written
    KEPT = "kept"  # version control's own
    SPECIAL = "special"  # a socket or FIFO: behind it may be a program with all rights
    OWN = "own"  # ours: hidden, and made by us at any time
    LINK = "link"  # a link by a name that would be hidden or kept; nothing can lie over it
    ABOVE = "above"  # what is in a folder of this name may run later; only a new link is not open
    CLOSED = "closed"  # a folder that cannot be listed: nobody knows what is in it


LINKS = frozenset({Kind.LINK, Kind.ABOVE})


class CannotSearchError(Exception):
    """The workspace cannot be searched; the text says why, for people."""


@dataclass(frozen=True, slots=True)
class Marked:
    """
    A path that is hidden or kept.

    Attributes:
        is_named: Whether it is by its own name; else a link of such a name leads there, or another file of
            such a name is the same.
        depth: How many of its last names make it so: two if its folder's name counts too.
    """

    path: str
    kind: Kind
    is_folder: bool
    is_named: bool = True
    depth: int = 1

    @property
    def effective_in(self) -> str:
        """The folder in which it takes effect."""
        folder = os.path.dirname(self.path)
        return folder if self.depth == 1 else os.path.dirname(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """
    Where the folders of the workspace were at some time.

    Attributes:
        then: The numbers of the folders' files.
        gone: The same for folders that were no longer there by then.
    """

    then: Mapping[str, _Folder] = field(default_factory=dict)
    gone: Mapping[str, int] = field(default_factory=dict)

    def has_other_above(self, path: str) -> bool:
        """Whether any folder above *path* has taken the place of another one."""
        while path != (path := os.path.dirname(path)):
            was = self.then[path].inode if path in self.then else self.gone.get(path)
            if was is not None and (status := _stat(path)) is not None and status.st_ino != was:
                return True
        return False


@dataclass(slots=True)
class _Folder:
    modified: tuple[int, int, int]
    marked: tuple[Marked, ...]
    folders: tuple[str, ...]
    is_sure: bool
    links: tuple[str, ...] = ()  # only of a folder with secrets

    @property
    def inode(self) -> int:
        return self.modified[2]


@dataclass(kw_only=True)
class WorkspaceScan:
    """
    The workspace folders, looked through.

    Attributes:
        kind_of: What a path is, relative to its workspace folder.
    """

    kind_of: Callable[[Path], Kind]
    _known: dict[str, _Folder] = field(default_factory=dict)
    _remembered: Places = field(default_factory=Places)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def marked_paths(self, roots: Sequence[Path], opens: Callable[[str], bool] | None = None) -> list[Marked]:
        """
        All paths below *roots* but the open ones. Raises CannotSearchError.

        Args:
            opens: Opens a folder that cannot be listed, if that is right, and returns whether it did.
        """
        with self._lock:
            seen: dict[str, _Folder] = {}
            found = [each for root in roots for each in self._walk(os.path.realpath(root), seen, opens)]
            found += self._follow_links(found, [os.path.realpath(root) for root in roots], seen)
            self._known = seen
            return [*found, *_other_names(found, (at for at in seen if not at.endswith("/")))]

    def remember_places(self) -> Places:
        """Returns where the folders were when they were last looked through, and were before."""
        with self._lock:
            now, last = self._known, self._remembered
            left = {path: last.then[path].inode for path in last.then.keys() - now.keys()}
            gone = {**last.gone, **left} if len(last.gone) < LIMIT_FOLDERS else left
            self._remembered = Places(then=now, gone=gone if left else last.gone)
            return self._remembered

    def _walk(
        self, root: str, seen: dict[str, _Folder], opens: Callable[[str], bool] | None
    ) -> Iterator[Marked]:
        waiting = [root]
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            if len(seen) >= LIMIT_FOLDERS:
                raise CannotSearchError("the workspace has too many folders to search")
            try:
                folder = self._opened_folder(at, root, opens)
            except (FileNotFoundError, NotADirectoryError):  # it is gone
                continue
            except OSError as error:
                if _is_to_hide(at, root, error):
                    yield Marked(at, Kind.CLOSED, is_folder=True)
                continue
            seen[at] = folder
            yield from folder.marked
            if os.path.basename(at) not in INSTALLED:
                waiting += folder.folders

    def _follow_links(
        self, marked: Sequence[Marked], roots: Sequence[str], seen: dict[str, _Folder]
    ) -> list[Marked]:
        """
        Returns the paths in *roots* to which links lead.

        These are the links by the names of secrets or of version control, and all in folders with secrets.
        They are followed each time: what they lead to may change although their folder does not.
        """
        links = [
            (each.path, self._kind_of_link(each.path, roots)) for each in marked if each.kind is Kind.LINK
        ]
        secret = [each.path for each in marked if each.kind is Kind.SECRET and each.is_folder]
        result: dict[str, Marked] = {}
        while links or secret:
            if secret:
                inside = self._secret_folder(secret.pop(), seen)
                secret += inside.folders
                links += [(link, Kind.SECRET) for link in inside.links]
                continue
            link, kind = links.pop()
            target = os.path.realpath(link)
            if kind not in {Kind.SECRET, Kind.KEPT} or target in result or not _is_below(target, roots):
                continue
            if os.path.exists(target) and f"{os.path.dirname(target)}/" not in seen:
                is_folder = os.path.isdir(target)
                result[target] = Marked(target, kind, is_folder, is_named=False)
                secret += [target] if is_folder and kind is Kind.SECRET else []
        return list(result.values())

    def _kind_of_link(self, path: str, roots: Sequence[str]) -> Kind:
        root = next(root for root in roots if _is_below(path, [root]))
        return self.kind_of(Path(path[len(root) + 1 :]))

    def _secret_folder(self, at: str, seen: dict[str, _Folder]) -> _Folder:
        """Returns the entries of a folder with secrets: all are secrets. Raises CannotSearchError."""
        try:
            status = os.stat(at)
            modified = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            known = self._known.get(f"{at}/")
            if f"{at}/" in seen:
                return _Folder(modified, (), (), is_sure=True)
            if len(seen) >= LIMIT_FOLDERS:
                raise CannotSearchError("the workspace has too many folders to search")
            if known is None or known.modified != modified or not known.is_sure:
                is_sure = time.time_ns() - max(modified[:2]) > TICK_NS
                with os.scandir(at) as listed:
                    entries = list(listed)
                folders = tuple(each.path for each in entries if each.is_dir(follow_symlinks=False))
                links = tuple(each.path for each in entries if each.is_symlink())
                known = _Folder(modified, (), folders, is_sure, links)
        except OSError:  # it is hidden as a whole
            return _Folder((0, 0, 0), (), (), is_sure=False)
        seen[f"{at}/"] = known
        return known

    def _opened_folder(self, at: str, root: str, opens: Callable[[str], bool] | None) -> _Folder:
        try:
            return self._folder(at, root)
        except PermissionError:
            if opens is None or not opens(at):
                raise
        return self._folder(at, root)

    def _folder(self, at: str, root: str) -> _Folder:
        status = os.stat(os.path.join(at, "."))  # refused too if only the names in it can be read
        modified = (status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        known = self._known.get(at)
        if known is not None and known.modified == modified and known.is_sure:
            return known
        is_sure = time.time_ns() - max(modified[:2]) > TICK_NS
        is_later = at != root and self.kind_of(Path(at[len(root) + 1 :])) is Kind.LATER
        marked: list[Marked] = []
        folders: list[str] = []
        with os.scandir(at) as entries:
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                kind = self._kind(entry, is_folder=is_folder, root=root)
                if kind is Kind.ABOVE and not entry.is_symlink():
                    kind = Kind.OPEN
                if kind is not Kind.OPEN and not (is_later and kind is Kind.LATER):
                    is_pair = kind is not Kind.SPECIAL and self.kind_of(Path(entry.name)) is Kind.OPEN
                    if entry.is_symlink() and kind is not Kind.ABOVE:
                        kind = Kind.LINK
                    marked.append(Marked(entry.path, kind, is_folder, depth=2 if is_pair else 1))
                if is_folder and kind in {Kind.OPEN, Kind.LATER}:
                    folders.append(entry.path)
        return _Folder(modified, tuple(marked), tuple(folders), is_sure)

    def _kind(self, entry: os.DirEntry[str], *, is_folder: bool, root: str) -> Kind:
        if not is_folder and not entry.is_symlink() and not entry.is_file(follow_symlinks=False):
            return Kind.SPECIAL
        return self.kind_of(Path(entry.path[len(root) + 1 :]))


def _is_to_hide(folder: str, root: str, error: OSError) -> bool:
    """Whether a command could look into a folder that we cannot list. Raises CannotSearchError."""
    if not isinstance(error, PermissionError) or folder == root:
        raise CannotSearchError(f"{folder} cannot be searched: {reason(error)[0]}") from error
    status = _stat(folder)
    is_ours = status is not None and status.st_uid == os.geteuid()
    return is_ours or os.access(folder, os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _other_names(marked: Sequence[Marked], folders: Iterable[str]) -> Iterator[Marked]:
    """The other names that hidden files have in *folders*."""
    linked = {
        (stat.st_dev, stat.st_ino)
        for each in marked
        if each.kind is Kind.SECRET and not each.is_folder and (stat := _stat(each.path)) is not None
        if stat.st_nlink > 1
    }
    known = {each.path for each in marked}
    for folder in folders if linked else ():
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                stat = entry.stat(follow_symlinks=False)
                if (stat.st_dev, stat.st_ino) in linked and entry.path not in known:
                    yield Marked(entry.path, Kind.SECRET, is_folder=False, is_named=False)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
