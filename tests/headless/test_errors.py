"""What a person in a terminal reads when the server refuses something."""

from __future__ import annotations

import pytest

from handrail.headless.errors import REQUEST_FAILED, RequestRefusedError

INVALID_PARAMS, INTERNAL = -32602, -32603


@pytest.mark.parametrize(
    ("code", "reason", "said"),
    [
        (REQUEST_FAILED, "No change 'h-1' is pending.", "No change 'h-1' is pending."),
        (INVALID_PARAMS, "review.keep: say which changes.", "Say which changes."),
        (INVALID_PARAMS, "review.keep: `/x` is not a command.", "`/x` is not a command."),
        (INTERNAL, "Internal error", "The server refused `handrail/review/keep`: Internal error"),
    ],
)
def test_the_reason_is_said_and_the_request_only_if_it_is_not_for_people(
    code: int, reason: str, said: str
) -> None:
    error = RequestRefusedError("handrail/review/keep", code, reason)
    assert (str(error), error.reason) == (said, reason)
