"""
A story that real editors are taken through, with nothing but what every client of LSP has: a turn changes
three documents in five places; one change is typed in, one is undone, one is commented on; the comment is
answered, and what is committed is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from editors.four_patches import replace
from git_user import git

PROMPT = "Make them loud"
COMMENT = "Please make it LOUDER."
ANSWER = "It is louder now."
SENT = "One comment from my review"  # how the turn begins that answers

POEM = b"one\ntwo\nthree\nfour\nfive\n"  # open, with a line that is not saved
PRICE = b"net = 1\r\ntax = 2\r\nsum = 3\r\n"  # open, with CRLF
NOTE = b"first\nsecond\nthird\n"  # closed
TYPED = "zero"  # the line that is not saved
INSIDE = " and more"  # typed in the first change

MESSAGES: list[dict[str, object]] = [
    {
        "calls": [
            replace("poem.txt", "two\n", "TWO\n"),
            replace("poem.txt", "four\n", "FOUR\n"),
            replace("price.txt", "tax = 2\n", "TAX = 2\n"),
            replace("note.txt", "first\n", "FIRST\n"),
            replace("note.txt", "third\n", "THIRD\n"),
        ]
    },
    {"text": "All are loud."},
    {"calls": [replace("note.txt", "THIRD\n", "THIRD!!!\n")]},
    {"text": ANSWER},
]

LOUD_POEM = b"zero\none\nTWO\nthree\nFOUR\nfive\n"
MORE_POEM = LOUD_POEM.replace(b"TWO", b"TWO and more")
LOUD_PRICE = PRICE.replace(b"tax", b"TAX")
LOUD_NOTE = b"FIRST\nsecond\nTHIRD\n"
LOUDER_NOTE = b"FIRST\nsecond\nTHIRD!!!\n"
WRITTEN = {"poem.txt": MORE_POEM, "price.txt": PRICE, "note.txt": LOUDER_NOTE}

HEADINGS = [
    "# Review",
    "## `note.txt`",
    "### `note.txt:1` · +1 −1",
    "### `note.txt:3` · +1 −1",
    "## `poem.txt`",
    "### `poem.txt:3` · +1 −1",
    "### `poem.txt:5` · +1 −1",
]


def write_workspace(folder: Path) -> None:
    """Three documents in a repository of git's."""
    folder.mkdir()
    for name, content in (("poem.txt", POEM), ("price.txt", PRICE), ("note.txt", NOTE)):
        (folder / name).write_bytes(content)
    git(folder, "init", "-q")
    git(folder, "config", "core.autocrlf", "false")
    git(folder, "config", "user.name", "u")
    git(folder, "config", "user.email", "e")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "begin")


def headings(text: str) -> list[str]:
    """The headings of the review document."""
    return [row for row in text.splitlines() if row.startswith("#")]


def values() -> dict[str, object]:
    """What the steps are given."""
    return {"prompt": PROMPT, "typed": TYPED, "inside": INSIDE, "comment": COMMENT}


def check(seen: Mapping[str, Any], written: Mapping[str, bytes]) -> None:
    """What any editor shows and writes in the end."""
    assert headings(seen["review"]) == HEADINGS
    assert "> Please make it LOUDER.\n" in seen["answered"]
    assert f"This was answered in the turn `{SENT}" in seen["answered"]
    assert {name: written[name] for name in WRITTEN} == WRITTEN
    assert seen["git"] == ""
    assert headings(seen["committed"]) == ["# Review", "## Comments that were sent"]
