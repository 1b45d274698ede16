"""
Plan the changes of documents from the patches of a call.

Planning reads documents through the editor, computes everything on their current text, and changes nothing.
If one hunk of a call does not fit, none of its hunks is applied, unless the call is `partial`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from handrail.agent.tools.call import Edits
from handrail.agent.turn.edit.whole_files import carry_over, check_is_there
from handrail.agent.turn.seen import Known
from handrail.core.documents import diff, edit
from handrail.core.documents.change import (
    Change,
    Create,
    Delete,
    PlannedHunk,
    Update,
)
from handrail.core.documents.placeholder import FindKeys
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Code, Failure
from handrail.core.ledger.outcome import Mutation
from handrail.core.matching import match
from handrail.core.matching.similar import candidate_at
from handrail.core.patches.notations import FilePatch, Hunk, Operation
from handrail.core.planning.plan_file import Effect, FilePlan, PartPlan, plan_file
from handrail.core.policy.place import Place
from handrail.ports import Document, Editor
from handrail.values import dataclass, field, replace

FITS = "This edit fits"  # begins the failure of each edit that was held back for another one
LIMIT_DIFF_CHARS = 100_000  # a longer diff does not help people
LIMIT_CANDIDATES = 10  # of one failure; more would help no one


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    One mutation of a call.

    Attributes:
        mutation: The mutation to try.
        planned: The planned edits; empty if the document already has the change.
        text: The text for which it was planned.
    """

    mutation: Mutation
    planned: PlannedHunk | Failure
    text: Text | None

    @property
    def edits(self) -> tuple[edit.TextEdit, ...]:
        """The planned edits; none if it does not fit."""
        return self.planned.edits if isinstance(self.planned, PlannedHunk) else ()

    @property
    def host(self) -> int | None:
        """The number of the hunk whose edits make this one too; None if it has its own."""
        return self.planned.within if isinstance(self.planned, PlannedHunk) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """All parts of one file, the changes that apply those that fit, and where these move the file."""

    path: str
    parts: tuple[Part, ...]
    changes: tuple[Change, ...]
    moved_to: Place | None = None


NOTEBOOK = Failure(
    code=Code.EDIT_REJECTED,
    message="This is a notebook. handrail does not edit notebooks: it cannot see their unsaved cells.",
    steps=(
        "Tell the user what to change in which cell.",
        "Or ask the user to open it as text (in VS Code: Reopen Editor With…, Text Editor), and try again.",
    ),
)


