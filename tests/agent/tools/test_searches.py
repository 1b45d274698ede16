"""What a search leaves out, what the user's yes opens, and what the model is told of both."""

from __future__ import annotations

import pytest

from bench import Bench
from handrail.core.policy.rules import read
from handrail.ports import ALLOW, DENY, Terms
from handrail.testing import answer, call, lay_out

FILES = {
    "a.txt": b"needle\n",
    ".env": b"KEY=sk-very-secret needle\n",
    ".github/workflows/ci.yml": b"run: needle\n",
    ".vscode/settings.json": b"needle\n",
    ".vscode/server.pem": b"needle: private\n",
    "build/out.txt": b"needle: built\n",
    ".gitignore": b"build/\n",
}
LEFT_OUT = "No lines match. Ignored and protected files were not searched."


@pytest.fixture
def ground(bench: Bench) -> Bench:
    lay_out(bench.root, FILES)
    return bench


def terms(*rules: tuple[str, str, str]) -> Terms:
    found = read([{"tool": tool, "match": match, "verdict": verdict} for tool, match, verdict in rules])
    assert isinstance(found, tuple)
    return Terms(rules=found)


async def result(bench: Bench, tool: str, **arguments: object) -> str:
    bench.approver.asked.clear()
    bench.says(answer("", call(tool, **arguments)), answer("Done."))
    report = await bench.turn()
    return bench.texts(report.session)[-1]


async def test_no_lines_match_says_what_was_not_searched(ground: Bench) -> None:
    assert await result(ground, "search", pattern="run: needle") == LEFT_OUT
    assert await result(ground, "search", pattern="built") == LEFT_OUT
    assert await result(ground, "search", pattern="needle", path=".github") == LEFT_OUT
    assert await result(ground, "search", pattern="nowhere", path="a.txt") == "No lines match."
    assert not ground.approver.asked


@pytest.mark.parametrize("path", [".github/workflows", ".github/workflows/ci.yml"])
async def test_after_a_yes_the_search_looks_into_what_it_was_for(ground: Bench, path: str) -> None:
    text = await result(ground, "search", pattern="needle", path=path)
    assert [question.subject for question in ground.approver.asked] == [path]
    assert text == "1 line in 1 file.\n.github/workflows/ci.yml\n  1|run: needle"
    ground.approver.says = DENY
    assert "needle" not in await result(ground, "search", pattern="needle", path=path)


async def test_a_yes_for_a_folder_is_not_one_for_keys_below_it(ground: Bench) -> None:
    text = await result(ground, "search", pattern="needle", path=".vscode")
    assert text == "1 line in 1 file.\n.vscode/settings.json\n  1|needle"
    text = await result(ground, "search", pattern="private", path=".vscode")
    assert text == (
        "No lines match. Ignored files were not searched, and neither were files that would be protected in "
        "any other folder too."
    )


IGNORED = "This folder was searched although it is ignored. Files in it were not searched if they"
MATCHED = "or if they would be ignored even if this folder were not."


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("build", f"{IGNORED} are protected, {MATCHED}"),
        ("build/deep", f"{IGNORED} are protected, {MATCHED}"),
        (".idea", f"{IGNORED} would be protected in any other folder too, {MATCHED}"),
        ("src", "Ignored and protected files were not searched."),
        ("src/deep", "Ignored and protected files were not searched."),
        (".", "Ignored and protected files were not searched."),
    ],
)
async def test_a_search_of_an_ignored_folder_does_not_deny_itself(
    ground: Bench, path: str, says: str
) -> None:
    files = {".gitignore": b"build/\n.idea\n", "build/deep/a.txt": b"needle\n", "src/deep/a.txt": b"needle\n"}
    lay_out(ground.root, {**files, ".idea/a.xml": b"needle\n"})
    assert await result(ground, "search", pattern="nowhere", path=path) == f"No lines match. {says}"
    assert "  1|needle" in await result(ground, "search", pattern="needle", path=path)


async def test_a_search_shows_of_a_key_what_reading_shows(ground: Bench) -> None:
    ground.secrets = ("sk-very-secret",)
    row = "1|KEY=[key removed by handrail] needle"
    assert (await result(ground, "read_file", path=".env")).endswith(row)
    assert (await result(ground, "search", pattern="needle", path=".env")).endswith(row)
    assert (await result(ground, "search", pattern="sk-very", path=".env")).endswith(row)


async def test_files_that_rules_close_stay_closed(ground: Bench) -> None:
    ground.approver.says = ALLOW
    for verdict, does in (("ask", "asks about"), ("block", "blocks")):
        ground.terms = terms(("read_file", ".github/workflows/ci.yml", verdict))
        text = await result(ground, "search", pattern="needle", path=".github/workflows")
        assert "needle" not in text
        assert text.endswith(f" Files that handrail.approvals {does} were not searched.")
        text = await result(ground, "search", pattern="needle", path=".github/workflows/ci.yml")
        assert text == (
            "This file was not searched: handrail.approvals blocks or asks about reading it. If you need it, "
            "call read_file: the user may be asked."
        )


async def test_files_of_a_rule_whose_question_was_answered_are_searched(ground: Bench) -> None:
    ground.terms = terms(("read", "**", "ask"))
    text = await result(ground, "search", pattern="nowhere", path=".github")
    assert [question.subject for question in ground.approver.asked] == [".github"]
    assert "approvals" not in text
    ground.terms = terms(("read", "**", "ask"), ("read", "*.yml", "block"))
    text = await result(ground, "search", pattern="nowhere", path=".github")
    assert text.endswith(" Files that handrail.approvals blocks were not searched.")


async def test_settings_that_close_nothing_are_not_named(ground: Bench) -> None:
    ground.terms = terms(("terminal", "*", "ask"), ("read", "src/**", "allow"))
    assert await result(ground, "search", pattern="nowhere") == LEFT_OUT
