"""The worked examples in the modules whose geometry is exact."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from handrail.core.documents import diff_regions, edit, readback, revert
from handrail.core.documents.reading_back import subset


@pytest.mark.parametrize(
    "module", [edit, revert, diff_regions, readback, subset], ids=lambda each: each.__name__
)
def test_a_worked_example_is_what_happens(module: ModuleType) -> None:
    assert "Theory of operation." in (module.__doc__ or "")
    failed, attempted = doctest.testmod(module)
    assert attempted >= 3
    assert failed == 0, "the output above shows the difference"
