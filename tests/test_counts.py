"""Numbers stand with the words that fit them."""

from __future__ import annotations

import pytest

from handrail.counts import count_hidden, count_of


@pytest.mark.parametrize(
    ("number", "counted"),
    [(0, "0 more lines"), (1, "1 more line"), (2, "2 more lines"), (1234, "1,234 more lines")],
)
def test_a_noun_fits_its_number(number: int, counted: str) -> None:
    assert count_of(number, "more line") == counted


@pytest.mark.parametrize(
    ("number", "said"),
    [(1, "1 more is not shown"), (2, "2 more are not shown"), (1234, "1,234 more are not shown")],
)
def test_a_verb_fits_its_number(number: int, said: str) -> None:
    assert count_hidden(number) == said
    assert count_hidden(number, "line") == said.replace(" more", f" more line{'' if number == 1 else 's'}")
