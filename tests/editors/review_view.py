"""
Turns whose changes are reviewed in VS Code: two add, change and remove rows of one document, change
another document, and create one; two others change the same row.
"""

from __future__ import annotations

from editors.four_patches import replace

KINDS = b"".join(
    f"{name} = {number}\n".encode()
    for number, name in enumerate(
        ("ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE", "TEN"), 1
    )
)
FIRST = "Number them anew"
SECOND = "Write a note"
THIRD, FOURTH = "Be loud", "Shout it"  # one after the other, they change one row

MESSAGES: list[dict[str, object]] = [
    {
        "calls": [
            replace("kinds.py", "TWO = 2\n", "TWO = 22\n"),
            replace("kinds.py", "FOUR = 4\n", "FOUR = 4\nHALF = 4.5\n"),
            replace("kinds.py", "SIX = 6\nSEVEN = 7\n", ""),
            replace("list.txt", "one\n", "ONE\n"),
        ]
    },
    {"text": "All are numbered."},
    {
        "calls": [
            replace("kinds.py", "TEN = 10\n", "TEN = 100\n"),
            {"name": "write_file", "arguments": {"path": "note.txt", "content": "A note.\n"}},
        ]
    },
    {"text": "It is written."},
    {"text": "I see."},
    {"calls": [replace("list.txt", "two\n", "TWO\n")]},
    {"text": "It is loud."},
    {"calls": [replace("list.txt", "TWO\n", "TWO!\n")]},
    {"text": "It is louder."},
]


def values() -> dict[str, object]:
    """What the steps are given."""
    after = (
        KINDS.decode().replace("FOUR = 4\n", "FOUR = 4\nHALF = 4.5\n").replace("TEN = 10\n", "TEN = 100\n")
    )
    return {"first": FIRST, "second": SECOND, "third": THIRD, "fourth": FOURTH, "after": after}
