"""
Documents that are not open in an editor: read and changed on disk, byte for byte.

A document is the file that its URI leads to, so a symbolic link stays a link, and deleting through one
deletes its target. A change is adapted to the file's current contents, written atomically, and read back, all
under the lock of the document's folder, so that no other process of ours interferes. Open documents are
unknown here, and permissions are checked elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from handrail.adapters.files import entry, failure, files, folders, links, lock
from handrail.adapters.files.editor_config import empty_text, named_encoding
from handrail.adapters.files.entry import Entry
from handrail.adapters.files.files import path_of, uri_of
from handrail.adapters.files.paths import fold_case, inside
from handrail.core.checkpoint import Image
from handrail.core.documents import readback
from handrail.core.documents.change import (
    Applied,
    Change,
    Create,
    Delete,
    Landing,
    Partial,
    Rejected,
    Update,
    rebase_update,
)
from handrail.core.documents.edit import TextEdit, apply, conflict_texts, stale
from handrail.core.documents.text import LIMIT_BYTES, Text
from handrail.core.failure import Failure
from handrail.ports import Document
from handrail.values import dataclass, replace

__all__ = ["Disk", "path_of", "uri_of"]

ATTEMPTS = 5  # another program that writes the file more often than this has it for itself


class Disk:
    """The Editor port for documents on disk; it makes one change at a time."""

    def __init__(self, stand_ins: Path | None = None, roots: Callable[[], Sequence[Path]] = tuple) -> None:
        """
        Nothing is made before it is needed.

        Args:
            stand_ins: For `lock.hold`.
            roots: Tells the workspace folders: what was judged as a file in one is changed only there.
        """
        self._stand_ins, self._roots = stand_ins, roots
        self._writing = asyncio.Lock()

    async def read(self, uri: str) -> Document | Failure:
        """The file *uri* as a closed document, in the encoding that an `.editorconfig` names for it."""
        return await files.in_thread(_read, uri, self._roots())

    async def empty_text(self, uri: str) -> Text:
        """An empty text in the encoding that an `.editorconfig` names for the file; UTF-8 if none does."""
        path = _resolve(uri)
        return Text("") if isinstance(path, Failure) else await files.in_thread(empty_text, path)

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        """
        Make *changes* one after the other; one that fails does not keep the next from being made.

        Args:
            changes: Where a file has moved on since an update's base, hunks that do not meet with what
                was changed are made all the same; the others are `stale-document`.
            label: Not used: a disk keeps no list of what was done.

        If the turn is cancelled while it works, it finishes the current change and begins no other.
        """
        landings = []
        async with self._writing:
            for change in changes:
                landings.append(await files.in_thread(_land, change, self._stand_ins, self._roots()))
        return tuple(landings)

    def when_shown(self, change: Change, tell: Callable[[Landing], None]) -> None:
        """Nothing shows late on a disk."""

    async def open_documents(self) -> tuple[Document, ...]:
        """None: nothing is open on a disk."""
        return ()

    async def save(self, uris: Sequence[str]) -> frozenset[str]:
        """All of *uris*: what is on disk is saved."""
        return frozenset(uris)

    async def reload(self, uris: Sequence[str]) -> frozenset[str]:
        """None: nothing is open on a disk."""
        return frozenset()

    async def read_bytes(self, uri: str) -> bytes | None:
        """Returns the bytes of a file; None if it does not exist or cannot be read."""
        path = _resolve(uri)
        return None if isinstance(path, Failure) else await files.in_thread(_bytes_of, path)

    async def put(self, uri: str, base: bytes | None, raw: bytes | None, mode: int | None) -> Failure | None:
        """
        Make a file that holds *base* hold exactly *raw*; one that does so already is left alone.

        Args:
            uri: The file; folders that it needs are made.
            base: None if there is to be no file yet. If it holds anything else, that is kept.
            raw: None removes the file.
            mode: Permission bits; None keeps them, or takes those of a new file.
        """
        path = _resolve_judged(uri, self._roots())
        if isinstance(path, Failure):
            return path
        async with self._writing:
            failed = await files.in_thread(_put, path, _Put(base, raw, mode), self._stand_ins)
        return failure.in_folders(failed, uri, self._roots()) if failed else None

    async def read_image(self, uri: str) -> Image | None:
        """Returns the image of a place, without following a symbolic link; see the port."""
        path = path_of(uri)
        return None if path is None else await files.in_thread(links.read_image, path)

    async def put_image(self, uri: str, base: Image, wanted: Image) -> Failure | None:
        """Have something else lie there; see the port."""
        path = path_of(uri)
        if path is None:
            return failure.not_on_disk().with_uri(uri)
        async with self._writing:
            failed = await files.in_thread(links.put_image, path, base, wanted, self._stand_ins)
        return failed.with_uri(uri) if failed else None

    async def remove_empty_folders(self, uris: Sequence[str]) -> None:
        """Remove those of the folders *uris*, in this order, that are empty by then."""
        for path in map(path_of, uris):
            if path is not None:
                await files.in_thread(folders.remove_empty, path)


def _resolve(uri: str) -> Path | Failure:
    path = path_of(uri)
    try:
        return failure.not_on_disk().with_uri(uri) if path is None else Path(os.path.realpath(path))
    except OSError:  # it became a link, or ceased to be one, while it was followed
        return failure.stale_file(Path(uri)).with_uri(uri)


def _resolve_judged(uri: str, roots: Sequence[Path]) -> Path | Failure:
    """
    The path of a file to be changed, with every link resolved.

    Links were followed before it was judged. So if a file of a workspace folder lies elsewhere now, someone
    has put a link there since, and its target was not judged.
    """
    path, real = path_of(uri), _resolve(uri)
    if path is None or isinstance(real, Failure):
        return real
    named = os.path.normpath(path)
    if os.fspath(real) == named:  # no link is in it, so none is in the path of its folder
        return real
    home = inside(named, roots)
    expected = None if home is None else os.path.join(os.path.realpath(roots[home[0]]), home[1])
    if expected is not None and fold_case(os.fspath(real)) != fold_case(expected):
        return failure.stale_file(path).with_uri(uri)
    return real


# ---- Reading ----------------------------------------------------------------------------------------


def _read(uri: str, roots: Sequence[Path]) -> Document | Failure:
    path = _resolve(uri)
    text = path if isinstance(path, Failure) else _read_text(path)
    return failure.in_folders(text, uri, roots) if isinstance(text, Failure) else Document(uri=uri, text=text)


def _read_text(path: Path) -> Text | Failure:
    state = _find(path)
    return state if isinstance(state, Failure) else Text.parse(state.raw, named_encoding(path))


def _find(path: Path | Entry) -> files.FileState | Failure:
    try:
        return files.read(path, LIMIT_BYTES)
    except OSError as error:
        return failure.unreadable(path.path if isinstance(path, Entry) else path, error)


def _bytes_of(path: Path | Entry) -> bytes | None:
    with suppress(OSError):
        return files.read(path, files.LIMIT_KEPT_BYTES).raw
    return None


# ---- Changing ---------------------------------------------------------------------------------------


def _land(change: Change, stand_ins: Path | None, roots: Sequence[Path]) -> Landing:
    path = _resolve_judged(change.uri, roots)
    if isinstance(path, Failure):
        return Rejected(failure=path)
    try:
        with _lock(path, stand_ins, is_new=isinstance(change, Create)) as file:
            landing = _change(file, change)
    except (FileNotFoundError, NotADirectoryError) as error:
        why = failure.unwritable if isinstance(change, Create) else failure.unreadable
        landing = Rejected(failure=why(path, error))
    except OSError as error:
        landing = Rejected(failure=failure.unwritable(path, error))
    if isinstance(landing, Applied):
        return landing
    return replace(landing, failure=failure.in_folders(landing.failure, change.uri, roots))


@contextmanager
def _lock(path: Path, stand_ins: Path | None, *, is_new: bool) -> Iterator[Entry]:
    """
    Hold the lock of a document, and its folder.

    Folders that a new one needs are made, and go again if the block fails.
    """
    needed = folders.make_missing(path, through_links=False) if is_new else nullcontext()
    with needed, lock.hold(path, stand_ins), entry.hold(path) as file:
        entry.sweep(file)
        yield file


def _change(file: Entry, change: Change) -> Landing:
    match change:
        case Update():
            return _update(file, change)
        case Create():
            return _create(file, change)
        case Delete():
            return _delete(file, change)


def _update(file: Entry, change: Update) -> Landing:
    path = file.path
    for _ in range(ATTEMPTS):
        state = _find(file)
        if isinstance(state, Failure):
            return Rejected(failure=state)
        ready = _rebase(path, change, state.raw)
        if isinstance(ready, Failure):
            return Rejected(failure=ready)
        if ready.raw == state.raw:
            return _outcome(path, ready, ready.text)
        if _is_read_only(path, state):
            return Rejected(failure=failure.read_only(path))
        if files.replace(file, ready.raw, state):
            return _outcome(path, ready, _read_back(file, ready))
    return Rejected(failure=failure.busy(path))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """
    An update fitted to what the file holds now.

    Attributes:
        text: What the file holds now.
        edits: Edits of `text`: those of the update that are kept.
        kept: For each of the update's edits, whether it is.
        raw: The bytes to write.
        conflict: Why some are not kept; None if all are.
    """

    text: Text
    edits: tuple[TextEdit, ...]
    kept: tuple[bool, ...]
    raw: bytes
    conflict: Failure | None


def _read_back(file: Entry, ready: _Ready) -> Text | Failure:
    """Reads back what was written; a file that someone else has put there may have another encoding."""
    state = _find(file)
    if isinstance(state, Failure):
        return state
    is_ours = state.raw == ready.raw
    return Text.parse(state.raw, ready.text.encoding if is_ours else named_encoding(file.path))


def _rebase(path: Path, change: Update, raw: bytes) -> _Ready | Failure:
    """The update carried over to *raw*; a failure if nothing of it is left."""
    is_base = change.base.encode(change.base.content) == raw
    text = change.base if is_base else Text.parse(raw, named_encoding(path))
    if isinstance(text, Failure):
        return text
    rebased = rebase_update(change, text.content)
    lost = conflict_texts(change.base, change.edits, text.content) if rebased.conflicts else None
    conflict = stale(files.show_name(path), lost) if rebased.conflicts else None
    if conflict is not None and not (change.is_divisible and any(rebased.kept)):
        return conflict
    new_raw = text.encode(apply(text.content, rebased.edits))
    if isinstance(new_raw, Failure):
        return new_raw
    return _Ready(text=text, edits=rebased.edits, kept=rebased.kept, raw=new_raw, conflict=conflict)


def _outcome(path: Path, ready: _Ready, now: Text | Failure) -> Landing:
    """Returns the landing of an update, judged by what the file holds afterwards."""
    intact = (False,) * len(ready.edits)
    if isinstance(now, Text):
        intact = readback.which_are_intact(ready.text, ready.edits, now.content)
        if all(intact) and ready.conflict is None:
            return Applied(text=now)
    if not any(intact):
        return Rejected(failure=failure.other_content(path))
    cause = ready.conflict if ready.conflict and all(intact) else failure.other_content(path)
    each = iter(intact)
    return Partial(landed=tuple(keep and next(each) for keep in ready.kept), failure=cause)


def _is_read_only(path: Path, state: files.FileState) -> bool:
    """Whether the file is marked so, even if the folder would let us replace it."""
    return not state.mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK)


def _create(file: Entry, change: Create) -> Landing:
    raw = change.text.encode(change.text.content)
    if isinstance(raw, Failure):
        return Rejected(failure=raw)
    try:
        files.create(file, raw, files.mode_of(change.moved_from))
    except FileExistsError:
        return Rejected(failure=failure.exists(file.path))
    is_there = _bytes_of(file) == raw
    return Applied(text=change.text) if is_there else Rejected(failure=failure.other_content(file.path))


def _delete(file: Entry, change: Delete) -> Landing:
    path, state = file.path, _find(file)
    if isinstance(state, Failure):
        return Rejected(failure=state)
    if _is_read_only(path, state):
        return Rejected(failure=failure.read_only(path))
    is_base = change.base.encode(change.base.content) == state.raw
    if not is_base or not files.remove(file, state):
        return Rejected(failure=failure.refuse_deletion(path))
    return Rejected(failure=failure.other_content(path)) if os.path.lexists(path) else Applied(text=None)


# ---- Bytes ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Put:
    """The arguments of `Disk.put`."""

    base: bytes | None
    raw: bytes | None
    mode: int | None


def _put(path: Path, put: _Put, stand_ins: Path | None) -> Failure | None:
    try:
        with _lock(path, stand_ins, is_new=put.raw is not None) as file:
            for _ in range(ATTEMPTS):
                if held := _made_hold(file, put):
                    if isinstance(held, Failure):
                        return held
                    return None if _bytes_of(file) == put.raw else failure.other_content(path)
    except files.TooLargeError as error:
        return failure.unreadable(path, error)
    except OSError as error:
        is_gone = put.raw is None and isinstance(error, FileNotFoundError)
        return None if is_gone else failure.unwritable(path, error)
    return failure.busy(path)


def _made_hold(file: Entry, put: _Put) -> bool | Failure:
    """Write once; False if another program was quicker, a failure if that was before it was decided."""
    try:
        state = files.read(file, files.LIMIT_KEPT_BYTES)
    except FileNotFoundError:
        if put.raw is None:
            return True
        return _write_new(file, put.raw, put.mode) if put.base is None else failure.stale_file(file.path)
    if put.raw == state.raw:
        if put.mode is not None and put.mode != state.mode:
            file.set_mode(put.mode)
        return True
    if put.base != state.raw:
        return failure.stale_file(file.path)
    return files.remove(file, state) if put.raw is None else files.replace(file, put.raw, state, put.mode)


def _write_new(file: Entry, raw: bytes, mode: int | None) -> bool:
    with suppress(FileExistsError):
        files.create(file, raw, mode)
        return True
    return False
