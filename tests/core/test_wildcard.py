"""Patterns with stars mean the same as if every way were tried, and take no time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handrail.core.policy import wildcard
from handrail.core.policy.rules import Decision, Rule, decision_for_path
from handrail.core.policy.tool_kind import ToolKind
from searches import examples

PIECES = st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "/**", "?", "ab", "."]), max_size=8)
TEXTS = st.text("ab/.", max_size=12)


def naive(pattern: str) -> re.Pattern[str]:
    """The same without any care."""
    made = []
    tail = "(?:/.*)?" if pattern.endswith("/**") else ""
    for piece in re.split(
        r"((?<![^/])(?:\*\*/)+|\*\*+|\*|\?)", pattern.removesuffix("/**") if tail else pattern
    ):
        stars = {"*": "[^/]*", "?": "[^/]"}
        if piece.startswith("**"):
            made.append("(?:.*/)?" if piece.endswith("/") else ".*")
        else:
            made.append(stars.get(piece, re.escape(piece)))
    return re.compile("".join(made) + tail, re.DOTALL)


@example("*a**a", "aa")  # the first place decides before a `**`, not the last
@settings(max_examples=examples(2_000))
@given(PIECES.map("".join), TEXTS)
def test_paths(pattern: str, path: str) -> None:
    assert bool(wildcard.path_regex(pattern).fullmatch(path)) == bool(naive(pattern).fullmatch(path))


@settings(max_examples=examples(1_000))
@given(st.text("ab *", max_size=8), st.text("ab ", max_size=10))
def test_texts(pattern: str, text: str) -> None:
    plain = ".*".join(map(re.escape, re.split(r"\*+", pattern.removesuffix(" *"))))
    if pattern.endswith(" *"):
        plain += "(?: .*)?"
    assert bool(wildcard.text_regex(pattern).fullmatch(text)) == bool(re.fullmatch(plain, text, re.DOTALL))


@pytest.mark.parametrize(
    "pattern", ["*a" * 400 + "b", "**a" * 300 + "b", "**/a" * 200 + "b", "*a**" * 200 + "b"]
)
@pytest.mark.parametrize("text", ["a" * 4_000, "a/" * 2_000, "a " * 2_000])
def test_no_pattern_takes_long(pattern: str, text: str) -> None:
    began = time.process_time()
    assert (
        decision_for_path(
            [Rule(tool="*", match=pattern, decision=Decision.BLOCK)], "read_file", ToolKind.READ, [text]
        )
        is None
    )
    assert not wildcard.text_regex(pattern).fullmatch(text)
    assert time.process_time() - began < 10
