"""The chat view's page in a real browser, without VS Code: texts that grow, and what is unusual or fails."""

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


def run_in_page(program: str, folder: Path, **more: object) -> object:
    """Returns what a program of `vscode/page/` prints."""
    vscode = editors.install_vscode()
    editors.install_extension_tools(EXTENSION, vscode.node_bin)
    told = {
        "playwright": str(vscode.playwright),
        "chromium": str(vscode.chromium),
        "extension": str(EXTENSION),
        **more,
    }
    config = folder / "config.json"
    config.write_text(json.dumps(told))
    return json.loads(
        editors.run(["node", str(HERE / "page" / program), str(config)], env=vscode.environment)
    )


def test_a_text_that_grows_looks_like_one_that_came_whole(tmp_path: Path) -> None:
    assert run_in_page("grow.mjs", tmp_path, texts=texts(), steps=[9, 60]) == []


def test_what_is_unknown_or_fails_in_the_page_is_told(tmp_path: Path) -> None:
    assert run_in_page("view.mjs", tmp_path) == []
