"""
What an error of the disk means for a person or a model: the failures of `disk`, in words.

Every failure says whether anything was changed, and what to do next. Which document it is about is added
by the caller.
"""

from __future__ import annotations

import errno
from pathlib import Path

from handrail.adapters.files import files, lock, scan
from handrail.core.documents.text import LIMIT_BYTES
from handrail.core.failure import Code, Failure

# What went wrong, in words, and what to do about it.
REASONS: dict[int, tuple[str, str]] = {
    errno.EACCES: ("permission is denied", "Give this user the right to do so."),
    errno.EPERM: ("the system does not permit it", "Check the file's owner and attributes."),
    errno.EROFS: ("the file system is read-only", "Work in a folder that can be written."),
    errno.ENOSPC: ("the disk is full", "Free some space and try again."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space and try again."),
    errno.EFBIG: ("the file would be too large", "Raise the limit for file sizes, or write less."),
    errno.ENAMETOOLONG: ("the name is too long", "Choose a shorter name."),
    errno.ENOTDIR: ("a part of its path is a file, not a folder", "Choose another path."),
    errno.EISDIR: ("it is a folder", "Name a file in it."),
    errno.ELOOP: ("its symbolic links lead in a circle", "Repair the links."),
    errno.EBUSY: ("another program holds it", "Try again when that program is done."),
    errno.ETXTBSY: ("it is a program that is running", "Try again when it has ended."),
    errno.EIO: ("the device reports an error", "Check the disk."),
}


def reason(error: OSError) -> tuple[str, str]:
    """Why the system refused, as words for the middle of a sentence, and what to do about it."""
    words = (error.strerror or type(error).__name__).lower()
    return REASONS.get(error.errno or 0, (words, "Fix the cause and try again."))


def not_on_disk() -> Failure:
    """The URI names nothing that a disk could hold."""
    return Failure(
        code=Code.NO_SUCH_FILE,
        message="It is not a file on this machine, and no editor has it open.",
        steps=("Name a file by its path.",),
    )


def unreadable(path: Path, error: OSError) -> Failure:
    """Why there is no text to be had: `no-such-file`, `too-large`, or `bad-arguments` for a folder."""
    name = files.shown(path)
    match error:
        case FileNotFoundError() | NotADirectoryError():
            message, step = f"There is no file {name}.", "Check the path; list the folder."
        case IsADirectoryError():
            return Failure(
                code=Code.BAD_ARGUMENTS,
                message=f"{name} is a folder, not a file.",
                steps=("Name a file in it.",),
            )
        case files.NotPlainError():
            message, step = f"{name} is a pipe, a socket or a device, not a file.", "Name another file."
        case files.TooLargeError():
            return Failure(
                code=Code.TOO_LARGE,
                message=f"The file has {error.size:,} bytes; the limit for editing is {LIMIT_BYTES:,}.",
                steps=("Edit it with a tool made for large files.",),
            )
        case _:
            words, step = reason(error)
            message = f"{name} cannot be read: {words}."
    return Failure(code=Code.NO_SUCH_FILE, message=message, steps=(step,))


def unwritable(path: Path, error: OSError) -> Failure:
    """The system refused to write, create or remove, or another program has locked the folder."""
    if isinstance(error, lock.HeldError):
        return _locked(path, error)
    words, step = reason(error)
    if isinstance(error, lock.NoLockError):
        words = f"its folder cannot be locked, and neither can a file in the state folder ({words})"
        step = "Set XDG_STATE_HOME to a folder that can be written, on a disk of this machine."
    return Failure(
        code=Code.EDIT_REJECTED,
        message=f"{files.shown(path)} cannot be changed: {words}. It is as it was.",
        steps=(step,),
    )


def _locked(path: Path, error: lock.HeldError) -> Failure:
    who = error.holder or "another program"
    return Failure(
        code=Code.BUSY,
        message=(
            f"{files.shown(path)} cannot be changed now: {who} has kept its folder locked "
            f"for {lock.WAIT_S:g} seconds. It is as it was."
        ),
        steps=("Try again.", f"If that fails too, see what {who} does, and end it if it hangs."),
    )


def read_only(path: Path) -> Failure:
    """Someone has marked the file read-only."""
    return Failure(
        code=Code.EDIT_REJECTED,
        message=f"{files.shown(path)} cannot be changed: the file is read-only. It is as it was.",
        steps=("Make it writable.", "Or leave it as it is."),
    )


def exists(path: Path) -> Failure:
    """A new file was to be made where something is."""
    return Failure(
        code=Code.FILE_EXISTS,
        message=f"{files.shown(path)} is there already. It was left as it is.",
        steps=("Read it, then edit it.", "Or choose another name."),
    )


def not_deleted(path: Path) -> Failure:
    """The file to be deleted is not the one that was judged."""
    return Failure(
        code=Code.STALE_DOCUMENT,
        message=f"{files.shown(path)} changed in the meantime, so it was not deleted.",
        steps=("Read the document again.", "Then delete it if that is still right."),
    )


def busy(path: Path) -> Failure:
    """The file changed each time just before it was to be written."""
    return Failure(
        code=Code.BUSY,
        message=f"Another program keeps writing {files.shown(path)}. Nothing was changed.",
        steps=("Try again when that program is done.",),
    )


def changed(path: Path) -> Failure:
    """What was to be written was decided on something that the file does not hold any more."""
    return Failure(
        code=Code.STALE_DOCUMENT,
        message=f"{files.shown(path)} changed in the meantime, so it was left as it is.",
        steps=("Read it again.", "Then try again if that is still right."),
    )


def altered(path: Path) -> Failure:
    """What was written is not what is there."""
    return Failure(
        code=Code.NOT_AS_WRITTEN,
        message=f"{files.shown(path)} was written, but holds something else now: another program changed it.",
        steps=("Read the document again.", "Then send what is missing."),
    )


def of_search(error: Exception) -> Failure:
    """What an error of a search means for the model."""
    if isinstance(error, scan.PatternError):
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"The pattern is not a regular expression: {error}.",
            steps=("Escape characters that are meant as they are.",),
        )
    if isinstance(error, scan.SlowError):
        return Failure(
            code=Code.TIMED_OUT,
            message=str(error),
            steps=("Use a simpler pattern.", "Or search less at once."),
        )
    return Failure(code=Code.TOOL_FAILED, message=f"The search could not be run: {error}.")
