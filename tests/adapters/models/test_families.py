"""
The habits of three families of models, each in the format of its server: all finish the same work.

Three edits in two files, one with CRLF: parallel calls with exact strings (Claude), one V4A patch with
headings for places (GPT), and prose with fenced JSON, promises and a call that is cut (small models).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from adapters.model_server import WINDOWS, Call, Say, model_server
from bench import Bench
from core.test_loop_properties import is_well_formed
from handrail.adapters.models.address import Address
from handrail.adapters.models.remote import Remote
from handrail.core.documents.change import Status
from handrail.core.ledger.report import State
from handrail.testing import lay_out, snapshot

BEFORE = {
    "shop/price.py": b"RATE = 0.19\n\n\ndef gross(net):\n    return net * RATE\n\n\ndef shown(net):\n"
    b"    return str(gross(net))\n",
    "docs/price.txt": b"Prices\r\n======\r\n\r\nThe rate is 0.19.\r\n",
}
AFTER = {
    "shop/price.py": b"RATE = 0.19\n\n\ndef gross(net):\n    return net * (1 + RATE)\n\n\ndef shown(net):\n"
    b'    return f"{gross(net):.2f}"\n',
    "docs/price.txt": b"Prices\r\n======\r\n\r\nThe rate is 19 %, and prices have two decimals.\r\n",
}
OLD = ("net * RATE", "str(gross(net))", "The rate is 0.19.")
NEW = ("net * (1 + RATE)", 'f"{gross(net):.2f}"', "The rate is 19 %, and prices have two decimals.")
FILES = ("shop/price.py", "shop/price.py", "docs/price.txt")
V4A = """*** Begin Patch
*** Update File: shop/price.py
@@ def gross(net):
-    return net * RATE
+    return net * (1 + RATE)
@@ def shown(net):
-    return str(gross(net))
+    return f"{gross(net):.2f}"
*** Update File: docs/price.txt
@@
-The rate is 0.19.
+The rate is 19 %, and prices have two decimals.
*** End Patch"""


def made(name: str, number: int, **arguments: object) -> Call:
    return Call(name=name, arguments=json.dumps(arguments), id=f"call_{name}_{number}")


def edit(number: int, **more: object) -> dict[str, object]:
    strings = {"old_string": OLD[number], "new_string": NEW[number]}
    return {"path": FILES[number], "mode": "replace", **strings, **more}


def fenced(number: int) -> str:
    return f"```json\n{json.dumps({'name': 'patch', 'arguments': edit(number)}, indent=2)}\n```"


@dataclass(frozen=True, kw_only=True)
class Family:
    """The wire format, and what is said, answer by answer."""

    kind: str
    says: tuple[Say, ...]


READS = tuple(made("read_file", number, path=path) for number, path in enumerate(BEFORE))
EDITS = tuple(made("patch", number, **edit(number)) for number in range(3))
DONE = Say(text="The price is right now, and shown with two decimals.")
PROMISE = Say(text="I will fix the formula first.")
FAMILIES = {
    "Claude": Family(
        kind="anthropic",
        says=(
            Say(thinking="Both files first.", text="I'll read both files.", calls=READS, finish="tools"),
            Say(text="Now all three edits.", calls=EDITS, finish="tools"),
            DONE,
        ),
    ),
    "GPT": Family(
        kind="openai-responses",
        says=(
            Say(calls=READS[:1], finish="tools"),
            Say(calls=(made("patch", 0, mode="v4a", patch=V4A),), finish="tools"),
            DONE,
        ),
    ),
    "small, by OpenAI's format": Family(
        kind="openai-chat",
        says=(
            PROMISE,
            Say(text=f"Sure! Here is the change:\n\n{fenced(0)}\n"),
            Say(text="And the", calls=(made("patch", 1, **edit(1)),), finish="length"),
            Say(calls=(made("patch", 1, **edit(1)),), finish="tools"),
            Say(text=f"Now the text.\n{fenced(2)}\nThat is all."),
            DONE,
        ),
    ),
    "small, by Ollama's": Family(
        kind="ollama",
        says=(
            Say(calls=(made("patch", 0, **edit(0)),), finish="tools"),
            Say(text=f"{fenced(1)}\n\n{fenced(2)}"),
            Say(),
            DONE,
        ),
    ),
}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
async def test_each_family_finishes_the_same_work(bench: Bench, family: Family) -> None:
    lay_out(bench.root, BEFORE)
    async with model_server(*family.says) as server:
        address = Address(
            kind=family.kind,
            name="gpt-5" if family.kind == "openai-responses" else "m",
            base_url=server.url(family.kind),
            key="k" * 20,
            window_tokens=WINDOWS.get(family.kind, 0),
        )
        bench.provider = Remote(lambda: address, 5.0)
        report = await bench.turn()
    assert (report.state, report.answer) == (State.FINISHED, DONE.text), report.reason
    assert snapshot(bench.root) == AFTER
    assert len(server.asked) == len(family.says)
    landed = [outcome for outcome in report.outcomes if outcome.status is Status.LANDED]
    assert len(landed) == 3
    assert len(report.outcomes) == 3
    assert is_well_formed(bench.history())
    await bench.restore(report.turn)
    assert snapshot(bench.root) == BEFORE
