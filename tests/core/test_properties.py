"""
What holds of the core for any text: found by chance, not by cases.

The gate tries the same examples each time. To search for new ones, say how many:
`HANDRAIL_EXAMPLES=5000 pytest tests/core/test_properties.py`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.readback import which_are_intact
from handrail.core.documents.text import Text, split_lines
from handrail.core.failure import Code, Failure, Span
from handrail.core.patches import notations, reply
from handrail.core.patches.hunk import FilePatch, Hunk, Operation
from handrail.core.planning import plan
from handrail.core.planning.adapted import REINDENTED
from searches import examples

EXAMPLES = os.environ.get("HANDRAIL_EXAMPLES")
quick = settings(
    max_examples=int(EXAMPLES or examples(150)),
    derandomize=EXAMPLES is None,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

TYPED = "\u00a4"  # what the user types; nothing else contains it
WORDS = ["alpha", "bomb, tyre", "Quick", "(fox)", "jumps_over", "1 2 3 4", "vz", "HELD = no"]
EOLS = st.sampled_from(["\n", "\r\n", "\r"])
CHARACTERS = "ab=(){} \t\"'\u2019\u00a0\u3000\x0c\u2028\x85\U0001f600"
rows = st.text(CHARACTERS, max_size=6)


@st.composite
def documents(draw: st.DrawFn, min_lines: int = 0) -> str:
    """Any text, lines that resemble each other, with one kind of line end or several."""
    ends = draw(st.one_of(EOLS.map(st.just), st.just(EOLS)))
    lines = draw(st.lists(st.tuples(rows, ends), min_size=min_lines, max_size=8))
    return "".join(row + eol for row, eol in lines) + draw(st.sampled_from(["", "a", "  b"]))


@dataclass(frozen=True)
class Lines:
    """A document of lines that all differ, so that there is only one way to read a difference."""

    rows: list[str]
    eols: list[str]

    @property
    def content(self) -> str:
        return "".join(row + eol for row, eol in zip(self.rows, self.eols, strict=True))


@st.composite
def distinct(draw: st.DrawFn) -> Lines:
    indents = draw(st.lists(st.sampled_from(["", "    ", "\t", "        "]), min_size=1, max_size=8))
    ends = draw(st.one_of(EOLS.map(st.just), st.just(EOLS)))
    eols = [draw(ends) for _ in indents]
    if draw(st.booleans()):
        eols[-1] = ""
    return Lines([f"{indent}{word};" for indent, word in zip(indents, WORDS, strict=False)], eols)


@st.composite
def changes(draw: st.DrawFn, base: Lines) -> dict[int, list[str]]:
    """For some lines, the lines that stand there afterwards, none of which was there before."""
    touched = draw(st.sets(st.integers(0, len(base.rows) - 1), min_size=1, max_size=3))
    fresh = (f"new{number}!" for number in range(100))
    return {at: [next(fresh) for _ in range(draw(st.integers(0, 2)))] for at in sorted(touched)}


def changed(base: Lines, ours: dict[int, list[str]]) -> str:
    lines = zip(base.rows, base.eols, strict=True)
    kept = [
        [(row, eol)] if at not in ours else [(new, eol or "\n") for new in ours[at]]
        for at, (row, eol) in enumerate(lines)
    ]
    return "".join(row + eol for each in kept for row, eol in each)


def splits_a_pair(content: str, edits: tuple[TextEdit, ...]) -> bool:
    ends = [at for each in edits for at in (each.span.start, each.span.end)]
    return any(content[at - 1 : at + 1] == "\r\n" for at in ends if at)


# ---- Text -----------------------------------------------------------------------------------------


@quick
@given(
    st.one_of(
        st.binary(max_size=40),
        st.text(max_size=20).map(str.encode),
        st.text(max_size=20).map(lambda text: b"\xff\xfe" + text.encode("utf-16-le")),
    ),
    st.sampled_from([None, "latin-1", "cp1252", "utf-16", "utf-7", "no such", ""]),
)
def test_bytes_come_back_or_are_refused(raw: bytes, named: str | None) -> None:
    text = Text.parse(raw, named)
    if not isinstance(text, Failure):
        assert text.raw == raw
        assert text.encode(text.content) == raw


@quick
@given(st.text(max_size=20), st.sampled_from(["utf-8", "latin-1", "utf-16-le", "utf-16-be"]), st.booleans())
@example("\ufeffa", "utf-8", False)
@example("\xff\xfea", "latin-1", False)
@example("a\0", "utf-8", False)
@example("\ud800", "utf-16-le", True)
def test_what_is_written_is_read_again_or_refused(content: str, encoding: str, bom: bool) -> None:
    raw = Text("", encoding, bom and encoding != "latin-1").encode(content)
    if not isinstance(raw, Failure):
        text = Text.parse(raw, encoding)
        assert isinstance(text, Text)
        assert text.content == content


@quick
@given(documents())
def test_lines_are_the_text(content: str) -> None:
    text = Text(content)
    assert "".join(row + eol for row, eol in zip(text.rows, text.eols, strict=True)) == content
    assert [content[at:] for at in text.starts[:-1]] == [content[at:] for at in sorted(set(text.starts))[:-1]]
    for offset in range(len(content) + 1):
        line = text.line_at(offset)
        assert text.starts[line] <= offset
        assert line + 1 >= len(text.starts) or offset < text.starts[line + 1]


# ---- Edits ----------------------------------------------------------------------------------------


@quick
@given(documents(), documents())
def test_the_difference_of_two_texts_makes_one_of_the_other(old: str, new: str) -> None:
    edits = edit.edits_between(old, new)
    assert edit.apply(old, edits) == new
    assert all(one.span.end <= other.span.start for one, other in pairwise(edits))
    assert not splits_a_pair(old, edits)


@quick
@given(documents(), documents(), documents(), documents())
def test_a_difference_is_that_of_all_lines(before: str, behind: str, one: str, other: str) -> None:
    """Also where only the lines between the equal ends were compared."""
    for old, new in ((one, other), (before + one + behind, before + other + behind)):
        lines, changed = split_lines(old), split_lines(new)
        starts = [0, *accumulate(map(len, lines))]
        blocks = [
            edit.trim(old, TextEdit(span=Span(start=starts[i], end=starts[j]), new="".join(changed[k:m])))
            for i, j, k, m in edit.opcodes(lines, changed)
        ]
        assert edit.edits_between(old, new) == tuple(block for block in blocks if block is not None)


@quick
@given(documents(), documents())
def test_edits_by_lines_come_to_the_same_and_need_no_column(old: str, new: str) -> None:
    text = Text(old)
    edits = edit.by_lines(text, edit.edits_between(old, new))
    assert edit.apply(old, edits) == new
    assert all(each.span.start in text.starts for each in edits)
    assert all(each.span.end in (*text.starts, len(old)) for each in edits)


@given(st.lists(st.sampled_from("abc"), max_size=30), st.lists(st.sampled_from("abc"), max_size=30))
def test_rows_outside_the_blocks_are_equal(before: list[str], after: list[str]) -> None:
    made, at = [], 0
    for i, j, k, m in edit.opcodes(before, after):
        made += [*before[at:i], *after[k:m]]
        at = j
    assert [*made, *before[at:]] == after


@quick
@given(st.data())
def test_rebase_keeps_what_was_typed(data: st.DataObject) -> None:
    base = data.draw(documents())
    planned = edit.edits_between(base, data.draw(documents()))
    places = data.draw(st.lists(st.integers(0, len(base)), max_size=4))
    places = [at for at in places if base[at - 1 : at + 1] != "\r\n" or not at]
    now = base
    for at in sorted(places, reverse=True):
        typed = data.draw(st.sampled_from([TYPED, TYPED + "\n", "\n" + TYPED, TYPED * 2 + "\r\n"]))
        now = now[:at] + typed + now[at:]
    moved = edit.rebase(Text(base), planned, now)
    for old, new in zip(planned, moved, strict=True):
        ours = base[old.span.start : old.span.end]
        assert new.conflict or now[new.edit.span.start : new.edit.span.end] == ours
    merged = edit.apply(now, [each.edit for each in moved if not each.conflict])
    assert merged.count(TYPED) == now.count(TYPED)


@quick
@given(st.data())
def test_what_the_user_does_elsewhere_does_not_disturb_ours(data: st.DataObject) -> None:
    base = data.draw(distinct())
    ours = data.draw(changes(base))
    text = Text(base.content)
    edits = edit.edits_between(base.content, changed(base, ours))
    with_ours, without = users(data, base, ours)
    assert all(which_are_intact(text, edits, with_ours))
    assume(edits)
    assert not any(which_are_intact(text, edits, without))


def users(data: st.DataObject, base: Lines, ours: dict[int, list[str]]) -> tuple[str, str]:
    """The document after ours and edits of the user in lines that ours do not touch; and without ours."""
    with_ours, without = [], []
    for at, (row, eol) in enumerate(zip(base.rows, base.eols, strict=True)):
        theirs = [(row, eol)]
        if at not in ours:
            beside = at - 1 in ours or at + 1 in ours  # deleting here is too like not having deleted there
            actions = ["keep", "keep", "type", "insert", "keep" if beside else "delete"]
            action = data.draw(st.sampled_from(actions))
            theirs = {
                "keep": theirs,
                "type": [(row[:3] + TYPED + row[3:], eol)],
                "insert": [(TYPED, eol or "\n"), (row, eol)],
                "delete": [],
            }[action]
        with_ours += [(new, eol or "\n") for new in ours[at]] if at in ours else theirs
        without += theirs
    return ("".join(row + eol for row, eol in with_ours), "".join(row + eol for row, eol in without))


# ---- Plans ----------------------------------------------------------------------------------------


@quick
@given(st.data())
def test_a_hunk_of_the_documents_own_lines_changes_these_and_nothing_else(data: st.DataObject) -> None:
    base = data.draw(distinct())
    text = Text(base.content)
    first = data.draw(st.integers(0, len(base.rows) - 1))
    end = data.draw(st.integers(first + 1, len(base.rows)))
    new = data.draw(st.lists(st.sampled_from([*base.rows[first:end], "new;", "  newer;", ""]), max_size=5))
    hunk = Hunk(number=1, old="\n".join(base.rows[first:end]), new="\n".join(new), leaves_blank=new == [""])
    assume(new != base.rows[first:end])
    assume(base.eols[-1] or end < len(base.rows) or new[-1:] != [""])  # a blank last line is a final newline
    made = plan.plan_hunk(text, hunk)
    assume(not (isinstance(made, Failure) and "mixes CR and LF" in made.message))
    assert isinstance(made, PlannedHunk)
    if not made.edits:
        return  # there already: the old lines stand inside the new ones
    after = edit.apply(text.content, made.edits)
    assert not splits_a_pair(text.content, made.edits)
    changed = (row.lstrip() if REINDENTED in made.notes else row for row in new)
    here = [row.lstrip() if REINDENTED in made.notes else row for row in Text(after).rows]
    there = len(here) - len(base.rows) + end
    assert list(Text(after).rows[:first]) == base.rows[:first]
    assert here[first:there] == list(changed)
    assert list(Text(after).rows[there:]) == base.rows[end:]
    assert after.startswith("".join(map(str.__add__, base.rows[:first], base.eols[:first]))[:-2])
    assert after.endswith("".join(map(str.__add__, base.rows[end:], base.eols[end:])))
    assert after.endswith(("\n", "\r")) == bool(base.eols[-1]) or not new


@quick
@given(documents(min_lines=1), st.data())
def test_a_string_that_is_there_once_is_replaced_as_strings_are(content: str, data: st.DataObject) -> None:
    content = content.replace("\r\n", "\n").replace("\r", "\n")
    assume(content)
    start = data.draw(st.integers(0, len(content) - 1))
    old = content[start : data.draw(st.integers(start + 1, len(content)))]
    new = data.draw(st.one_of(rows, documents().map(lambda text: text.replace("\r", ""))))
    assume(content.count(old) == 1 and content.find(old) == content.rfind(old) and old != new)
    indentation = content[content.rfind("\n", 0, start) + 1 : start]
    is_row = indentation and not indentation.strip(" \t") and "\n" in old.rstrip("\n") + new.rstrip("\n")
    assume(not is_row)  # then it may be meant as rows, which are indented as they are there
    is_deep = indentation and not indentation.strip(" \t") and new[:1] in (" ", "\t")
    assume(not is_deep)  # then it may stand at the row's depth, and is not indented once more
    made = plan.plan_hunk(Text(content), Hunk(number=1, old=old, new=new, whole_lines=False))
    if isinstance(made, Failure):
        assert made.code in (Code.NO_MATCH, Code.AMBIGUOUS_MATCH)
        assert "\n" in old  # a row that is cut bounds no insertion, and its rows may stand elsewhere as well
        return
    after = edit.apply(content, made.edits)
    wanted = content.replace(old, new)
    if REINDENTED in made.notes:  # by tabs or by blanks, as the rows around are
        after, wanted = (re.sub(r"[ \t]+", "", each) for each in (after, wanted))
    assert after == wanted or (not made.edits and new in content)


@quick
@given(documents(), documents())
@example("a\r\nb\nc\r\n", "a\nB\nc\nd\n")
def test_a_whole_new_text_reads_as_asked_and_keeps_line_ends(content: str, new: str) -> None:
    text = Text(content)
    assume(not content or text.eols[-1] or Text(new).rows[-1:] != ("",))  # that is a final newline
    made = plan.plan_whole(text, new)
    assume(not (isinstance(made, Failure) and "mixes CR and LF" in made.message))
    assert isinstance(made, PlannedHunk)
    assert not splits_a_pair(content, made.edits)
    after = Text(edit.apply(content, made.edits))
    assert list(after.rows) == list(Text(new).rows)
    kinds = {eol for eol in text.eols if eol}
    assert not kinds or {eol for eol in after.eols if eol} <= kinds


@quick
@given(st.data())
def test_four_notations_of_one_edit_come_to_the_same(data: st.DataObject) -> None:
    base = data.draw(distinct())
    first = data.draw(st.integers(0, len(base.rows) - 1))
    end = data.draw(st.integers(first + 1, len(base.rows)))
    old = base.rows[first:end]
    new = data.draw(st.lists(st.sampled_from([*old, "new;", "  newer;"]), min_size=1, max_size=5))
    assume(old != new)
    body = "".join(f"-{row}\n" for row in old) + "".join(f"+{row}\n" for row in new)
    block = "".join(f"{row}\n" for row in old) + "=======\n" + "".join(f"{row}\n" for row in new)
    parsed = [
        notations.parse_v4a(f"*** Begin Patch\n*** Update File: doc\n@@\n{body}*** End Patch\n"),
        notations.parse_unified(f"--- a/doc\n+++ b/doc\n@@ -99 +99 @@\n{body}"),
        notations.parse_search_replace("doc", f"<<<<<<< SEARCH\n{block}>>>>>>> REPLACE\n"),
    ]
    strings = Hunk(number=1, old="\n".join(old), new="\n".join(new), whole_lines=False)
    replaced = FilePatch(path="doc", operation=Operation.UPDATE, hunks=(strings,))
    texts = {_planned(base.content, each[0] if isinstance(each, tuple) else each) for each in parsed}
    assert len(texts) == 1
    string = _planned(base.content, replaced)
    is_mixed = len({eol for eol in base.eols if eol}) > 1  # of two equal rows either may be the kept one
    assert string in texts or (is_mixed and Text(string).rows == Text(texts.pop()).rows)


def _planned(content: str, file: FilePatch | Failure) -> str:
    assert isinstance(file, FilePatch)
    (made,) = plan.plan(Text(content), file.hunks)
    assert isinstance(made.result, PlannedHunk)
    return edit.apply(content, made.result.edits)


WRAPPERS = (
    ("```\n", "```\n"),
    ("~~~~diff\n", "~~~~"),
    ("apply_patch <<'EOF'\n", "EOF\n"),
    ('```sh\n$ apply_patch << "END_OF_PATCH"\n', "END_OF_PATCH\n```\n"),
    ("%%bash\ncat <<\\EOF | apply_patch\n", "EOF"),
    ("Here it is:\n\n", "\nThat is all.\n"),
)


@quick
@given(
    old=st.lists(rows, min_size=1, max_size=5),
    new=st.lists(rows, min_size=1, max_size=5),
    wrappers=st.lists(st.sampled_from(WRAPPERS), max_size=2),
    indent=st.sampled_from(["", "", " ", "    ", "\t"]),
)
def test_what_stands_around_an_envelope_does_not_change_what_it_says(
    old: list[str], new: list[str], wrappers: list[tuple[str, str]], indent: str
) -> None:
    body = "".join(f"-{row}\n" for row in old) + "".join(f"+{row}\n" for row in new)
    source = f"*** Begin Patch\n*** Update File: doc\n@@\n{body}*** End Patch\n"
    plain = notations.parse_v4a(source)
    wrapped = "".join(f"{indent}{line}\n" for line in source.split("\n")[:-1])
    for before, behind in wrappers:
        wrapped = before + wrapped + behind
    found = notations.parse_v4a(wrapped)
    if isinstance(plain, Failure):
        assert isinstance(found, Failure)
        return
    assert isinstance(found, tuple)
    assert [replace(file, notes=()) for file in found] == list(plain)
    assert bool(found[0].notes) == (wrapped != source)


# ---- Anything at all ------------------------------------------------------------------------------

MARKS = [
    "*** Begin Patch", "*** End Patch", "*** Update File: a", "*** Add File: b",
    "*** Delete File: c", "*** Move to: d", "*** End of File", "@@", "@@ x",
    "@@ -1,2 +3 @@ def f():", "--- a/a", "+++ b/a", "--- /dev/null", "+++ /dev/null",
    "diff --git a/a b/a", "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "------- SEARCH",
    "+++++++ REPLACE", ":start_line:3", "-------", "```", "```python src/a.py", "````", "~~~",
    "src/a.py", "**`b.py`**:", "", "+", "-", " ", "+a", "-a", " a", "a", "\\ No newline",
    "  ```diff", "\ta", " *** Begin Patch", " *** End Patch", "*** update file:`a`", "apply_patch <<'EOF'",
    "EOF",
    "%%bash", "cd a", "--- SEARCH", "<<< search", ">>>>>>>", "+++ REPLACE", "rename from a", "rename to b",
]  # fmt: skip
any_patch = st.lists(st.one_of(st.sampled_from(MARKS), rows), max_size=14).map("\n".join)


@quick
@given(any_patch, documents())
def test_no_patch_makes_anything_raise(source: str, content: str) -> None:
    text = Text(content)
    found = [
        notations.parse_v4a(source),
        notations.parse_unified(source),
        notations.parse_search_replace("a", source),
    ]
    blocks = reply.read(source).blocks
    found += [notations.parse_v4a(each.text) for each in blocks]
    found += [notations.parse_unified(each.text) for each in blocks]
    for files in found:
        for file in files if isinstance(files, tuple) else [files]:
            if isinstance(file, FilePatch):
                check_plan(text, file)


def check_plan(text: Text, file: FilePatch) -> None:
    plan.plan_whole(text, file.content)
    made = [each.result for each in plan.plan(text, file.hunks)]
    edits = [each for result in made if isinstance(result, PlannedHunk) for each in result.edits]
    edits.sort(key=lambda each: (each.span.start, each.span.end))
    assert all(one.span.end <= other.span.start for one, other in pairwise(edits))
    assert not splits_a_pair(text.content, tuple(edits))
    for hunk, result in zip(file.hunks, made, strict=True):
        for near in result.near if isinstance(result, Failure) else ():
            assert 0 <= near.span.start <= near.span.end <= len(text.content)
            plan.plan_at(text, hunk, near.span)


@quick
@given(st.text(max_size=60), st.text(CHARACTERS + "\n\r", max_size=8), st.text(max_size=8), st.booleans())
def test_no_search_text_makes_anything_raise(content: str, old: str, new: str, everywhere: bool) -> None:
    hunk = Hunk(number=1, old=old, new=new, whole_lines=False, replace_all=everywhere, line_number=1)
    made = plan.plan(Text(content), [hunk])[0].result
    if isinstance(made, PlannedHunk):
        edit.apply(content, made.edits)
    assert "".join(split_lines(content)) == content
