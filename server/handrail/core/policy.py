"""
The verdict for one call: allow, ask, or block with the reason.

One table by what kind of place a call touches and what it does there. A block is final: no answer of the
user lifts it. Asking is done elsewhere, and only for the verdict `Ask`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from handrail.core.failure import Code, Failure


class Standing(StrEnum):
    """What kind of place a path is."""

    INSIDE = "inside"
    PROTECTED = "protected"
    OUTSIDE = "outside"
    VERSION_CONTROL = "version-control"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    Where a path leads once links and `..` are followed.

    Attributes:
        uri: What the document is called towards the editor.
        identity: The same for every spelling of the same document (invariant 11).
        path: Relative to its root with `/`, for people and the model; absolute outside every root.
        standing: What kind of place it is.
        why: Why a protected place is asked about, where more is known than its standing.
    """

    uri: str
    identity: str
    path: str
    standing: Standing
    why: str = ""


@dataclass(frozen=True, slots=True)
class Allow:
    """Run the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Run the call if the user says yes to *subject*; *detail* says why this is asked."""

    subject: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Do not run the call."""

    failure: Failure


Verdict = Allow | Ask | Block

ASKED: dict[Standing, str] = {
    Standing.PROTECTED: "The file holds keys, or settings of an editor, an agent or a CI system.",
}


def verdict(places: Sequence[Place]) -> Verdict:
    """
    Judge a call by all places that it reads or changes; the strictest decides.

    Reading and editing inside the workspace folders is allowed, protected files are asked, the insides
    of version control are blocked, and so is what lies outside.
    """
    for place in places:
        if place.standing is Standing.VERSION_CONTROL:
            return Block(failure=_version_control(place))
        if place.standing is Standing.OUTSIDE:
            return Block(failure=_outside(place))
    asked = [place for place in places if place.standing in ASKED]
    if asked:
        reasons = dict.fromkeys(place.why or ASKED[place.standing] for place in asked)
        return Ask(subject=", ".join(place.path for place in asked), detail=" ".join(reasons))
    return Allow()


def denied(subject: str) -> Failure:
    """The failure for a question that was answered with no, or not at all."""
    return Failure(
        code=Code.DENIED,
        message=f"The user did not allow access to {subject}. Nothing was changed.",
        steps=("Go on without it, or ask the user what to do instead.",),
    )


def _version_control(place: Place) -> Failure:
    return Failure(
        code=Code.BLOCKED,
        uri=place.uri,
        message=f"{place.path} belongs to version control's own files, which are never read or changed.",
        steps=("Use the version control's commands for what you need.",),
    )


def _outside(place: Place) -> Failure:
    return Failure(
        code=Code.OUTSIDE_WORKSPACE,
        uri=place.uri,
        message=f"{place.path} lies outside the workspace folders. Nothing was read or changed.",
        steps=("Use a path inside the workspace.", "Or add its folder to the workspace."),
    )
