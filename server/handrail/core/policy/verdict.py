"""
The verdict for one call: allow, ask, or block with the reason.

One decision for every tool, commands included: it depends on the kinds of places that a call touches, on what
a command is known to do, and on the user's settings and earlier answers. A block is final: no answer lifts
it. Asking is done elsewhere, and only for the verdict `Ask`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.core.failure import Code, Failure
from handrail.core.policy import blocks, rules
from handrail.core.policy.commands.script import Script
from handrail.core.policy.containment import FREE, Contained, Need, Profile, Sandbox
from handrail.core.policy.grants import BACKGROUND, OPENED_MARK, Grant, Rights, grant_for_line
from handrail.core.policy.openings import (
    OPENED_BY_NAME,
    asked_of_work,
    asked_places,
    describe_holding,
    grant_with,
    holding_text,
    is_allowed_with,
    needs_beyond,
    needs_of_work,
    openings,
    why_asked_for,
    why_in_background,
    why_uncontained,
)
from handrail.core.policy.place import ASKED, Place, PlaceKind, is_asked, why_asked
from handrail.core.policy.request import Request
from handrail.core.policy.rules import STRICT, Decision, Rule
from handrail.core.policy.shell import ParsedCommand, Part, why_not_read_only
from handrail.core.policy.tool_kind import ToolKind
from handrail.values import dataclass, replace

__all__ = ["Allow", "Ask", "Block", "Request", "Verdict", "containment_of", "denial", "script_of", "verdict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    """Run the call; of a command that no one was asked about, *script*."""

    script: Script | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """
    Run the call if the user says yes to *subject*; *detail* says why this is asked.

    Attributes:
        grants: What the user allows by a yes that is to hold longer.
        outside: Whether it is about something outside the workspace folders.
        lasts: Whether a yes may hold longer.
    """

    subject: str
    detail: str
    grants: frozenset[Grant] = frozenset()
    outside: bool = False
    lasts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Do not run the call."""

    failure: Failure


Verdict = Allow | Ask | Block


def verdict(request: Request, rights: Rights) -> Verdict:
    """
    Judge a call; of all that it touches the strictest decides.

    Without rules, reading and editing inside the workspace folders is allowed, and so is a command line that
    needs no shell and is known to change nothing; protected files, paths outside, and all other commands are
    asked about. Files that run later are asked about before they are written. Where commands can be
    contained, only what is to be opened for them is asked about, unless Landlock contains them. A command
    that is to run in the background is asked about each time, whatever was allowed before. Version control's
    own files and ours are blocked for every tool that names them, and for redirects, whatever a rule says;
    other uses of them by a command are asked about.
    """
    for place in request.places if request.command is None else (*request.written, *request.opened):
        if place.kind is PlaceKind.VERSION_CONTROL:
            return Block(failure=blocks.of_version_control(place))
        if place.kind is PlaceKind.OWN:
            return Block(failure=blocks.of_ours(place))
    if request.command is not None:
        return _of_command(request, request.command, rights)
    asked: list[Place] = []
    for place in request.places:
        match rules.decision_for_path(rights.rules, request.tool, request.kind, place.paths, place.named):
            case Decision.BLOCK:
                return Block(failure=blocks.blocked_by_settings(f"{request.tool} on {place.path}", place.uri))
            case None if is_asked(place, is_written=request.kind is not ToolKind.READ):
                asked.append(place)
            case Decision.ASK:
                asked.append(place)
            case _:
                pass
    if not request.places:
        return _of_nothing(request, rights)
    return _ask_about(request, asked, rights)


def is_read_unasked(place: Place, known: Sequence[Rule]) -> bool:
    """Whether the model may read a file, and the problems in it, without a question; no yes counts."""
    said = [
        rules.decision_for_path(known, tool, ToolKind.READ, place.paths, place.named)
        for tool in ("read_file", "problems")
    ]
    if place.kind in (PlaceKind.VERSION_CONTROL, PlaceKind.OWN) or any(each in STRICT for each in said):
        return False
    return said[0] is Decision.ALLOW or not is_asked(place, is_written=False)


def script_of(request: Request, judged: Verdict) -> Script | None:
    """
    Returns the script that a call runs without a shell: for everything that runs unasked or changes nothing.
    """
    if isinstance(judged, Allow) and judged.script is not None:
        return judged.script
    return request.script if request.reads_only else None


def containment_of(request: Request, script: Script | None) -> Contained:
    """
    Returns how a command that may run is contained.

    Args:
        script: What is run in place of a shell.
    """
    if not request.looks:
        return FREE
    if script is not None and script.is_read_only:
        seen = tuple(place.uri for place in request.places if is_asked(place, is_written=False))
        return Contained(profile=Profile.LOOK, opened=seen)
    if not request.works or Need.MACHINE in request.needs:
        return FREE
    named = (place for place in asked_of_work(request) if place.kind in OPENED_BY_NAME)
    opened = tuple(place.uri for place in (*named, *request.opened))
    return Contained(profile=Profile.WORK, needs=needs_of_work(request), opened=opened)


def denial(ask: Ask, *, answered: bool) -> Failure:
    """The failure for a question that was answered with no, or (*answered* is false) not at all."""
    who = "The user did not allow" if answered else "No user was available to allow"
    code = Code.OUTSIDE_WORKSPACE if ask.outside and not answered else Code.DENIED
    step = "or ask the user what to do instead." if answered else "and say at the end what you did not do."
    return Failure(
        code=code,
        message=f"{who} this: {ask.subject}. Nothing was run or changed.",
        steps=(f"Continue without it, {step}",),
    )


