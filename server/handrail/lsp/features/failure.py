"""List, show, fix and dismiss the edits that did not land."""

from __future__ import annotations

from handrail.core.failure import Failure
from handrail.core.ledger import offer
from handrail.lsp import protocol
from handrail.lsp.features import virtual
from handrail.lsp.state import State
from handrail.lsp.wire import InvalidParams


async def list_(state: State, params: protocol.FailureListParams) -> list[protocol.Failure]:
    """The open failures, of one document if named."""
    known = state.host.ledger.open
    if params.uri is not None:
        place = state.workspace.resolve(params.uri)
        identity = params.uri if isinstance(place, Failure) else place.identity
        known = tuple(each for each in known if each.mutation.identity == identity)
    return [state.converter.failure(each) for each in known]


async def dismiss(state: State, params: protocol.FailureDismissParams) -> None:
    """Close one failure, or all."""
    if params.all:
        state.host.dismiss([known.id for known in state.host.ledger.open])
    elif params.failure is not None:
        state.host.dismiss([params.failure])
    else:
        raise InvalidParams("params must have `failure`, the id of an open failure, or `all: true`.")


async def apply(state: State, params: protocol.FailureApplyParams) -> list[protocol.Outcome]:
    """Make a failed edit at one of its candidates."""
    fixed = await state.host.apply(params.failure, params.candidate)
    for warning in fixed.warnings:
        state.say(warning)
    return [state.converter.outcome(fixed.outcome)]


async def diff(state: State, params: protocol.FailureDiffParams) -> protocol.FailureDiff:
    """Show what a failed edit would change, and have a document ready that does."""
    text = offer.show_fixes(state.host.failure(params.failure), params.candidate)
    if not text:
        raise InvalidParams("params.candidate must be the index of a candidate where the edit can be made.")
    uri = virtual.of_failure(params.failure, params.candidate, text)
    return protocol.FailureDiff(uri=await virtual.document(state, uri, "edit.diff", text), text=text)


def tell(state: State, outcomes: list[protocol.Outcome]) -> None:
    """Say what a quick fix could not do: editors drop the result of a command."""
    for outcome in outcomes:
        if outcome.failure is not None:
            state.say(f"The edit could not be applied there: {outcome.failure.message}")