@dataclass(frozen=True, slots=True)
class Planner:
    """
    Plans the edits of one call.

    Attributes:
        mutation: The pattern of its mutations, without document and hunk.
        find_keys: Finds the values of keys: the model reads, and sends back, a placeholder for each.
        readings: The documents that the model has read, as it knows them.
    """

    editor: Editor
    places: Mapping[str, Place]
    mutation: Mutation
    find_keys: FindKeys
    readings: Known = field(default_factory=dict)

    async def plan(self, edits: Edits) -> tuple[PlannedFile, ...]:
        """Plans every file of *edits*, in order."""
        files = []
        for patch in edits.patches:
            place = self.places[patch.path]
            if edits.wrong is not None:
                files.append(self._failed_file(place, edits.wrong))
            else:
                files.append(await self._file(patch, place))
        return tuple(files) if edits.partial else _all_or_nothing(files)

    async def _file(self, patch: FilePatch, place: Place) -> PlannedFile:
        document = await self.editor.read(place.uri)
        if isinstance(document, Document) and document.is_notebook:
            return self._failed_file(place, NOTEBOOK, patch.hunks)
        if isinstance(document, Document):
            text, place = document.text, replace(place, uri=document.uri)
        elif document.code is Code.NO_SUCH_FILE and patch.operation in (Operation.ADD, Operation.WRITE):
            text = None
            if (gone := check_is_there(patch, place, self.readings)) is not None:
                return self._failed_file(place, gone)
        else:
            return self._failed_file(place, document, patch.hunks)
        if place.is_link and (patch.operation is Operation.DELETE or patch.move_to is not None):
            return self._failed_file(place, _link(patch, place), patch.hunks)
        carried = (
            patch if text is None else await carry_over(patch, place, text, self.readings, self.find_keys)
        )
        if isinstance(carried, Failure):
            return self._failed_file(place, carried, patch.hunks, text)
        patch = carried
        target = self.places[patch.move_to] if patch.move_to is not None else place
        taken = patch.move_to is not None and await self._is_taken(target)
        planned = await asyncio.to_thread(plan_file, patch, text, taken=taken, find_keys=self.find_keys)
        if isinstance(planned, Failure):
            hunks = patch.hunks if planned.code is not Code.TOO_LARGE else ()
            return self._failed_file(place, planned, hunks, text)
        form = await self._form(planned.effect, text, place, target)
        if (wrong := _unwritable(planned, form, patch, text)) is not None:
            return self._failed_file(place, wrong, patch.hunks, text)
        whole = text if text is not None else replace(form, content=patch.content)
        parts = [
            Part(
                mutation=self._mutation(place, each.hunk),
                planned=_check_encoding(each, document, form, patch),
                text=whole,
            )
            for each in planned.parts
        ]
        parts = [_with_host(part, parts) for part in parts]
        changes = _changes(planned.effect, place, (target, form), parts)
        moved_to = target if planned.effect is Effect.MOVE else None
        return PlannedFile(path=place.path, parts=tuple(parts), changes=changes, moved_to=moved_to)

    async def _form(self, effect: Effect, text: Text | None, place: Place, target: Place) -> Text:
        """
        Returns a text in the encoding that the file will have.

        A moved file gets the encoding of its new place, if that differs from the one of its old place. One
        that has not the encoding of its old place keeps its own, which its byte order mark tells.
        """
        if text is None:
            return await self.editor.empty_text(place.uri)
        if effect is not Effect.MOVE:
            return text
        here, there = await self.editor.empty_text(place.uri), await self.editor.empty_text(target.uri)
        is_own = text.encoding != here.encoding
        return text if is_own or (here.encoding, here.bom) == (there.encoding, there.bom) else there

    async def _is_taken(self, place: Place) -> bool:
        """Whether there is something at *place*, even if it cannot be read."""
        document = await self.editor.read(place.uri)
        return isinstance(document, Document) or document.code is not Code.NO_SUCH_FILE

    def _mutation(self, place: Place, hunk: Hunk | None = None) -> Mutation:
        number = f".{hunk.number}" if hunk is not None else ""
        return replace(
            self.mutation,
            id=f"{self.mutation.id}:{place.path}{number}",
            uri=place.uri,
            identity=place.identity,
            path=place.path,
            hunk=hunk,
        )

    def _failed_file(
        self, place: Place, failure: Failure, hunks: Sequence[Hunk] = (), text: Text | None = None
    ) -> PlannedFile:
        mutations = [self._mutation(place, hunk) for hunk in hunks] or [self._mutation(place)]
        failure = failure.with_uri(place.uri)
        parts = [Part(mutation=mutation, planned=failure, text=text) for mutation in mutations]
        return PlannedFile(path=place.path, parts=tuple(parts), changes=())


def _changes(
    effect: Effect, place: Place, moved_to: tuple[Place, Text], parts: Sequence[Part]
) -> tuple[Change, ...]:
    """
    Returns the changes that make *effect* at *place*; none if no part fits.

    Args:
        moved_to: The new place of a file that is moved, and a text in the encoding that it gets there.
    """
    text, (target, form) = parts[0].text, moved_to
    assert text is not None
    if all(isinstance(part.planned, Failure) for part in parts):
        return ()
    match effect:
        case Effect.CREATE:
            return (Create(uri=place.uri, text=text),)
        case Effect.DELETE:
            return (Delete(uri=place.uri, base=text),)
        case Effect.UPDATE:
            return _update(place.uri, text, parts)
        case Effect.MOVE:
            edits = sorted((e for part in parts for e in part.edits), key=lambda e: e.span.start)
            moved = replace(form, content=edit.apply(text.content, edits))
            created = Create(uri=target.uri, text=moved, moved_from=place.uri)
            return (created, Delete(uri=place.uri, base=text))


def _link(patch: FilePatch, place: Place) -> Failure:
    """Returns why a link is not deleted or moved: only its target would be, and the link would stay."""
    return Failure(
        code=Code.BAD_ARGUMENTS,
        message=(
            f"{patch.path} is a symbolic link to {place.path}, and only files can be deleted or moved. "
            "Nothing was changed."
        ),
        steps=(
            f"If you mean the file, name {place.path}.",
            "If you mean the link, and you can run commands, use one such as rm or mv.",
        ),
    )


def _unwritable(planned: FilePlan, form: Text, patch: FilePatch, text: Text | None) -> Failure | None:
    """Returns a failure if the encoding *form* of a file's new place cannot represent its text."""
    if text is None:
        raw = form.encode(patch.content)
    elif planned.effect is Effect.MOVE and form is not text:
        raw = form.encode(edit.apply(text.content, planned.edits), "the moved file")
    else:
        return None
    if not isinstance(raw, Failure):
        return None
    name = patch.path if patch.move_to is None else patch.move_to
    steps = (
        f"Use characters that {form.encoding} has.",
        "Or ask the user about the charset in .editorconfig.",
    )
    message = raw.message.replace("The document is ", f"According to .editorconfig, {name} must be ")
    return replace(raw, message=message, steps=steps)


