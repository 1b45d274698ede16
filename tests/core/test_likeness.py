"""A candidate's score is how similar its lines are to the search text, and 1 only if they have that text."""

from __future__ import annotations

import pytest

from handrail.core.documents.text import Text
from handrail.core.failure import Failure
from handrail.core.patches.hunk import Hunk
from handrail.core.planning import plan

LOAD = "def load(path):\n    with open(path) as file:\n        data = file.read()\n    return parse(data)\n"
ROW = "x = " + ", ".join(f"value_{number}" for number in range(120))


def lines(old: str, new: str, **more: object) -> Hunk:
    return Hunk(number=1, old=old, new=new, whole_lines=True, **more)  # type: ignore[arg-type]


def failure(content: str, *hunks: Hunk) -> Failure:
    """The only failure of a plan."""
    results = [each.result for each in plan.plan(Text(content), hunks)]
    (failed,) = [each for each in results if isinstance(each, Failure)]
    return failed


def test_text_that_is_only_similar_is_not_said_to_be_the_same() -> None:
    parts = {"sum_of_squares": "parse_numbers", "how_many": "total", "print_result": "mean"}
    body = "".join(f"    {name}_of_all = {name}({of})\n" for name, of in parts.items())
    old = f"def load(path, /):\n    reader = open_reader(path)\n{body}    return finished(reader)"
    new = 'def load(path, /):\n    log("yes")\n    while waiting(): sleep(3)\n    return finished(reader)'
    there = old.replace("(path, /)", "(path)")
    found = failure(f"{there}\n\n\ndef other():\n    pass\n\n\n{new}\n", lines(old, new))
    assert "only similar" in found.message
    assert 0.9 < found.near[0].score < 1


def test_similar_text_outside_its_scope_is_not_said_to_be_the_same() -> None:
    old = LOAD.replace("data = file.read()", "data = file.readlines()").rstrip("\n")
    other = "class Other:\n    x = 1\n"
    hunk = lines(old, old.replace("parse(data)", "None"), scope=("class Other:",))
    found = failure(f"{LOAD}\n\n{other}", hunk)
    assert "in the scope of" in found.message
    assert not found.message.startswith("The search text is at line")
    assert 0.8 < found.near[0].score < 1


@pytest.mark.parametrize("at", [300, len(ROW) - 3])
def test_a_small_difference_is_not_rounded_away(at: int) -> None:
    other = f"{ROW[:at]}~{ROW[at + 1 :]}"
    found = failure(f"{ROW}\n", lines(other, "x = 1"))
    assert found.near[0].score == 0.99
    assert "100%" not in found.message


def test_text_that_differs_in_spacing_does_not_occur() -> None:
    found = failure("f(a,b)\none\nf(a,b)\n", lines("f( a, b )", "g()"))
    assert "with small differences" in found.message
    assert [each.score < 1 for each in found.near] == [True, True]


def test_text_without_its_indentation_is_not_the_same() -> None:
    hunk = Hunk(number=1, old="x = 1", new="x = 1\n\n\ndef g():\n    pass", whole_lines=False)
    found = failure("def f():\n    x = 1\n", hunk)
    assert "without its indentation" in found.message
    assert 0.5 < found.near[0].score < 1


def test_text_that_another_hunk_makes_is_similar_to_that_in_the_document() -> None:
    first = lines("a = 1", "a = 2\nb = (1)")
    found = failure("a = 1\nzzz\nb  =  (1)\n", first, lines("b = (1)", "c = 3"))
    assert "with small differences" in found.message
    assert found.near[0].score < 1


def test_the_search_text_itself_has_the_score_of_one() -> None:
    found = failure("  a = 1\nzzz\n  a = 1\n", lines("a = 1", "b"))
    assert "occurs 2 times" in found.message
    assert [each.score for each in found.near] == [1, 1]
