"""What models are told of the tools: it is short, and each example in it works."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from bench import Bench
from handrail import prompts
from handrail.agent.tools import TOOLS, patch
from handrail.agent.tools.call import Tool
from handrail.testing import answer, call, lay_out

sys.path.append(str(Path(__file__).parents[3] / "scripts"))
import tokens  # found by the line above

BEFORE, AFTER = b"def f():\n    x = 1\n", b"def f():\n    x = 2\n"


TOLD = (27, "5ec14e7e10e4b912")


def test_a_change_of_what_models_are_told_raises_the_version() -> None:
    """Sessions keep the version of the rules under which they were held."""
    offers = [(each.offer.name, each.offer.description, each.offer.schema) for each in TOOLS.values()]
    rules = [
        (path.name, path.read_text("utf-8")) for path in sorted(Path(prompts.__file__).parent.glob("*.md"))
    ]
    digest = hashlib.sha256(json.dumps([offers, rules]).encode()).hexdigest()[:16]
    assert (prompts.VERSION, digest) == TOLD, (
        "What models are told has changed: raise `VERSION` in `handrail/prompts`, and write both here."
    )


def test_the_tools_that_every_client_gets_cost_no_more_than_so_many_tokens() -> None:
    assert set(tokens.tools()) == set(TOOLS)
    assert sum(tokens.tools().values()) <= tokens.BOUND


@pytest.mark.parametrize("mode", patch.modes())
async def test_the_example_of_each_mode_lands(mode: str, bench: Bench) -> None:
    example = patch.modes()[mode]
    assert json.dumps(example) in TOOLS["patch"].offer.description
    assert example.get("mode", "replace") == mode, "the default mode is replace"
    lay_out(bench.root, {"a.py": BEFORE})
    bench.says(answer("", call("patch", **example)), answer("Done."))
    await bench.turn()
    assert (bench.root / "a.py").read_bytes() == AFTER
    assert (bench.root / "b.py").exists() is ("b.py" in json.dumps(example))


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_every_argument_says_what_it_is(tool: Tool) -> None:
    properties = json.loads(tool.offer.schema)["properties"]
    plain = {"command", "question", "items", "ignore_case"}  # their names say all
    assert not [name for name, each in properties.items() if "description" not in each and name not in plain]
    assert tool.offer.description.endswith((".", "}"))
