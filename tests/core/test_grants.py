"""What a lasting yes allows, in words for people."""

import pytest

from handrail.core.policy.containment import Profile
from handrail.core.policy.grants import OPENED_MARK, SAVES, WEAK_WORK, Grant
from handrail.core.policy.tool_kind import ToolKind

LINE = "/p\nnpm test"


@pytest.mark.parametrize(
    ("tool", "subject", "kind", "said"),
    [
        ("terminal", LINE, None, "terminal may run exactly this in /p (without a sandbox): npm test"),
        (
            "terminal",
            OPENED_MARK.join((LINE, Profile.WORK, "network")),
            None,
            "terminal may run exactly this in /p (in the sandbox, with network access): npm test",
        ),
        (
            "terminal",
            OPENED_MARK.join((LINE, WEAK_WORK)),
            None,
            "terminal may run exactly this in /p (in the Landlock sandbox): npm test",
        ),
        (
            "terminal",
            OPENED_MARK.join((LINE, Profile.LOOK, "/p/key.pem")),
            None,
            "terminal may run exactly this in /p (read-only, with access to /p/key.pem): npm test",
        ),
        (
            "terminal",
            OPENED_MARK.join((LINE, Profile.FREE, "/p/key.pem")),
            None,
            "terminal may run exactly this in /p (without a sandbox, with access to /p/key.pem): npm test",
        ),
        ("write_file", "a.txt", ToolKind.EDIT, "write_file may be used on a.txt"),
        ("search", "", ToolKind.READ, "search may be used"),
        (SAVES, "", None, "documents may be saved before a command runs"),
    ],
)
def test_a_grant_is_said_in_words(tool: str, subject: str, kind: ToolKind | None, said: str) -> None:
    assert Grant(tool=tool, subject=subject).in_words(kind) == said
