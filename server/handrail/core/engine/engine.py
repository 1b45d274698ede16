"""
One request to the edit engine, from bytes to bytes: what `handrail apply --jsonl` answers.

A request carries all files that it is about, so nothing is read or written here. It is planned whole against
those bytes and made whole or not at all. What a patch means for a file is decided as the tool `patch` decides
it. How requests and replies are written as lines is `jsonl`'s work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from handrail.core import patch
from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk, Tier
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.patches import reply
from handrail.core.patches.hunk import FilePatch, Hunk, Operation, nothing
from handrail.core.patches.reply import Notation
from handrail.core.planning import plan
from handrail.core.verify import Status


class Kind(StrEnum):
    """The notation of a patch over files."""

    V4A = "v4a"
    UNIFIED = "udiff"
    SEARCH_REPLACE = "search_replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Search and replacement strings for one file; all are found in `before`."""

    path: str
    before: bytes
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """
    A patch over files.

    Attributes:
        files: The files that there are; a path that is not among them has none.
        patch: For SEARCH_REPLACE with one file, blocks for that file; else each block is below a file name.
    """

    kind: Kind
    files: Mapping[str, bytes]
    patch: str


Request = Replace | Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    What came of a request.

    Attributes:
        status: LANDED if anything changed, ALREADY if all of it is there, FAILED if nothing was done.
        failure: Why it failed; its message says which hunk of which file, where there are several.
        tier: The weakest by which a hunk matched; None if nothing landed.
        files: The files that changed and their bytes now, None for one that is gone.
    """

    status: Status
    failure: Failure | None = None
    tier: Tier | None = None
    files: Mapping[str, bytes | None]


def carry_out(request: Request) -> Reply:
    """Plan *request* against the bytes that it carries, and make it if all of it fits."""
    match request:
        case Replace():
            update = FilePatch(path=request.path, operation=Operation.UPDATE, hunks=request.hunks)
            return _made((update,), {request.path: request.before})
        case Patch():
            patches = _read(request)
            return failed(patches) if isinstance(patches, Failure) else _made(patches, request.files)


def failed(failure: Failure) -> Reply:
    """The reply to a request of which nothing was done."""
    return Reply(status=Status.FAILED, failure=failure, files={})


# ---- Reading --------------------------------------------------------------------------------------


def _read(request: Patch) -> tuple[FilePatch, ...] | Failure:
    match request.kind:
        case Kind.V4A:
            return patch.parse_v4a(request.patch)
        case Kind.UNIFIED:
            return patch.parse_unified(request.patch)
        case Kind.SEARCH_REPLACE:
            return _blocks(request)


def _blocks(request: Patch) -> tuple[FilePatch, ...] | Failure:
    """SEARCH/REPLACE blocks; with several files, or none, a name above each block says which it is for."""
    if len(request.files) == 1:
        only = patch.parse_search_replace(next(iter(request.files)), request.patch)
        return only if isinstance(only, Failure) else (only,)
    found: list[FilePatch] = []
    for block in reply.read(request.patch).blocks:
        if block.notation is not Notation.SEARCH_REPLACE or not block.path:
            return nothing("SEARCH/REPLACE blocks, each below the name of its file")
        file = patch.parse_search_replace(block.path, block.text)
        if isinstance(file, Failure):
            return file
        found.append(file)
    return tuple(found) or nothing("'<<<<<<< SEARCH', '=======' and '>>>>>>> REPLACE' lines")


# ---- Planning -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """What becomes of one file: the tiers of its hunks, and the files that this changes."""

    tiers: tuple[Tier, ...] = ()
    files: Mapping[str, bytes | None]


def _made(patches: Sequence[FilePatch], files: Mapping[str, bytes]) -> Reply:
    names = {identity(path): path for path in files}
    seen: set[str] = set()
    changed: dict[str, bytes | None] = {}
    tiers: list[Tier] = []
    is_alone = len(patches) == 1
    for each in patches:
        named = _named(each, names, seen)
        if isinstance(named, Failure):
            return failed(named)
        planned = _planned(named, files, is_alone=is_alone)
        if isinstance(planned, Failure):
            return failed(planned)
        tiers += planned.tiers
        changed |= planned.files
    if not changed:
        return Reply(status=Status.ALREADY, files={})
    return Reply(
        status=Status.LANDED, tier=max(tiers, key=list(Tier).index, default=Tier.SAFE), files=changed
    )


def identity(path: str) -> str:
    """The same for all spellings of a path: without `.`, empty parts and `..`; with `..` if it leads out."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def _named(each: FilePatch, names: Mapping[str, str], seen: set[str]) -> FilePatch | Failure:
    """*each* with its paths as the request spells them; a file may be named once, and inside only."""
    spelled = []
    for path in (each.path, *([each.move_to] if each.move_to else [])):
        own = identity(path)
        if own not in names and (own.startswith(("/", "..")) or not own):
            return Failure(
                code=Code.OUTSIDE_WORKSPACE,
                uri=path,
                message=f"{path} is none of the request's files, and does not lie beside them.",
                steps=("Use a path relative to the folder of the files.",),
            )
        if own in seen:
            return Failure(
                code=Code.BAD_PATCH,
                uri=path,
                message=f"The patch has two sections for {path} that exclude each other.",
                steps=("Send one section for each file.",),
            )
        seen.add(own)
        spelled.append(names.get(own, own))
    return replace(each, path=spelled[0], move_to=spelled[1] if each.move_to else None)


