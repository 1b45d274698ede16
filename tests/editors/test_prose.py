"""The chat view's texts in a real browser: one that has grown looks like one that came whole."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from editors.vscode_session import EXTENSION, HERE, editors

pytestmark = [pytest.mark.vscode, pytest.mark.xdist_group("large")]

PARTS = [
    "# A heading\n",
    "A paragraph with `code`, **bold** and a [link](https://example.com).\n",
    "of two lines\r\n",
    "\n",
    "\r\n",
    "- an entry\n",
    "  - an inner one\n",
    "1. first\n",
    "> quoted\n",
    "> ```\n> code in it\n> ```\n",
    "```py\nprint(1)\n```\n",
    "~~~\n```\nno end\n",
    "```\n``\n````\n",
    "~~~~\nother\n~~~\n~~~~\n",
    "---\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "left to right \u202e mark, tag \U000e0041, \u0007 bell, emoji \U0001f469\u200d\U0001f680\n",
    "<b>no HTML</b>\n",
    "no line end",
    "    ``` \n",
]


def texts() -> list[str]:
    chosen = random.Random(16)
    mixed = ["".join(chosen.choices(PARTS, k=chosen.randint(1, 9))) for _ in range(60)]
    rows = "".join(f"    row {number} of a long block\n" for number in range(600))
    return [
        *PARTS,
        *mixed,
        f"```\n{rows}```\nafter\n",
        f"```\n{rows}",
        f"```\n{rows}``",
        "",
        "\n",
        "a" * 30_000,
    ]


def test_a_text_that_grows_looks_like_one_that_came_whole(tmp_path: Path) -> None:
    vscode = editors.install_vscode()
    editors.install_extension_tools(EXTENSION, vscode.node_bin)
    told = {
        "playwright": str(vscode.playwright),
        "chromium": str(vscode.chromium),
        "extension": str(EXTENSION),
        "texts": texts(),
        "steps": [9, 60],
    }
    config = tmp_path / "config.json"
    config.write_text(json.dumps(told))
    said = editors.run(["node", str(HERE / "page" / "grow.mjs"), str(config)], env=vscode.environment)
    assert json.loads(said) == []
