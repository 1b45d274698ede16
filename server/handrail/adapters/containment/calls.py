"""Answer the system calls of a command that writes, according to its rules; see `gate` for why and how."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

from handrail.adapters.containment import enter
from handrail.adapters.containment.notify import AT_FDCWD, Answer, Call, kernel_path, magic, open_path
from handrail.adapters.containment.permissions import Permissions
from handrail.adapters.containment.pool import Pool

AT_SYMLINK_NOFOLLOW, AT_REMOVEDIR, AT_SYMLINK_FOLLOW = 0x100, 0x200, 0x400
TMPFILE = os.O_TMPFILE & ~os.O_DIRECTORY
NOBODY = 0xFFFFFFFF  # an owner that stays
TIMES_BYTES = 32
OF_THE_SYSTEM = ("/usr/", "/lib", "/etc/", "/bin/", "/opt/", "/dev/null", "/sys/")  # opened all the time

GO_ON, DONE = Answer(goes_on=True), Answer()


def refusal(number: int = errno.EPERM) -> Answer:
    """The answer of a call that fails."""
    return Answer(error=number)


class NotHandled(Exception):  # no error: the kernel decides
    """A call is about something that this program does nothing about."""


class Gate:
    """Answers calls by *rules*; what is made is taken from *pool*, as far as that lasts."""

    def __init__(self, rules: Permissions, pool: Pool) -> None:
        self.rules, self.pool = rules, pool
        areas = tuple(rules.areas)
        self.elsewhere = tuple(
            each for each in OF_THE_SYSTEM if not any(path.startswith(each) for path in areas)
        )
        numbers = enter.numbers_of(enter.GATED, platform.machine())
        self._calls: dict[int, Callable[[Call], Answer]] = {
            number: getattr(self, f"_{name}") for name, number in numbers.items()
        }

    def answer(self, call: Call) -> Answer:
        """Returns the answer to a call."""
        try:
            return self._calls[call.number](call)
        except NotHandled:
            return GO_ON
        except OSError as error:
            return refusal(error.errno or errno.EFAULT)

    # ---- Paths -------------------------------------------------------------------------------------

    def _path(self, call: Call, index: int, folder: int | None = None, *, follows: bool = False) -> str:
        """The path without links that an argument leads to. Raises Elsewhere, OSError."""
        raw = call.path(index)
        if not raw:
            raise NotHandled
        if raw.startswith(self.elsewhere):
            raise NotHandled
        for begins in ("/proc/self/", "/proc/thread-self/", "/dev/fd/"):
            if raw.startswith(begins):
                raw = f"/proc/{call.thread}/{'fd/' * (begins == '/dev/fd/')}{raw[len(begins) :]}"
        whole = raw if raw.startswith("/") else os.path.join(call.folder(folder), raw)
        at, name = os.path.split(whole.rstrip("/"))
        if follows:
            return os.path.realpath(whole)
        if name in {"", ".", ".."}:
            raise NotHandled
        return os.path.join(os.path.realpath(at), name)

    @contextmanager
    def _open_parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The folder that holds *path*, opened, and the name in it. Raises Elsewhere, OSError."""
        folder, name = os.path.split(path)
        with open_path(folder) as at:
            if kernel_path(at) != folder:  # it was moved since
                raise NotHandled
            yield at, name

    @contextmanager
    def _open_parent_to_change(self, path: str) -> Iterator[tuple[int, str]]:
        """The same for what may be made or taken away. Raises Elsewhere, OSError."""
        if self.rules.is_allowed(os.path.dirname(path)) or not self.rules.may_change_entry(path):
            raise NotHandled
        with self._open_parent(path) as handle:
            yield handle

    # ---- Opening -----------------------------------------------------------------------------------

    def _open(self, call: Call) -> Answer:
        return self._open_path(call, 0, None)

    def _openat(self, call: Call) -> Answer:
        return self._open_path(call, 1, 0)

    def _creat(self, call: Call) -> Answer:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        return self._open_path(call, 0, None, (flags, call.arguments[1]))

    def _open_path(
        self, call: Call, index: int, folder: int | None, how: tuple[int, int] | None = None
    ) -> Answer:
        flags, mode = how or (call.descriptor(index + 1), call.arguments[index + 2])
        if flags & (os.O_PATH | os.O_DIRECTORY) and not flags & TMPFILE:
            raise NotHandled
        makes_new = flags & os.O_CREAT and flags & os.O_EXCL
        path = self._path(call, index, folder, follows=not (flags & os.O_NOFOLLOW or makes_new))
        writes = flags & (os.O_ACCMODE | os.O_TRUNC)
        may = self.rules.may_write if writes else self.rules.may_read
        if not may(path) or self.rules.is_allowed(path):
            raise NotHandled
        if flags & TMPFILE:
            return refusal(errno.EOPNOTSUPP)  # programs then use a name
        with self._open_parent(path) as (at, name):
            try:
                opened = self._open_existing(name, at, flags)
            except FileNotFoundError:
                if not flags & os.O_CREAT:
                    return refusal(errno.ENOENT)
                if not self.rules.may_change_entry(path):
                    raise NotHandled from None
                opened = self._new(name, at, flags, mode & 0o7777 & ~call.umask())
        return Answer(opened=opened, closes=bool(flags & os.O_CLOEXEC))

    def _new(self, name: str, at: int, flags: int, mode: int) -> int:
        """A file that was not there, opened. Raises OSError."""
        if (opened := self.pool.file(at, name, flags, mode)) >= 0:
            return opened
        return os.open(name, flags | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=at)

    def _open_existing(self, name: str, at: int, flags: int) -> int:
        """A file that is there, opened. Raises Elsewhere, OSError."""
        with open_path(name, at=at) as handle:
            known = os.fstat(handle)
            if not stat.S_ISREG(known.st_mode) or (known.st_dev, known.st_ino) in self.rules.files:
                raise NotHandled
            if flags & os.O_CREAT and flags & os.O_EXCL:
                raise FileExistsError(errno.EEXIST, name)
            return os.open(magic(handle), flags & ~(os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) | os.O_CLOEXEC)

    def _truncate(self, call: Call) -> Answer:
        path = self._path(call, 0, follows=True)
        if self.rules.is_allowed(path) or not self.rules.may_write(path):
            raise NotHandled
        with self._open_parent(path) as (at, name):
            opened = self._open_existing(name, at, os.O_WRONLY)
        try:
            os.ftruncate(opened, ctypes.c_long(call.arguments[1]).value)
        finally:
            os.close(opened)
        return DONE

    # ---- Making, moving and removing ---------------------------------------------------------------

    def _mkdir(self, call: Call) -> Answer:
        return self._make(call, self._path(call, 0), call.arguments[1])

    def _mkdirat(self, call: Call) -> Answer:
        return self._make(call, self._path(call, 1, 0), call.arguments[2])

    def _make(self, call: Call, path: str, mode: int) -> Answer:
        with self._open_parent_to_change(path) as (at, name):
            allowed = mode & 0o7777 & ~call.umask()
            if not self.pool.folder(at, name, allowed):
                os.mkdir(name, allowed, dir_fd=at)
        return DONE

    def _rmdir(self, call: Call) -> Answer:
        return self._remove(self._path(call, 0), is_folder=True)

    def _unlink(self, call: Call) -> Answer:
        return self._remove(self._path(call, 0), is_folder=False)

    def _unlinkat(self, call: Call) -> Answer:
        return self._remove(self._path(call, 1, 0), is_folder=bool(call.arguments[2] & AT_REMOVEDIR))

    def _remove(self, path: str, *, is_folder: bool) -> Answer:
        with self._open_parent_to_change(path) as (at, name):
            os.rmdir(name, dir_fd=at) if is_folder else os.unlink(name, dir_fd=at)
        return DONE

    def _rename(self, call: Call) -> Answer:
        return self._move(self._path(call, 0), self._path(call, 1), 0)

    def _renameat(self, call: Call) -> Answer:
        return self._move(self._path(call, 1, 0), self._path(call, 3, 2), 0)

    def _renameat2(self, call: Call) -> Answer:
        return self._move(self._path(call, 1, 0), self._path(call, 3, 2), call.arguments[4])

    def _move(self, path: str, to: str, flags: int) -> Answer:
        with self._pair(path, to) as (at, name, beside, new):
            number = enter.numbers_of(enter.GATED, platform.machine())["renameat2"]
            raw = os.fsencode(name), os.fsencode(new)
            _check(enter.libc.syscall(number, at, raw[0], beside, raw[1], ctypes.c_uint(flags)))
        return DONE

    def _link(self, call: Call) -> Answer:
        return self._make_link(self._path(call, 0), self._path(call, 1))

    def _linkat(self, call: Call) -> Answer:
        follows = bool(call.arguments[4] & AT_SYMLINK_FOLLOW)
        return self._make_link(self._path(call, 1, 0, follows=follows), self._path(call, 3, 2))

    def _make_link(self, path: str, to: str) -> Answer:
        with self._pair(path, to) as (at, name, beside, new):
            with open_path(name, at=at) as handle:
                known = os.fstat(handle)
            if (known.st_dev, known.st_ino) in self.rules.files:
                raise NotHandled
            os.link(name, new, src_dir_fd=at, dst_dir_fd=beside, follow_symlinks=False)
        return DONE

    @contextmanager
    def _pair(self, path: str, to: str) -> Iterator[tuple[int, str, int, str]]:
        """Two names that may be made or taken away, in their folders. Raises Elsewhere, OSError."""
        allowed = [self.rules.is_allowed(os.path.dirname(each)) for each in (path, to)]
        if all(allowed) or not (self.rules.may_change_entry(path) and self.rules.may_change_entry(to)):
            raise NotHandled
        with ExitStack() as folders:
            yield (
                *folders.enter_context(self._open_parent(path)),
                *folders.enter_context(self._open_parent(to)),
            )

    def _symlink(self, call: Call) -> Answer:
        return self._make_symlink(call.path(0), self._path(call, 1))

    def _symlinkat(self, call: Call) -> Answer:
        return self._make_symlink(call.path(0), self._path(call, 2, 1))

    def _make_symlink(self, target: str, path: str) -> Answer:
        with self._open_parent_to_change(path) as (at, name):
            os.symlink(target, name, dir_fd=at)
        return DONE

    # ---- Modes, times and owners -------------------------------------------------------------------

    def _chmod(self, call: Call) -> Answer:
        return self._with_mode(self._path_to_change(call, 0, None), call.arguments[1])

    def _fchmodat(self, call: Call) -> Answer:
        return self._with_mode(self._path_to_change(call, 1, 0), call.arguments[2])

    def _fchmodat2(self, call: Call) -> Answer:
        follows = not call.arguments[3] & AT_SYMLINK_NOFOLLOW
        return self._with_mode(self._path_to_change(call, 1, 0, follows=follows), call.arguments[2])

    def _fchmod(self, call: Call) -> Answer:
        return self._with_mode(self._open_file(call, 0), call.arguments[1])

    def _with_mode(self, changed: AbstractContextManager[int], mode: int) -> Answer:
        with changed as handle:
            if stat.S_ISLNK(os.fstat(handle).st_mode):
                return refusal(errno.EOPNOTSUPP)
            os.chmod(magic(handle), mode & 0o7777)
        return DONE

    def _utimensat(self, call: Call) -> Answer:
        times = call.bytes_at(2, TIMES_BYTES) if call.arguments[2] else None
        if call.arguments[1] == 0:
            changed = self._open_file(call, 0)
        else:
            follows = not call.arguments[3] & AT_SYMLINK_NOFOLLOW
            changed = self._path_to_change(call, 1, 0, follows=follows)
        number = enter.numbers_of(enter.GATED, platform.machine())["utimensat"]
        with changed as handle:
            _check(enter.libc.syscall(number, AT_FDCWD, os.fsencode(magic(handle)), times, 0))
        return DONE

    def _chown(self, call: Call) -> Answer:
        return _keep_owner(call.arguments[1:3])

    _lchown = _fchown = _chown

    def _fchownat(self, call: Call) -> Answer:
        return _keep_owner(call.arguments[2:4])

    @contextmanager
    def _path_to_change(
        self, call: Call, index: int, folder: int | None, *, follows: bool = True
    ) -> Iterator[int]:
        """Opens what is at a path, if it may be changed. Raises OSError."""
        try:
            path = self._path(call, index, folder, follows=follows)
        except NotHandled:
            raise PermissionError(errno.EPERM, "closed") from None
        with open_path(path) as handle:
            self._check(handle)
            yield handle

    @contextmanager
    def _open_file(self, call: Call, index: int) -> Iterator[int]:
        """Opens the file that the caller has open, if it may be changed. Raises OSError."""
        handle = os.open(f"/proc/{call.thread}/fd/{call.descriptor(index)}", os.O_PATH | os.O_CLOEXEC)
        try:
            self._check(handle)
            yield handle
        finally:
            os.close(handle)

    def _check(self, handle: int) -> None:
        """Raises an OSError if what is open must stay as it is."""
        known = os.fstat(handle)
        has_name = known.st_nlink > 0 and kernel_path(handle).startswith("/")
        is_closed = (known.st_dev, known.st_ino) in self.rules.files
        if is_closed or (has_name and not self.rules.may_write(kernel_path(handle))):
            raise PermissionError(errno.EPERM, "closed")


def _keep_owner(owners: Sequence[int]) -> Answer:
    """Nothing is done to an owner that stays, and no other can be given."""
    own = {NOBODY, os.geteuid()}, {NOBODY, os.getegid()}
    stays = all(each & NOBODY in known for each, known in zip(owners, own, strict=True))
    return DONE if stays else refusal()


def _check(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
