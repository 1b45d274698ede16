"""The engine behind `handrail apply --jsonl`: what requests come to, and a reply for every line."""

import base64
import io
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.adapters import lines
from handrail.core.engine import jsonl
from searches import examples


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def ask(**fields: object) -> dict[str, Any]:
    return jsonl.answer(json.dumps({"id": 7, **fields}).encode())


def replace(before: bytes, *hunks: tuple[str, str], **fields: object) -> dict[str, Any]:
    listed = [{"old": old, "new": new, "start_line": None} for old, new in hunks]
    request = {"path": "a.py", "before_b64": b64(before), "hunks": listed, "replace_all": False}
    return ask(kind="replace", **{**request, **fields})


def patch(kind: str, files: Mapping[str, bytes], text: str) -> dict[str, Any]:
    return ask(kind=kind, files={path: b64(raw) for path, raw in files.items()}, patch=text)


def v4a(files: Mapping[str, bytes], *body: str) -> dict[str, Any]:
    return patch("v4a", files, "\n".join(("*** Begin Patch", *body, "*** End Patch")))


def after(reply: Mapping[str, Any]) -> bytes:
    return base64.b64decode(reply["after_b64"])


def files_of(reply: Mapping[str, Any]) -> dict[str, bytes | None]:
    return {path: None if raw is None else base64.b64decode(raw) for path, raw in reply["files"].items()}


# ---- Replace --------------------------------------------------------------------------------------


def test_a_replacement_lands() -> None:
    reply = replace(b"a\r\nb\r\n", ("b", "B"))
    assert reply == {
        "id": 7,
        "status": "landed",
        "code": None,
        "message": None,
        "tier": "safe",
        "after_b64": b64(b"a\r\nB\r\n"),
    }


def test_hunks_are_all_found_in_what_was_before() -> None:
    assert after(replace(b"one\ntwo\n", ("one", "two"), ("two", "three"))) == b"two\nthree\n"


def test_the_tier_is_the_weakest_of_all_hunks() -> None:
    before = b"if x:\n    first = 1\n    second = 2\n"
    assert replace(before, ("if x:", "if y:"), ("\tfirst = 1\n", "\tfirst = 3\n"))["tier"] == "normalised"


def test_all_hunks_land_or_none() -> None:
    reply = replace(b"one\ntwo\n", ("one", "1"), ("twelve", "12"))
    assert (reply["status"], reply["code"]) == ("failed", "no-match")
    assert "Hunk 2 of a.py" in reply["message"]
    assert "after_b64" not in reply


def test_what_is_there_already_is_no_failure() -> None:
    before = b"def f():\n    return compute(1, 2, 3)\n"
    reply = replace(before, ("def f():\n    return 1\n", "def f():\n    return compute(1, 2, 3)\n"))
    assert reply["status"] == "already"
    assert "after_b64" not in reply


def test_replace_all_and_the_line_hint() -> None:
    before = b"x = 1\n\nx = 1\n"
    assert replace(before, ("x = 1", "x = 2"))["code"] == "ambiguous-match"
    assert after(replace(before, ("x = 1", "x = 2"), replace_all=True)) == b"x = 2\n\nx = 2\n"
    hinted = [{"old": "x = 1", "new": "x = 2", "start_line": 3}]
    assert after(replace(before, hunks=hinted)) == b"x = 1\n\nx = 2\n"


@pytest.mark.parametrize(
    ("before", "hunk", "code"),
    [
        (b"a\n", ("", "b"), "empty-search"),
        (b"a\n", ("a", "a"), "no-change"),
        (b"caf\xe9\n", ("caf", "x"), "bad-encoding"),
        (b"a\0b\n", ("a", "x"), "bad-encoding"),
        (b"a\n" * 25_000_001, ("b", "x"), "too-large"),
    ],
)
def test_a_document_or_hunk_that_cannot_be_used(before: bytes, hunk: tuple[str, str], code: str) -> None:
    reply = replace(before, hunk)
    assert (reply["status"], reply["code"], "after_b64" in reply) == ("failed", code, False)


