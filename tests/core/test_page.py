"""A page that two write: nothing of the user's is ever touched, and all of ours is there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.core.documents import page as pages
from handrail.core.documents import page_json, page_reading
from handrail.core.documents import remarks as on_page
from handrail.core.documents.edit import apply
from handrail.core.documents.page import Line, Page, Part
from handrail.core.documents.remarks import Remark
from handrail.core.documents.text import split_lines
from searches import examples

HUNK = ("### a.txt:2", "", "```diff", "-two", "+TWO", "```", "")


def part(key: str, *rows: str) -> Part:
    return Part(key=key, rows=tuple(f"{row}\n" for row in rows))


TOP, ONE, TWO = part("top", "# Review", ""), part("one", *HUNK), part("two", *HUNK)


def shown(*parts: Part) -> Page:
    return pages.update(Page(), parts)


def typed(page: Page, text: str) -> Page:
    return page_reading.observe(page, split_lines(text))


def stored(page: Page, parts: Sequence[Part] = ()) -> Page | None:
    """Returns the page as it is after a restart, when it has these parts."""
    return page_json.read(json.loads(json.dumps(page_json.as_json(page))), parts)


def remarks(page: Page) -> list[tuple[str, str]]:
    return [(each.part, each.text) for each in on_page.remarks(page)]


def brought(page: Page, *parts: Part) -> Page:
    """The page with these parts, as the edits make it in the editor."""
    now = pages.update(page, parts)
    text = apply(page.text, pages.edits(page, now))
    assert text == now.text
    return page_reading.observe(now, split_lines(text))


def test_what_is_written_below_a_part_belongs_to_it() -> None:
    page = typed(shown(TOP, ONE, TWO), shown(TOP, ONE).text + "Why?\n\n" + shown(TWO).text + "Nice.")
    assert remarks(page) == [("one", "Why?"), ("two", "Nice.")]


def test_what_is_written_in_the_midst_of_a_part_knows_the_line_above() -> None:
    page = typed(shown(TOP, ONE), shown(TOP, ONE).text.replace("+TWO\n", "+TWO\nwhy so loud?\n"))
    assert on_page.remarks(page) == [
        Remark(part="one", row="+TWO", number=4, text="why so loud?", is_code=True)
    ]
    assert brought(page, TOP, ONE).text == page.text


def test_what_is_written_in_a_line_of_ours_is_told_apart() -> None:
    page = typed(shown(TOP, ONE), shown(TOP, ONE).text.replace("a.txt:2", "a.txt:2 rename it"))
    assert remarks(page) == [("one", "rename it")]
    assert brought(page, TOP, ONE).text.count("### a.txt:2\n") == 1


def test_ours_is_made_anew_and_theirs_stays() -> None:
    page = typed(shown(TOP, ONE, TWO), "mine\n")
    now = brought(page, TOP, ONE, TWO)
    assert "".join(line.text for line in now.lines if line.part is not None) == shown(TOP, ONE, TWO).text
    assert "mine\n" in now.text


def test_a_part_that_goes_stays_while_something_is_written_below_it() -> None:
    page = typed(shown(TOP, ONE, TWO), shown(TOP, ONE).text + "Why?\n" + shown(TWO).text)
    page = brought(page, TOP, TWO)
    assert page.text == shown(TOP, ONE).text + "Why?\n" + shown(TWO).text
    assert brought(on_page.remove_remarks(page, on_page.remarks(page)), TOP, TWO).text == shown(TOP, TWO).text


def test_a_part_of_which_only_a_line_is_left_that_was_typed_over_returns() -> None:
    """No line of the part is there as it was, but one that the user has changed."""
    ask = part("ask", "## You", "")
    page = typed(shown(TOP, ask), shown(TOP).text + "## You")
    page = typed(page, shown(TOP).text + "## Me")
    assert [line.over and line.over.part for line in page.lines if line.part is None] == ["ask"]
    assert brought(page, TOP, ask).text == shown(TOP).text + "## You\n## Me\n\n"


def test_blank_lines_keep_no_part() -> None:
    page = typed(shown(TOP, ONE, TWO), shown(TOP, ONE).text + "\n\n" + shown(TWO).text)
    assert brought(page, TOP, TWO).text == shown(TOP, TWO).text


@pytest.mark.parametrize("new", ["+TW0", "+two", "+x = -1", "+TWO(a, *b)", "TWO???", "+TWO and three"])
def test_a_row_of_a_diff_that_was_edited_is_a_remark_on_it(new: str) -> None:
    page = typed(shown(TOP, ONE, TWO), shown(TOP, ONE).text.replace("+TWO", new) + shown(TWO).text)
    assert on_page.remarks(page) == [Remark(part="one", row="+TWO", number=4, text=new, is_code=True)]
    assert f"-two\n+TWO\n{new}\n```" in brought(page, TOP, ONE, TWO).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-two\n+TWO\n", "+TWO\n-two\n"),
        ("-two\n+TWO\n", "-two +TWO\n"),
        ("### a.txt:2", "### a.\ntxt:2"),
        ("```diff", "~~~diff"),
        ("\n", "\n> "),
        ("\n", "\n    "),
        ("### a.txt:2", "### a.txt\\:2"),
    ],
)
def test_what_an_editor_does_to_our_lines_is_no_remark(old: str, new: str) -> None:
    page = typed(shown(TOP, ONE), shown(TOP, ONE).text.replace(old, new))
    assert remarks(page) == []
    now = brought(page, TOP, ONE)
    assert "".join(line.text for line in now.lines if line.part is not None) == shown(TOP, ONE).text


def test_a_copy_of_a_sentence_of_ours_is_ours() -> None:
    said = part("said", "> Why?", "", "This was answered in the turn `One comment`.", "")
    page = typed(shown(TOP, said, ONE), shown(TOP).text + said.rows[2] + shown(said, ONE).text)
    assert remarks(page) == []
    assert brought(page, TOP, said, ONE).text == shown(TOP, said, ONE).text


def test_a_line_of_ours_that_is_quoted_in_a_remark_is_part_of_it() -> None:
    said = part("said", "This was answered in the turn `One comment`.", "")
    page = typed(shown(TOP, said), shown(TOP, said).text + "I read:\n" + said.rows[0] + "Was it?\n")
    assert remarks(page) == [("said", f"I read:\n{said.rows[0]}Was it?")]


def test_a_remark_stays_at_its_row_when_the_row_changes() -> None:
    page = typed(shown(TOP, ONE), shown(TOP, ONE).text.replace("+TWO\n", "+TWO\nwhy?\n"))
    now = part("one", *(row.replace("+TWO", "+more TWO") for row in HUNK))
    assert "+more TWO\nwhy?\n```" in brought(page, TOP, now).text


def test_a_remark_is_written_where_the_page_is_shown() -> None:
    page = shown(TOP, ONE)
    now = on_page.with_remark(page, "one", "why?")
    assert apply(page.text, pages.edits(page, now)) == now.text


def test_a_formatter_writes_nothing() -> None:
    text = shown(TOP, ONE).text.replace("# Review", "#  Review  ").replace("### a.txt:2", "### a\\.txt:2")
    page = typed(shown(TOP, ONE), text.replace("\n\n", "\n\n\n"))
    assert remarks(page) == []


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("- a\n- b\n", "- a\n*   b\n"),
        ("- a\n- b\n", "* a\n* b\n"),
        ("1. a\n1. b\n", "1. a\n2. b\n"),
        ("1) a\n", "1. a\n"),
        ("| a | b |\n|---|:-:|\n", "| a   |  b  |\n| --- | :-: |\n"),
        ("*a* and __b__\n", "_a_ and **b**\n"),
        ("a\nb\n\nc\n", "a b\n\nc\n"),
        ("a b c\n", "a\nb c\n"),
        ("```\na = 1\n```\n", "~~~\n a = 1\n~~~\n"),
        ("a\nb\n", "a\n\nb\n"),
    ],
)
def test_another_layout_is_nothing_of_the_users(ours: str, theirs: str) -> None:
    part = Part(key="x", rows=tuple(split_lines(ours)))
    page = pages.update(Page(), [part])
    now = page_reading.read_page([page], split_lines(theirs))
    assert [line for line in now.lines if line.part is None and line.text.strip()] == []
    assert pages.update(now, [part]).text.replace("\n\n", "\n") == ours.replace("\n\n", "\n")


def test_a_last_line_without_an_end_gets_one_when_ours_follows() -> None:
    page = typed(shown(TOP), shown(TOP).text + "mine")
    assert brought(page, TOP, ONE).text == shown(TOP).text + "mine\n" + shown(ONE).text


def test_a_remark_is_written_below_what_is_there() -> None:
    page = on_page.with_remark(shown(TOP, ONE, TWO), "one", "first\nsecond")
    page = on_page.with_remark(page, "one", "third")
    assert remarks(page) == [("one", "first\nsecond\nthird")]
    assert stored(page) == page


def test_the_text_of_an_earlier_page_is_nothing_of_the_users() -> None:
    earlier, latest = shown(TOP, ONE, TWO), shown(TOP, TWO)
    page = page_reading.read_page(
        [latest, earlier], split_lines(earlier.text.replace("# Review\n", "# Review\nmine\n"))
    )
    assert remarks(page) == [("top", "mine")]


@pytest.mark.parametrize("row", ["word", "# Review"])
def test_a_row_of_ours_that_lands_after_typing_is_ours(row: str) -> None:
    short, long = part("one", "row", ""), part("one", "row", row, "")
    before = typed(shown(short), shown(short).text + "mine")
    sent = pages.update(before, [long])
    latest = typed(before, before.text + " and more")
    page = page_reading.read_page([latest], split_lines(sent.text + " and more"), [sent])
    assert remarks(page) == [("one", "mine and more")]


NESTED = json.loads("[" * 900 + "]" * 900)
OLDER = [["# Review\n", "top", 0, False, None]]  # of an earlier version: an entry for each line


@pytest.mark.parametrize(
    "value",
    [None, {}, "", [1], [["a"]], NESTED, OLDER, [["a", 0, [1], []]], [["a", "0", ["x"], []]]],
)
def test_nonsense_is_no_page(value: object) -> None:
    assert page_json.read(value) is None


@pytest.mark.parametrize(
    "value", [None, [], [0, [], 2], [1, [], 1], [-1, [], 0], [0, ["x"], 0], ["0", [], 0]]
)
def test_nonsense_is_no_difference(value: object) -> None:
    assert page_json.read_difference(Page(lines=ONE.lines[:1]), value) is None


def test_a_line_in_the_place_of_nothing_is_a_line() -> None:
    read = page_json.read([[None, 0, ["x"], [], [None, 0, [], []]]])
    assert read == Page(lines=(Line(text="x", part=None),))


def test_an_empty_page_is_a_page() -> None:
    assert stored(Page()) == Page()


# ---- Whatever the two do --------------------------------------------------------------------------------

KEYS = st.lists(st.sampled_from("abcde"), unique=True, max_size=5)
SIZES = st.integers(0, 3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("show"), KEYS, SIZES),
        st.tuples(st.just("write"), st.integers(0, 40), st.booleans()),
        st.tuples(st.just("remove"), st.integers(0, 40), SIZES),
        st.tuples(st.just("say"), st.sampled_from("abcde"), SIZES),
    ),
    max_size=14,
)


@dataclass
class Both:
    """A page, with what its user has written and not removed."""

    page: Page = field(default_factory=Page)
    written: list[str] = field(default_factory=list)
    count: int = 0

    def word(self) -> str:
        self.count += 1
        return f"mine{self.count}"

    def show(self, keys: Sequence[str], size: int) -> None:
        parts = [part(key, f"## {key}", "", *(f"+{key}{n}" for n in range(size)), "```", "") for key in keys]
        before = [line.text for line in self.page.lines if line.part is None and line.text.strip()]
        self.page = brought(self.page, *parts)
        ours = [(line.part, line.text) for line in self.page.lines if line.part in keys]
        assert [row for key in keys for row in ours if row[0] == key] == [
            (each.key, row) for each in parts for row in each.rows
        ]
        after = [line.text for line in self.page.lines if line.part is None and line.text.strip()]
        assert [row.rstrip("\n") for row in after] == [row.rstrip("\n") for row in before]

    def write(self, at: int, is_new: bool) -> None:
        rows, word = list(self.page.rows), self.word()
        at = min(at, len(rows))
        if is_new or at == len(rows):
            rows.insert(at, f"{word}\n")
        else:
            rows[at] = f"{rows[at].rstrip()} {word}\n"
        self.page = typed(self.page, "".join(rows))

    def remove(self, at: int, size: int) -> None:
        rows = list(self.page.rows)
        del rows[at : at + size]
        self.page = typed(self.page, "".join(rows))

    def say(self, key: str, size: int) -> None:
        word = self.word()
        self.page = on_page.with_remark(self.page, key, "\n".join([word] * (size + 1)))

    @property
    def words(self) -> set[str]:
        return {word for row in self.page.rows for word in row.split() if word.startswith("mine")}


@settings(max_examples=examples(400), deadline=None)
@given(STEPS)
def test_nothing_of_the_users_is_touched_whatever_the_two_do(steps: list[tuple[str, object, object]]) -> None:
    both = Both()
    parts = [part(key, f"## {key}", "", f"+{key}0", "```", "") for key in "abcde"]  # as `show` makes them
    for name, first, second in steps:
        before, earlier = both.words, both.page
        getattr(both, name)(first, second)
        assert name == "remove" or before <= both.words
        assert stored(both.page) == stored(both.page, parts) == both.page
        differs = json.loads(json.dumps(page_json.difference(earlier, both.page)))
        assert page_json.read_difference(earlier, differs, parts) == both.page
        said = {word for each in on_page.remarks(both.page) for word in each.text.split()}
        assert {word for word in said if word.startswith("mine")} == both.words
