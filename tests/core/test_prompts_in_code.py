"""Prompts in code: found in any language, in linear time; removed with an edit; and whose they are."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.documents import edit
from handrail.core.documents.change import PlannedHunk, Tier, Update
from handrail.core.documents.edit import TextEdit
from handrail.core.documents.in_code import syntax
from handrail.core.documents.in_code.prompts import Prompt, prompts, prompts_at
from handrail.core.documents.in_code.removal import SentPrompt, removal_edit, with_removals
from handrail.core.documents.in_code.syntax import BY_NAME
from handrail.core.documents.in_code.typed import TypedPrompts
from handrail.core.documents.text import Text
from handrail.core.failure import Span
from searches import examples

Told = tuple[int, int, str, bool]  # first and last row, text, whether it is alone


def told(content: str, name: str = "py") -> list[Told]:
    found = prompts(content, "", f"file:///w/a.{name}")
    return [(each.first, each.last, each.text, each.is_alone) for each in found]


ONE = "handrail: do it"
ALONE, BEHIND = [(0, 0, "do it", True)], [(0, 0, "do it", False)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("py", f"# {ONE}", ALONE),
        ("py", f"    ## {ONE}  ", ALONE),
        ("py", f"x = 1  # {ONE}", BEHIND),
        ("py", f"x = '#'#{ONE}", BEHIND),
        ("c", f"// {ONE}", ALONE),
        ("c", f"int x; /* {ONE} */", BEHIND),
        ("c", f"/* {ONE} */ int x;", BEHIND),
        ("c", f"char c = '\"'; // {ONE}", BEHIND),
        ("rs", f"/// {ONE}", ALONE),
        ("rs", f"fn f<'a>(x: &'a str) {{}} // {ONE}", BEHIND),
        ("ts", f"const s = `//`; // {ONE}", BEHIND),
        ("tsx", f"{{/* {ONE} */}}", BEHIND),
        ("php", f"# {ONE}", ALONE),
        ("css", f"/* {ONE} */", ALONE),
        ("sql", f"-- {ONE}", ALONE),
        ("lua", f"--[[ {ONE} ]]", ALONE),
        ("hs", f"{{- {ONE} -}}", ALONE),
        ("ml", f"(* {ONE} *)", ALONE),
        ("el", f";; {ONE}", ALONE),
        ("ini", f"; {ONE}", ALONE),
        ("tex", f"% {ONE}", ALONE),
        ("erl", f"%% {ONE}", ALONE),
        ("vim", f'" {ONE}', ALONE),
        ("vb", f"' {ONE}", ALONE),
        ("bas", f"Rem {ONE}", ALONE),
        ("bat", f"REM {ONE}", ALONE),
        ("html", f"<!-- {ONE} -->", ALONE),
        ("md", f"<!-- {ONE} -->", ALONE),
        ("sh", f"echo $# # {ONE}", BEHIND),
        ("yaml", f"a: b # {ONE}", BEHIND),
        ("unheard-of", f"# {ONE}", ALONE),
        ("unheard-of", f"don't // {ONE}", BEHIND),
        ("unheard-of", f"x -- {ONE}", BEHIND),
        ("unheard-of", f"  REM {ONE}", ALONE),
        # What only looks like a prompt.
        ("py", f'print("{ONE}")', []),
        ("py", f'print("# {ONE}")', []),
        ("py", f'"""\n# {ONE}\n"""', []),
        ("py", f"'''{ONE}'''", []),
        ("py", f"# as in {ONE}", []),
        ("py", f"{ONE}", []),
        ("py", "# handrail:", []),
        ("py", "# handrail:  \n#\n# not this", []),
        ("py", "# Handrail: x", []),
        ("c", f'puts("// {ONE}");', []),
        ("c", f"/* as // {ONE} */", []),
        ("c", f"/* {ONE}", []),
        ("ts", f"`\n// {ONE}\n`", []),
        ("go", f"`\n// {ONE}\n`", []),
        ("md", f"# {ONE}", []),
        ("vim", f'echo "{ONE}"', []),
        ("bas", f'PRINT "Rem {ONE}"', []),
        ("sh", f"echo a#{ONE}", []),
        ("unheard-of", f"http://{ONE}", []),
        ("unheard-of", f"see http://x/#{ONE}", []),
        ("unheard-of", f'print("# {ONE}")', []),
    ],
)
def test_languages(name: str, content: str, expected: list[Told]) -> None:
    assert told(content, name) == expected


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("py", "# handrail: a\n# b\n#\n# c\n", [(0, 1, "a\nb", True)]),
        ("py", "# handrail: a\n  # b\n", [(0, 0, "a", True)]),
        ("py", "# handrail: a\n## b\n", [(0, 0, "a", True)]),
        ("py", "# handrail: a\nx\n# b\n", [(0, 0, "a", True)]),
        ("py", "# handrail: a\n# handrail: b\n", [(0, 0, "a", True), (1, 1, "b", True)]),
        ("py", "# handrail:\n# a\n", [(0, 1, "a", True)]),
        ("py", "x  # handrail: a\n   # b\ny", [(0, 1, "a\nb", False)]),
        ("py", "\r\n# handrail: a\r\n#   b\r\n", [(1, 2, "a\n  b", True)]),
        ("py", "\r# handrail: a\r# b\r", [(1, 2, "a\nb", True)]),
        ("py", "\f\u2028# handrail: a\n", [(0, 0, "a", False)]),
        ("c", "/*\n * handrail: a\n * b\n */\n", [(0, 3, "a\nb", True)]),
        ("c", "/* handrail: a\r\n   b */ x", [(0, 1, "a\nb", False)]),
        ("html", "<p>\n<!-- handrail: a\nb\n-->\n", [(1, 3, "a\nb", True)]),
        ("c", "// handrail: a\n/* handrail: b */\n", [(0, 0, "a", True), (1, 1, "b", True)]),
    ],
)
def test_rows(name: str, content: str, expected: list[Told]) -> None:
    assert told(content, name) == expected


