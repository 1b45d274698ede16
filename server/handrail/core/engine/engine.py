"""
Answer one request to the edit engine, from bytes to bytes, as `handrail apply --jsonl` does.

A request contains all files that it concerns, so nothing is read or written here. It is planned against those
bytes, and applied as a whole or not at all. What a patch does to a file is decided in `plan_file`, as for the
tool `patch`. Requests and replies are converted to lines in `jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk, Status, Tier
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.patches import file_names, reply
from handrail.core.patches.hunk import FilePatch, Hunk, Operation, no_edits
from handrail.core.patches.notations import Notation
from handrail.core.planning.plan_file import Effect, FilePlan, plan_file
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Search and replacement strings for one file; found in `before`, or in what earlier ones make of it."""

    path: str
    before: bytes
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """
    A patch over files.

    Attributes:
        files: The files that there are; a path that is not among them has none.
        patch: If its notation does not name a files: blocks for the only file, or each below a file name.
    """

    notation: Notation
    files: Mapping[str, bytes]
    patch: str


Request = Replace | Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    The result of a request.

    Attributes:
        status: LANDED if anything changed, ALREADY if the text already has all of it, FAILED if nothing was
            done.
        failure: Why it failed; its message says which hunk of which file, where there are several.
        tier: The weakest by which a hunk matched; None if nothing landed.
        notes: What was corrected to understand the patch, in sentences.
        files: The files that changed and their bytes now, None for one that is gone.
    """

    status: Status
    failure: Failure | None = None
    tier: Tier | None = None
    notes: tuple[str, ...] = ()
    files: Mapping[str, bytes | None]


def carry_out(request: Request) -> Reply:
    """Plan *request* against the bytes that it carries, and make it if all of it fits."""
    match request:
        case Replace():
            update = FilePatch(path=request.path, operation=Operation.UPDATE, hunks=request.hunks)
            return _make((update,), {request.path: request.before})
        case Patch():
            patches = _read(request)
            return failure_reply(patches) if isinstance(patches, Failure) else _make(patches, request.files)


def failure_reply(failure: Failure) -> Reply:
    """The reply to a request of which nothing was done."""
    return Reply(status=Status.FAILED, failure=failure, files={})


# ---- Reading --------------------------------------------------------------------------------------


def _read(request: Patch) -> tuple[FilePatch, ...] | Failure:
    if request.notation.names_files:
        return request.notation.read(request.patch, "", ())
    return _blocks(request)


def _blocks(request: Patch) -> tuple[FilePatch, ...] | Failure:
    """Blocks that name no file; with several files, or none, a name above each block says which it is for."""
    notation = request.notation
    if len(request.files) == 1:
        return notation.read(request.patch, next(iter(request.files)), ())
    patches: list[FilePatch] = []
    for block in reply.read(request.patch).blocks:
        if block.notation is not notation:
            return _bad_patch(
                "The patch has an edit in another notation.", f"Send only {notation.title} in it."
            )
        if not block.path:
            return _bad_patch(
                "The patch has a block without the name of its file.",
                "Write it on the line above each block.",
            )
        files = notation.read(block.text, block.path, block.others)
        if isinstance(files, Failure):
            return files
        patches += files
    return tuple(patches) or no_edits(f"{notation.title}, each below the name of its file")


def _bad_patch(message: str, step: str) -> Failure:
    return Failure(code=Code.BAD_PATCH, message=message, steps=(step,))


# ---- Planning -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The result for one file: the hunks that are made, and the files that they change."""

    made: tuple[PlannedHunk, ...] = ()
    files: Mapping[str, bytes | None]


def _make(patches: Sequence[FilePatch], files: Mapping[str, bytes]) -> Reply:
    names = {identity(path): path for path in files}
    seen: set[str] = set()
    changed: dict[str, bytes | None] = {}
    made: list[PlannedHunk] = []
    is_alone = len(patches) == 1
    below: dict[str, list[str]] = {}
    for path in files:
        below.setdefault(path.rpartition("/")[2], []).append(path)
    for patch in patches:
        there = {name for name in (patch.path, *file_names.spellings(patch)) if identity(name) in names}
        each = file_names.choose_file(patch, there, below.get(patch.path, ()))
        if isinstance(each, Failure):
            return failure_reply(each)
        named = _with_names(each, names, seen)
        if isinstance(named, Failure):
            return failure_reply(named)
        planned = _plan(each, named, files, is_alone=is_alone)
        if isinstance(planned, Failure):
            return failure_reply(planned)
        made += planned.made
        changed |= planned.files
    if not changed:
        return Reply(status=Status.ALREADY, files={})
    tier = max((each.tier for each in made), key=list(Tier).index, default=Tier.SAFE)
    notes = tuple(dict.fromkeys(note for each in made for note in each.notes))
    return Reply(status=Status.LANDED, tier=tier, notes=notes, files=changed)


def identity(path: str) -> str:
    """The same for all spellings of a path: without `.`, empty parts and `..`; with `..` if it leads out."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def _with_names(each: FilePatch, names: Mapping[str, str], seen: set[str]) -> FilePatch | Failure:
    """*each* with its paths as the request spells them; a file may be named once, and inside only."""
    spelled = []
    for path in (each.path, *([each.move_to] if each.move_to else [])):
        own = identity(path)
        if own not in names and (own.startswith(("/", "..")) or not own):
            return Failure(
                code=Code.OUTSIDE_WORKSPACE,
                uri=path,
                message=f"{path} is neither one of the request's files nor in their folder.",
                steps=("Use a path relative to the folder of the files.",),
            )
        if own in seen:
            return Failure(
                code=Code.BAD_PATCH,
                uri=path,
                message=f"The patch has two conflicting sections for {path}.",
                steps=("Send one section for each file.",),
            )
        seen.add(own)
        spelled.append(names.get(own, own))
    return replace(each, path=spelled[0], move_to=spelled[1] if each.move_to else None)


def _plan(
    patch: FilePatch, named: FilePatch, files: Mapping[str, bytes], *, is_alone: bool
) -> _File | Failure:
    """Returns the plan of *patch*, with paths spelled as in *named*; or the first failure."""
    raw = files.get(named.path)
    text = Text.parse(raw) if raw is not None else None
    if isinstance(text, Failure):
        return text.with_uri(named.path)
    planned = plan_file(patch, text, taken=named.move_to in files)
    if isinstance(planned, Failure):
        return planned.with_uri(named.path)
    for part in planned.parts:
        if isinstance(part.result, Failure):
            is_only = part.hunk is None or (is_alone and len(planned.parts) == 1)
            where = "" if is_only or part.hunk is None else f"Hunk {part.hunk.number} of {named.path}: "
            return replace(part.result, uri=named.path, message=where + part.result.message)
    changed = _bytes(named, text or Text(""), planned)
    if isinstance(changed, Failure):
        return changed.with_uri(named.path)
    made = (each for each in planned.made if each.edits or each.within is not None or planned.is_whole)
    return _File(made=tuple(made), files=changed)


def _bytes(named: FilePatch, text: Text, planned: FilePlan) -> Mapping[str, bytes | None] | Failure:
    """The files that *planned* changes, *text* being what is there."""
    if planned.effect is Effect.DELETE:
        return {named.path: None}
    is_new = planned.effect is Effect.CREATE
    raw = text.encode(named.content if is_new else edit.apply(text.content, planned.edits))
    if isinstance(raw, Failure):
        return raw
    if planned.effect is Effect.MOVE and named.move_to is not None:
        return {named.path: None, named.move_to: raw}
    return {named.path: raw} if is_new or planned.edits else {}