MARKED = b"\xef\xbb\xbfa\nb\n"


@pytest.mark.parametrize(
    ("before", "hunk"),
    [
        (MARKED, ("a\n", "\ufeffz\n")),
        (MARKED, ("a\nb\n", "\ufeffa\nc\n")),
        (MARKED, ("a", "\ufeffa")),
        ("\ufeffa\nb\n".encode("utf-16-le"), ("a\n", "\ufeffz\n")),
        (b"\xef\xbb\xbf", ("", "\ufeffz\n")),
        (b"a\nb\n", ("a\n", "\ufeffz\n")),
        ("a\n\ufeffb\n".encode(), ("a\n", "")),
    ],
)
def test_no_byte_order_mark_is_written_into_a_text(before: bytes, hunk: tuple[str, str]) -> None:
    reply = replace(before, hunk)
    assert (reply["status"], reply["code"]) == ("failed", "bad-encoding")
    assert "byte order mark" in reply["message"]


@pytest.mark.parametrize(
    ("before", "hunk", "wanted"),
    [
        (MARKED, ("a\n", "z\n"), b"\xef\xbb\xbfz\nb\n"),
        (MARKED, ("b\n", "\ufeffz\n"), b"\xef\xbb\xbfa\n\xef\xbb\xbfz\n"),
        (b"\xef\xbb\xbf" + MARKED, ("a\n", "z\n"), b"\xef\xbb\xbf\xef\xbb\xbfz\nb\n"),
        (b"\xef\xbb\xbf" + MARKED, ("\ufeffa\n", "z\n"), b"\xef\xbb\xbfz\nb\n"),
    ],
)
def test_a_byte_order_mark_that_is_there_does_no_harm(
    before: bytes, hunk: tuple[str, str], wanted: bytes
) -> None:
    assert after(replace(before, hunk)) == wanted


# ---- Patches over files ---------------------------------------------------------------------------


def test_files_are_added_moved_changed_and_deleted() -> None:
    reply = v4a(
        {"a": b"1\n2\n", "b": b"old\n", "c": b"3\n"},
        "*** Add File: new/d",
        "+made",
        "*** Update File: ./a",
        "*** Move to: e",
        "@@",
        "-1",
        "+one",
        "*** Delete File: b",
        "*** Update File: c",
        "-3",
        "+three",
    )
    assert files_of(reply) == {
        "new/d": b"made\n",
        "a": None,
        "e": b"one\n2\n",
        "b": None,
        "c": b"three\n",
    }


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (["*** Update File: nowhere", "-1", "+2"], "no-such-file"),
        (["*** Delete File: nowhere"], "no-such-file"),
        (["*** Add File: b", "+x"], "file-exists"),
        (["*** Update File: a", "*** Move to: b", "-1", "+2"], "file-exists"),
        (["*** Add File: ../x", "+x"], "outside-workspace"),
        (["*** Add File: /etc/x", "+x"], "outside-workspace"),
        (["*** Update File: a", "-9", "+2"], "no-match"),
        (["*** Update File: ./a", "-1", "+2", "*** Delete File: a"], "bad-patch"),
        (["nonsense"], "bad-patch"),
    ],
)
def test_if_one_file_cannot_be_made_none_is(body: list[str], code: str) -> None:
    reply = v4a({"a": b"1\n", "b": b"2\n", "c": b"3\n"}, "*** Update File: c", "-3", "+4", *body)
    assert (reply["status"], reply["code"], "files" in reply) == ("failed", code, False)


def test_adding_what_is_there_to_the_letter_is_done_already() -> None:
    assert v4a({"a": b"1\n"}, "*** Add File: a", "+1")["status"] == "already"


def test_a_file_that_is_empty_may_be_added() -> None:
    assert files_of(v4a({"a": b""}, "*** Add File: a", "+1")) == {"a": b"1\n"}
    assert files_of(v4a({"a": b"\xef\xbb\xbf"}, "*** Add File: a", "+1")) == {"a": b"\xef\xbb\xbf1\n"}