def _ask_about(request: Request, asked: Sequence[Place], rights: Rights) -> Verdict:
    grants = frozenset(Grant(tool=request.tool, subject=place.identity) for place in asked)
    if grants <= rights.grants:
        return Allow()
    return Ask(
        subject=", ".join(dict.fromkeys(place.path for place in asked)),
        detail=why_asked(asked, rules.why_asked(rights.rules)),
        grants=grants,
        outside=any(place.kind is PlaceKind.OUTSIDE for place in asked),
    )


def _of_nothing(request: Request, rights: Rights) -> Verdict:
    """A call that names no path: only a rule for the tool as a whole says something of it."""
    match rules.decision_for_path(rights.rules, request.tool, request.kind, ("",)):
        case Decision.BLOCK:
            return Block(failure=blocks.blocked_by_settings(request.tool, ""))
        case Decision.ASK:
            grant, why = Grant(tool=request.tool, subject=""), rules.why_asked(rights.rules)
            allowed = grant in rights.grants
            return Allow() if allowed else Ask(subject=request.tool, detail=why, grants=frozenset({grant}))
        case _:
            return Allow()


def _of_command(request: Request, command: ParsedCommand, rights: Rights) -> Verdict:
    given = (rights.rules, request.tool, request.kind)
    line = rules.decision_for_line(*given, command)
    parts = [
        rules.decision_for_part(*given, part, is_allowed=line is Decision.ALLOW) for part in command.parts
    ]
    said = [each for each in (line, *parts, *_of_script(request, rights)) if each is not None]
    if Decision.BLOCK in said:
        return Block(failure=blocks.blocked_by_settings(command.line, ""))
    allowed = frozenset(index for index, each in enumerate(parts) if each is Decision.ALLOW)
    why = why_not_read_only(command, request.script, allowed)
    is_work = request.works and not request.reads_only
    is_by_rule = why is None or line is Decision.ALLOW
    asks_for_more = is_work and bool(request.opened or needs_beyond(request, command))
    if line is Decision.ALLOW and Decision.ASK not in said and not (asks_for_more or request.is_background):
        return Allow()
    if Decision.ASK in said:
        why = _why_asked_by_rule(request, command, rights)
    elif is_by_rule or (is_work and request.sandbox is Sandbox.AUTO and not request.available.is_weak):
        why = None
    reasons = why_in_background(request, is_work=is_work) + ([why] if why else [])
    if is_work and (not is_by_rule or Need.MACHINE in request.declared):
        reasons += describe_holding(request)
    needs = needs_beyond(request, command) if is_by_rule else needs_of_work(request)
    return _ask_about_command(request, rights, reasons, needs if is_work else None)


def _ask_about_command(
    request: Request, rights: Rights, reasons: Sequence[str], needs: frozenset[Need] | None
) -> Verdict:
    """
    Asks about a command, unless it was granted: for *reasons*, and for each place that it names.

    Args:
        needs: The needs to ask about; None for a command that gets none, as it is not in *work*.
    """
    line, is_work = request.command.line if request.command else "", needs is not None
    rights = Rights() if OPENED_MARK in line else rights  # it would look like another line, opened
    free = grant_for_line(request.tool, request.folder, line)
    apart = OPENED_MARK + BACKGROUND if request.is_background else ""
    held = replace(free, subject=free.subject + holding_text(request, is_work=is_work) + apart)
    is_free = free in rights.grants and not request.is_background
    asked = [
        place
        for place in asked_places(request, is_work=is_work)
        if not is_allowed_with(place, free, held, rights)
    ]
    is_granted = held in rights.grants or is_free
    said = () if is_granted else tuple(reasons)
    grants = {held} if said else set()
    grants |= {grant_with(place, held) for place in asked}
    uncontained = why_uncontained(request, said) if said or asked else []
    named = dict.fromkeys(f"{place.path}: {place.why or ASKED[place.kind]}" for place in asked)
    shown = [*said, *uncontained, *named]
    opened = () if is_free or needs is None else openings(request, held, needs)
    opening = next((each for each in opened if each.grant not in rights.grants), None)
    if opening is not None:
        shown += (opening.detail, *why_asked_for(request))
        grants.add(opening.grant)
    if not shown:
        return Allow(script=None if is_work or is_granted else request.script)
    outside = {place.kind for place in (*asked, *((opening.place,) if opening and opening.place else ()))}
    return Ask(
        subject=line,
        detail=" ".join(shown),
        grants=frozenset(grants),
        outside=PlaceKind.OUTSIDE in outside,
        lasts=not request.is_background,
    )


def _why_asked_by_rule(request: Request, command: ParsedCommand, rights: Rights) -> str:
    if Decision.ASK in _of_script(request, rights):
        return rules.why_asked(rights.rules)
    return rules.why_asked_of_command(rights.rules, request.tool, request.kind, command)


def _of_script(request: Request, rights: Rights) -> Iterator[Decision]:
    """Yields the rules' decision on the words that a line runs, and on the files that it reads."""
    if request.script is None:
        return
    words = [Part(text=" ".join(stage.words), words=stage.words) for stage in request.script.stages]
    decisions = [rules.decision_for_part(rights.rules, request.tool, request.kind, part) for part in words]
    if request.script.is_read_only:
        read = (*request.places, *request.beneath)
        decisions += [
            rules.decision_for_path(rights.rules, "read_file", ToolKind.READ, place.paths, place.named)
            for place in read
        ]
    yield from (each for each in decisions if each in (Decision.ASK, Decision.BLOCK) and each is not None)
