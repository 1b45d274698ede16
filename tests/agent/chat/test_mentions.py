"""What a message names with an `@`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.agent.chat.mentions import Mention, mentions, unfinished_mention, write_mention


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Look at @a.py.", [("a.py", 0, 0)]),
        ("@src/api.py:10-20, please", [("src/api.py", 10, 20)]),
        ("(@src/api.py:10)", [("src/api.py", 10, 10)]),
        ("@a.py:20-10", [("a.py", 20, 20)]),
        ('@"my file.txt":3 and @"b c"', [("my file.txt", 3, 3), ("b c", 0, 0)]),
        (r'@"say \"hi\" now.txt":2', [('say "hi" now.txt', 2, 2)]),
        (r'@"a\\b.txt" and @"c\d.txt"', [("a\\b.txt", 0, 0), (r"c\d.txt", 0, 0)]),
        ('@"node_modules/@types/a.ts"', [("node_modules/@types/a.ts", 0, 0)]),
        ("@src/[id]/page.tsx", [("src/[id]/page.tsx", 0, 0)]),
        ("@größe/名前.md!", [("größe/名前.md", 0, 0)]),
        ("@diff @diff", [("diff", 0, 0)]),
        ("mail me@example.org", []),
        ("`@a.py` and ``x ` @b.py``", []),
        ("```py\n@app.route('/x')\n```\nand @a.py", [("a.py", 0, 0)]),
        ("~~~\n@a.py", []),
        ("@ a", []),
        ('@"' + "\\\\" * 5_000, []),
        ("**@a.py**", []),
        ("line\n@a.py\n", [("a.py", 0, 0)]),
    ],
)
def test_what_is_named(text: str, found: list[tuple[str, int, int]]) -> None:
    assert [(each.name, each.first, each.last) for each in mentions(text)] == found


@pytest.mark.parametrize(
    ("name", "is_path"),
    [("a.py", True), ("src/x", True), ("my file", True), ("property", False), ("..", False), ("diff", False)],
)
def test_what_can_only_be_a_path(name: str, is_path: bool) -> None:
    assert Mention(name=name, full=name).is_path is is_path


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("see @sr", ("sr", 3)),
        ("@", ("", 1)),
        ('@"my f', ("my f", 6)),
        ("me@ex", None),
        ("@a.py ", None),
        ("(@a", ("a", 2)),
    ],
)
def test_what_is_being_named(before: str, found: tuple[str, int] | None) -> None:
    assert unfinished_mention(before) == found


@given(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs", "Cc"]), min_size=1))
def test_a_path_is_read_as_it_is_written(path: str) -> None:
    if path.strip() != path or "`" in path:
        return
    said = f"Look: {write_mention(path)} there"
    assert any(path in (each.name, each.full) for each in mentions(said))
