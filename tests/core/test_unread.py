"""Output that nobody has read yet: what is kept of it, and what is said of the rest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from handrail.core.results.unread import Unread


def test_what_was_read_is_not_read_again() -> None:
    unread = Unread()
    unread.add("one\n")
    unread.add("two\n")
    assert unread.take() == "one\ntwo\n"
    assert not unread.take()
    unread.add("three")
    assert unread.take() == "three"


def test_of_a_flood_the_end_is_kept_and_the_rest_is_counted() -> None:
    unread = Unread(limit_chars=4)
    unread.add("abc")
    unread.add("defgh")
    unread.add("i")
    assert unread.take() == "[5 earlier characters were not stored]\nfghi"
    unread.add("jklmn")
    assert unread.take() == "[1 earlier character was not stored]\nklmn"
    unread.add("op")
    assert unread.take() == "op"


@given(st.lists(st.text(max_size=9), max_size=20), st.integers(1, 12))
def test_kept_and_counted_are_all_that_was_printed(parts: list[str], limit: int) -> None:
    unread, whole = Unread(limit_chars=limit), "".join(parts)
    for part in parts:
        unread.add(part)
    lost = len(whole) - min(len(whole), limit)
    count = "1 earlier character was" if lost == 1 else f"{lost:,} earlier characters were"
    said = f"[{count} not stored]\n" if lost else ""
    assert unread.take() == said + whole[lost:]
