"""
The verdict for one call: allow, ask, or block with the reason.

One decision for every tool, commands included: it depends on the kinds of places that a call touches, on what
a command is known to do, and on the user's settings and earlier answers. A block is final: no answer lifts
it. Asking is done elsewhere, and only for the verdict `Ask`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handrail.core.failure import Code, Failure
from handrail.core.policy import rules
from handrail.core.policy.commands.script import Script
from handrail.core.policy.containment import (
    FREE,
    IN_BACKGROUND,
    NOTHING_AVAILABLE,
    OPENS,
    UNCONTAINED,
    WEAKLY_HELD,
    Available,
    Contained,
    Need,
    Profile,
    Sandbox,
)
from handrail.core.policy.grants import BACKGROUND, OPENED_MARK, WEAK_WORK, Grant, Rights
from handrail.core.policy.place import ASKED, Place, PlaceKind, is_asked, why_asked
from handrail.core.policy.rules import Decision
from handrail.core.policy.shell import ParsedCommand, Part, why_not_read_only
from handrail.core.policy.tool_kind import ToolKind
from handrail.values import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    A call to be judged.

    Attributes:
        tool: The tool that is called.
        kind: What that tool does.
        places: All that it reads or changes; for a command all that it seems to name.
        written: Those among them that a command's redirects write.
        command: The command line, if it is one.
        script: That line as it runs without a shell; None if only a shell can run it.
        folder: The identity of the folder that a command runs in.
        beneath: Protected files in folders that a command reads whole, which containment hides.
        available: What the machine can contain.
        sandbox: What the user has set of it.
        needs: What a command needs to be opened in its containment.
        declared: What of that the model has asked for.
        opened: The places that it has asked for.
        reason: Why it needs them, in the model's words.
        is_background: Whether a command is to run on when its call has its result.
    """

    tool: str
    kind: ToolKind
    places: tuple[Place, ...] = ()
    written: tuple[Place, ...] = ()
    command: ParsedCommand | None = None
    script: Script | None = None
    folder: str = ""
    beneath: tuple[Place, ...] = ()
    available: Available = NOTHING_AVAILABLE
    sandbox: Sandbox = Sandbox.OFF
    needs: frozenset[Need] = frozenset()
    declared: frozenset[Need] = frozenset()
    opened: tuple[Place, ...] = ()
    reason: str = ""
    is_background: bool = False

    @property
    def looks(self) -> bool:
        """Whether a command that only reads is contained."""
        return self.sandbox is not Sandbox.OFF and bool(self.available.by)

    @property
    def works(self) -> bool:
        """Whether any other command is contained."""
        return self.looks and self.available.works


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
            return Block(failure=_version_control(place))
        if place.kind is PlaceKind.OWN:
            return Block(failure=_own(place))
    if request.command is not None:
        return _of_command(request, request.command, rights)
    asked: list[Place] = []
    for place in request.places:
        match rules.decision_for_path(rights.rules, request.tool, request.kind, place.path):
            case Decision.BLOCK:
                return Block(failure=_block(f"{request.tool} on {place.path}", place.uri))
            case None if is_asked(place, is_written=request.kind is not ToolKind.READ):
                asked.append(place)
            case Decision.ASK:
                asked.append(place)
            case _:
                pass
    if not request.places:
        return _of_nothing(request, rights)
    return _ask_about(request, asked, rights)


def script_of(request: Request, judged: Verdict) -> Script | None:
    """
    Returns the script that a call runs without a shell: for everything that runs unasked or changes nothing.
    """
    if isinstance(judged, Allow) and judged.script is not None:
        return judged.script
    script = None if request.is_background else request.script
    return script if script is not None and script.is_read_only else None


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
    named = (place for place in _asked_of_work(request) if place.kind in OPENED_BY_NAME)
    opened = tuple(place.uri for place in (*named, *request.opened))
    return Contained(profile=Profile.WORK, needs=_needs_of_work(request), opened=opened)


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


OPENED_BY_NAME = frozenset({PlaceKind.PROTECTED, PlaceKind.RUNS_LATER, PlaceKind.OUTSIDE})


