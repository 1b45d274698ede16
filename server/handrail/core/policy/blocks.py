"""The failures of calls that are blocked: by the user's settings, or because of where they lead."""

from __future__ import annotations

from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place


def blocked_by_settings(subject: str, uri: str) -> Failure:
    """Returns the failure for a call that the user's settings block."""
    return Failure(
        code=Code.BLOCKED,
        uri=uri,
        message=f"The user's settings block this: {subject}. Nothing was run or changed.",
        steps=("Continue without it.", "Or ask the user to change the setting handrail.approvals."),
    )


def of_version_control(place: Place) -> Failure:
    """Returns the failure for a file of version control."""
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


def of_ours(place: Place) -> Failure:
    """Returns the failure for a file of ours."""
    return Failure(
        code=Code.BLOCKED,
        uri=place.uri,
        message=f"{place.path} belongs to handrail's own files, which only the user may use.",
        steps=("Continue without it.",),
    )
