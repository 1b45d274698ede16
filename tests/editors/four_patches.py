"""
The turn that every editor test runs: four patches, of which three land, and the bytes at each stage.

One goes into an open document with CRLF although it is written with LF, one into a document whose unsaved
text differs from the disk, one fits nowhere, and one goes into a file that no editor holds.
"""

import json
from pathlib import Path

PROMPT = "Raise the tax to 21 %"
ANSWER = "The tax is 21 % now."

PRICES = (
    b'"""Prices with tax."""\r\n\r\nTAX = 0.19\r\n\r\n\r\n'
    b"def total(items):\r\n    return sum(items) * (1 + TAX)\r\n"
)
# A form feed and U+2028 end no line for an editor, though they do for Python; the emoji is two UTF-16 units.
NOTES = "# Notes\n\fpage two\u2028same line\n\U0001f40d tax \U0001f40d is 19 %\nlast\n".encode()
CARD = "Preise f\u00fcr das Caf\u00e9\r\nGr\u00fc\u00dfe, 19 %\r\n".encode("latin-1")
EDITORCONFIG = b"[card.txt]\ncharset = latin1\n"
DISK = {"prices.py": PRICES, "notes.txt": NOTES, "card.txt": CARD, ".editorconfig": EDITORCONFIG}

TYPED = "Not saved yet \U0001f40d"
UNSAVED = f"{TYPED}\n".encode() + NOTES


def change(before: bytes, old: str, new: str, encoding: str = "utf-8") -> bytes:
    """*before* with the one *old* replaced."""
    assert before.count(old.encode(encoding)) == 1
    return before.replace(old.encode(encoding), new.encode(encoding))


RAISED = change(PRICES, "TAX = 0.19\r\n", "TAX = 0.21\r\n# raised in January\r\n")
ROUNDED = change(RAISED, "sum(items) * (1 + TAX)", "round(sum(items) * (1 + TAX), 2)")
NOTED = change(UNSAVED, "tax \U0001f40d is 19 %", "tax \U0001f40d is 21 %")
CARDED = change(CARD, "Gr\u00fc\u00dfe, 19 %", "Viele Gr\u00fc\u00dfe, 21 %", "latin-1")

FAILED_LINE = RAISED.split(b"\r\n").index(b"    return sum(items) * (1 + TAX)")
FAILED_TEXT = "    return sum(items) * (1 + TAX)"
ACTION = (
    f"Apply at line {FAILED_LINE + 1}: "
    "‘return sum(items) * (1 + TAX)’ → ‘return round(sum(items) * (1 + TAX), 2)’"
)
REVIEW = [
    "Keep the change in this document",
    "Undo the change in this document",
    "Next change",
    "Previous change",
    "Open the review document",
]
ACTIONS = [ACTION, "Show the change", "Dismiss", *REVIEW]


def replace(path: str, old: str, new: str) -> dict[str, object]:
    """A call of the tool `patch`."""
    return {"name": "patch", "arguments": {"path": path, "old_string": old, "new_string": new}}


MESSAGES = [
    {
        "calls": [
            replace("prices.py", "TAX = 0.19\n", "TAX = 0.21\n# raised in January\n"),
            replace("notes.txt", "tax \U0001f40d is 19 %", "tax \U0001f40d is 21 %"),
            replace(
                "prices.py",
                "    return sum(articles) + TAX * len(articles)\n",
                "    return round(sum(items) * (1 + TAX), 2)\n",
            ),
            replace("card.txt", "Gr\u00fc\u00dfe, 19 %", "Viele Gr\u00fc\u00dfe, 21 %"),
        ]
    },
    {"text": ANSWER},
]


def write_workspace(folder: Path) -> None:
    """Make the workspace folder."""
    folder.mkdir()
    for name, data in DISK.items():
        (folder / name).write_bytes(data)


def write_script(path: Path, messages: list[dict[str, object]] = MESSAGES) -> str:
    """Write what the scripted model answers; returns the value of the setting `model`."""
    path.write_text(json.dumps(messages))
    return f"scripted:{path}"
