"""
The contents of documents as images: read from the disk now, or from the store.

Which documents are stored, and when, is decided in `repository`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dulwich.objects import Blob, ObjectID, ShaFile

from handrail.adapters.checkpoints.record import (
    Entry,
    Step,
    StoredImage,
    by_document,
    change,
    gaps,
    joined_entry,
    keep,
    parse_unsaved,
)
from handrail.adapters.checkpoints.store import Store
from handrail.adapters.checkpoints.tree import stored_path, untitled_path
from handrail.adapters.files import files, folders, links
from handrail.adapters.files.editor_config import named_encoding
from handrail.adapters.files.failure import reason
from handrail.adapters.files.paths import fold_case, identity_of, root_names, shown_path
from handrail.core.checkpoint import Image, Restoration, Target
from handrail.ports import CheckpointError
from handrail.values import dataclass, replace

Roots = tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedTarget:
    """A target with its names; `real` is None for a document that has no file."""

    target: Target
    real: Path | None
    identity: str
    path: str
    stored: str


def resolve_targets(
    targets: Sequence[Target], roots: Roots, reals: Roots | None = None
) -> Sequence[ResolvedTarget]:
    """The documents that are meant, each once; *reals* are where the roots really are, if that is known."""
    reals = real_roots(roots) if reals is None else reals
    names = root_names(roots)
    spots: dict[str, ResolvedTarget] = {}
    for target in targets:
        path = files.path_of(target.uri)
        if path is None:
            identity = shown = target.uri
            real, stored = None, untitled_path(target.uri)
        else:
            name = path.name if target.is_unfollowed else ""
            real = Path(os.path.realpath(path.parent if target.is_unfollowed else path), name)
            identity = files.uri_of(fold_case(os.fspath(real)))  # every link has been resolved
            shown = shown_path(os.fspath(real), reals, names)
            stored = stored_path(real, reals, names)
        spot = ResolvedTarget(target=target, real=real, identity=identity, path=shown, stored=stored)
        spots.setdefault(identity, spot)
    return tuple(spots.values())


def real_roots(roots: Sequence[Path]) -> Roots:
    """The roots with every link resolved."""
    return tuple(Path(os.path.realpath(root)) for root in roots)


def refuse_inside(store: Path, roots: Roots, reals: Roots) -> None:
    """Raises CheckpointError if the folder *store* of checkpoints is in one of the workspace folders."""
    folder = identity_of(store)
    for root, real in zip(roots, reals, strict=True):
        if folder.startswith(os.path.join(fold_case(os.fspath(real)), "")):
            raise CheckpointError(
                f"Checkpoints cannot be stored: their folder {folder} is inside the workspace folder "
                f"{root}. Set XDG_STATE_HOME to a folder outside it."
            )


def images_of(spots: Sequence[ResolvedTarget]) -> list[tuple[ResolvedTarget, Image]]:
    """
    Returns the current contents of each document; raises CheckpointError naming all that cannot be read.
    """
    images, problems = [], []
    for spot in spots:
        try:
            image = _unfollowed_image(spot) if spot.target.is_unfollowed else _image(spot)
            encoding = _encoding(spot.real, image.raw)
            images.append((spot, image if encoding == image.encoding else replace(image, encoding=encoding)))
        except OSError as error:
            words = (
                f"it has {error.size:,} bytes, and the limit is {files.LIMIT_KEPT_BYTES:,}"
                if isinstance(error, files.TooLargeError)
                else reason(error)[0]
            )
            problems.append(f"{spot.path}: {words}")
    if problems:
        raise CheckpointError(f"No checkpoint could be taken of {'; '.join(problems)}.")
    return images


def _encoding(path: Path | None, raw: bytes | None) -> str | None:
    """Returns the encoding that is configured for a file; None if its bytes are ASCII."""
    if path is None or raw is None or (raw.isascii() and b"\0" not in raw):
        return None
    return named_encoding(path)


def _unfollowed_image(spot: ResolvedTarget) -> Image:
    found = links.read_image(spot.real) if spot.real else None
    if found is None:
        raise files.NotPlainError(errno.EINVAL, "it is neither a file nor a link, or it cannot be read")
    return found


def _image(spot: ResolvedTarget) -> Image:
    unsaved = spot.target.unsaved
    if spot.target.is_gone or spot.target.is_untouched:
        return Image(raw=None)
    real = files.path_of(spot.target.renamed) if spot.target.renamed else spot.real
    try:
        found = files.read(real, files.LIMIT_KEPT_BYTES) if real else None
    except (FileNotFoundError, NotADirectoryError):
        found = None
    if found is None and spot.target.raw is not None:  # it has been renamed or removed since
        return Image(raw=spot.target.raw, unsaved=unsaved)
    if found is None:
        return Image(raw=None, unsaved=unsaved)
    raw = found.raw if spot.target.raw is None else spot.target.raw
    return Image(raw=raw, mode=found.mode, unsaved=unsaved)


def keep_intended(spot: ResolvedTarget, now: Image) -> tuple[StoredImage | None, list[ShaFile]]:
    """
    Returns the stored form of the planned contents of a document that holds *now*; None if they are unknown.
    """
    intended = spot.target.intended
    if intended is None:
        return None, []
    if intended.leaves_file:
        return keep(replace(now, unsaved=intended.unsaved))
    mode = None if intended.raw is None else now.mode
    encoding = _encoding(spot.real, intended.raw)
    return keep(Image(raw=intended.raw, mode=mode, unsaved=intended.unsaved, encoding=encoding))


def keep_after(spot: ResolvedTarget, now: Image, before: StoredImage) -> tuple[StoredImage, list[ShaFile]]:
    """Returns the stored form of what a change has left of a document that held *before* and holds *now*."""
    if spot.target.is_untouched:
        return before, []
    after, blobs = keep(now)
    if after.blob is not None and after.mode is None:  # there is no file
        after = replace(after, mode=before.mode)
    if not spot.target.leaves_file or now.unsaved is None:
        return after, blobs
    (alone, text) = keep(Image(raw=None, unsaved=now.unsaved))
    assert alone.unsaved is not None
    is_saved = alone.unsaved.is_as_saved and alone.unsaved.blob == before.blob
    return replace(before, unsaved=None if is_saved else alone.unsaved), text


def rename(entries: Sequence[Entry], names: Mapping[str, str], roots: Roots) -> tuple[Entry, ...]:
    """The documents of a step by the *names* (URIs) that some, by identity, have now; no two by one."""
    known = {entry.identity for entry in entries}
    result = []
    for entry in entries:
        (spot,) = resolve_targets([Target(uri=names.get(entry.identity, entry.uri))], roots)
        named = entry_of(spot, entry.before)
        named = replace(named, made_folders=entry.made_folders, after=entry.after, intended=entry.intended)
        result.append(named if entry.identity in names and named.identity not in known else entry)
    return tuple(result)


def identity_in(known: Container[str], spot: ResolvedTarget, roots: Roots) -> str:
    """By which of its names a document is *known*, if it was renamed since; its own identity if by none."""
    if spot.identity not in known and spot.target.renamed is not None:
        (renamed,) = resolve_targets([Target(uri=spot.target.renamed)], roots)
        if renamed.identity in known:
            return renamed.identity
    return spot.identity


def entry_of(spot: ResolvedTarget, before: StoredImage) -> Entry:
    """The document, with what it holds *before* the step."""
    path = files.path_of(spot.target.uri)
    is_link = path is not None and os.path.islink(path)
    return Entry(
        uri=spot.target.uri,
        identity=spot.identity,
        path=spot.path,
        stored=spot.stored,
        link=os.readlink(path) if path is not None and is_link else None,
        made_folders=tuple(map(files.uri_of, folders.list_missing(spot.real))) if spot.real else (),
        before=before,
    )


def add_unsaved(
    entries: Sequence[Entry], spots: Sequence[ResolvedTarget]
) -> tuple[list[Entry], list[ShaFile]]:
    """
    The entries of files that changed beneath open documents, with the text that those had in the meantime.
    """
    held = {spot.identity: keep(Image(raw=None, unsaved=spot.target.unsaved)) for spot in spots}
    result, blobs = [], list[ShaFile]()
    for entry in entries:
        kept, made = held.get(entry.identity, (None, ()))
        if kept is None or entry.after is None:
            result.append(entry)
            continue
        before, after = (replace(each, unsaved=kept.unsaved) for each in (entry.before, entry.after))
        result.append(replace(entry, before=before, after=after))
        blobs += made
    return result, blobs


def restorations_of(store: Store, steps: Sequence[Step]) -> tuple[Restoration, ...]:
    """Returns how to restore each document that *steps* have changed."""
    documents = [(each, joined_entry(each)) for each in by_document(steps).values()]
    found = [_with_earlier(store, each, joined) for each, joined in documents if change(joined)]
    shared = {_number(each) for each in found if each.is_shared}
    return tuple(replace(each, is_shared=_number(each) in shared) if shared else each for each in found)


def _number(each: Restoration) -> tuple[int, int] | str:
    """Returns the identity of the file itself, whatever its name; the URI if there is no file."""
    path = files.path_of(each.uri)
    try:
        status = os.lstat(path) if path else None
    except OSError:
        status = None
    return (status.st_dev, status.st_ino) if status else each.uri


def _with_earlier(store: Store, entries: Sequence[Entry], joined: Entry) -> Restoration:
    earlier = []
    for number in reversed(range(1, len(entries))):
        with suppress(CheckpointError):  # one that is damaged keeps no one from restoring the others
            earlier.append(_restoration_of(store, entries[:number], joined_entry(entries[:number])))
    whole = _restoration_of(store, entries, joined)
    return replace(whole, earlier=tuple(earlier)) if earlier else whole


def _restoration_of(store: Store, entries: Sequence[Entry], entry: Entry) -> Restoration:
    """Returns how to restore the document of *entries*, which *entry* joins."""
    return Restoration(
        uri=entry.uri,
        before=stored_image(store, entry.before),
        after=stored_image(store, entry.left) if entry.left else None,
        is_seen=entry.intended is None,
        is_shared=entry.is_shared,
        gaps=tuple((stored_image(store, left), stored_image(store, found)) for left, found in gaps(entries)),
        made_folders=entry.made_folders,
        identity=_identity(entry),
        before_last=stored_image(store, entries[-1].before) if len(entries) > 1 else None,
    )


def _identity(entry: Entry) -> str:
    """Returns the identity of the document: of a file, its path."""
    path = files.path_of(entry.identity)
    return entry.identity if path is None else os.fspath(path)


def stored_image(store: Store, kept: StoredImage) -> Image:
    """An image out of the store. Raises CheckpointError if it is damaged."""
    raw = store.read(Blob, ObjectID(kept.blob.encode())).data if kept.blob else None
    unsaved = None
    if kept.unsaved is not None:
        unsaved = parse_unsaved(kept.unsaved, store.read(Blob, ObjectID(kept.unsaved.blob.encode())).data)
    return Image(raw=raw, mode=kept.mode, unsaved=unsaved, encoding=kept.encoding)