def test_a_file_with_a_byte_order_mark_gets_no_second_one() -> None:
    hunk = ("*** Update File: a", "@@", "-a", "+\ufeffz", " b")
    assert v4a({"a": MARKED}, *hunk)["code"] == "bad-encoding"
    assert v4a({}, "*** Add File: a", "+\ufeffz")["code"] == "bad-encoding"
    assert v4a({"a": b"\xef\xbb\xbf"}, "*** Add File: a", "+\ufeffz")["code"] == "bad-encoding"


def test_a_name_that_ends_like_a_folder_makes_no_file() -> None:
    assert v4a({}, "*** Add File: a/", "+1")["code"] == "bad-arguments"
    assert v4a({"b": b"1\n"}, "*** Update File: b", "*** Move to: a/", "-1", "+2")["code"] == "bad-arguments"


def test_a_unified_diff_over_two_files() -> None:
    text = "--- a/x\n+++ b/x\n@@ -9 +9 @@\n-1\n+2\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-3\n+4\n"
    assert files_of(patch("udiff", {"x": b"1\n", "y": b"3\n"}, text)) == {"x": b"2\n", "y": b"4\n"}


GIT = {
    "edit": "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
    "rename": "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n",
    "delete": "diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n",
    "make": "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n",
}


@pytest.mark.parametrize("order", list(itertools.permutations(GIT)), ids="-".join)
def test_what_git_says_without_hunks_is_done_in_every_order(order: tuple[str, ...]) -> None:
    reply = patch("udiff", {"x": b"1\n", "a": b"A\r\n", "e": b""}, "".join(GIT[name] for name in order))
    assert files_of(reply) == {"x": b"2\n", "a": None, "b": b"A\r\n", "e": None, "n": b""}
    assert (reply["tier"], reply["message"]) == ("safe", None)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (
            "diff --git a/a b/c\ncopy from a\ncopy to c\n--- a/a\n+++ b/c\n@@ -1 +1 @@\n-A\n+B\n",
            "copies no files",
        ),
        ("diff --git a/a b/c\nsimilarity index 100%\ncopy from a\ncopy to c\n", "copies no files"),
        ("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", "changes no modes"),
        ("diff --git a/a b/a\nindex 1..2 100644\nBinary files a/a and b/a differ\n", "no binary files"),
        ("diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1\n", "no symbolic links"),
        ("diff --git a/a b/a\nindex 1..2 100644\n", "says that the text of the file changes"),
        ("diff --git a/a b/a\n", "changes no line"),
        ("diff --git a/a b/b\nrename from a\n", "expected the names"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_what_a_git_patch_says_and_cannot_be_done_is_refused(section: str, said: str, is_first: bool) -> None:
    text = section + GIT["edit"] if is_first else GIT["edit"] + section
    reply = patch("udiff", {"x": b"1\n", "a": b"A\n"}, text)
    assert (reply["status"], reply["code"], "files" in reply) == ("failed", "bad-patch", False)
    assert said in reply["message"]


DELETED = "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n"


@pytest.mark.parametrize(
    ("before", "rows", "tier"),
    [
        (b"one\ntwo\n", "@@ -1,2 +0,0 @@\n-one\n-two\n", "safe"),
        (b"one\ntwo", "@@ -1,2 +0,0 @@\n-one\n-two\n\\ No newline at end of file\n", "safe"),
        (b"\xef\xbb\xbfone\r\ntwo\r\n", "@@ -7,9 +0,0 @@\n-one\n-two\n", "safe"),
        (b"one\n\n\ntwo\n\n\n", "@@ -1,2 +0,0 @@\n-one\n-\n-\n-two\n", "safe"),
        (b"one\ntwo\nthree\n", "@@ -1 +0,0 @@\n-one\n@@ -2,2 +0,0 @@\n-two\n-three\n", "safe"),
        (b"one  \n    two\n", "@@ -1,2 +0,0 @@\n-one\n-  two\n", "normalised"),
        (b"", "", "safe"),
    ],
)
def test_a_diff_deletes_a_file_whose_text_it_removes(before: bytes, rows: str, tier: str) -> None:
    reply = patch("udiff", {"a": before}, DELETED + rows)
    assert (reply["tier"], files_of(reply)) == (tier, {"a": None})


@pytest.mark.parametrize(
    ("before", "rows", "code"),
    [
        (b"precious\nuser\n", "@@ -1,2 +0,0 @@\n-old\n-file\n", "no-match"),
        (b"one\ntwo\n", "@@ -1 +0,0 @@\n-one\n", "no-match"),
        (b"one\ntwo\nthree\n", "@@ -1 +0,0 @@\n-one\n@@ -3 +0,0 @@\n-three\n", "no-match"),
        (b"one\ntwo\n", "@@ -1,3 +0,0 @@\n-one\n-two\n-three\n", "no-match"),
        (b"one\none\n", "@@ -1 +0,0 @@\n-one\n", "no-match"),
        (b"total = 10\n", "@@ -1 +0,0 @@\n-total = 11\n", "no-match"),
        (b"one\ntwo\n", "@@ -1,2 +0,0 @@\n one\n two\n", "bad-patch"),
        (b"", "@@ -1,2 +0,0 @@\n one\n two\n", "bad-patch"),
        (b"one\ntwo\n", "@@ -1,2 +0,0 @@\n one\n-two\n", "bad-patch"),
        (b"one\n", "", "no-match"),
    ],
)
def test_a_diff_deletes_no_file_that_has_another_text(before: bytes, rows: str, code: str) -> None:
    reply = patch("udiff", {"a": before, "x": b"1\n"}, GIT["edit"] + DELETED + rows)
    assert (reply["status"], reply["code"], "files" in reply) == ("failed", code, False)


HUNK = "@@ -1 +1 @@\n-1\n+2\n"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("ü.txt", '"{}\\303\\274.txt"'),
        ("d/日 本.txt", '"{}d/\\346\\227\\245 \\346\\234\\254.txt"'),
        ('a"b.txt', '"{}a\\"b.txt"'),
        ("a\tb.txt", '"{}a\\tb.txt"'),
        ("ü\tä.txt", '"{}ü\\t\\303\\244.txt"'),
    ],
)
def test_names_in_the_quotes_of_git(name: str, written: str) -> None:
    old, new = written.format("a/"), written.format("b/")
    changed = patch("udiff", {name: b"1\n"}, f"diff --git {old} {new}\n--- {old}\n+++ {new}\n{HUNK}")
    assert (changed["tier"], files_of(changed)) == ("safe", {name: b"2\n"})
    made = patch("udiff", {}, f"--- /dev/null\n+++ {new}\n@@ -0,0 +1 @@\n+2\n")
    assert (made["tier"], files_of(made)) == ("safe", {name: b"2\n"})
    empty = patch("udiff", {}, f"diff --git {old} {new}\nnew file mode 100644\n")
    assert files_of(empty) == {name: b""}
    bare = written.format("")
    renamed = patch("udiff", {name: b"1\n"}, f"diff --git {old} b/x\nrename from {bare}\nrename to x\n")
    assert files_of(renamed) == {name: None, "x": b"1\n"}
    moved = f"diff --git {old} b/x\nrename from {bare}\nrename to x\n--- {old}\n+++ b/x\n{HUNK}"
    assert files_of(patch("udiff", {name: b"1\n"}, moved)) == {name: None, "x": b"2\n"}


