"""
List, keep and undo the agent's changes, at their places in documents.

Places are updated when a client asks, or a moment after it has reported typing (`lsp/review`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import takewhile

from lsprotocol import types as lsp

from handrail.agent.review.selection import HunkSelection
from handrail.agent.review.undoing import undo as undone
from handrail.agent.turns import UnknownId
from handrail.core import surfaces
from handrail.core.review.comments import Status
from handrail.core.review.hunks import Hunk, base_of
from handrail.core.review.pending import Kind, Pending
from handrail.counts import count_of
from handrail.lsp import convert, protocol, settings
from handrail.lsp.features import actions, review_page
from handrail.lsp.features.actions import action
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams

CONFLICTS_SHOWN = 10  # one by one; no one reads more messages
WITH_TYPED = "Undo all of it, including what you typed"
TEXT_CHARS = 400  # of the texts of a conflict, in a message
PATH_CHARS = 60  # of the old path of a renamed document, in a title


async def list_(state: State, params: protocol.ReviewListParams) -> list[protocol.Hunk]:
    """List the pending changes, document by document."""
    reviews = state.host.reviews
    await reviews.refresh()
    hunks = reviews.hunks(HunkSelection(uri=params.uri, turn=params.turn))
    return [
        _to_protocol(state, reviews.pending[identity], hunk) for identity in hunks for hunk in hunks[identity]
    ]


async def base(state: State, params: protocol.ReviewBaseParams) -> protocol.ReviewBase:
    """The text of a document without its pending changes, or without those of a turn."""
    reviews = state.host.reviews
    await reviews.refresh()
    pending = reviews.hunks(HunkSelection(uri=params.uri, turn=params.turn))
    if not pending:
        raise UnknownId(f"Nothing is pending in {state.show_path(params.uri)}.")
    ((identity, hunks),) = pending.items()
    known = reviews.pending[identity]
    if known.kind is Kind.WHOLE:
        raise UnknownId(f"{known.path} is not a text file, so its earlier contents cannot be shown.")
    text = "".join(base_of(known.document.rows, hunks))
    return protocol.ReviewBase(uri=state.client_uri(known.uri), text=text)


async def keep(state: State, params: protocol.ReviewKeepParams) -> protocol.ReviewKept:
    """Keep changes: they are yours from now on."""
    wanted = _read_wanted(params)
    await state.host.reviews.refresh()
    subjects = state.discussion.subjects_of(wanted)
    kept = await state.host.reviews.keep(wanted)
    state.discussion.note_decision([each for each in subjects if each.hunk in kept], Status.KEPT)
    return protocol.ReviewKept(hunks=list(kept))


async def undo(state: State, params: protocol.ReviewUndoParams) -> protocol.ReviewUndone:
    """Undo changes."""
    wanted = _read_wanted(params)
    await state.host.reviews.refresh()
    subjects = state.discussion.subjects_of(wanted)
    with state.show_slow_work("Undoing changes"):
        result = await undone(state.host.reviews, wanted, forced=params.typed)
    gone = [each for each in subjects if each.hunk in result.hunks]
    state.discussion.note_decision(gone, Status.UNDONE)
    why = await review_page.said_why(state, gone) if params.say_why else None
    return protocol.ReviewUndone(
        hunks=result.hunks,
        conflicts=[
            protocol.ReviewConflict(
                hunk=each.hunk,
                uri=state.client_uri(each.uri),
                reason=each.reason,
                now=each.now,
                before=each.before,
                edited_by_user=each.is_typed,
            )
            for each in result.conflicts
        ],
        checkpoint=result.checkpoint,
        why=why,
    )


def tell_undone(state: State, undone: protocol.ReviewUndone) -> None:
    """Say what was not undone: editors drop a command's result."""
    for each in undone.conflicts[:CONFLICTS_SHOWN]:
        path = state.show_path(each.uri)
        texts = f"Now: {_short(each.now)}\nWithout the change: {_short(each.before)}"
        state.say(f"A change in {path} was not undone. {each.reason}{_way_on(state, each)}\n{texts}")
    if more := len(undone.conflicts[CONFLICTS_SHOWN:]):
        state.say(f"{count_of(more, 'more change')} {'was' if more == 1 else 'were'} not undone.")
    if undone.why is not None:
        review_page.show_comment_line(state, undone.why)


def _way_on(state: State, conflict: protocol.ReviewConflict) -> str:
    """Returns how to undo what was typed too, as a sentence after a space; empty if that is not offered."""
    known = _find_pending(state, conflict.uri) if conflict.edited_by_user else None
    hunks = known.document.hunks if known is not None else ()
    hunk = next((each for each in hunks if each.id == conflict.hunk), None)
    if known is None or hunk is None or not _can_undo_typed(known, hunk):
        return ""
    whose = "the agent's change" if len(hunk.turns) == 1 else "the changes of all turns that wrote there"
    return f" The code action “{WITH_TYPED}” undoes {whose} and yours."


