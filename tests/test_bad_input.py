"""
Input that no model should send and no file should hold: a failure of its own, soon, and no byte changed.

First for the engine alone, then through a host on a real disk.
"""

import os
import runpy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from time import thread_time

import pytest

from bench import Bench
from handrail.adapters.files.disk import Disk
from handrail.core.documents.change import Change, Landing, PlannedHunk, Status
from handrail.core.documents.text import LIMIT_BYTES, Text
from handrail.core.engine import engine
from handrail.core.engine.engine import Patch, Replace
from handrail.core.failure import Code, Failure, Span
from handrail.core.patches import notations, reply
from handrail.core.patches.hunk import Hunk
from handrail.core.planning import plan
from handrail.testing import answer, call, lay_out, snapshot

ROOT = Path(__file__).resolve().parent.parent
SOON_S = 20  # of the processor; what it is to catch takes hours
LONG = 10_000_000


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """Every test here ends in bounded time."""
    began = thread_time()
    yield
    assert thread_time() - began < SOON_S


def code(content: str, old: str, new: str, **more: bool) -> str:
    """What comes of one replacement: the code of the failure, or the tier."""
    hunk = Hunk(number=1, old=old, new=new, whole_lines=False, **more)
    made = plan.plan(Text(content), [hunk])[0].result
    return made.code.value if isinstance(made, Failure) else made.tier.value


# ---- Characters -----------------------------------------------------------------------------------

NO_TEXT = ["\0", "\ud800", "\udfff", "a\udc80"]


@pytest.mark.parametrize("character", NO_TEXT)
def test_what_no_text_has_is_neither_searched_for_nor_written(character: str) -> None:
    assert code("a\nb\n", f"a{character}", "b") == "bad-encoding"
    assert code("a\nb\n", "a", f"b{character}") == "bad-encoding"
    whole = plan.plan_whole(Text("a\n"), f"{character}\n")
    assert isinstance(whole, Failure)
    assert whole.code is Code.BAD_ENCODING
    assert isinstance(Text("").encode(character), Failure)


def test_nothing_is_written_that_would_be_read_as_a_byte_order_mark() -> None:
    for encoding, begin in (("utf-8", "\ufeff"), ("latin-1", "\xff\xfe"), ("latin-1", "\xef\xbb\xbf")):
        found = Text("a\n", encoding).encode(f"{begin}a\n")
        assert isinstance(found, Failure)
        assert found.code is Code.BAD_ENCODING
    assert Text("a\n", bom=True).encode("\ufeffa\n") == b"\xef\xbb\xbf\xef\xbb\xbfa\n"


@pytest.mark.parametrize(
    "raw", [b"\x7fELF\0\0", b"GIF89a\xff\xd9", b"a\0b", b"\xff\xfe\0\0a\0\0\0", b"\xed\xa0\x80"]
)
def test_binary_data_is_no_text(raw: bytes) -> None:
    hunks = (Hunk(number=1, old="a", new="b", whole_lines=False),)
    done = engine.carry_out(Replace(path="x", before=raw, hunks=hunks))
    assert done.failure is not None
    assert (done.failure.code, done.files) == (Code.BAD_ENCODING, {})


# ---- Length ---------------------------------------------------------------------------------------


def test_a_search_text_longer_than_the_limit_is_refused() -> None:
    assert code("a\n", "x" * LONG, "b") == "too-large"
    assert code("x" * LONG, "x" * LONG + "y", "b") == "too-large"