def test_a_name_that_is_not_utf_8_is_refused() -> None:
    reply = patch("udiff", {}, '--- /dev/null\n+++ "b/\\351.txt"\n@@ -0,0 +1 @@\n+2\n')
    assert (reply["code"], "UTF-8" in reply["message"]) == ("bad-patch", True)
    reply = patch("udiff", {"x": b"1\n"}, 'diff --git a/x "b/\\351"\nrename from x\nrename to "\\351"\n')
    assert (reply["code"], "UTF-8" in reply["message"]) == ("bad-patch", True)


@pytest.mark.parametrize("name", ["src\\test.py", "b\\src\\test.py", "b\\\\src\\\\test.py"])
def test_backslashes_in_quotes_may_stand_between_folders(name: str) -> None:
    reply = patch(
        "udiff", {"src/test.py": b"1\n"}, f'--- "{name}"\n+++ "{name}"\n{HUNK}'.replace('"b', '"a', 1)
    )
    assert files_of(reply) == {"src/test.py": b"2\n"}


@pytest.mark.parametrize(
    ("there", "old", "new", "changed"),
    [
        (["original.go"], "original.go", "updated.go", "original.go"),
        (["updated.go"], "original.go", "updated.go", "updated.go"),
        (["original.go", "updated.go"], "original.go", "updated.go", None),
        (["a.py"], "a/a.py", "b/a_modified.py", "a.py"),
        (["a.py"], "a.py", "a.py.new", "a.py"),
        (["a.py", "a.py.orig"], "a.py.orig", "a.py", "a.py"),
        (["a.py.orig"], "a.py.orig", "a.py", "a.py.orig"),
        (["a.py"], "old/a.py", "new/a.py", "a.py"),
        (["old/a.py", "a.py"], "old/a.py", "new/a.py", None),
        (["x.py"], "a/x.py", "a/x.py", "x.py"),
        (["a/x.py", "x.py"], "a/x.py", "a/x.py", "a/x.py"),
        (["src/a.py"], "a\\src\\a.py", "b\\src\\a.py", "src/a.py"),
        (["src/a.py"], "a/a.py", "b/a.py", "src/a.py"),
        (["src/a.py", "lib/a.py"], "a/a.py", "b/a.py", None),
        (["a.py"], "/dev/null", "b/a.py", "a.py"),
    ],
)
def test_one_file_is_changed_whatever_a_diff_names_it(
    there: list[str], old: str, new: str, changed: str | None
) -> None:
    reply = patch("udiff", dict.fromkeys(there, b"1\n"), f"--- {old}\n+++ {new}\n{HUNK}")
    assert (files_of(reply) if "files" in reply else None) == (changed and {changed: b"2\n"})


