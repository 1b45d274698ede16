"""Text as people are shown it: nothing is interpreted, hidden or lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core import surfaces

VSCODE_LINK = re.compile(r"\[([^\]]+)\]\(((?:https?://|command:|file:)[^)\s]+)(?: ([\"'])(.+?)(\3))?\)", re.I)
VSCODE_ICON = re.compile(r"(\\)?\$\([A-Za-z0-9-]+(?:~[A-Za-z0-9-]+)?\)")
TEXTS = st.text(
    st.one_of(st.characters(), st.sampled_from("[]()$!<>&\\`:\n\r\u202e\u200b\x1bacmd")), max_size=60
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, 100 % (as it is)", "plain text, 100 % (as it is)"),
        ("é 日本 😀", "é 日本 😀"),
        ("a\u202eb", "a\\u202eb"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("\U000e0041", "\\U000e0041"),
        ("one\ntwo\r\nthree", "one⏎two⏎three"),
        ("a\tb", "a\\tb"),
        ("[x](command:y)", "[x]\\(command:y)"),
        ("$(trash)", "$\\(trash)"),
        ("<b>", "\\<b>"),
        ("\\<b>", "\\<b>"),
        ("\\\\<b>", "\\\\\\<b>"),
        ("&lt;", "\\&lt;"),
        ("a && b < c", "a && b < c"),
    ],
)
def test_a_message(text: str, shown: str) -> None:
    assert surfaces.message(text) == shown
    assert surfaces.message(shown) == shown


@given(TEXTS)
def test_no_message_is_interpreted(text: str) -> None:
    shown = surfaces.message(text)
    assert not VSCODE_LINK.search(shown)
    assert not any(found[1] is None for found in VSCODE_ICON.finditer(shown))
    assert shown.isprintable()
    assert surfaces.message(shown) == shown, "what was shown once is shown so again"


@given(TEXTS, st.integers(min_value=1, max_value=40))
def test_a_line_is_cut_and_says_so(text: str, limit: int) -> None:
    whole = surfaces.line(text, 100_000)
    shown = surfaces.line(text, limit)
    assert shown == whole or (len(shown) == limit and shown.endswith(surfaces.CUT))
    assert "\n" not in shown


@given(st.text(st.sampled_from("abc `\n\u202e↪é"), max_size=400))
def test_a_block_holds_all_of_a_text(text: str) -> None:
    first, *rows, last = surfaces.block(text, "sh").split("\n")
    assert first == f"{last}sh"
    assert not any(last in row for row in rows), "nothing in it ends it"
    joined = "\n".join(rows).replace("\n↪ ", "")
    assert joined == surfaces.visible(text).replace("↪", "\\u21aa")
    assert all(len(row) <= surfaces.WIDTH + 10 for row in rows)


@given(TEXTS)
def test_what_can_be_seen_stays(text: str) -> None:
    plain = "".join(character for character in text if character.isascii() and character.isprintable())
    assert surfaces.visible(plain) == plain


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", "\ufeff \u2060\u00a0\r\n", "\u3164\u2800"])
def test_a_text_of_which_nothing_can_be_seen_is_blank(text: str) -> None:
    assert surfaces.is_blank(text)
    assert not surfaces.is_blank(f"{text}.{text}")


@pytest.mark.parametrize("text", ["0", "\u2764\ufe0f", "\ue0b0", "\U0001f468\u200d\U0001f469"])
def test_a_text_of_which_something_can_be_seen_is_not_blank(text: str) -> None:
    assert not surfaces.is_blank(text)


def test_one_mark_too_many_is_a_number() -> None:
    assert surfaces.visible("e\u0301") == "e\u0301"
    assert surfaces.visible("e" + "\u0301" * 4) == "e\u0301\u0301\\u0301\\u0301"
    assert surfaces.visible("\u0301e") == "\\u0301e", "it has nothing to stand on"


@pytest.mark.parametrize(
    "row",
    [
        "# vim: set ts=33",
        "// vi:noai:sw=3",
        "ex:set ts=33",
        "/* vim700: set ts=33: */",
        "# Vim: set ts=33",
        "# kate: space-indent on;",
        "# -*- mode: lisp; eval: (shell) -*-",
        "# Local Variables:",
        "# local variables:",
    ],
)
def test_a_block_holds_no_setting_that_an_editor_obeys(row: str) -> None:
    shown = surfaces.block(row)
    assert not re.search(r"(?i)(?:^|\s)(?:vim?|ex|kate)[<=>]?\d*:|-\*-|local variables:", shown)
    assert shown.split("\n", 1)[1].rsplit("\n", 1)[0].replace(f"\n{surfaces.GOES_ON} ", "") == row
