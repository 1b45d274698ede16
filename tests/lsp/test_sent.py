"""What was sent of a draft is known as such in every text that an editor may show until it is removed."""

from __future__ import annotations

import pytest

from handrail.agent.chat.transcript import Interjection, TranscriptTurn
from handrail.agent.chat.view import ASK, OURS, YOU
from handrail.core.documents import page as pages
from handrail.core.documents import page_reading
from handrail.core.documents.page import Line, Page, Part
from handrail.lsp.chat import draft, sent

DRAFTS = {
    "a row": ["Go on.\n"],
    "no line end": ["Go on."],
    "blank rows": ["\n", "Go on.\n", "\n", "\n"],
    "the same row twice": ["Go on.\n", "Go on.\n"],
    "our answer": ["One.\n"],
    "code": ["```\n", "## You\n", "```\n"],
}
every_draft = pytest.mark.parametrize("rows", DRAFTS.values(), ids=DRAFTS)


def part(key: str, *rows: str) -> Part:
    return Part(key=key, rows=tuple(f"{row}\n" for row in rows))


TURN = TranscriptTurn(turn="1", prompt="First.")
SAID = (part("title", "# First.", ""), part("you:1", YOU, "", "First.", ""), part("ours:1", OURS, ""))
ANSWER, BELOW = part("item:1:0", "One.", ""), part(ASK, YOU, "")
START = pages.update(Page(), [*SAID, BELOW])
WITH_ANSWER = pages.update(START, [*SAID, ANSWER, BELOW])


def drafted(page: Page, rows: list[str]) -> tuple[Page, list[Line]]:
    lines = [Line(text=row, part=None) for row in rows]
    return Page(lines=(*page.lines, *lines)), lines


def draft_of(page: Page) -> list[str]:
    return [line.text for line in page.lines[draft.draft_start(page.lines) :] if line.part is None]


@every_draft
def test_typed_and_sent_while_an_update_lands_that_does_not_know_of_it(rows: list[str]) -> None:
    page, lines = drafted(START, rows)
    marked = sent.mark(page, lines, sent.key())
    shown = [*WITH_ANSWER.rows, *rows]
    read = page_reading.read_page([marked], shown, [WITH_ANSWER], owns_copies=False)
    assert sent.remove(sent.keep(marked, read), []).rows == WITH_ANSWER.rows


@pytest.mark.parametrize("name", sorted({*DRAFTS} - {"blank rows"}))
def test_typed_once_more_when_an_update_has_removed_it(name: str) -> None:
    rows = DRAFTS[name]
    page, lines = drafted(START, rows)
    marked = sent.mark(page, lines, sent.key())
    shown = "".join(rows).strip("\n").split("\n")
    for said in (
        part("you:2", YOU, "", *shown, ""),
        part("said:2:0", "> Sent:", *(f"> {row}" for row in shown)),
    ):
        updated = pages.update(sent.remove(marked, []), [*SAID, ANSWER, said, BELOW])
        read = page_reading.read_page([marked], [*updated.rows, *rows], [updated], owns_copies=False)
        left = draft_of(sent.remove(sent.keep(marked, read), []))
        assert [row for row in left if row.strip()] == [row for row in rows if row.strip()]


@every_draft
def test_what_is_typed_below_is_the_next_draft(rows: list[str]) -> None:
    page, lines = drafted(START, rows)
    marked = sent.mark(page, lines, sent.key())
    shown = [*page.rows[:-1], f"{page.rows[-1].rstrip()}\n", "more\n"]
    read = page_reading.read_page([marked], shown, owns_copies=False)
    left = sent.remove(sent.keep(marked, read), [])
    assert draft_of(left) == ["more\n"]


@every_draft
def test_it_is_removed_when_it_is_shown_and_given_back_when_it_is_not(rows: list[str]) -> None:
    page, lines = drafted(WITH_ANSWER, rows)
    marked = sent.mark(page, lines, sent.key(1))
    text = "".join(rows).strip("\n")
    for turns in ([TURN], [TranscriptTurn(turn="0", prompt=text)]):
        assert sent.remove(marked, turns) is marked
        assert draft_of(sent.give_back(marked, turns)) == rows
    for later in (
        TranscriptTurn(turn="2", prompt=text),
        TranscriptTurn(turn="2", prompt="Other.", steered=[text]),
        TranscriptTurn(turn="2", prompt="Other.", items=[Interjection(text=f"Before.\n{text}")]),
    ):
        assert sent.remove(marked, [TURN, later]).rows == WITH_ANSWER.rows
        assert sent.give_back(marked, [TURN, later]) is marked


@every_draft
def test_while_it_is_being_sent_the_document_stays_as_it_is(rows: list[str]) -> None:
    page, lines = drafted(START, rows)
    marked = sent.mark(page, lines, sent.key(1))
    updated = pages.update(marked, [*SAID, ANSWER, BELOW, *sent.parts(marked)])
    assert updated.text.rstrip() == f"{WITH_ANSWER.text}{''.join(rows)}".rstrip()
    assert sent.remove(sent.finish(updated), []).rows == WITH_ANSWER.rows


def test_a_row_that_was_sent_and_typed_in_since_is_a_draft() -> None:
    page, lines = drafted(START, ["Go on.\n", "Now.\n"])
    marked = sent.mark(page, lines, sent.key())
    for typed, left in (("Now or never.", "Now or never."), ("Now. And then?", "And then?"), ("Now.!", "!")):
        shown = [*START.rows, "Go on.\n", f"{typed}\n"]
        read = page_reading.read_page([marked], shown, owns_copies=False)
        assert draft_of(sent.remove(read, [])) == [f"{left}\n"]
        assert draft_of(sent.give_back(sent.mark(page, lines, sent.key(1)), [])) == ["Go on.\n", "Now.\n"]