def test_only_a_rename_moves_a_file() -> None:
    head = "--- a/a.py\n+++ b/b.py\n"
    assert files_of(patch("udiff", {"a.py": b"1\n"}, head + HUNK)) == {"a.py": b"2\n"}
    moved = patch("udiff", {"a.py": b"1\n"}, f"rename from a.py\nrename to b.py\n{head}{HUNK}")
    assert files_of(moved) == {"a.py": None, "b.py": b"2\n"}


@pytest.mark.parametrize(
    ("one", "other"), [("a", "./a"), ("./a", "a"), ("d/a", "d//a"), ("./d/./a", "d/a"), ("a", ".//./a")]
)
def test_sections_for_one_file_are_one_however_its_name_is_spelled(one: str, other: str) -> None:
    path = "d/a" if "d" in one else "a"
    before = {path: b"1\n2\n"}
    for_both = (
        f"*** Update File: {one}",
        "@@",
        "-1",
        "+one",
        f"*** Update File: {other}",
        "@@",
        "-2",
        "+two",
    )
    assert files_of(v4a(before, *for_both)) == {path: b"one\ntwo\n"}
    text = f"--- {one}\n+++ {one}\n@@ -1 +1 @@\n-1\n+one\n--- {other}\n+++ {other}\n@@ -2 +2 @@\n-2\n+two\n"
    assert files_of(patch("udiff", before, text)) == {path: b"one\ntwo\n"}
    gone = (f"*** Update File: {one}", "@@", "-1", "+one", f"*** Delete File: {other}")
    assert v4a(before, *gone)["code"] == "bad-patch"
    moved = (f"*** Update File: {one}", "@@", "-1", "+one", "*** Update File: b", f"*** Move to: {other}")
    assert v4a({**before, "b": b""}, *moved)["code"] == "bad-patch"