def test_the_language_of_the_editor_wins_unless_it_says_nothing() -> None:
    assert prompts(f"-- {ONE}", "sql", "a.py")
    assert prompts(f"# {ONE}", "plaintext", "a.py")
    assert not prompts(f"-- {ONE}", "plaintext", "a.py")


# ---- Hostile texts ------------------------------------------------------------------------------------

PIECES = ("#", '"', "'", "`", "\\", "/*", "<!--", "{-", "(*", "[[", "/", "-", ";", "% ", "\n", " ", "rem ")
PIECES += ('"\\', "/* handrail:", "# handrail: x ", "// ", '"""', "''", "handrail:")


def steps(content: str, name: str) -> int:
    """How many lines of Python a search takes; what the expressions take has no bound here but the time."""
    count = 0

    def trace(frame: object, event: str, arg: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        prompts(content, "", f"a.{name}")
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize("name", ["py", "c", "ts", "sql", "lua", "vb", "html", "unheard-of"])
def test_one_line_of_five_million_characters(name: str) -> None:
    for piece in PIECES:  # a search that is not linear would take hours
        prompts("handrail:" + piece * (examples(300_000) // len(piece)), "", f"a.{name}")
    huge = "/* x */ \"'`" * examples(500_000) + f"\n// {ONE}"
    assert prompts(huge, "", f"a.{name}") is not None


def test_no_group_is_possessive() -> None:
    """Before 3.11.5 Python loses matches in such groups."""
    syntaxes = {id(each): each for each in vars(syntax).values() if isinstance(each, syntax.Syntax)}
    assert syntaxes
    for each in syntaxes.values():
        whole = (each.in_line, each.at_begin, each.skipped, *(begin for begin, _ in each.in_blocks))
        for pattern in whole:
            assert re.search(r"(?<!\\)\)(?:[*+?]|\{[\d,]+\})\+", pattern.pattern) is None, pattern.pattern


def test_a_hundred_thousand_lines() -> None:
    content = "# handrail: a\n# b\n\n" * 33_333
    assert len(prompts(content, "", "a.py")) == 33_333


def test_the_steps_grow_with_the_text() -> None:
    for content in ("/* handrail: x */ ", "// handrail: x\n", "# handrail: x\n"):
        few, many = steps(content * 50, "c"), steps(content * 500, "c")
        assert many <= 10 * few + 100


ALPHABET = st.lists(st.sampled_from([*PIECES, "*/", "-->", "x", "\r\n", "\r", "-}", "*)"]), max_size=25)


@given(ALPHABET, st.sampled_from(sorted(BY_NAME)))
def test_what_is_found_is_in_order_and_in_its_rows(pieces: list[str], name: str) -> None:
    content = "".join(pieces)
    text, found = Text(content), prompts(content, name, "a")
    ends = 0
    for each in found:
        assert ends <= each.span.start < each.span.end <= len(content)
        ends = each.span.end
        assert "handrail:" in content[each.span.start : each.span.end]
        assert each.text.strip()
        assert (text.line_at(each.span.start), text.line_at(each.span.end)) == (each.first, each.last)


# ---- Removal ------------------------------------------------------------------------------------------


def sent(content: str, row: int = 0, name: str = "py") -> SentPrompt:
    (prompt,) = prompts_at(prompts(content, "", f"a.{name}"), row, row)
    return SentPrompt(identity="a", content=content, prompt=prompt, language="", path=f"a.{name}")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("py", "a\n  # handrail: x\n  # y\nb\n", "a\nb\n"),
        ("py", "a\r\n# handrail: x\r\nb\r\n", "a\r\nb\r\n"),
        ("py", "a\n# handrail: x", "a\n"),
        ("py", "a = 1 \t # handrail: x\nb\n", "a = 1\nb\n"),
        ("c", "  f(a, /* handrail: x */ b);\n", "  f(a, b);\n"),
        ("c", "  /* handrail: x */ f();\n", "  f();\n"),
        ("c", "a\n/* handrail: x\n y */  \nb", "a\nb"),
    ],
)
def test_a_comment_goes_with_its_rows_or_alone(name: str, before: str, after: str) -> None:
    row = next(each.first for each in prompts(before, "", f"a.{name}"))
    gone = removal_edit(sent(before, row, name), before)
    assert gone is not None
    assert edit.apply(before, [gone]) == after


@pytest.mark.parametrize(
    "now",
    ["a\n# handrail: y\nb\n", "a\nb\n", "a\nx  # handrail: x\nb\n", "a\n# handrail: x\n# more\nb\n", ""],
)
def test_what_reads_otherwise_stays(now: str) -> None:
    assert removal_edit(sent("a\n# handrail: x\nb\n", 1), now) is None


def test_of_equal_comments_the_one_that_was_sent_goes() -> None:
    content = "# handrail: x\na\n# handrail: x\nb\n"
    gone = removal_edit(sent(content, 2), f"zero\n{content}")
    assert gone is not None
    assert edit.apply(f"zero\n{content}", [gone]) == "zero\n# handrail: x\na\nb\n"


def update(content: str, *edits: TextEdit) -> Update:
    hunk = PlannedHunk(number=None, tier=Tier.SAFE, edits=edits)
    return Update(uri="a", base=Text(content), hunks=(hunk,))


@given(st.integers(0, 23), st.integers(0, 23), st.sampled_from(["", "x", "y\n"]))
def test_a_removal_never_meets_an_edit(start: int, end: int, new: str) -> None:
    content = "a\n# handrail: x\n# y\nbbbb\n"
    own = TextEdit(span=Span(start=min(start, end), end=max(start, end)), new=new)
    found = with_removals(update(content, own), [sent(content, 1)])
    ends = 0
    for each in found.edits:
        assert each.span.start >= ends
        ends = each.span.end
    comment = Span(start=2, end=20)
    meets = own.span.start < comment.end and comment.start < own.span.end
    assert len(found.edits) == (1 if meets else 2)


# ---- Whose they are -----------------------------------------------------------------------------------


def found(*texts: str) -> Sequence[Prompt]:
    place = Span(start=0, end=0)
    return [Prompt(first=0, last=0, span=place, text=each, is_alone=True) for each in texts]


def waits(known: TypedPrompts, *texts: str) -> list[str]:
    return [each.text for each in known.unsent_prompts(found(*texts))]


def test_what_was_there_is_not_typed_even_if_it_is_typed_in() -> None:
    known = TypedPrompts()
    known.on_open(found("there"))
    known.on_change(found("there!"), is_typed=True)
    known.on_change(found("new", "there!"), is_typed=True)
    assert waits(known, "new", "there!") == ["new"]


def test_what_comes_with_another_state_of_the_file_is_not_typed() -> None:
    known = TypedPrompts()
    known.on_change(found("theirs"), is_typed=False)
    known.on_change(found("theirs", "mine"), is_typed=True)
    known.on_change(found("theirs", "mine, to the end"), is_typed=False)
    assert waits(known, "theirs", "mine, to the end") == ["mine, to the end"]
    known.on_change(found("theirs", "quite another"), is_typed=False)
    assert waits(known, "theirs", "quite another") == []


def test_what_the_agent_writes_is_not_typed_even_in_a_prompt_of_the_users() -> None:
    known = TypedPrompts()
    known.on_change(found("mine"), is_typed=True)
    known.expect(found("mine, and theirs", "theirs"))
    known.on_change(found("mine, and theirs", "theirs"), is_typed=True)
    assert waits(known, "mine, and theirs", "theirs") == []


def test_what_was_sent_is_not_sent_again_unless_it_is_typed_anew() -> None:
    known = TypedPrompts()
    known.on_change(found("x"), is_typed=True)
    known.send("x")
    known.on_change(found(), is_typed=True)
    known.on_change(found("x"), is_typed=True)  # the editor's undo
    assert waits(known, "x") == []
    known.on_change(found(), is_typed=True)
    for text in ("y", "x"):  # key by key
        known.on_change(found(text), is_typed=True)
    assert waits(known, "x") == ["x"]