def _check_encoding(
    part: PartPlan, document: Document | Failure, form: Text, patch: FilePatch
) -> PlannedHunk | Failure:
    """Returns the plan, or a failure if the encoding *form* of the document cannot represent the new text."""
    planned, sent = part.result, patch.content if part.hunk is None else part.hunk.new
    if isinstance(document, Failure):
        return planned
    text = Text("") if document.is_open else form  # how an editor saves is its own affair
    for each in planned.edits if isinstance(planned, PlannedHunk) else ():
        if (unwritable := text.unwritable(each.new, sent)) is not None:
            return unwritable.with_uri(document.uri)
    return planned.with_uri(document.uri) if isinstance(planned, Failure) else planned


def _with_host(part: Part, parts: Sequence[Part]) -> Part:
    """Returns *part*, or its failure if it builds on one of the *parts* that failed."""
    host = next(
        (each for each in parts if each.mutation.hunk and each.mutation.hunk.number == part.host), None
    )
    if part.host is None or host is None or not isinstance(host.planned, Failure):
        return part
    bad = f"hunk {part.host} of {part.mutation.path}"
    return replace(part, planned=fits_alone(part, bad, has_host=False))


def _update(uri: str, base: Text, parts: Sequence[Part]) -> tuple[Change, ...]:
    hunks = tuple(
        part.planned for part in parts if isinstance(part.planned, PlannedHunk) and part.planned.edits
    )
    return (Update(uri=uri, base=base, hunks=hunks),) if hunks else ()


def _all_or_nothing(files: Sequence[PlannedFile]) -> tuple[PlannedFile, ...]:
    """Returns the files, without any changes and with failures if not every part fits."""
    bad = next((part for file in files for part in file.parts if isinstance(part.planned, Failure)), None)
    if bad is None or sum(len(file.parts) for file in files) == 1:
        return tuple(files)
    return tuple(
        replace(file, changes=(), parts=tuple(_hold_back(part, bad) for part in file.parts)) for file in files
    )


def _hold_back(part: Part, bad: Part) -> Part:
    if isinstance(part.planned, Failure) or part.text is None:
        return part
    if not part.planned.edits and part.host is None and part.mutation.hunk is not None:
        return part
    hunk = f"hunk {bad.mutation.hunk.number} of " if bad.mutation.hunk is not None else ""
    failure = fits_alone(part, f"{hunk}{bad.mutation.path}", "nothing was changed")
    return replace(part, planned=replace(failure, near=candidates_of(part, part.text)))


def fits_alone(part: Part, bad: str, so: str = "this edit was not made", *, has_host: bool = True) -> Failure:
    """
    Returns the failure for an edit that fits, but *bad* in its call does not.

    Args:
        so: What follows from that.
        has_host: Whether the edit that this one builds on fits, if it builds on one.
    """
    alone = "Or send this edit alone."
    if part.host is not None:
        alone = f"Or send this edit together with hunk {part.host}, without the edit that does not fit."
    return Failure(
        code=Code.BAD_PATCH,
        uri=part.mutation.uri,
        message=f"{FITS}, but another one does not: {bad}. So {so}.",
        steps=("Fix the edit that does not fit, then send the call again.", *((alone,) if has_host else ())),
        is_applicable=True,
    )


def candidates_of(part: Part, now: Text) -> tuple[Candidate, ...]:
    """Returns the places that the hunk of *part* matched, in *now*; none for a hunk without old text."""
    hunk, base, edits = part.mutation.hunk, part.text, part.edits
    if hunk is None or base is None or not edits or not hunk.old:
        return ()
    found = match.locate(base, hunk)
    spans = [each.span for each in (found.near if isinstance(found, Failure) else found)]
    moved = edit.edits_between(base.content, now.content)
    # An edit may take a line end with it.
    first = [span for span in spans if span.start - 2 <= edits[0].span.start <= span.end + 2][:1]
    chosen = spans[:LIMIT_CANDIDATES] if hunk.replace_all else first
    there = [edit.carry(span, moved) for span in chosen]
    return tuple(candidate_at(now, hunk, span) for span in there)


def preview(files: Sequence[PlannedFile]) -> str:
    """Returns what *files* would write, as a unified diff, and messages about parts that do not fit."""
    result = []
    for file in files:
        if not file.changes:
            failed = (part.planned for part in file.parts if isinstance(part.planned, Failure))
            why = next((each.message for each in failed), "the document already has this change")
            result.append(f"# {file.path}: nothing would be written: {why}\n")
        for change in file.changes:
            is_source = change.uri == file.parts[0].mutation.uri
            path = file.path if is_source or file.moved_to is None else file.moved_to.path
            match change:
                case Create(text=text):
                    result.append(diff.creation_diff(path, text))
                case Delete(base=text):
                    result.append(diff.deletion_diff(path, text))
                case Update(base=text):
                    result.append(diff.unified_diff(path, text, change.edits))
    return "".join(result)
