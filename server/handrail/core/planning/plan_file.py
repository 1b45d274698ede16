"""
Plan what a patch does to one file: which of its parts can be applied, and what happens to the file as a
whole.

Only this module decides what an addition, an update, a move or a deletion means for a file that exists, is
empty, or is missing. Files are read and written elsewhere; how the bytes are encoded is decided there.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk, Tier
from handrail.core.documents.placeholder import REDACTED, FindKeys, find_none
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.patches.hunk import FilePatch, Hunk, Operation
from handrail.core.planning import hidden, plan, readings
from handrail.core.planning.omission import has_placeholder_of_key, placeholder_of_key
from handrail.values import dataclass, replace


class Effect(StrEnum):
    """The effects on a file as a whole when the parts that fit are applied."""

    CREATE = "create"
    UPDATE = "update"
    MOVE = "move"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPlan:
    """The plan of one hunk, or of the whole file if `hunk` is None: edits, or why not."""

    hunk: Hunk | None
    result: PlannedHunk | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """
    The planned changes of a patch to one file.

    Attributes:
        effect: UPDATE even if the document already has everything.
        parts: Never empty; their edits are those of the text that the file has now.
    """

    effect: Effect
    parts: tuple[PartPlan, ...]

    @property
    def made(self) -> tuple[PlannedHunk, ...]:
        """The parts that fit."""
        return tuple(part.result for part in self.parts if isinstance(part.result, PlannedHunk))

    @property
    def is_whole(self) -> bool:
        """Whether the file as a whole is created, moved or removed, and not only its text changed."""
        return self.effect is not Effect.UPDATE

    @property
    def edits(self) -> tuple[edit.TextEdit, ...]:
        """All edits of the parts that fit, ascending."""
        return _edits(self.parts)


def plan_file(
    patch: FilePatch, text: Text | None, *, taken: bool = False, find_keys: FindKeys = find_none
) -> FilePlan | Failure:
    """
    Plans *patch* for its file.

    Args:
        patch: The patch of the file.
        text: The contents of the file; None if it does not exist.
        taken: Whether the path to which the file should be moved exists.
        find_keys: Finds the values of keys: a model reads, and sends back, a placeholder for each.

    Returns:
        A plan, in which single hunks may fail; or why nothing of the patch can be applied.
    """
    if (wrong := _why_not(patch, text, taken=taken)) is not None:
        return wrong
    if text is not None:
        content = hidden.restore_content(patch.content, text.content, find_keys)
        if isinstance(content, Failure):
            return content
        notes = patch.notes if content is patch.content else (*patch.notes, hidden.NOTE)
        patch = replace(patch, content=content, notes=notes)
    planned = _plan(patch, text, find_keys)
    if isinstance(planned, Failure):
        return planned
    return replace(planned, parts=tuple(_with_notes(part, patch.notes) for part in planned.parts))


TO_CREATE = "To create the file, use write_file, or Add File in a V4A patch."
UNCHANGED = PlannedHunk(number=None, tier=Tier.SAFE, edits=())


def _plan(patch: FilePatch, text: Text | None, find_keys: FindKeys) -> FilePlan | Failure:
    if text is None:
        raw = placeholder_of_key(Text(""), patch.content.split("\n")) or Text("").encode(patch.content)
        return raw if isinstance(raw, Failure) else _plan_whole(Effect.CREATE, UNCHANGED)
    match patch.operation:
        case Operation.UPDATE:
            return _plan_update(patch, text, find_keys)
        case Operation.DELETE:
            return _plan_whole(Effect.DELETE, _plan_deletion(patch, text, find_keys))
        case Operation.ADD:
            return _plan_addition(patch, text)
        case Operation.WRITE:
            return _plan_whole(Effect.UPDATE, plan.plan_whole(text, patch.content))


def _with_notes(part: PartPlan, notes: tuple[str, ...]) -> PartPlan:
    """Returns *part* with notes about corrections of its hunk and patch, which make it an inexact match."""
    if isinstance(part.result, Failure):
        return part
    own = part.hunk.notes if part.hunk is not None else ()
    said = tuple(dict.fromkeys((*notes, *own, *part.result.notes)))
    tier = Tier.NORMALISED if said and part.result.tier is Tier.SAFE else part.result.tier
    return replace(part, result=replace(part.result, tier=tier, notes=said))


def _why_not(patch: FilePatch, text: Text | None, *, taken: bool) -> Failure | None:
    """Returns why the patch cannot be applied, whatever its hunks are."""
    made = patch.move_to if patch.move_to is not None else patch.path
    if text is None and patch.operation in (Operation.UPDATE, Operation.DELETE):
        create = (TO_CREATE,) if patch.operation is Operation.UPDATE else ()
        return Failure(
            code=Code.NO_SUCH_FILE,
            message=f"The file {patch.path} does not exist.",
            steps=("Check the path, or list the folder.", *create),
        )
    if made.endswith(("/", "\\")):
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"{made} names a folder, not a file. Nothing was changed.",
            steps=("Give the path of the file; its folders are created with it.",),
        )
    if (text is None or patch.move_to is not None) and has_placeholder_of_key(made):
        return Failure(
            code=Code.BAD_ARGUMENTS,
            message=f"{made} has {REDACTED}, which handrail shows in place of the value of a key, so "
            "it is unclear which file is meant. This file was not changed.",
            steps=("Use a path without it.",),
        )
    if patch.move_to is not None and taken:
        return Failure(
            code=Code.FILE_EXISTS,
            message=f"{patch.move_to} already exists, so {patch.path} cannot be moved there.",
            steps=("Choose another name.", "Or delete that file first."),
        )
    return plan.too_many(patch.hunks)


def _plan_whole(effect: Effect, made: PlannedHunk | Failure) -> FilePlan | Failure:
    if isinstance(made, Failure):
        return made
    return FilePlan(effect=effect, parts=(PartPlan(hunk=None, result=made),))


def _plan_addition(patch: FilePatch, text: Text) -> FilePlan | Failure:
    """
    Plans the addition of an existing file: made if nothing is lost, already done if the text is the same.
    """
    made = plan.plan_whole(text, patch.content)
    if not text.content or (isinstance(made, PlannedHunk) and not made.edits):
        return _plan_whole(Effect.UPDATE, made)
    return Failure(
        code=Code.FILE_EXISTS,
        message=f"{patch.path} already exists, and adding it would overwrite it. Nothing was changed.",
        steps=("Update the file instead.", "Or write the whole file with write_file."),
    )


def _plan_deletion(patch: FilePatch, text: Text, find_keys: FindKeys) -> PlannedHunk | Failure:
    """Plans the deletion of a file: the lines that the patch removes must be all that it has."""
    if patch.removed is None or "\n".join(hunk.old for hunk in patch.removed) == text.flat.removesuffix("\n"):
        return UNCHANGED
    parts = _parts(replace(patch, hunks=patch.removed), text, find_keys)
    made = [part.result for part in parts if isinstance(part.result, PlannedHunk)]
    if len(made) < len(parts) or edit.apply(text.content, _edits(parts)).strip():
        return Failure(
            code=Code.NO_MATCH,
            message=f"{patch.path} was not deleted: the lines that the patch removes are not its text.",
            steps=(
                "Read the file again, and give all of its lines as removed ones.",
                "To delete it whatever its text is, use Delete File in a V4A patch.",
            ),
        )
    tier = max((each.tier for each in made), key=list(Tier).index, default=Tier.SAFE)
    notes = tuple(dict.fromkeys(note for each in made for note in each.notes))
    return replace(UNCHANGED, tier=tier, notes=notes)


def _plan_update(patch: FilePatch, text: Text, find_keys: FindKeys) -> FilePlan:
    parts = _parts(patch, text, find_keys)
    if _undo_each_other(text, parts):
        parts = tuple(_without_edits(part) for part in parts)
    effect = Effect.UPDATE if patch.move_to is None else Effect.MOVE
    return FilePlan(effect=effect, parts=parts or (PartPlan(hunk=None, result=UNCHANGED),))


def _parts(patch: FilePatch, text: Text, find_keys: FindKeys) -> tuple[PartPlan, ...]:
    restored = [hidden.restore_hunk(text, hunk, find_keys) for hunk in patch.hunks]
    settled = [readings.settle_reading(text, each) if isinstance(each, Hunk) else each for each in restored]
    planned = iter(plan.plan(text, [each for each in settled if isinstance(each, Hunk)]))
    parts = []
    for hunk, each in zip(patch.hunks, settled, strict=True):
        if isinstance(each, Failure):
            parts.append(PartPlan(hunk=hunk, result=each))
        else:
            parts.append(PartPlan(hunk=each, result=next(planned).result))
    return tuple(parts)


def _undo_each_other(text: Text, parts: Sequence[PartPlan]) -> bool:
    """Whether the edits of the parts, made together, leave the text as it is."""
    edits = _edits(parts)
    if len(edits) < 2 or sum(each.growth for each in edits) != 0:
        return False
    return edit.apply(text.content, edits) == text.content


def _without_edits(part: PartPlan) -> PartPlan:
    if isinstance(part.result, Failure):
        return part
    return replace(part, result=replace(part.result, edits=(), within=None))


def _edits(parts: Sequence[PartPlan]) -> tuple[edit.TextEdit, ...]:
    edits = [each for part in parts if isinstance(part.result, PlannedHunk) for each in part.result.edits]
    return tuple(sorted(edits, key=lambda each: (each.span.start, each.span.end)))
