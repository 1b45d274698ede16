"""The next steps that a failure names lead somewhere: each can be taken, and helps."""

from __future__ import annotations

import pytest

from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.patches.hunk import bad
from handrail.core.patches.notations import NOTATIONS, FilePatch, Hunk, Operation
from handrail.core.planning.plan_file import FilePlan, plan_file

TWICE = "def a():\n    x = 1\n\n\ndef b():\n    x = 1\n"
SCOPE = "Or write after @@ the first line of the class or function that contains the one you mean."
V4A = "*** Begin Patch\n*** Update File: a.py\n@@{}\n-    x = 1\n+    x = 2\n*** End Patch"
UNIFIED = "--- a.py\n+++ a.py\n@@ -4 +4 @@{}\n-    x = 1\n+    x = 2\n"


def only_failure(planned: FilePlan | Failure) -> Failure:
    if isinstance(planned, Failure):
        return planned
    (part,) = planned.parts
    assert isinstance(part.result, Failure)
    return part.result


def plan(notation: str, patch: str, text: str = TWICE) -> FilePlan | Failure:
    read = NOTATIONS[notation].read(patch, "a.py", ())
    assert not isinstance(read, Failure)
    return plan_file(read[0], Text(text))


@pytest.mark.parametrize(("notation", "patch"), [("v4a", V4A), ("udiff", UNIFIED)])
def test_a_place_in_a_diff_is_named_after_at_signs(notation: str, patch: str) -> None:
    """Only the other notations have a `start_line`."""
    failure = only_failure(plan(notation, patch.format("")))
    assert failure.code is Code.AMBIGUOUS_MATCH
    assert failure.steps == ("Add a line of context that differs between the places.", SCOPE)
    named = plan(notation, patch.format(" def b():"))
    assert isinstance(named, FilePlan)
    assert [edit.new for edit in named.edits] == ["2"]
    assert named.edits[0].span.start > TWICE.index("def b")


@pytest.mark.parametrize("old", ["x = 1", "    x = 1\n"])
def test_a_place_in_a_search_text_is_named_by_its_line(old: str) -> None:
    hunk = Hunk(number=1, old=old, new=old.replace("1", "2"), whole_lines=False)
    patch = FilePatch(path="a.py", operation=Operation.UPDATE, hunks=(hunk,))
    failure = only_failure(plan_file(patch, Text(TWICE)))
    assert failure.steps[1] == "Or give start_line, the line number of the one you mean."


def test_a_place_in_a_block_is_named_by_a_line_in_it() -> None:
    """A block has no argument `start_line`, neither in a call nor in a reply that is pasted."""
    block = "<<<<<<< SEARCH\n{}    x = 1\n=======\n    x = 2\n>>>>>>> REPLACE"
    failure = only_failure(plan("search_replace", block.format("")))
    assert failure.code is Code.AMBIGUOUS_MATCH
    assert failure.steps[1] == (
        "Or write :start_line:N on the line below <<<<<<< SEARCH, where N is the line number of the one "
        "you mean."
    )
    named = plan("search_replace", block.format(":start_line:6\n"))
    assert isinstance(named, FilePlan)
    assert [edit.span.start > TWICE.index("def b") for edit in named.edits] == [True]


@pytest.mark.parametrize(
    ("raw", "named", "steps"),
    [
        (b"\xff\xfe\0\0a\0\0\0", None, ("Convert the file to UTF-8.",)),
        (b"\xff\xfe\0\0a\0\0\0", "latin1", ("Convert the file to UTF-8.",)),
        (
            b"a\n",
            "klingon",
            (
                "Correct the encoding in the .editorconfig, or in the editor.",
                "Or convert the file to UTF-8, and set that encoding there.",
            ),
        ),
        (
            b"\xe4\n",
            None,
            (
                "Set its encoding in an .editorconfig, for example charset = latin1.",
                "Or convert the file to UTF-8.",
            ),
        ),
    ],
)
def test_a_file_becomes_readable_by_what_its_failure_says(
    raw: bytes, named: str | None, steps: tuple[str, ...]
) -> None:
    """A byte order mark wins over any configured encoding, and a wrong one fails for UTF-8 too."""
    failure = Text.parse(raw, named)
    assert isinstance(failure, Failure)
    assert failure.steps == steps


def test_only_a_missing_file_that_is_not_to_be_deleted_may_be_created() -> None:
    check, create = (
        "Check the path, or list the folder.",
        "To create the file, use write_file, or Add File in a V4A patch.",
    )
    hunk = Hunk(number=1, old="a", new="b")
    for operation, hunks, steps in (
        (Operation.UPDATE, (hunk,), (check, create)),
        (Operation.DELETE, (), (check,)),
    ):
        failure = plan_file(FilePatch(path="a.py", operation=operation, hunks=hunks), None)
        assert isinstance(failure, Failure)
        assert failure.steps == steps


def test_a_patch_that_cannot_be_read_can_be_sent_in_another_mode() -> None:
    assert bad(1, "x", "a header").steps == (
        "Correct the patch and send it again.",
        "Or send each change as a call of its own in mode replace, with old_string and new_string.",
    )


NO_LINE = ("Give the section at least one changed line, or leave it out.",)


@pytest.mark.parametrize(
    ("notation", "patch", "message", "steps"),
    [
        (
            "search_replace",
            "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n=======\nc\n>>>>>>> REPLACE",
            "The search part of block 2 is empty, so it is unknown where the block belongs.",
            ("Put the lines to replace into it, or a line next to the place of the new lines.",),
        ),
        (
            "v4a",
            "*** Begin Patch\n*** Update File: a\n-b\n+c\n*** Update File: d\n e\n*** End Patch",
            "The section for d changes no line.",
            NO_LINE,
        ),
        (
            "udiff",
            "--- a\n+++ a\n@@ -1 +1 @@\n-b\n+c\n--- d\n+++ d\n@@ -1 +1 @@\n e\n",
            "The section for d changes no line.",
            NO_LINE,
        ),
        (
            "udiff",
            "--- a\n+++ /dev/null\n@@ -1,2 +1 @@\n b\n-c\n",
            "The patch deletes a (its '+++' line has /dev/null), but keeps or adds lines of it.",
            ("To delete the file, remove all of its lines.", "Otherwise give its name in the '+++' line."),
        ),
        (
            "udiff",
            "@@ -1 +1 @@\n-b\n+c\n",
            "Line 1 of the patch is '@@ -1 +1 @@'; expected '--- a/path' and '+++ b/path' lines directly "
            "above it.",
            bad(1, "", "").steps,
        ),
    ],
)
def test_a_patch_of_which_one_part_is_no_edit_is_not_said_to_have_none(
    notation: str, patch: str, message: str, steps: tuple[str, ...]
) -> None:
    failure = NOTATIONS[notation].read(patch, "a", ())
    assert isinstance(failure, Failure)
    assert (failure.code, failure.message, failure.steps) == (Code.BAD_PATCH, message, steps)