@pytest.mark.parametrize(
    ("old", "came"),
    [("needle", "safe"), ("needel", "no-match"), ("x" * 5000, "ambiguous-match"), ("y" * 900_000, "no-match"),
     ("need\u2019le", "no-match"), ("  needle\n\n\n", "no-match")],
    ids=lambda value: value[:9],
)  # fmt: skip
def test_a_line_of_ten_million_characters_is_searched(old: str, came: str) -> None:
    half = "x" * (LONG // 2)
    assert code(f"{half} needle {half}", old, "pin") == came
    assert code(f"{half} needle \u2026 {half}\n", old, "pin") == came


def test_long_lines_that_differ_in_their_quotes() -> None:
    line = 'it\'s "so", ' * 20_000
    curly = line.replace("'", "\u2019").replace('"', "\u201d")
    assert code(f"{curly}\n", line, line.replace("so", "and so")) == "normalised"
    assert code(f"{line}\n", curly, f"{curly} and so") == "normalised"
    assert code(f"{line[:9000]}\nb\n", f"{curly[:9001]}\nb", "c") == "no-match"


LINES = (
    "*** Update File: a", "*** Move to: a", "@@ a", "<<<<<<< SEARCH", "=======", ":start_line: 1", "--- a/a",
    "+++ b/a", "```a", "**a** (new)", "a: ", "#", "(", "# ...", "// rest", "file: a", "- a", "1. a",
)  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_marker_with_a_million_blanks_is_read_soon(line: str) -> None:
    for blank in (" ", "\t", " \t"):
        long = f"{line}{blank * 500_000}x"
        source = f"{long}\n*** Begin Patch\n{long}\n{long}\n@@\n-a\n+b\n*** End Patch"
        reply.read(source)
        notations.parse_v4a(f"*** Begin Patch\n*** Update File: a\n{long}\n-a\n{long}\n*** End Patch")
        notations.parse_v4a(source.partition("\n")[2])
        notations.parse_unified(f"--- a/a\n+++ b/a\n{long}\n-a\n+b\n{long}\n")
        notations.parse_unified(f"{long}\n+++ b/a\n@@\n{long}\n")
        notations.parse_search_replace(
            "a", f"<<<<<<< SEARCH\n{long}\n=======\n{long}\n>>>>>>> REPLACE\n{long}\n"
        )
        code("a\n", "a", long)
        code(f"{long}\n", f"{line}{blank * 3}x", "b")


def test_blocks_in_which_all_lines_are_alike() -> None:
    rows, refused = ["a", "b"] * 200, ("no-match", "ambiguous-match")
    old = "\n".join(["a", "c", *rows[3:]])
    assert code("\n".join(rows[:-1] * 50), old, "x") in refused
    content = "\n".join(["same"] * 50_000)
    assert code(content, "\n".join(["same"] * 399 + ["other"]), "x") in refused
    assert code(content, "\n".join(["same"] * 40), "x") == "ambiguous-match"
    assert code(content, "same", "x", replace_all=True) == "too-large"


def test_a_new_text_of_placeholders_only() -> None:
    rows = [f"value_{at} = {at}" for at in range(50_000)]
    new = "\n".join(f"{row}\n# unchanged" for row in rows)
    assert code("\n".join(rows[:20_000]), "\n".join(rows[:20_000]), new) == "safe"
    assert code("\n".join(rows[:20_000]), "\n".join(rows[:20_000]), "# ...\n" * 500_000) == "omission"


# ---- Number ---------------------------------------------------------------------------------------


def test_five_megabytes_of_numbered_rows() -> None:
    rows = [f"value_{at} = {at}" for at in range(200_000)]
    numbered = "\n".join(f"{at} | {row}" for at, row in enumerate(rows, 1))
    assert len(numbered) > 5_000_000
    content, few = "\n".join(rows), 20_000
    assert code(content, numbered, numbered + "\nx") == "too-large"
    old = "\n".join(numbered.split("\n", few)[:few])
    assert code(content, old, numbered) == "safe"  # the rows that it adds are there already
    assert code(content, "\n".join(rows[:few]), numbered) in ("safe", "normalised")
    assert code(content, "none\n", numbered) == "no-match"


def test_hundreds_of_rows_that_stand_at_thousands_of_places() -> None:
    rows = "x\n" * 2000
    assert code("x\n" * 20_000, rows, "y\n") == "ambiguous-match"
    assert code("  x\n" * 20_000, rows, "y\n") == "ambiguous-match"
    assert code("x\nx\n\n" * 9_000, rows, "y\n") == "ambiguous-match"
    assert code("  x x\n  foo\n" * 4_000, "x x\nfoo", "y\n  z\n", replace_all=True) == "normalised"
    assert code("x\nx\n\n" * 5_000, rows, "y\n", replace_all=True) == "normalised"


def test_two_replacements_at_nine_thousand_places_each() -> None:
    hunks = [
        Hunk(number=at, old=old, new="new", whole_lines=False, replace_all=True)
        for at, old in enumerate(("one", "two"), 1)
    ]
    results = [each.result for each in plan.plan(Text("one two\n" * 9_000), hunks)]
    assert [len(each.edits) for each in results if isinstance(each, PlannedHunk)] == [9_000, 9_000]


def test_a_scope_line_that_stands_fifty_thousand_times() -> None:
    """Each of the hunks names it, and it holds none of them."""
    content = "top = 1\n" * 3 + "unique_%d = 1\n" * 500 % tuple(range(500)) + "def f():\n    pass\n" * 50_000
    hunks = [
        Hunk(number=at + 1, old=f"unique_{at} = 1", new=f"unique_{at} = 2", scope=("class A:", "def f():"))
        for at in range(500)
    ]
    results = [each.result for each in plan.plan(Text(content), hunks)]
    assert {result.code for result in results if isinstance(result, Failure)} == {Code.NO_MATCH}
    assert all(isinstance(result, Failure) for result in results)


@pytest.mark.parametrize("notation", notations.NOTATIONS.values(), ids=str)
def test_a_patch_of_ten_thousand_hunks_is_refused(notation: notations.Notation) -> None:
    hunks = {
        notations.V4A: ("*** Begin Patch\n*** Update File: a\n", "@@\n-a\n+b\n", "*** End Patch"),
        notations.UNIFIED: ("--- a/a\n+++ b/a\n", "@@ -1 +1 @@\n-a\n+b\n", ""),
        notations.SEARCH_REPLACE: ("", "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", ""),
    }[notation]
    source = hunks[0] + hunks[1] * 10_000 + hunks[2]
    done = engine.carry_out(Patch(notation=notation, files={"a": b"a\n" * 20_000}, patch=source))
    assert done.failure is not None
    assert (done.failure.code, done.files) == (Code.TOO_LARGE, {})
    assert f"{plan.LIMIT_HUNKS:,}" in done.failure.message


def test_a_patch_of_ten_thousand_files() -> None:
    source = "".join(f"*** Add File: f{number}\n+a\n" for number in range(10_000))
    found = notations.parse_v4a(f"*** Begin Patch\n{source}*** End Patch")
    assert isinstance(found, tuple)
    assert len(found) == 10_000


def test_a_patch_of_many_wrappers_and_markers_is_read_soon() -> None:
    fences, sections = "```\n" * 20_000, "*** Update File: a\n@@\n-a\n+b\n" * 5_000
    for source in (
        f"{fences}*** Begin Patch\n*** Delete File: a\n*** End Patch\n{fences}",
        "apply_patch <<'EOF'\n" * 20_000 + "*** End Patch\n" * 20_000,
        " *** Begin Patch\n" * 20_000 + " *** End Patch\n" * 20_000,
        f"*** Begin Patch\n{sections}*** End Patch\n",
        sections,
        "*** Update File: a\n" * 20_000 + "*** End Patch",
    ):
        notations.parse_v4a(source)
        notations.parse_unified(source)
        notations.parse_search_replace("a", source)
        reply.read(source)


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("a\n" * 50_000, "a\n-a\n+b\n"),
        ("    a\n" * 20_000, "    a\n" * 40 + "-    a\n+    b\n"),
        (("    a\n" * 400 + "    b\n") * 125, ("@@\n" + "    a\n" * 300 + "-    b\n+    c\n") * 5),
        ("x\n", "y y\n" * 200_000 + "-x\n+y\n"),
    ],
)
def test_many_rows_that_may_have_lost_their_blank_are_read_soon(content: str, body: str) -> None:
    patch = f"*** Begin Patch\n*** Update File: a\n@@\n{body}*** End Patch"
    done = engine.carry_out(Patch(notation=notations.V4A, files={"a": content.encode()}, patch=patch))
    assert done.failure is not None