def test_a_name_without_its_folder_is_that_of_the_only_such_file() -> None:
    block = "file3.py\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n"
    reply = patch("search_replace", {"dir/file3.py": b"1\n", "b.py": b""}, block)
    assert files_of(reply) == {"dir/file3.py": b"2\n"}
    assert (reply["tier"], "dir/file3.py" in reply["message"]) == ("normalised", True)
    assert v4a({"dir/file3.py": b"1\n"}, "*** Delete File: file3.py")["code"] == "no-such-file"
    both = v4a({"d/a": b"1\n", "a": b"1\n"}, "*** Update File: a", "-1", "+2")
    assert files_of(both) == {"a": b"2\n"}


def test_a_patch_names_no_file_twice_by_two_names() -> None:
    sections = ("*** Update File: d/a", "-1", "+2", "*** Update File: a", "-2", "+3")
    assert v4a({"d/a": b"1\n2\n"}, *sections)["code"] == "bad-patch"


def test_what_was_put_right_is_said() -> None:
    reply = v4a({"a": b"1\n"}, "*** update file:`a`", "-1", "+2")
    assert (reply["status"], reply["tier"]) == ("landed", "normalised")
    assert "file name" in reply["message"]
    assert v4a({"a": b"1\n"}, "*** Update File: a", "-1", "+2")["message"] is None


@pytest.mark.parametrize("name", ["d/a.py ***", "**d/a.py**", "d/a.py:", "a/d/a.py", "b/d/a.py"])
def test_a_name_that_may_be_another_is_that_of_the_file_that_is_there(name: str) -> None:
    rows = (f"*** Update File: {name}", "-1", "+2")
    reply = v4a({"d/a.py": b"1\n"}, *rows)
    assert (reply["tier"], files_of(reply)) == ("normalised", {"d/a.py": b"2\n"})
    assert v4a({name: b"1\n"}, *rows)["tier"] == "safe"
    assert v4a({"x.py": b"1\n"}, *rows)["code"] == "no-such-file"


def test_blocks_for_the_only_file_and_below_file_names() -> None:
    block = "<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n"
    assert files_of(patch("search_replace", {"x": b"1\n"}, block)) == {"x": b"2\n"}
    named = f"x.py\n{block}\ny.py\n{block}"
    both = {"x.py": b"1\n", "y.py": b"1\n"}
    assert files_of(patch("search_replace", both, named)) == {"x.py": b"2\n", "y.py": b"2\n"}
    nameless = patch("search_replace", both, block + named)
    assert nameless["code"] == "bad-patch"
    assert nameless["message"] == (
        "The patch has a block without the name of its file.\n1. Write it on the line above each block."
    )
    mixed = patch("search_replace", both, named + "```diff\n--- x.py\n+++ x.py\n@@\n-1\n+2\n```\n")
    assert mixed["code"] == "bad-patch"
    assert mixed["message"] == (
        "The patch has an edit in another notation.\n1. Send only SEARCH/REPLACE blocks in it."
    )


def test_the_files_that_are_there_tell_a_name_with_blanks_from_a_sentence() -> None:
    block = "a b/c.txt:\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n"
    spaced, last, other = {"a b/c.txt": b"1\n"}, {"b/c.txt": b"1\n"}, {"x": b""}
    assert files_of(patch("search_replace", spaced | other, block)) == {"a b/c.txt": b"2\n"}
    assert files_of(patch("search_replace", last | other, block)) == {"b/c.txt": b"2\n"}
    both = patch("search_replace", spaced | last, block)
    assert (both["code"], "b/c.txt or a b/c.txt" in both["message"]) == ("bad-patch", True)
    new = block.replace("\n1\n", "\n")
    assert patch("search_replace", {"x": b"", "y": b""}, new)["code"] == "bad-patch"


def test_a_patch_of_ten_thousand_hunks_is_refused() -> None:
    before = "".join(f"row {number}\n" for number in range(10_000))
    body = [line for number in range(10_000) for line in ("@@", f"-row {number}", f"+line {number}")]
    reply = v4a({"a": before.encode()}, "*** Update File: a", *body)
    assert (reply["status"], reply["code"]) == ("failed", "too-large")
    assert "files" not in reply