def _short(text: str) -> str:
    return surfaces.message(text, TEXT_CHARS).rstrip("\n") or "(nothing)"


def _read_wanted(params: protocol.ReviewKeepParams | protocol.ReviewUndoParams) -> HunkSelection:
    if not params.all and params.hunks is None and params.uri is None and params.turn is None:
        raise InvalidParams("params needs hunks, uri or turn, or all: true for all pending changes.")
    return HunkSelection(hunks=params.hunks, uri=params.uri, turn=params.turn)


async def next_(state: State, params: protocol.ReviewStepParams) -> protocol.Hunk:
    """The next change after a line, in its document or in the next one."""
    return await _step(state, params, 1)


async def previous(state: State, params: protocol.ReviewStepParams) -> protocol.Hunk:
    """The last change before a line, in its document or in the one before."""
    return await _step(state, params, -1)


async def _step(state: State, params: protocol.ReviewStepParams, way: int) -> protocol.Hunk:
    reviews = state.host.reviews
    await reviews.refresh()
    hunks = [
        ((known.path, shown_line(hunk, len(known.document.rows))), known, hunk)
        for known in reviews.shown
        for hunk in known.document.hunks
    ]
    if not hunks:
        raise UnknownId("No changes are pending.")
    here = (state.show_path(params.uri) if params.uri is not None else "", params.line)
    ahead = [each for each in hunks if (each[0] > here if way > 0 else each[0] < here)]
    ordered = (ahead or hunks) if way > 0 else (ahead or hunks)[::-1]  # after the last one comes the first
    _, known, hunk = ordered[0]
    return _to_protocol(state, known, hunk)


def show(state: State, hunk: protocol.Hunk) -> None:
    """Have the editor show a change; it drops the result of a command."""
    if state.client.shows_documents:
        start = lsp.Position(line=hunk.range.start.line, character=0)
        selection = lsp.Range(start=start, end=start)
        params = lsp.ShowDocumentParams(uri=hunk.uri, take_focus=True, selection=selection)
        state.server.window_show_document(params)
    else:
        state.say(f"{state.show_path(hunk.uri)}:{hunk.range.start.line + 1}")


# ---- At the place ---------------------------------------------------------------------------------------