# ---- Found by random patches ----------------------------------------------------------------------


def test_at_a_place_that_a_person_chose_rows_past_the_end_are_passed_over() -> None:
    hunk = Hunk(number=1, old="  x = 1\n  x = 1", new="  x = 1", whole_lines=False)
    made = plan.plan_at(Text("  x = 1"), hunk, Span(start=0, end=7))
    assert isinstance(made, PlannedHunk)
    assert made.edits == ()


def test_edits_that_undo_each_other_change_nothing() -> None:
    quoted, curled = '"q"', "\u201cq\u201d"  # two rows for the hunk, the same in the document
    hunk = Hunk(number=1, old=f"{quoted}\n{curled}", new=f"{curled}\n{quoted}")
    made = plan.plan_hunk(Text(f"w\n{quoted}\n{quoted}\n"), hunk)
    assert isinstance(made, PlannedHunk)
    assert made.edits == ()


# ---- Through a host, on a disk --------------------------------------------------------------------


async def failed(bench: Bench, *calls: dict[str, object]) -> list[str]:
    """The codes of what failed in a turn with these calls, none of which may change anything."""
    before = snapshot(bench.root)
    bench.says(answer("", *calls), answer("Done."))
    report = await bench.turn()
    assert snapshot(bench.root) == before
    assert all(outcome.status is Status.FAILED for outcome in report.outcomes)
    return [outcome.failure.code.value for outcome in report.outcomes if outcome.failure is not None]