# ---- Lines that are no requests -------------------------------------------------------------------

GOOD = {
    "id": 1,
    "kind": "replace",
    "path": "a",
    "before_b64": b64(b"a\n"),
    "hunks": [{"old": "a", "new": "b", "start_line": None}],
    "replace_all": False,
}
GOOD_PATCH = {"id": 1, "kind": "v4a", "files": {"a": ""}, "patch": ""}


def good(**fields: object) -> bytes:
    return json.dumps({**GOOD, **fields}).encode()


def good_patch(**fields: object) -> bytes:
    return json.dumps({**GOOD_PATCH, **fields}).encode()


BAD_LINES = [
    b"",
    b"\n",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"\xff\xfe",
    b"\0",
    b"\xef\xbb\xbf{}",
    b"[" * 200_000,
    b'{"a":' * 200_000,
    b'{"id": NaN}',
    b'{"id": 1e999}',
    b'{"id": ' + b"9" * 10_000 + b"}",
    good(id=[]),
    good(id=True),
    good(kind="patch"),
    good(kind=None),
    good(kind=["replace"]),
    good(path=""),
    good(path=1),
    good(path="a\0b"),
    good(before_b64="*"),
    good(before_b64="YQ"),
    good(before_b64=[1]),
    good(before_b64="é"),
    good(hunks=[]),
    good(hunks={}),
    good(hunks=["a"]),
    good(hunks=[{"old": "a"}]),
    good(hunks=[{"old": "a", "new": None}]),
    good(hunks=[{"old": "a", "new": "\ud800"}]),
    good(hunks=[{"old": "a", "new": "\0"}]),
    good(hunks=[{"old": "a", "new": "b", "start_line": 0}]),
    good(hunks=[{"old": "a", "new": "b", "start_line": 1.0}]),
    good(hunks=[{"old": "a", "new": "b", "start_line": True}]),
    good(hunks=[{"old": "a", "new": "b", "start_line": "1"}]),
    good(replace_all="yes"),
    good_patch(files=[]),
    good_patch(files={"": ""}),
    good_patch(files={"a": None}),
    good_patch(files={"a": "", "./a": ""}),
    good_patch(patch=None),
    json.dumps({"kind": "v4a", "files": {}}).encode(),
]


@pytest.mark.parametrize("line", BAD_LINES, ids=lambda line: repr(line[:40]))
def test_a_line_that_is_no_request_is_told_so(line: bytes) -> None:
    reply = jsonl.answer(line)
    assert (reply["status"], reply["code"]) == ("failed", "bad-request")
    assert reply["message"]
    assert json.loads(jsonl.encode(reply)) == reply


def test_a_byte_that_is_not_utf_8_is_named_with_its_offset() -> None:
    message = jsonl.answer(b'{"id": "\xff"}')["message"]
    assert message == "The line is not UTF-8: it has the byte 0xFF at offset 8."


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"id": 1,}', "column [0-9]+: (a name in double quotes was expected|no comma may stand)"),
        (b"{id: 1}", "line 1, column 2: a name in double quotes was expected"),
        (b'{"id" 1}', "line 1, column 7: `:` was expected"),
        (b'{"id": 1 "kind": 2}', "line 1, column 10: `,` or the closing bracket was expected"),
        (b'{"id": nul}', "line 1, column 8: a value was expected"),
        (b'{"id": "a', "line 1, column 8: a string begins there"),
        (b'{"id": "a\tb"}', "line 1, column 10: a line break or control character must be escaped"),
        (rb'{"id": "\d"}', r"line 1, column 9: a backslash must be written as `\\\\`"),
        (rb'{"id": "\u00"}', r"line 1, column 1\d: `\\u` must be followed by four"),
        (b"{} {}", "line 1, column 4: nothing may follow the value"),
        (b'{"id": 1', "it ends too early"),
        (b"", "it ends too early"),
        (b"[" * 200_000, "it is nested too deeply"),
        (b'{"id": ' + b"9" * 10_000 + b"}", "it has a number with too many digits"),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_a_line_that_is_not_json_is_told_where_and_why(line: bytes, why: str) -> None:
    assert re.fullmatch(f"The line is not JSON: .*{why}.*\\.", str(jsonl.answer(line)["message"]))


