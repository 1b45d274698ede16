"""
How a command is contained, what is opened for it, and the grants for that.

Here it is only described; `verdict` decides whether a question is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.core.policy import containment
from handrail.core.policy.containment import (
    IN_BACKGROUND,
    OPENS,
    UNCONTAINED,
    WEAKLY_HELD,
    Need,
    Profile,
    Sandbox,
)
from handrail.core.policy.grants import BACKGROUND, OPENED_MARK, WEAK_WORK, Grant, Rights
from handrail.core.policy.place import Place, PlaceKind, is_asked
from handrail.core.policy.request import Request
from handrail.core.policy.shell import ParsedCommand
from handrail.values import dataclass, replace

OPENED_BY_NAME = frozenset({PlaceKind.PROTECTED, PlaceKind.RUNS_LATER, PlaceKind.OUTSIDE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """One thing that is opened for a contained command; each has a question of its own."""

    grant: Grant
    detail: str
    place: Place | None = None


def openings(request: Request, held: Grant, needs: frozenset[Need]) -> Iterator[Opening]:
    """Yields what is opened for a command in *work*; nothing if it has all rights."""

    def grant_of(what: str) -> Grant:
        return replace(held, subject=f"{held.subject}{OPENED_MARK}{what}")

    if Need.MACHINE in request.needs:
        return
    yield from (Opening(grant=grant_of(need), detail=OPENS[need]) for need in Need if need in needs)
    for place in request.opened:
        detail = f"The command can read and write {place.path}."
        yield Opening(grant=grant_of(place.identity), detail=detail, place=place)


def why_in_background(request: Request, *, is_work: bool) -> list[str]:
    """Returns why a command is asked about although similar ones are not."""
    if not request.is_background:
        return []
    return [IN_BACKGROUND] if is_work else [IN_BACKGROUND, UNCONTAINED]


def why_uncontained(request: Request, said: Sequence[str]) -> list[str]:
    """
    Returns that a command runs without a sandbox, unless *said* tells so, or the user has turned it off.
    """
    is_contained = request.works and Need.MACHINE not in request.needs
    if is_contained or request.reads_only or request.sandbox is Sandbox.OFF:
        return []
    return [] if {UNCONTAINED, OPENS[Need.MACHINE]} & set(said) else [UNCONTAINED]


def holding_text(request: Request, *, is_work: bool) -> str:
    """Returns the containment that a yes to a line covers; empty if the line has all rights."""
    if not is_work:
        return f"{OPENED_MARK}{Profile.LOOK}" if request.looks else ""
    if Need.MACHINE in request.needs:
        return ""
    return f"{OPENED_MARK}{WEAK_WORK if request.available.is_weak else Profile.WORK}"


def describe_holding(request: Request) -> Iterator[str]:
    """Describes how a command in *work* is held, for people."""
    if Need.MACHINE in request.needs:
        yield from (OPENS[Need.MACHINE], *why_asked_for(request))
    elif request.available.is_weak:
        yield WEAKLY_HELD


def why_asked_for(request: Request) -> Iterator[str]:
    """Yields the model's reason, for people, if it gave one."""
    if request.reason:
        yield f"The model's reason: {request.reason}"


def asked_places(request: Request, *, is_work: bool) -> Iterator[Place]:
    """Yields the places that a command names and that are asked about."""
    if is_work:
        yield from asked_of_work(request)
        return
    places = request.places if request.looks else (*request.places, *request.beneath)
    yield from (place for place in places if is_asked(place, is_written=place in request.written))


def asked_of_work(request: Request) -> Iterator[Place]:
    """Yields places that a contained command names and that would be hidden from it or protected."""
    for place in request.places:
        # What else lies outside is not there for the command, or the system's, which stays as it is.
        if place.kind is PlaceKind.OUTSIDE and place.identity != request.folder:
            continue
        if is_asked(place, is_written=place in request.written):
            yield place


def needs_of_work(request: Request) -> frozenset[Need]:
    """Returns the needs of a contained command, with the repository if the line names a file of it."""
    named = any(place.kind is PlaceKind.VERSION_CONTROL for place in asked_of_work(request))
    return request.needs | {Need.REPOSITORY} if named else request.needs


def needs_beyond(request: Request, command: ParsedCommand) -> frozenset[Need]:
    """Returns the needs that the model declares but the command does not show, and all rights if declared."""
    known = containment.needs(part.words for part in command.parts)
    return request.declared - (known - {Need.MACHINE})


def grant_with(place: Place, held: Grant) -> Grant:
    """
    Returns the grant for a command line, as it is *held*, with a place that it names.

    The line may lead to another place later, by a link or a pattern; then there is another question.
    """
    subject = held.subject if OPENED_MARK in held.subject else f"{held.subject}{OPENED_MARK}{Profile.FREE}"
    return replace(held, subject=f"{subject}{OPENED_MARK}{place.identity}")


def is_allowed_with(place: Place, free: Grant, held: Grant, rights: Rights) -> bool:
    """Whether a command may use a place that it names, contained or, unless in the background, without."""
    without = () if held.subject.endswith(OPENED_MARK + BACKGROUND) else (grant_with(place, free),)
    return any(grant in rights.grants for grant in (grant_with(place, held), *without))
