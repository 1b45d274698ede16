"""
From the patches of one call to changes of documents, and from what landed to outcomes.

Planning reads documents through the editor and computes everything on the text that it really holds; it
changes nothing. If one hunk of a call does not fit, no hunk of it is made, unless the call asks for what
fits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from handrail.agent.tools.call import Edits
from handrail.core.documents import diff, edit
from handrail.core.documents.change import (
    Applied,
    Change,
    Create,
    Delete,
    Landing,
    Partial,
    PlannedHunk,
    Rejected,
    Tier,
    Update,
)
from handrail.core.documents.text import Text
from handrail.core.failure import Candidate, Code, Failure, Span
from handrail.core.matching import similar as match
from handrail.core.patch import FilePatch, Hunk, Operation
from handrail.core.planning import plan
from handrail.core.policy.verdict import Place
from handrail.core.verify import Mutation, Outcome, Status
from handrail.ports import Document, Editor

LIMIT_DIFF_CHARS = 100_000  # a longer diff is no help to people


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    One mutation of a call.

    Attributes:
        mutation: What is tried.
        planned: What it comes to; no edits and no change if it is there already.
        text: The document that it was planned on.
    """

    mutation: Mutation
    planned: PlannedHunk | Failure
    text: Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """All parts of one file, and the changes that make those that fit."""

    path: str
    parts: tuple[Part, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Plans the edits of one call; `mutation` is the pattern of its mutations, without document and hunk."""

    editor: Editor
    places: Mapping[str, Place]
    mutation: Mutation

    async def plan(self, edits: Edits) -> tuple[PlannedFile, ...]:
        """Plan every file of *edits*, in order."""
        files = []
        for patch in edits.patches:
            place = self.places[patch.path]
            if edits.wrong is not None:
                files.append(self._failed(place, edits.wrong.at(place.uri)))
            else:
                files.append(await self._file(patch, place))
        return tuple(files) if edits.partial else _all_or_nothing(files)

    async def _file(self, patch: FilePatch, place: Place) -> PlannedFile:
        document = await self.editor.read(place.uri)
        absent = isinstance(document, Failure) and document.code is Code.NO_SUCH_FILE
        if isinstance(document, Failure) and not (
            absent and patch.operation in (Operation.ADD, Operation.WRITE)
        ):
            return self._failed(place, document.at(place.uri), patch.hunks)
        if isinstance(document, Failure) and patch.path.endswith(("/", "\\")):
            return self._failed(place, _folder(patch.path))
        if isinstance(document, Failure):
            return self._created(place, Text(patch.content))
        match patch.operation:
            case Operation.UPDATE:
                return await self._updated(patch, place, document)
            case Operation.WRITE:
                return await asyncio.to_thread(self._written, patch, place, document)
            case Operation.ADD:
                return await asyncio.to_thread(self._added, patch, place, document)
            case Operation.DELETE:
                return self._whole(place, document.text, (Delete(uri=document.uri, base=document.text),))

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

    def _failed(self, place: Place, failure: Failure, hunks: Sequence[Hunk] = ()) -> PlannedFile:
        mutations = [self._mutation(place, hunk) for hunk in hunks] or [self._mutation(place)]
        parts = [Part(mutation=mutation, planned=failure, text=None) for mutation in mutations]
        return PlannedFile(path=place.path, parts=tuple(parts), changes=())

    def _whole(self, place: Place, text: Text, changes: tuple[Change, ...]) -> PlannedFile:
        whole = PlannedHunk(number=None, tier=Tier.SAFE, edits=())
        part = Part(mutation=self._mutation(place), planned=whole, text=text)
        return PlannedFile(path=place.path, parts=(part,), changes=changes)

    def _created(self, place: Place, text: Text) -> PlannedFile:
        if isinstance(unwritable := text.encode(text.content), Failure):
            return self._failed(place, unwritable)
        return self._whole(place, text, (Create(uri=place.uri, text=text),))

    def _added(self, patch: FilePatch, place: Place, document: Document) -> PlannedFile:
        if not document.text.content:
            return self._written(patch, place, document)  # nothing is lost
        if isinstance(made := plan.plan_whole(document.text, patch.content), PlannedHunk) and not made.edits:
            return self._whole(place, document.text, ())
        failure = Failure(
            code=Code.FILE_EXISTS,
            uri=document.uri,
            message=f"{place.path} exists already; adding it would overwrite it. Nothing was changed.",
            steps=("Update the file instead.", "Or write it whole with write_file."),
        )
        return self._failed(place, failure)

    def _written(self, patch: FilePatch, place: Place, document: Document) -> PlannedFile:
        made = plan.plan_whole(document.text, patch.content)
        mutation = replace(self._mutation(place), uri=document.uri)
        part = Part(mutation=mutation, planned=_in(made, document), text=document.text)
        changes = _update(document, (part,))
        return PlannedFile(path=place.path, parts=(part,), changes=changes)

    async def _updated(self, patch: FilePatch, place: Place, document: Document) -> PlannedFile:
        place = replace(place, uri=document.uri)
        if (wrong := plan.too_many(patch.hunks)) is not None:
            return self._failed(place, wrong.at(document.uri))
        parts = tuple(
            Part(
                mutation=self._mutation(place, each.hunk),
                planned=_in(each.result, document),
                text=document.text,
            )
            for each in await asyncio.to_thread(plan.plan, document.text, patch.hunks)
        )
        if patch.move_to is None:
            return PlannedFile(path=place.path, parts=parts, changes=_update(document, parts))
        target = self.places[patch.move_to]
        taken = await self.editor.read(target.uri)
        if isinstance(taken, Document) or taken.code is not Code.NO_SUCH_FILE:
            failure = Failure(
                code=Code.FILE_EXISTS,
                uri=target.uri,
                message=f"{target.path} exists already; {place.path} cannot be moved there.",
                steps=("Choose another name.", "Or delete that file first."),
            )
            return self._failed(place, failure, patch.hunks)
        edits = sorted((e for part in parts for e in _edits(part)), key=lambda e: e.span.start)
        moved = replace(document.text, content=edit.apply(document.text.content, edits))
        changes = (Create(uri=target.uri, text=moved), Delete(uri=document.uri, base=document.text))
        if not parts:
            return self._whole(place, document.text, changes)
        return PlannedFile(path=place.path, parts=parts, changes=changes)


def _folder(path: str) -> Failure:
    return Failure(
        code=Code.BAD_ARGUMENTS,
        message=f"{path} names a folder, not a file. Nothing was changed.",
        steps=("Name the file to be made; its folders are made with it.",),
    )


def _in(planned: PlannedHunk | Failure, document: Document) -> PlannedHunk | Failure:
    """What was planned for *document*; a failure if its encoding cannot write the new text."""
    text = Text("") if document.is_open else document.text  # how an editor saves is its own affair
    for each in planned.edits if isinstance(planned, PlannedHunk) else ():
        if (unwritable := text.unwritable(each.new)) is not None:
            return unwritable.at(document.uri)
    return planned.at(document.uri) if isinstance(planned, Failure) else planned


def _edits(part: Part) -> tuple[edit.TextEdit, ...]:
    return part.planned.edits if isinstance(part.planned, PlannedHunk) else ()


def _update(document: Document, parts: Sequence[Part]) -> tuple[Change, ...]:
    hunks = tuple(
        part.planned for part in parts if isinstance(part.planned, PlannedHunk) and part.planned.edits
    )
    return (Update(uri=document.uri, base=document.text, hunks=hunks),) if hunks else ()


def _all_or_nothing(files: Sequence[PlannedFile]) -> tuple[PlannedFile, ...]:
    """The files as they are if every part fits; else without changes, the parts that fit saying why."""
    bad = next((part for file in files for part in file.parts if isinstance(part.planned, Failure)), None)
    if bad is None or sum(len(file.parts) for file in files) == 1:
        return tuple(files)
    return tuple(
        replace(file, changes=(), parts=tuple(_held_back(part, bad) for part in file.parts)) for file in files
    )


def _held_back(part: Part, bad: Part) -> Part:
    if isinstance(part.planned, Failure) or part.text is None:
        return part
    if not part.planned.edits and part.mutation.hunk is not None:
        return part
    hunk = f"hunk {bad.mutation.hunk.number} of " if bad.mutation.hunk is not None else ""
    failure = Failure(
        code=Code.BAD_PATCH,
        uri=part.mutation.uri,
        message=f"This edit fits, but {hunk}{bad.mutation.path} in the same call does not; nothing changed.",
        steps=("Mend the edit that does not fit, and send the call again.", "Or send this edit alone."),
        near=_places(part, part.text),
    )
    return replace(part, planned=failure)


async def outcomes(editor: Editor, file: PlannedFile, landings: Sequence[Landing]) -> tuple[Outcome, ...]:
    """What became of each part of *file*, whose changes landed as given, in order."""
    found = await asyncio.to_thread(_told, file, landings)
    return tuple(
        [
            outcome or await _missed(editor, part, landings)
            for part, outcome in zip(file.parts, found, strict=True)
        ]
    )


def _told(file: PlannedFile, landings: Sequence[Landing]) -> list[Outcome | None]:
    """The outcome of each part, as far as it can be told without looking again."""
    found: list[Outcome | None] = []
    now = landings[-1].text if landings and isinstance(landings[-1], Applied) else None
    for part in file.parts:
        if isinstance(part.planned, Failure):
            found.append(_failed(part, part.planned, now))
        elif not file.changes or (part.mutation.hunk is not None and not part.planned.edits):
            found.append(_already(part))
        else:
            found.append(_landed(part, file, landings))
    return found


def _failed(part: Part, failure: Failure, now: Text | None) -> Outcome:
    """A part that does not fit; if others landed, its places and line numbers are those of the text now."""
    text = part.text
    if now is not None and part.mutation.hunk is not None and text is not None:
        again = plan.plan_hunk(now, part.mutation.hunk)
        if isinstance(again, Failure) and again.code is failure.code:
            failure, text = again.at(failure.uri), now
    return Outcome(mutation=part.mutation, status=Status.FAILED, failure=failure, text=text)


def _already(part: Part) -> Outcome:
    return Outcome(mutation=part.mutation, status=Status.ALREADY, text=part.text)


async def _missed(editor: Editor, part: Part, landings: Sequence[Landing]) -> Outcome:
    """A part that was sent and is not there: shown where it should be, in the text that is there instead."""
    failure = next(landing.failure for landing in landings if not isinstance(landing, Applied))
    document = await editor.read(part.mutation.uri)
    text = document.text if isinstance(document, Document) else part.text
    near = _places(part, text) if text is not None else ()
    return Outcome(
        mutation=part.mutation, status=Status.FAILED, failure=replace(failure, near=near), text=text
    )


def _places(part: Part, now: Text) -> tuple[Candidate, ...]:
    """The place that the hunk of *part* matched, where it lies in *now*; none for what has no old text."""
    hunk, base, edits = part.mutation.hunk, part.text, _edits(part)
    if hunk is None or base is None or not edits or not hunk.old:
        return ()
    found = match.locate(base, hunk)
    spans = [each.span for each in (found.near if isinstance(found, Failure) else found)]
    moved = edit.between(base.content, now.content)
    for span in spans:
        if span.start - 2 <= edits[0].span.start <= span.end + 2:  # an edit may take a line end with it
            there = edit.carry(span, moved)
            return (Candidate(span=there, line=now.line_at(there.start), score=1.0),)
    return ()


def _landed(part: Part, file: PlannedFile, landings: Sequence[Landing]) -> Outcome | None:
    """The outcome of a part that stands; None if it does not."""
    assert isinstance(part.planned, PlannedHunk)
    failed = next((landing for landing in landings if not isinstance(landing, Applied)), None)
    if isinstance(failed, Rejected):
        return None
    change, landing = file.changes[-1], landings[-1]
    if isinstance(failed, Partial) and isinstance(change, Update):
        fate = dict(zip(change.edits, failed.stands, strict=True))
        if not all(fate.get(each, False) for each in part.planned.edits):
            return None
    text = landing.text if isinstance(landing, Applied) else None
    return Outcome(
        mutation=part.mutation,
        status=Status.LANDED,
        tier=part.planned.tier if part.mutation.hunk is not None else None,
        text=text or part.text,
        spans=_spans(change, part) if text is not None else (),
        diff=_diff(file, part)[:LIMIT_DIFF_CHARS],
    )


def _spans(change: Change, part: Part) -> tuple[Span, ...]:
    """Where the edits of *part* stand once all edits of *change* are made."""
    if not isinstance(change, Update):
        return ()
    ours, spans, growth = set(_edits(part)), [], 0
    for each in change.edits:
        start = each.span.start + growth
        if each in ours:
            spans.append(Span(start=start, end=start + len(each.new)))
        growth += each.growth
    return tuple(spans)


def _diff(file: PlannedFile, part: Part) -> str:
    assert part.text is not None
    match file.changes:
        case (Create(text=text),):
            return diff.created(file.path, text)
        case (Delete(base=text),):
            return diff.deleted(file.path, text)
        case _:
            return diff.unified(file.path, part.text, _edits(part))
