"""
Clients' answers to an edit, and how they are reported if the document does not show the edit.

An answer alone proves nothing; `sending` reads the document back.
"""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.failure import Code, Failure
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A client's answer to an edit: applied or not; None, perhaps with a reason, if it said neither."""

    applied: bool | None
    reason: str = ""


def mismatch(uri: str, fate: Sequence[bool]) -> Failure:
    """Returns the failure for an edit that landed in part; *fate* says which of its changes did."""
    return Failure(
        code=Code.NOT_AS_WRITTEN,
        uri=uri,
        message=f"The editor applied only {sum(fate)} of {len(fate)} changes of this edit.",
        steps=("Read the document again.", "Send the missing changes as a new edit."),
    )


def refuse_deletion(uri: str, *, is_closed: bool) -> Failure:
    """Returns the failure for a document that is no longer the one that was to be deleted."""
    why = "was closed" if is_closed else "has changed"
    return Failure(
        code=Code.STALE_DOCUMENT,
        uri=uri,
        message=f"The document {why} in the meantime, so it was not deleted.",
        steps=("Read the document again.", "Then delete it if you still want to."),
    )


def refusal(uri: str, answer: Answer, waited_s: float) -> Failure:
    """Returns the failure for an edit that did not land, given the client's answer within *waited_s*."""
    if answer.applied:
        return Failure(
            code=Code.NOT_AS_WRITTEN,
            uri=uri,
            message="The editor reported that it applied the edit, but the document has not changed "
            "accordingly.",
            steps=("Read the document again.", "Send the edit again."),
        )
    if answer.applied is None and not answer.reason:
        message = f"The editor did not answer within {waited_s:g} s, and the document is unchanged."
    elif answer.applied is None:
        message = f"The editor {answer.reason}, and the document is unchanged."
    else:
        message = f"The editor refused the edit{': ' + answer.reason if answer.reason else ''}."
    asks = ("Ask the user whether the document is read-only or a dialog is open.", "Send the edit again.")
    repeats = (
        "Read the document again, then send the edit again.",
        "If it is refused again for the same reason, tell the user the reason.",
    )
    is_explained = answer.applied is False and bool(answer.reason)
    return Failure(code=Code.EDIT_REJECTED, uri=uri, message=message, steps=repeats if is_explained else asks)


def offer(uri: str) -> Failure:
    """Returns the failure for an edit in a client that accepts none: it waits until the user chooses it."""
    return Failure(
        code=Code.EDIT_REJECTED,
        uri=uri,
        message=(
            "This editor does not accept edits from a language server, so this edit waits for the user, who "
            "can make it with the code action `Make this edit`."
        ),
        steps=("Do not send it again.", "Tell the user about the edit and the code action that makes it."),
    )


def overwritten(uri: str, typed: str, now: str) -> Failure:
    """Returns the failure for an edit that a client without versions applied to a changed text."""
    return Failure(
        code=Code.STALE_DOCUMENT,
        uri=uri,
        message=(
            "The editor applied this edit while the user was typing, without comparing versions. Just "
            f"before, the lines were {typed}; now they are {now}. The editor's undo restores the earlier "
            "lines."
        ),
        steps=(
            "Read the document again.",
            "Tell the user that the editor's undo restores what they typed.",
        ),
    )


def open_twice(uris: Sequence[str]) -> Failure:
    """Returns the failure for a file that is open twice, with different texts."""
    return Failure(
        code=Code.STALE_DOCUMENT,
        uri=uris[0],
        message=(
            f"The same file is open as {' and as '.join(uris)}, with different texts. Nothing was changed."
        ),
        steps=("Ask the user to save one of them and close the other.", "Then send the edit again."),
    )
