"""
The places that the calls of a conversation link to.

A call that edits leads to the first of its changes that landed, where that is now; else to the nearest place
of a failure. A call whose place is not known leads to the beginning of its document.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp

from handrail.core.documents.change import Status
from handrail.core.documents.edit import carry, edits_between
from handrail.core.failure import Failure, Span
from handrail.core.ledger.outcome import Outcome
from handrail.core.policy.place import Place
from handrail.lsp.documents import to_units
from handrail.lsp.state import State
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A line of a document, counted from 0."""

    uri: str
    line: int


Edited = dict[tuple[str, str], list[Target]]  # by turn and call


def links(state: State, params: lsp.DocumentLinkParams) -> list[lsp.DocumentLink]:
    """Returns a link for each call that is about a document."""
    page = state.chats.of_uri(params.text_document.uri)
    if page is None:
        return []
    page.observe()
    result, places = [], dict[str, Place | Failure]()
    pending, failed = _pending_targets(state), _failure_targets(state)
    for at, line in enumerate(page.page.lines):
        call = page.shown_now.calls.get(line.part) if line.part is not None and not line.number else None
        if call is None or line.part is None or not call.path:
            continue
        if call.path not in places:
            places[call.path] = state.workspace.resolve(call.path)
        if not isinstance(place := places[call.path], Place):
            continue
        own = Target(uri=state.client_uri(place.uri), line=call.line)
        key = (page.shown_now.turns[line.part].turn, call.id)
        landed, missed = ([], []) if key in pending else _call_targets(state, *key)
        known = (pending.get(key), landed, failed.get(key), missed)
        target = next((_first_target(each, own) for each in known if each), own)
        result.append(_link(state, at, line.text, target))
    return result


def _link(state: State, at: int, row: str, target: Target) -> lsp.DocumentLink:
    """A link at the title of a call, which is code."""
    end = row.find("`", 3) + 1 or len(row.rstrip())
    units = to_units(row, end, state.documents.encoding)
    span = lsp.Range(start=lsp.Position(line=at, character=2), end=lsp.Position(line=at, character=units))
    return lsp.DocumentLink(range=span, target=f"{target.uri}#L{target.line + 1}")


def _first_target(targets: Sequence[Target], own: Target) -> Target:
    """The first place in the document that the call names; else the first one anywhere."""
    return next((each for each in targets if each.uri == own.uri), targets[0])


def _pending_targets(state: State) -> Edited:
    """The places of changes that are neither kept nor undone."""
    edited = Edited()
    for identity in list(state.host.reviews.pending):
        state.host.reviews.compare_touched(identity)
    for known in state.host.reviews.shown:
        uri = state.client_uri(known.uri)
        for hunk in known.document.hunks:
            for key in dict.fromkeys((step.turn, step.call) for step in hunk.steps):
                edited.setdefault(key, []).append(Target(uri=uri, line=hunk.start))
    return edited


def _failure_targets(state: State) -> Edited:
    """The nearest places of open failures."""
    edited = Edited()
    for each in state.host.ledger.open:
        if each.failure.near and each.seen is not None:
            mutation = each.mutation
            line = each.seen.line_at(each.failure.near[0].span.start)
            target = Target(uri=state.client_uri(mutation.uri), line=line)
            edited.setdefault((mutation.turn, mutation.call), []).append(target)
    return edited


def _call_targets(state: State, turn: str, call: str) -> tuple[list[Target], list[Target]]:
    """
    Returns where the changes of a call landed, and the nearest places of its failures, as its turn reported.
    """
    landed, missed = list[Target](), list[Target]()
    ended = state.host.turns.get(turn)
    for each in ended.outcomes if ended is not None else ():
        if each.mutation.call != call:
            continue
        if each.status is Status.LANDED and each.spans:
            landed.append(_current_target(state, each, each.spans[0]))
        elif each.failure is not None and each.failure.near:
            missed.append(_current_target(state, each, each.failure.near[0].span))
    return landed, missed


def _current_target(state: State, outcome: Outcome, span: Span) -> Target:
    """
    Returns the current position of a place of an outcome's text in the open document, or its earlier one.
    """
    document, text = state.documents.find(outcome.document.uri), outcome.text
    uri = state.client_uri(outcome.document.uri)
    if text is None:
        return Target(uri=uri, line=0)
    now = text if document is None else document.text
    moved = span if now is text else carry(span, edits_between(text.content, now.content))
    return Target(uri=uri, line=now.line_at(moved.start))
