"""Failures: the requests that list, dismiss and apply them."""

from __future__ import annotations

from handrail.lsp.protocol.request import Request
from handrail.lsp.protocol.values import Failure, Outcome
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureListParams:
    """
    Selects the open failures to list.

    Attributes:
        uri: Only failures in this document; null lists those in all documents.
    """

    uri: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDismissParams:
    """
    Selects the open failures to close. One of the two fields must be given.

    Attributes:
        failure: Id of the failure to close.
        all: Whether to close all open failures.
    """

    failure: str | None = None
    all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureApplyParams:
    """
    The failed edit, and where to make it.

    Attributes:
        failure: The failure's id.
        candidate: Index of the place in the failure's `candidates`, counted from 0.
    """

    failure: str
    candidate: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDiffParams:
    """
    The failed edit to show.

    Attributes:
        failure: The failure's id.
        candidate: Index of the place in the failure's `candidates`, counted from 0; null shows the edit at
            each of them.
    """

    failure: str
    candidate: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDiff:
    """
    The changes that a failed edit would make.

    Attributes:
        uri: URI of a document that shows the diff: a virtual document (scheme `handrail`, to be read with
            `workspace/textDocumentContent`), or a file if the client does not declare that capability.
        text: The unified diff.
    """

    uri: str
    text: str


FAILURE_LIST = Request(
    name="failure.list", params=FailureListParams, result=list[Failure], does="Lists the open failures."
)

FAILURE_DISMISS = Request(
    name="failure.dismiss",
    params=FailureDismissParams,
    result=None,
    does="Closes a failure without making its edit.",
)

FAILURE_APPLY = Request(
    name="failure.apply",
    params=FailureApplyParams,
    result=list[Outcome],
    does="Makes a failed edit at one of its candidates.",
)

FAILURE_DIFF = Request(
    name="failure.diff",
    params=FailureDiffParams,
    result=FailureDiff,
    does="Shows what a failed edit would change at its candidates.",
)
