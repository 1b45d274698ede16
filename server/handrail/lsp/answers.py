"""
What clients answer to an edit, and how that is told when the document does not show it.

An answer alone proves nothing; `editor` reads back what became of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from handrail.core.failure import Code, Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a client said to an edit: applied or not; None if it did not answer in time."""

    applied: bool | None
    reason: str = ""


def not_as_written(uri: str, fate: Sequence[bool]) -> Failure:
    """The failure for an edit that is there in part; *fate* says which of its changes are."""
    return Failure(
        code=Code.NOT_AS_WRITTEN,
        uri=uri,
        message=f"The editor applied only {sum(fate)} of {len(fate)} changes of this edit.",
        steps=("Read the document again.", "Send what is missing as a new edit."),
    )


def refused(uri: str, answer: Answer, waited_s: float) -> Failure:
    """The failure for an edit that is not there, by what the client said when it was *waited_s* for."""
    if answer.applied:
        return Failure(
            code=Code.NOT_AS_WRITTEN,
            uri=uri,
            message="The editor said that it applied the edit, but the document does not show it.",
            steps=("Read the document again.", "Send the edit again."),
        )
    if answer.applied is None:
        message = f"The editor did not answer within {waited_s:g} s, and the document is unchanged."
    else:
        message = f"The editor refused the edit{': ' + answer.reason if answer.reason else ''}."
    return Failure(
        code=Code.EDIT_REJECTED,
        uri=uri,
        message=message,
        steps=("See whether the document is read-only or a dialog is open.", "Send the edit again."),
    )
