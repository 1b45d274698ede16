"""How a conversation is shown: what others say in it is never taken for ours, nor run."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.agent.chat.view import escape


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain *text*, `List<String>` and `a[i](j)`", None),
        ("- one\n- two\n  1. three", None),
        ("```py\n# no heading\nx = y[0](1)\n```", None),
        ("# Heading", r"\# Heading"),
        ("  ###### Heading", r"  \###### Heading"),
        ("#hashtag", None),
        ("Title\n===", "Title\n\\==="),
        ("Title\n---", "Title\n\\---"),
        ("***", r"\***"),
        ("> quote", r"\> quote"),
        ("```\nnot ended", "```\nnot ended\n```"),
        ("~~~~\n~~~\n```\n# x", "~~~~\n~~~\n```\n# x\n~~~~"),
        ("[a](command:b) ![c](d)", r"[a]\(command:b) !\[c]\(d)"),
        ("`` a ` [b](c) `` [d](e)", r"`` a ` [b](c) `` [d]\(e)"),
        ("\\`[b](c)`", "\\`[b]\\(c)`"),
        ("` open\n` [b](c) `", "` open\n` [b]\\(c) `"),
        ("` open\n\n`[b](c)`", "` open\n\n`[b](c)`"),
    ],
)
def test_what_is_said_is_shown_and_does_nothing(said: str, shown: str | None) -> None:
    assert "\n".join(escape(said)) == (said if shown is None else shown)


WITHOUT_CODE = [
    "a](b)",
    "![",
    "<b",
    "</",
    "<!",
    "&amp;",
    "$(x)",
    "# ",
    "> ",
    "---",
    "===",
    "***",
    "~~",
    "\\",
    " ",
    "\n",
    "\r\n",
]


@given(
    st.lists(
        st.one_of(st.sampled_from(WITHOUT_CODE), st.text(st.characters(exclude_characters="`"), max_size=9))
    )
)
def test_a_text_without_code_is_shown_as_it_is_before_code(pieces: list[str]) -> None:
    """It has a shorter way of its own, which must not show it otherwise."""
    said = re.sub("~~+", "~~", "".join(pieces)).strip("\r\n")
    code = ["", "```", "# code", "```"]
    assert [*escape(said), *code] == list(escape(f"{said}\n" + "\n".join(code))) or not said


@given(st.text(st.sampled_from("`~<>[]()!#> \\\nab&;-="), max_size=40))
def test_nothing_outside_of_code_is_live(said: str) -> None:
    """Without fences, and code spans as Markdown finds them in a paragraph, no link, image or tag is left."""
    text = "\n".join(escape(re.sub(r"(?m)^ {0,3}(```|~~~).*", "", said)))
    for paragraph in re.split(r"\n[ \t]*\n", text):
        rest = re.sub(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", "0", paragraph, flags=re.DOTALL)
        assert not re.search(r"(?<!\\)\](?=\()|(?<!\\)<(?=[A-Za-z/!?])", rest), (said, text)
    assert not re.search(r"(?m)^ {0,3}(#{1,6}(\s|$)|>)", text)
