"""What counts as a mutation, and of which documents: every edit that was tried has an outcome."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import Bench, Yes
from handrail.core.ledger.report import CallFailed, Superseded
from handrail.ports import DENY
from handrail.testing import answer, call, lay_out

V4A = "*** Begin Patch\n{}*** End Patch\n"
UPDATE = "*** Update File: {}\n-nowhere\n+x\n"
ADD = "*** Add File: {}\n+x\n"
BLOCKED = ".git/config"


def tried(*sections: str) -> dict[str, object]:
    return call("patch", mode="v4a", patch=V4A.format("".join(sections)))


CASES: tuple[tuple[str, dict[str, object], list[tuple[str, str]]], ...] = (
    ("write", call("write_file", path=BLOCKED, content="x"), [(BLOCKED, "blocked")]),
    ("replace", call("patch", path="a.txt", old_string="nowhere", new_string="x"), [("a.txt", "no-match")]),
    ("v4a, one document", tried(UPDATE.format("a.txt")), [("a.txt", "no-match")]),
    (
        "v4a, three documents",
        tried(UPDATE.format("a.txt"), UPDATE.format("b.txt"), UPDATE.format("none.txt")),
        [("a.txt", "no-match"), ("b.txt", "no-match"), ("none.txt", "no-such-file")],
    ),
    ("v4a, a document that is there", tried(ADD.format("a.txt")), [("a.txt", "file-exists")]),
    ("v4a, a deletion", tried("*** Delete File: none.txt\n"), [("none.txt", "no-such-file")]),
    (
        "v4a, blocked as a whole",
        tried(UPDATE.format("a.txt"), UPDATE.format(BLOCKED)),
        [("a.txt", "blocked"), (BLOCKED, "blocked")],
    ),
    (
        "a move counts twice",
        tried("*** Update File: a.txt\n*** Move to: .git/config\n-one\n+x\n"),
        [("a.txt", "blocked"), (BLOCKED, "blocked")],
    ),
    (
        "a unified diff",
        call("patch", mode="udiff", patch="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nowhere\n+x\n"),
        [("a.txt", "no-match")],
    ),
    (
        "no edit at all",
        call("patch", path="a.txt", old_string="one", new_string="one"),
        [("a.txt", "no-change")],
    ),
    ("no arguments", call("patch"), [("", "bad-arguments")]),
    ("no mutation: reading", call("read_file", path="none.txt"), []),
    ("no mutation: a command that fails", call("terminal", command="cat none.txt"), []),
)


@pytest.mark.parametrize(("tool_call", "came"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
async def test_each_document_that_an_edit_was_meant_for_has_an_outcome(
    bench: Bench, tool_call: dict[str, object], came: list[tuple[str, str]]
) -> None:
    lay_out(bench.root, {"a.txt": b"one\n", "b.txt": b"two\n"})
    bench.says(answer("", tool_call), answer("I have edited all of them."))
    report = await bench.turn()
    found = [
        (each.mutation.path, each.failure.code.value if each.failure else "") for each in report.outcomes
    ]
    assert found == came
    assert report.answer == "I have edited all of them.", "nothing is added to what the model says"
    assert [known.mutation.path for known in bench.host.ledger.open] == [path for path, _ in came]


@pytest.mark.parametrize(
    ("edit", "came"),
    [
        (call("write_file", path="pipe", content="x"), "unreadable-file"),
        (tried(ADD.format("pipe")), "unreadable-file"),
        (tried("*** Delete File: pipe\n"), "unreadable-file"),
        (tried("*** Update File: a.txt\n*** Move to: pipe\n-one\n+x\n"), "file-exists"),
        (tried(ADD.format("loop")), "unreadable-file"),
        (tried("*** Update File: a.txt\n*** Move to: loop\n-one\n+x\n"), "file-exists"),
    ],
)
async def test_a_name_that_something_unreadable_has_is_not_free(
    bench: Bench, edit: dict[str, object], came: str
) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    os.mkfifo(bench.root / "pipe")
    (bench.root / "loop").symlink_to("loop")
    bench.says(answer("", edit), answer("Done."))
    report = await bench.turn()
    assert [each.failure.code.value for each in report.outcomes if each.failure] == [came]
    assert await bench.repo.list() == (), "nothing was going to change"


@pytest.mark.parametrize("says", [DENY, None])
async def test_a_denied_edit_has_an_outcome_and_is_no_failure(bench: Bench, says: str | None) -> None:
    lay_out(bench.root, {".env": b"one\n"})
    bench.approver = Yes(says)
    bench.says(answer("", call("patch", path=".env", old_string="one", new_string="x")), answer("Done."))
    report = await bench.turn()
    assert [each.status.value for each in report.outcomes] == ["denied"]
    assert [code for _, code in bench.results()] == ["denied"], "the model is told"
    assert not bench.host.ledger.open
    assert not bench.host.misses
    assert not [event for event in bench.events if isinstance(event, CallFailed)]


async def test_what_is_denied_leaves_what_failed_before(bench: Bench) -> None:
    lay_out(bench.root, {".env": b"one\n"})
    bench.approver = Yes()
    failing = call("patch", path=".env", old_string="nowhere", new_string="x")
    whole = call("write_file", path=".env", content="x\n")
    bench.says(answer("", failing), answer("", whole), answer("Done."), acts={1: lambda: deny(bench)})
    report = await bench.turn()
    assert [each.status.value for each in report.outcomes] == ["failed", "denied"]
    assert [known.mutation.path for known in bench.host.ledger.open] == [".env"]
    assert bench.host.misses, "a denied edit is no sign of success"


def deny(bench: Bench) -> None:
    bench.approver.says = DENY


@pytest.mark.parametrize("again", ["./a.txt", "link.txt", "inner/../a.txt"])
async def test_a_document_is_one_however_it_is_named(bench: Bench, again: str) -> None:
    """What fails by one name and lands by another is mended."""
    lay_out(bench.root, {"a.txt": b"def area():\n    return 1\n", "inner/b.txt": b""})
    (bench.root / "link.txt").symlink_to("a.txt")
    bench.says(
        answer("", call("patch", path="a.txt", old_string="    return 2 * 2", new_string="    return 3")),
        answer("", call("patch", path=again, old_string="    return 1", new_string="    return 3")),
        answer("Done."),
    )
    report = await bench.turn()
    assert [each.status.value for each in report.outcomes] == ["failed", "landed"]
    assert [event for event in bench.events if isinstance(event, Superseded)]
    assert not bench.host.ledger.open
    assert Path(bench.root / "a.txt").read_bytes() == b"def area():\n    return 3\n"


async def test_half_of_a_batch_fails_and_the_model_claims_all(bench: Bench) -> None:
    """The session that all this began with: the report says what did not change."""
    lay_out(bench.root, {f"{n}.txt": b"one\n" for n in range(6)})
    edits = [
        call("patch", path=f"{n}.txt", old_string="one" if n % 2 else "nowhere", new_string="x")
        for n in range(6)
    ]
    bench.says(answer("", *edits), answer("I patched 6 files."))
    report = await bench.turn()
    assert [each.mutation.path for each in report.outcomes if each.failure] == ["0.txt", "2.txt", "4.txt"]
    assert [known.mutation.path for known in bench.host.ledger.open] == ["0.txt", "2.txt", "4.txt"]
