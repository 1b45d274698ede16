"""
Translate disk errors into failures for people and models.

Every failure says whether anything was changed, and what to do next. The caller adds the document.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from handrail.adapters.files import files, lock, paths, scan
from handrail.core.documents.text import IF_TOO_LARGE, LARGEST
from handrail.core.failure import Code, Failure

# What went wrong, in words, and what to do about it.
REASONS: dict[int, tuple[str, str]] = {
    errno.EACCES: ("permission is denied", "Change the permissions of the file or its folder."),
    errno.EPERM: ("the system does not permit it", "Check the file's owner and attributes."),
    errno.EROFS: ("the file system is read-only", "Use a folder that you can write to."),
    errno.ENOSPC: ("the disk is full", "Free some space and try again."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space and try again."),
    errno.EFBIG: (
        "the file would be too large",
        "Write less, or raise the system's limit for the size of files (`ulimit -f`).",
    ),
    errno.ENAMETOOLONG: ("the name is too long", "Choose a shorter name."),
    errno.ENOTDIR: ("part of its path is a file, not a folder", "Choose another path."),
    errno.EISDIR: ("it is a folder", "Name a file in that folder."),
    errno.ELOOP: ("its symbolic links form a loop", "Fix the links."),
    errno.EBUSY: ("another program is using it", "Try again when that program has finished."),
    errno.ETXTBSY: ("it is a running program", "Try again when it has ended."),
    errno.EIO: ("the device reported an error", "Check the disk."),
}
# The errors whose cause the model can avoid by itself: with another path, less text, or at another time.
FOR_THE_MODEL = frozenset(
    (
        errno.EROFS,
        errno.EFBIG,
        errno.ENAMETOOLONG,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ELOOP,
        errno.EBUSY,
        errno.ETXTBSY,
    )
)


def reason(error: OSError) -> tuple[str, str]:
    """Returns why the system refused, as words for the middle of a sentence, and what to do about it."""
    words = (error.strerror or type(error).__name__).lower()
    return REASONS.get(error.errno or 0, (words, "Fix the cause and try again."))


def in_words(error: Exception) -> str:
    """Returns why something failed, and at which file, as words for the end of a sentence."""
    if not isinstance(error, OSError):
        return str(error).rstrip(".")
    named = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    return f"{named}: {reason(error)[0]}" if named else reason(error)[0]


def not_on_disk() -> Failure:
    """The URI names nothing that a disk could hold."""
    return Failure(
        code=Code.NO_SUCH_FILE,
        message="This is neither a file on this machine nor an open document.",
        steps=("Give the path of a file.",),
    )


def in_folders(failed: Failure, uri: str, roots: Sequence[Path]) -> Failure:
    """Returns a failure of this module that names its file by the path in the workspace folders *roots*."""
    path = files.path_of(uri)
    if path is None or not roots:
        return failed.with_uri(uri)
    try:
        real = os.path.realpath(path)
        reals = [Path(os.path.realpath(root)) for root in roots]
    except OSError:  # something became a link, or ceased to be one, while it was followed
        return failed.with_uri(uri)
    shown, name = paths.shown_path(real, reals, paths.root_names(roots)), files.show_name(Path(real))
    begin = "The file " if failed.message.startswith(f"The file {name} ") else ""
    is_named = failed.message.startswith(f"{begin}{name} ") and paths.inside(real, reals) is not None
    if not is_named or not shown.endswith(name):
        return failed.with_uri(uri)
    message = f"{begin}{shown}{failed.message[len(begin) + len(name) :]}"
    return replace(failed, message=message).with_uri(uri)


def unreadable(path: Path, error: OSError) -> Failure:
    """
    Returns why there is no text: `no-such-file`, `unreadable-file`, `too-large`, or `bad-arguments` for a
    folder.
    """
    name = files.show_name(path)
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return Failure(
                code=Code.NO_SUCH_FILE,
                message=f"The file {name} does not exist.",
                steps=("Check the path, or list the folder.",),
            )
        case IsADirectoryError():
            return Failure(
                code=Code.BAD_ARGUMENTS,
                message=f"{name} is a folder, not a file.",
                steps=("Name a file in that folder.",),
            )
        case files.NotPlainError():
            return Failure(
                code=Code.UNREADABLE,
                message=f"{name} is a pipe, socket or device, not a file.",
                steps=("Name another file.",),
            )
        case files.TooLargeError():
            return Failure(
                code=Code.TOO_LARGE,
                message=f"The file has {error.size:,} bytes; {LARGEST}",
                steps=(IF_TOO_LARGE,),
            )
        case _:
            words, step = reason(error)
            is_impossible = error.errno == errno.ENAMETOOLONG  # so there can be no such file
            return Failure(
                code=Code.NO_SUCH_FILE if is_impossible else Code.UNREADABLE,
                message=f"{name} cannot be read: {words}.",
                steps=_steps(error, step),
            )


def unwritable(path: Path, error: OSError) -> Failure:
    """The system refused to write, create or remove, or another program has locked the folder."""
    if isinstance(error, lock.HeldError):
        return _lock_failure(path, error)
    words, step = reason(error)
    if isinstance(error, lock.NoLockError):
        words = f"neither its folder nor a file in the state folder can be locked ({words})"
        step = "Set XDG_STATE_HOME to a writable folder on a local disk."
    return Failure(
        code=Code.EDIT_REJECTED,
        message=f"{files.show_name(path)} cannot be changed: {words}. Nothing was changed.",
        steps=_steps(error, step),
    )


def _steps(error: OSError, step: str) -> tuple[str, ...]:
    """Returns what the model is to do next, where *step* removes the cause."""
    if error.errno in FOR_THE_MODEL and not isinstance(error, lock.NoLockError):
        return (step,)
    return (f"Only the user can fix this. Tell them: {step}", "Or continue without this file.")


def _lock_failure(path: Path, error: lock.HeldError) -> Failure:
    who = error.holder or "another program"
    return Failure(
        code=Code.BUSY,
        message=(
            f"{files.show_name(path)} cannot be changed now: {who} has kept the folder of this file "
            f"locked for {lock.WAIT_S:g} seconds. Nothing was changed."
        ),
        steps=("Try again.", f"If that fails too, tell the user that {who} keeps the folder locked."),
    )


def read_only(path: Path) -> Failure:
    """Someone has marked the file read-only."""
    return Failure(
        code=Code.EDIT_REJECTED,
        message=(
            f"{files.show_name(path)} was left unchanged, because it is read-only. To change it, make it "
            "writable first."
        ),
        steps=("Make it writable, then try again.", "Or leave it as it is."),
    )


def exists(path: Path) -> Failure:
    """A new file was to be made where something is."""
    return Failure(
        code=Code.FILE_EXISTS,
        message=f"{files.show_name(path)} already exists. It was left unchanged.",
        steps=("Read it, then edit it.", "Or choose another name."),
    )


def refuse_deletion(path: Path) -> Failure:
    """The file to be deleted is not the one that was judged."""
    return Failure(
        code=Code.STALE_DOCUMENT,
        message=f"{files.show_name(path)} has changed in the meantime, so it was not deleted.",
        steps=("Read the document again.", "Then delete it if you still want to."),
    )


def busy(path: Path) -> Failure:
    """The file changed each time just before it was to be written."""
    return Failure(
        code=Code.BUSY,
        message=f"Another program keeps writing {files.show_name(path)}. Nothing was changed.",
        steps=("Try again when that program has finished.",),
    )


def stale_file(path: Path) -> Failure:
    """Returns the failure for a file that has changed since the new contents were computed."""
    return Failure(
        code=Code.STALE_DOCUMENT,
        message=f"{files.show_name(path)} has changed in the meantime, so handrail did not change it.",
        steps=("Read it again.", "Then try again if you still want to."),
    )


def other_content(path: Path) -> Failure:
    """Returns the failure for a file that does not hold what was written."""
    return Failure(
        code=Code.NOT_AS_WRITTEN,
        message=f"{files.show_name(path)} was written, but another program has changed it since.",
        steps=("Read the document again.", "Then make your change again if it is missing."),
    )


def of_search(error: Exception) -> Failure:
    """Returns the failure of a search for the model."""
    if isinstance(error, scan.PatternError):
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"The pattern is not a valid regular expression: {error}.",
            steps=("Escape characters that you mean literally.",),
        )
    if isinstance(error, scan.SlowError):
        return Failure(
            code=Code.TIMED_OUT,
            message=str(error),
            steps=("Use a simpler pattern.", "Or search fewer files."),
        )
    return Failure(code=Code.TOOL_FAILED, message=f"The search could not be run: {error}.")