def _of_nothing(request: Request, rights: Rights) -> Verdict:
    """A call that names no path: only a rule for the tool as a whole says something of it."""
    match rules.decision_for_path(rights.rules, request.tool, request.kind, ""):
        case Decision.BLOCK:
            return Block(failure=_block(request.tool, ""))
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
        return Block(failure=_block(command.line, ""))
    allowed = frozenset(index for index, each in enumerate(parts) if each is Decision.ALLOW)
    why = why_not_read_only(command, request.script, allowed)
    reads_only = request.script is not None and request.script.is_read_only and not request.is_background
    is_work = request.works and not reads_only
    free = Grant(tool=request.tool, subject=f"{request.folder}\n{command.line}")
    asks_for_more = is_work and (Need.MACHINE in request.declared or bool(request.opened))
    is_sure = line is Decision.ALLOW and Decision.ASK not in said and not asks_for_more
    if (is_sure or free in rights.grants) and not request.is_background:
        return Allow()
    is_by_rule = why is None and not asks_for_more
    if Decision.ASK in said:
        why = _why_asked_by_rule(request, command, rights)
    elif is_work and request.sandbox is Sandbox.AUTO and not request.available.is_weak:
        why = None
    reasons = _of_background(request, is_work=is_work) + ([why] if why else [])
    apart = OPENED_MARK + BACKGROUND if request.is_background else ""
    held = replace(free, subject=free.subject + _holding_text(request, is_work=is_work) + apart)
    openings: list[_Opening] = []
    if is_work:
        reasons += () if is_by_rule else _describe_holding(request)
        openings += () if is_by_rule else _openings(request, held)
        asked = list(_asked_of_work(request))
    else:
        places = request.places if request.looks else (*request.places, *request.beneath)
        asked = [p for p in places if is_asked(p, is_written=p in request.written)]
    reasons += dict.fromkeys(f"{place.path}: {place.why or ASKED[place.kind]}" for place in asked)
    is_granted = held in rights.grants
    if is_granted:
        reasons, asked = [], []
    grants = {held} if reasons else set()
    opening = next((each for each in openings if each.grant not in rights.grants), None)
    if opening is not None:
        reasons += (opening.detail, *_why_asked_for(request))
        grants.add(opening.grant)
    if not reasons:
        return Allow(script=None if is_work or is_granted else request.script)
    outside = {place.kind for place in (*asked, *((opening.place,) if opening and opening.place else ()))}
    return Ask(
        subject=command.line,
        detail=" ".join(reasons),
        grants=frozenset(grants),
        outside=PlaceKind.OUTSIDE in outside,
        lasts=not request.is_background,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """One thing that is opened for a contained command; each has a question of its own."""

    grant: Grant
    detail: str
    place: Place | None = None


def _openings(request: Request, held: Grant) -> Iterator[_Opening]:
    """Yields what is opened for a command in *work*; nothing if it has all rights."""

    def grant_of(what: str) -> Grant:
        return replace(held, subject=f"{held.subject}{OPENED_MARK}{what}")

    if Need.MACHINE in request.needs:
        return
    needs = _needs_of_work(request)
    yield from (_Opening(grant=grant_of(need), detail=OPENS[need]) for need in Need if need in needs)
    for place in request.opened:
        detail = f"The command may read and write {place.path}."
        yield _Opening(grant=grant_of(place.identity), detail=detail, place=place)


def _of_background(request: Request, *, is_work: bool) -> list[str]:
    """Returns why a command is asked about although similar ones are not."""
    if not request.is_background:
        return []
    return [IN_BACKGROUND] if is_work else [IN_BACKGROUND, UNCONTAINED]


def _holding_text(request: Request, *, is_work: bool) -> str:
    """Returns the containment that a yes to a line covers; empty if the line has all rights."""
    if not is_work:
        return f"{OPENED_MARK}{Profile.LOOK}" if request.looks else ""
    if Need.MACHINE in request.needs:
        return ""
    return f"{OPENED_MARK}{WEAK_WORK if request.available.is_weak else Profile.WORK}"


def _needs_of_work(request: Request) -> frozenset[Need]:
    """Returns the needs of a contained command, with the repository if the line names a file of it."""
    named = any(place.kind is PlaceKind.VERSION_CONTROL for place in _asked_of_work(request))
    return request.needs | {Need.REPOSITORY} if named else request.needs


def _describe_holding(request: Request) -> Iterator[str]:
    """Describes how a command in *work* is held, for people."""
    if Need.MACHINE in request.needs:
        yield from (OPENS[Need.MACHINE], *_why_asked_for(request))
    elif request.available.is_weak:
        yield WEAKLY_HELD


def _why_asked_for(request: Request) -> Iterator[str]:
    if request.reason:
        yield f"The model's reason: {request.reason}"


def _asked_of_work(request: Request) -> Iterator[Place]:
    """Yields places that a contained command names and that would be hidden from it or protected."""
    for place in request.places:
        # What else lies outside is not there for the command, or the system's, which stays as it is.
        if place.kind is PlaceKind.OUTSIDE and place.identity != request.folder:
            continue
        if is_asked(place, is_written=place in request.written):
            yield place


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
            rules.decision_for_path(rights.rules, "read_file", ToolKind.READ, place.path) for place in read
        ]
    yield from (each for each in decisions if each in (Decision.ASK, Decision.BLOCK) and each is not None)


def _block(subject: str, uri: str) -> Failure:
    return Failure(
        code=Code.BLOCKED,
        uri=uri,
        message=f"The user's settings block this: {subject}. Nothing was run or changed.",
        steps=("Continue without it.", "Or ask the user to change the setting handrail.approvals."),
    )


def _version_control(place: Place) -> Failure:
    return Failure(
        code=Code.BLOCKED,
        uri=place.uri,
        message=f"{place.path} belongs to version control's own files, which must not be read or changed "
        "directly.",
        steps=(
            "If you can run commands, use those of version control; the user is asked before they change the "
            "repository.",
        ),
    )


def _own(place: Place) -> Failure:
    return Failure(
        code=Code.BLOCKED,
        uri=place.uri,
        message=f"{place.path} belongs to handrail's own files, which only the user may use.",
        steps=("Continue without it.",),
    )
