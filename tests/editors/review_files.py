"""
A turn that changes files of every kind, which are reviewed in VS Code: text with unsaved lines and with CRLF,
a file that is filled, emptied, created (empty, and in a new folder), deleted, moved, or not text.
"""

from __future__ import annotations

import base64

from editors.four_patches import replace

PROMPT = "Change everything"
CARD = "Gr\u00fc\u00dfe\r\nEnde\r\n".encode("latin-1")
DISK = {
    ".editorconfig": b"root = true\n\n[card.txt]\ncharset = latin1\n",
    "blank.txt": b"",
    "card.txt": CARD,
    "cleared.txt": b"all of this\n",
    "dot.bin": bytes(range(256)),
    "gone.txt": b"going\ngone\n",
    "old.txt": b"alpha\nbeta\ngamma\ndelta\n",
    "other.bin": bytes(8) + bytes(range(256)),
    "poem.txt": b"one\ntwo\nthree\nfour\nfive\n",
    "price.txt": b"net = 1\r\ntax = 2\r\nsum = 3\r\n",
}
PATCH = """\
*** Begin Patch
*** Delete File: gone.txt
*** Update File: old.txt
*** Move to: moved.txt
@@
 beta
-gamma
+GAMMA
 delta
*** End Patch"""


def _write(path: str, content: str) -> dict[str, object]:
    return {"name": "write_file", "arguments": {"path": path, "content": content}}


COPY = {"name": "terminal", "arguments": {"command": "cp other.bin dot.bin"}}
MESSAGES: list[dict[str, object]] = [
    {
        "calls": [
            replace("poem.txt", "two\n", "TWO\n"),
            replace("poem.txt", "four\n", "FOUR\n"),
            replace("price.txt", "tax = 2\n", "TAX = 2\n"),
            replace("card.txt", "Gr\u00fc\u00dfe\n", "Viele Gr\u00fc\u00dfe\n"),
            {"name": "patch", "arguments": {"mode": "v4a", "patch": PATCH}},
            _write("sub/deep.txt", "deep\n"),
            _write("hollow.txt", ""),
            _write("cleared.txt", ""),
            _write("blank.txt", "filled\n"),
        ]
    },
    {"calls": [COPY]},
    {"text": "All is changed."},
    {"calls": [COPY]},  # a later turn
    {"text": "It is copied again."},
]
RULES = [{"tool": "terminal", "match": "cp *", "verdict": "allow"}]
LEFT = {**DISK, "price.txt": DISK["price.txt"].replace(b"tax", b"TAX"), "blank.txt": b"filled\n"}


def values() -> dict[str, object]:
    """What the steps are given: what is left once two changes are kept and all others undone, in base64."""
    return {"prompt": PROMPT, "left": {name: base64.b64encode(data).decode() for name, data in LEFT.items()}}