def _planned(each: FilePatch, files: Mapping[str, bytes], *, is_alone: bool) -> _File | Failure:
    """What the patch of one file comes to, or the first reason why it cannot be made."""
    raw = files.get(each.path)
    if raw is None:
        return _created(each) if each.operation in (Operation.ADD, Operation.WRITE) else _absent(each.path)
    text = Text.parse(raw)
    if isinstance(text, Failure):
        return text.at(each.path)
    match each.operation:
        case Operation.UPDATE:
            return _updated(each, text, files, is_alone=is_alone)
        case Operation.DELETE:
            return _File(files={each.path: None})
        case Operation.ADD:
            return _added(each, text)
        case Operation.WRITE:
            whole = plan.plan_whole(text, each.content)
            return whole.at(each.path) if isinstance(whole, Failure) else _written(each, text, (whole,))


def _updated(each: FilePatch, text: Text, files: Mapping[str, bytes], *, is_alone: bool) -> _File | Failure:
    if each.move_to is not None and each.move_to in files:
        return Failure(
            code=Code.FILE_EXISTS,
            uri=each.move_to,
            message=f"{each.move_to} exists already; {each.path} cannot be moved there.",
            steps=("Choose another name.", "Or delete that file first."),
        )
    found: list[PlannedHunk] = []
    for planned in plan.plan(text, each.hunks):
        if isinstance(planned.result, Failure):
            is_only = is_alone and len(each.hunks) == 1
            where = "" if is_only else f"Hunk {planned.hunk.number} of {each.path}: "
            return replace(planned.result, uri=each.path, message=where + planned.result.message)
        found.append(planned.result)
    return _written(each, text, found)


def _written(each: FilePatch, text: Text, hunks: Sequence[PlannedHunk]) -> _File | Failure:
    edits = sorted((e for hunk in hunks for e in hunk.edits), key=lambda e: (e.span.start, e.span.end))
    tiers = tuple(hunk.tier for hunk in hunks if hunk.edits)
    if not edits and each.move_to is None:
        return _File(files={})
    raw = text.encode(edit.apply(text.content, edits))
    if isinstance(raw, Failure):
        return raw.at(each.path)
    if raw == text.raw and each.move_to is None:  # of two hunks one undoes the other
        return _File(files={})
    if each.move_to is not None:
        return _File(tiers=tiers, files={each.path: None, each.move_to: raw})
    return _File(tiers=tiers, files={each.path: raw})


def _created(each: FilePatch) -> _File | Failure:
    raw = Text("").encode(each.content)
    return raw.at(each.path) if isinstance(raw, Failure) else _File(files={each.path: raw})


def _added(each: FilePatch, text: Text) -> _File | Failure:
    whole = plan.plan_whole(text, each.content)
    if isinstance(whole, PlannedHunk) and not whole.edits:
        return _File(files={})
    return Failure(
        code=Code.FILE_EXISTS,
        uri=each.path,
        message=f"{each.path} exists already; adding it would overwrite it. Nothing was changed.",
        steps=("Update the file instead.",),
    )


def _absent(path: str) -> Failure:
    return Failure(
        code=Code.NO_SUCH_FILE,
        uri=path,
        message=f"There is no file {path}.",
        steps=("Check the path.", "To make a new file, add it."),
    )