def test_a_line_hint_beyond_all_lines_does_no_harm() -> None:
    hunk = {"old": "a", "new": "b", "start_line": 10**300}
    assert jsonl.answer(good(hunks=[hunk]))["status"] == "landed"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from([*GOOD, *GOOD_PATCH])


@settings(max_examples=examples(300), deadline=None)
@given(base=st.sampled_from([GOOD, GOOD_PATCH]), changed=st.dictionaries(FIELDS, JSON, max_size=3))
def test_any_value_in_any_field_gets_a_reply(base: dict[str, object], changed: dict[str, object]) -> None:
    reply = jsonl.answer(json.dumps({**base, **changed}).encode())
    assert reply["status"] in ("landed", "already", "failed")
    assert (reply["code"] is None) == (reply["status"] != "failed")
    jsonl.encode(reply)


@settings(max_examples=examples(300), deadline=None)
@given(line=st.binary())
def test_any_bytes_get_a_reply(line: bytes) -> None:
    jsonl.encode(jsonl.answer(line))


# ---- The process ----------------------------------------------------------------------------------


def test_the_process_answers_line_by_line_in_order() -> None:
    command = [sys.executable, "-m", "handrail", "apply", "--jsonl"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for line, wanted in ((good(id="x"), "landed"), (b"{", "failed"), (good(id=None), "landed")):
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            reply = json.loads(process.stdout.readline())  # each reply comes before the next request
            assert reply["status"] == wanted
            assert reply["ms"] >= 0
        process.stdin.write(good(id="last"))
        process.stdin.close()
        assert json.loads(process.stdout.readline())["id"] == "last"
        assert process.stdout.read() == b""
    assert process.returncode == 0


class Endless(io.RawIOBase):
    """A line of 300 MB that is nowhere in memory, and a good one behind it."""

    def __init__(self) -> None:
        self.left, self.tail = 300_000_000, io.BytesIO(b"x\n" + good(id="next") + b"\n")
        self.largest = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.largest = max(self.largest, len(buffer))
        if not self.left:
            return self.tail.readinto(buffer)
        count = min(len(buffer), self.left)
        buffer[:count] = b"x" * count
        self.left -= count
        return count


def test_a_line_that_is_too_long_is_refused_and_the_next_one_served() -> None:
    replies = io.BytesIO()
    lines.serve(io.BufferedReader(Endless()), replies)
    first, second = map(json.loads, replies.getvalue().splitlines())
    assert (first["code"], second["id"], second["status"]) == ("bad-request", "next", "landed")
    assert "100,000,000 bytes" in first["message"]


def test_an_error_of_ours_is_told_and_the_next_line_served() -> None:
    def answer(line: bytes) -> dict[str, object]:
        if line == b"1\n":
            raise ZeroDivisionError("one")
        return jsonl.answer(line)

    replies = io.BytesIO()
    lines.serve(io.BytesIO(b"1\n" + good()), replies, answer)
    first, second = map(json.loads, replies.getvalue().splitlines())
    assert (first["status"], first["code"], second["status"]) == ("failed", "tool-failed", "landed")


@pytest.mark.parametrize(("second", "after_it"), [("  two", b"A\n  2\n"), ("A\n  two", b"2\n")])
def test_strings_may_build_on_the_ones_before_them(second: str, after_it: bytes) -> None:
    reply = replace(
        b"a\n", ("a\n", "A\n  two\n"), (second, second.replace("A\n  two", "2").replace("two", "2"))
    )
    assert (reply["status"], reply["tier"]) == ("landed", "normalised")
    assert after(reply) == after_it