def code_actions(state: State, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Returns the code actions for the changes at the cursor, and for all of the document."""
    known = _find_pending(state, params.text_document.uri)
    if known is None or not actions.wants_fixes(params):
        return []
    uri, here = params.text_document.uri, {"uri": params.text_document.uri}
    result = list[lsp.CodeAction]()
    here_are = _hunks_at(known, params.range.start.line, params.range.end.line)
    for hunk in here_are:
        one = {"hunks": [hunk.id]}
        size = _size(known, hunk)
        result.append(action(f"Keep this change ({size})", protocol.REVIEW_KEEP, one))
        result.append(action(f"Undo this change ({size})", protocol.REVIEW_UNDO, one))
        result.append(action("Undo this change and say why…", protocol.REVIEW_UNDO, {**one, "sayWhy": True}))
        if _can_undo_typed(known, hunk):
            result.append(action(WITH_TYPED, protocol.REVIEW_UNDO, {**one, "typed": True}))
    count = len(known.document.hunks)
    if count > 1 or not result:
        what = "the change" if count == 1 else f"all {count} changes"
        result.append(action(f"Keep {what} in this document", protocol.REVIEW_KEEP, here))
        result.append(action(f"Undo {what} in this document", protocol.REVIEW_UNDO, here))
    result += [
        action("Comment on this change…", protocol.REVIEW_COMMENT, {"hunk": hunk.id}) for hunk in here_are
    ]
    at = {"uri": uri, "line": params.range.start.line}
    result.append(action("Next change", protocol.REVIEW_NEXT, at))
    result.append(action("Previous change", protocol.REVIEW_PREVIOUS, at))
    result.append(action("Open the review document", protocol.REVIEW_OPEN, {}))
    return result


def _can_undo_typed(known: Pending, hunk: Hunk) -> bool:
    """Whether text typed in a hunk can be undone too; a document that has such text is not removed."""
    is_document = known.is_whole and (not known.is_new or hunk is known.document.hunks[0])
    return hunk.is_typed_in and not is_document


def _hunks_at(known: Pending, first: int, last: int) -> Sequence[Hunk]:
    """The hunks that lines touch; one without rows is at the line that it is shown at."""
    hunks, rows = known.document.hunks, len(known.document.rows)
    begin = bisect_left(hunks, first, key=lambda hunk: max(hunk.end - 1, shown_line(hunk, rows)))
    return list(takewhile(lambda hunk: shown_line(hunk, rows) <= last, hunks[begin:]))


def shown_line(hunk: Hunk, rows: int) -> int:
    """The line at which a hunk is shown in a document of so many rows: no cursor gets behind the last one."""
    return max(0, min(hunk.start, rows - 1))


def lenses(state: State, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """Above each change: how large it is, *Keep* and *Undo*."""
    known, lenses = _find_pending(state, params.text_document.uri), list[lsp.CodeLens]()
    if known is None:
        return lenses
    for hunk in known.document.hunks:
        line = _line(known, hunk)
        for title, request in (
            (f"✎ {_size(known, hunk)}: Keep", protocol.REVIEW_KEEP),
            ("Undo", protocol.REVIEW_UNDO),
        ):
            command = lsp.Command(title=title, command=request.command, arguments=[{"hunks": [hunk.id]}])
            lenses.append(lsp.CodeLens(range=line, command=command))
    return lenses


def hints(state: State, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """At the first line of each change: how large it is."""
    known = _find_pending(state, params.text_document.uri)
    if known is None:
        return []
    return [
        lsp.InlayHint(
            position=_line(known, hunk).start,
            label=f"✎ {_size(known, hunk)} ",
            tooltip="Changed by the agent. Code actions on these lines keep or undo the change.",
        )
        for hunk in _hunks_at(known, params.range.start.line, params.range.end.line)
    ]


def marks(state: State) -> dict[str, list[lsp.Diagnostic]]:
    """The changes of open documents as diagnostics of the least severity, where the user wants that."""
    if not state.settings.flag(settings.REVIEW_MARKS):
        return {}
    uris = [state.client_uri(known.uri) for known in state.host.reviews.shown]
    return {uri: _marks(state, uri) for uri in uris if state.documents.find(uri) is not None}


def _marks(state: State, uri: str) -> list[lsp.Diagnostic]:
    known = _find_pending(state, uri)
    if known is None:
        return []
    return [
        lsp.Diagnostic(
            range=_range(hunk),
            message=f"Changed by the agent ({_size(known, hunk)})"
            + (", and by you." if hunk.is_typed_in else "."),
            severity=lsp.DiagnosticSeverity.Hint,
            source=convert.REVIEW_SOURCE,
        )
        for hunk in known.document.hunks
    ]


def _find_pending(state: State, uri: str) -> Pending | None:
    """
    Returns the pending changes of an open document, compared with its current text; None if it has none.
    """
    reviews, identity = state.host.reviews, state.identify(uri)
    if identity not in reviews.pending:
        return None
    reviews.compare_touched(identity)
    known = reviews.pending.get(identity)
    return known if known is not None and reviews.shows(known) else None


def _size(known: Pending, hunk: Hunk) -> str:
    """`+3 −1`, the rows that came and went; of a renamed document its old path; without rows, what it is."""
    if known.origin is not None and hunk is known.document.hunks[0]:
        return f"renamed from {surfaces.message(known.origin.path, PATH_CHARS)}"
    if not hunk.rows and not hunk.before:
        return "not a text file" if known.kind is Kind.WHOLE else known.kind.value
    return f"+{len(hunk.rows)} −{len(hunk.before)}"


def _to_protocol(state: State, known: Pending, hunk: Hunk) -> protocol.Hunk:
    uri = state.client_uri(known.uri)
    range_ = _range(hunk)
    is_text = known.kind is not Kind.WHOLE
    return protocol.Hunk(
        id=hunk.id,
        uri=uri,
        range=protocol.Range(
            start=protocol.Position(line=range_.start.line, character=range_.start.character),
            end=protocol.Position(line=range_.end.line, character=range_.end.character),
        ),
        before="".join(hunk.before) if is_text else "",
        after="".join(hunk.rows) if is_text else "",
        turns=list(hunk.turns),
        calls=list(dict.fromkeys(step.call for step in hunk.steps)),
        edited_by_user=hunk.is_typed_in,
        kind=known.kind.value,
        renamed_from=state.client_uri(known.origin.uri) if known.origin is not None else None,
    )


def _range(hunk: Hunk) -> lsp.Range:
    """The rows of a hunk, to the beginning of the row after them."""
    return lsp.Range(
        start=lsp.Position(line=hunk.start, character=0), end=lsp.Position(line=hunk.end, character=0)
    )


def _line(known: Pending, hunk: Hunk) -> lsp.Range:
    """The line that a hunk is shown at."""
    start = lsp.Position(line=shown_line(hunk, len(known.document.rows)), character=0)
    return lsp.Range(start=start, end=start)
