"""The rows of a text after an edit, made of those before it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.agent.review.making import split_changed_rows
from handrail.core.documents.text import split_lines

texts = st.lists(st.sampled_from(["a", "b", "\n", "\r", "\r\n", "\f"]), max_size=12).map("".join)


@settings(max_examples=1500, deadline=None)
@given(texts, texts, texts, texts)
def test_they_are_those_of_the_whole_text(head: str, old: str, new: str, tail: str) -> None:
    before, after = head + old + tail, head + new + tail
    assert list(split_changed_rows(tuple(split_lines(before)), before, after)) == split_lines(after)
