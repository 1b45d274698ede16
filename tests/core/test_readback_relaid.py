"""An insertion that a formatter has changed at once is not known to be absent, so it is not made twice."""

from __future__ import annotations

import pytest

from handrail.core.documents.edit import TextEdit
from handrail.core.documents.readback import Fate, fates
from handrail.core.documents.text import Text
from handrail.core.failure import Span

BASE = "## You\n\nFirst.\n\n- x\n\n## handrail\n\n## You\n\n"
NEW = "I'll look.\n\n- a\n- b\n\nEnd.\n\n"


@pytest.mark.parametrize("place", [BASE.rindex("## You"), BASE.rindex("\n## You"), len(BASE)])
def test_what_has_other_bullets_by_now_is_unclear(place: int) -> None:
    inserted = TextEdit(span=Span(start=place, end=place), new=NEW)
    now = (BASE[:place] + NEW + BASE[place:]).replace("- ", "* ")
    assert fates(Text(BASE), [inserted], now) == (Fate.UNCLEAR,)
    assert fates(Text(BASE), [inserted], BASE.replace("- ", "* ")) == (Fate.ABSENT,)
