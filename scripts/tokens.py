"""
Show what our prompts and the descriptions of tools cost, in tokens of an offline tokenizer (o200k).

Every request carries them, so each word is paid for at each step. `tests/agent/tools/test_offers.py` holds
the tools that every client gets to a bound.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "server"))

import bpe_openai  # noqa: E402  # with what is found by the line above

from handrail import prompts  # noqa: E402  # as above
from handrail.agent.tools import TOOLS  # noqa: E402  # as above

BOUND = 2_200  # for all tools together


def tokens(text: str) -> int:
    """How many tokens *text* has for OpenAI's newer models; others count much alike."""
    return len(bpe_openai.get_encoding("o200k_base").encode_ordinary(text))


def tools() -> Mapping[str, int]:
    """The tokens of each tool, as Chat Completions is sent it."""
    found = {}
    for name, tool in TOOLS.items():
        function = {
            "name": name,
            "description": tool.offer.description,
            "parameters": json.loads(tool.offer.schema),
        }
        sent = json.dumps({"type": "function", "function": function}, separators=(",", ":"))
        found[name] = tokens(sent)
    return found


def main() -> int:
    """Print a table; 1 if the tools are beyond the bound."""
    counted = tools()
    for name, count in sorted(counted.items(), key=lambda each: -each[1]):
        print(f"{count:6}  tool {name}")
    total = sum(counted.values())
    print(f"{total:6}  all tools (at most {BOUND})\n")
    for file in sorted((ROOT / "server" / "handrail" / "prompts").glob("*.md")):
        print(f"{tokens(prompts.text(file.stem)):6}  prompt {file.stem}")
    return 0 if total <= BOUND else 1


if __name__ == "__main__":
    sys.exit(main())
