"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from handrail.patterns import lazy_pattern


def test_nothing_is_compiled_before_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = list[str]()
    really = re.compile

    def compile_(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return really(text, flags)

    monkeypatch.setattr(re, "compile", compile_)
    known = lazy_pattern("(?P<first>a)+b", re.IGNORECASE)
    assert not compiled
    found = known.match("AAB")
    assert found is not None
    assert found["first"] == "A"
    assert known.sub("-", "xaab") == "x-"
    assert (known.pattern, known.groups, known.flags & re.IGNORECASE) == ("(?P<first>a)+b", 1, re.IGNORECASE)
    many = len(compiled)
    assert known.match("ab")
    assert known.sub("-", "ab") == "-"
    assert len(compiled) == many


def test_a_wrong_expression_is_told_when_it_is_used() -> None:
    with pytest.raises(re.error):
        lazy_pattern("(").match("")
