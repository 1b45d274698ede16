"""The mirror of an open document, changed at random, against the text changed as a whole."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from handrail.core.documents.text import Text
from handrail.lsp.documents import OpenDocument, from_units, lines_of

pieces = st.sampled_from(["", "a", "bé", "\n", "\r", "\r\n", "x\ny", "\r\r\n", "\n\r", "𐐀", "\u2028", "\f"])
contents = st.lists(pieces, max_size=8).map("".join)
places = st.tuples(st.integers(0, 6), st.integers(0, 6))
changes = st.lists(st.tuples(places, places, contents), max_size=5)


def offset(content: str, line: int, character: int) -> int:
    """Where a position lies, by LSP's rule: clamped to the line, or to the document."""
    lines = lines_of(content)
    if line >= len(lines):
        return len(content)
    row = lines[line].rstrip("\r\n")
    before = sum(map(len, lines[:line]))
    units = len(row.encode("utf-16-le")) // 2
    if lines[line].endswith("\r\n") and character == units + 1:
        return before + len(row) + 1  # behind the carriage return
    return before + from_units(row, character, "utf-16")


@given(contents, changes)
@example("a\rb\nc", [((1, 0), (1, 1), "")])  # a CR and an LF meet
@example("a\r\nb", [((0, 2), (0, 2), "x")])  # and are parted
@example("a\r\n", [((0, 1), (0, 2), "")])
@example("", [((0, 0), (0, 0), "")])
def test_a_changed_document_is_its_changed_text(
    content: str, made: list[tuple[tuple[int, int], tuple[int, int], str]]
) -> None:
    document = OpenDocument("file:///a", "a", 1, Text(content))
    for start, end, text in made:
        first = offset(content, *start)
        last = max(first, offset(content, *end))
        content = content[:first] + text + content[last:]
        between = lsp.Range(lsp.Position(*start), lsp.Position(*end))
        document.change(lsp.TextDocumentContentChangePartial(between, text), "utf-16")
        assert document.lines == lines_of(content)
        assert document.text == Text(content)


@given(contents, contents)
def test_a_document_changed_as_a_whole_is_the_new_text(content: str, coming: str) -> None:
    document = OpenDocument("file:///a", "a", 1, Text(content))
    assert document.lines == lines_of(content)
    document.change(lsp.TextDocumentContentChangeWholeDocument(coming), "utf-16")
    assert document.text == Text(coming)
    assert document.lines == lines_of(coming)