@pytest.mark.parametrize("character", NO_TEXT)
async def test_characters_that_no_text_has_change_no_file(bench: Bench, character: str) -> None:
    lay_out(bench.root, {"a.txt": b"a\nb\n"})
    v4a = f"*** Begin Patch\n*** Update File: a.txt\n-a\n+{character}\n*** End Patch"
    codes = await failed(
        bench,
        call("patch", path="a.txt", old_string=f"{character}a", new_string="b"),
        call("patch", path="a.txt", old_string="a", new_string=f"{character}"),
        call("patch", mode="v4a", patch=v4a),
        call("write_file", path="a.txt", content=f"a{character}"),
        call("write_file", path="new.txt", content=character),
    )
    assert codes == ["bad-encoding"] * 5


async def test_a_file_over_the_limit_is_refused_by_its_size(bench: Bench) -> None:
    lay_out(bench.root, {"large.txt": b"a\n"})
    os.truncate(bench.root / "large.txt", 200_000_000)  # sparse, and never read
    report = await _turn(bench, call("patch", path="large.txt", old_string="a", new_string="b"))
    assert f"{LIMIT_BYTES:,}" in report
    assert (bench.root / "large.txt").stat().st_size == 200_000_000


async def _turn(bench: Bench, *calls: dict[str, object]) -> str:
    bench.says(answer("", *calls), answer("Done."))
    report = await bench.turn()
    (failure,) = [outcome.failure for outcome in report.outcomes]
    assert failure is not None
    assert failure.code is Code.TOO_LARGE
    return failure.message


async def test_ten_thousand_hunks_for_one_file(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"a\n" * 100})
    body = "@@\n-a\n+b\n" * 10_000
    patch = f"*** Begin Patch\n*** Update File: a.txt\n{body}*** End Patch"
    assert await failed(bench, call("patch", mode="v4a", patch=patch)) == ["too-large"]


class Vanishing(Disk):
    """A disk on which somebody removes a file after it was read and before it is changed."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        self._file.unlink(missing_ok=True)
        return await super().apply(changes, label)


@pytest.mark.parametrize("section", ["*** Update File: a.txt\n-a\n+b\n", "*** Delete File: a.txt\n"])
async def test_a_file_that_vanishes_before_it_is_changed(bench: Bench, section: str) -> None:
    lay_out(bench.root, {"a.txt": b"a\n", "b.txt": b"b\n"})
    bench.editor = Vanishing(bench.root / "a.txt")
    patch = f"*** Begin Patch\n{section}*** End Patch"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    report = await bench.turn()
    assert [outcome.failure.code for outcome in report.outcomes if outcome.failure] == [Code.NO_SUCH_FILE]
    assert snapshot(bench.root) == {"b.txt": b"b\n"}


async def test_random_requests_come_to_the_same_through_the_tool(bench: Bench) -> None:
    fuzz = runpy.run_path(str(ROOT / "scripts" / "fuzz.py"))
    chance = Random(5)
    for _ in range(100):
        made = fuzz["request"](chance)
        request = one_hunk(getattr(made, "request", made))
        files = {request.path: request.before} if isinstance(request, Replace) else dict(request.files)
        for name in snapshot(bench.root):
            (bench.root / name).unlink()
        lay_out(bench.root, files)
        bench.says(answer("", as_call(request)), answer("Done."))
        report = await bench.turn()
        done = engine.carry_out(request)
        assert any(outcome.status is Status.LANDED for outcome in report.outcomes) == bool(done.files)
        after = {**files, **done.files}
        assert snapshot(bench.root) == {name: raw for name, raw in after.items() if raw is not None}


def one_hunk(request: Replace | Patch) -> Replace | Patch:
    """The same request with what one call can say."""
    return replace(request, hunks=request.hunks[:1]) if isinstance(request, Replace) else request


def as_call(request: Replace | Patch) -> dict[str, object]:
    if isinstance(request, Patch):
        path = {"path": "a"} if not request.notation.names_files else {}
        return call("patch", mode=request.notation.name, patch=request.patch, **path)
    (hunk,) = request.hunks
    hint = {"start_line": hunk.line_number} if hunk.line_number else {}
    strings = {"old_string": hunk.old, "new_string": hunk.new}
    return call("patch", path="a", **strings, **hint, replace_all=hunk.replace_all)
