"""What the user is told about a value that is not used: how they wrote it, and what applies instead."""

from __future__ import annotations

import pytest

from handrail.lsp import settings


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (({"mode": "plan"}, {"mode": "foo"}, None), 'mode must be one of edit, ask, plan, not "foo"'),
        (({"mode": "foo"}, {"mode": "plan"}, None), 'mode must be one of edit, ask, plan, not "foo"'),
        (({"mode": "plan"}, None, {"mode": False}), "mode must be a string, not false"),
        (
            ({"mode": "plan"}, None, {"mode": "p\u202elan"}),
            'mode must be one of edit, ask, plan, not "p\\u202elan"',
        ),
    ],
)
def test_the_value_that_applies_instead_is_named(
    sources: tuple[dict[str, object], object, object], said: str
) -> None:
    found = settings.settle(*sources)
    assert found.problems == (f'The setting handrail.{said}. handrail uses "plan".',)
    assert found.text(settings.MODE) == "plan"


def test_without_another_value_the_default_applies() -> None:
    (problem,) = settings.settle({}, {"checkpoints": {"required": "no"}}, None).problems
    assert problem == (
        'The setting handrail.checkpoints.required must be true or false, not "no". handrail uses true.'
    )
