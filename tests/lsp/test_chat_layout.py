"""A formatter that lays a conversation out anew changes nothing: its lines are known to be ours."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from handrail.agent.chat.view import ASK, YOU
from handrail.core.documents import page as pages
from handrail.core.documents import page_reading
from handrail.core.documents.page import Line, Page, Part
from handrail.core.documents.text import split_lines
from handrail.lsp.chat import draft, messages
from handrail.lsp.chat.page import ChatPage

Formatter = Callable[[str], str]

SAID = (
    "Look at *all* callers, `get_all` too; don't touch some_name.",
    "",
    "- one",
    "- two",
    "",
    "***",
    "",
    "```python",
    "x = {'a':  1}",
    "```",
)
ANSWERED = (
    "I'll look at *all* of the callers first, and at https://example.com/x.",
    "",
    "- a",
    "  - b",
    "",
    "1. c",
    "2. d",
    "",
    "\\***",
    "",
    "```js",
    "let x = 'a'",
    "```",
    "",
    "| a | b |",
    "|---|---|",
    "| 1 | 2 |",
    "",
)


def part(key: str, *rows: str) -> Part:
    return Part(key=key, rows=tuple(f"{row}\n" for row in rows))


YOURS = part("you:1", YOU, "", *SAID, "")
PARTS = (
    part("title", "# A title", ""),
    YOURS,
    part("ours:1", "## handrail", ""),
    part("item:1:0", *ANSWERED),
)
WHOLE = (*PARTS, part(ASK, YOU, ""))


def each_row(pattern: str, new: str) -> Formatter:
    return lambda text: re.sub(pattern, new, text, flags=re.MULTILINE)


def _laid_out(text: str) -> str:
    text = re.sub(r"^( *)- (?=\w)", r"\1* ", text, flags=re.MULTILINE).replace("_", r"\_")
    return re.sub(r"^(#.*)\n\n", r"\1\n", text, flags=re.MULTILINE).replace("\n\n", "\n\n\n")


FORMATTERS: dict[str, Formatter] = {
    "stars as bullets": each_row(r"^( *)- (?=\w)", r"\1* "),
    "wide bullets": each_row(r"^( *)- (?=\w)", r"\1-   "),
    "plus signs as bullets": each_row(r"^( *)- (?=\w)", r"\1+ "),
    "one number for all": each_row(r"^\d\. ", "1. "),
    "underscores": each_row(r"(?<!\S)\*(\w+)\*", r"_\1_"),
    "other rules": each_row(r"^(\\?)\*\*\*$", r"\1---"),
    "escapes": each_row(r"_", r"\\_"),
    "closed headings": each_row(r"^(#+) (.*)$", r"\1 \2 \1"),
    "wrapped": each_row(r"^(.{30,}?) ", r"\1\n"),
    "tildes": each_row(r"```", "~~~"),
    "more blank lines": each_row(r"^\n", "\n\n"),
    "no blank lines": each_row(r"\n\n", "\n"),
    "blanks at ends": each_row(r"(\S)$", r"\1  "),
    "none at the end": lambda text: text.rstrip("\n"),
    "tables": lambda text: text.replace("|---|---|", "| --- | --- |").replace("| a | b |", "| a   | b   |"),
    "links": each_row(r"(https://\S+?)\.?$", r"<\1>."),
    "code of the answer": lambda text: text.replace("let x = 'a'", 'let x = "a";'),
    "line ends": each_row(r"\n", "\r\n"),
    "all at once": _laid_out,
    "tabs": each_row(r"^  ", "\t"),
}


def observed(before: Page, text: str) -> Page:
    return page_reading.read_page([before], split_lines(text), owns_copies=False, reading=ChatPage.reading)


def message(page: Page) -> list[Line]:
    return [line for key, line in messages.owned_lines(page) if key == YOURS.key]


@pytest.mark.parametrize("formatter", FORMATTERS.values(), ids=list(FORMATTERS))
def test_another_layout_changes_nothing(formatter: Formatter) -> None:
    before = pages.update(Page(), WHOLE)
    page = observed(before, formatter(before.text))
    assert page.text != before.text
    assert [line.text for line in page.lines if line.part is None and line.text.strip()] == []
    assert messages.words(message(page)) == messages.words(YOURS.lines)
    again = pages.update(draft.without_added_blanks(page), WHOLE)
    assert again.text.replace("\r\n", "\n").rstrip("\n") == before.text.rstrip("\n")
    assert again.text.count("\r") == page.text.count("\r")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("some_name", "somename"),
        ("*all* callers", "all callers"),
        ("don't touch", "do touch"),
        ("some_name.", "some_name!"),
        ("Look at", "Lookat"),
        ("- two", "- two\n- three"),
        ("x = {'a':  1}", "x = {'a':  2}"),
    ],
)
def test_other_words_of_a_message_are_the_users(old: str, new: str) -> None:
    before = pages.update(Page(), WHOLE)
    assert before.text.count(old) == 1
    page = observed(before, before.text.replace(old, new))
    assert messages.words(message(page)) != messages.words(YOURS.lines)
    assert new.splitlines()[-1] in "".join(line.text for line in page.lines if line.part is None)
