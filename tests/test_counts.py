"""Numbers stand with the words that fit them."""

from __future__ import annotations

import pytest

from handrail.counts import count_hidden, count_of, duration_of


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


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (119.0, "119 seconds"),
        (121.0, "3 minutes"),  # after two, it would be too early
        (600.0, "10 minutes"),
        (7_201.0, "3 hours"),
        (86_400.0, "24 hours"),
        (172_801.0, "3 days"),
        (31_536_000.0, "365 days"),
        (99999999999999999999.0, "more than a year"),
        (float("inf"), "more than a year"),
    ],
)
def test_a_time_is_told_in_a_unit_that_fits_it_and_never_too_short(seconds: float, said: str) -> None:
    assert duration_of(seconds) == said
