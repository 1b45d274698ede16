"""What a prompt is called in lists."""

from __future__ import annotations

import pytest

from handrail.core.conversation.label import LIMIT_CHARS, label_of


@pytest.mark.parametrize(
    ("prompt", "label"),
    [
        ("Raise the tax.\nAnd test it.", "Raise the tax."),
        ("\n\n  Raise the tax.", "Raise the tax."),
        ("*** Begin Patch\n*** Update File: src/tax.py\n@@\n-a\n+b\n*** End Patch", "Edit of src/tax.py"),
        ("```\n*** Begin Patch\n*** Delete File: old name.py\n*** End Patch\n```", "Edit of old name.py"),
        ("--- a/tax.py\n+++ b/tax.py\n@@ -1 +1 @@\n-a\n+b\n", "Edit of tax.py"),
        ("--- /dev/null\t2026-01-01\n+++ new.py\t2026-01-01\n@@ -0,0 +1 @@\n+a\n", "Edit of new.py"),
        (
            "diff --git a/x b/x\nindex 0123456..89abcde\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            "Edit of x",
        ),
        ("tax.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "tax.py"),
        ("```python tax.py\na = 1\n```", "a = 1"),
        ("```", "```"),
        ("", ""),
    ],
)
def test_a_prompt_is_called_by_what_it_says(prompt: str, label: str) -> None:
    assert label_of(prompt) == label


def test_a_label_is_short() -> None:
    label = label_of("word " * 100)

    assert len(label) == LIMIT_CHARS
    assert label.endswith("…")
