"""What a turn of many steps costs where a server caches what it has read: counted from equal beginnings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from adapters.model_server import Call, Say, model_server
from bench import Bench
from handrail.adapters.models.address import Address
from handrail.adapters.models.remote import Remote
from handrail.core.ledger.report import State
from handrail.testing import lay_out

FRESH, WRITE, READ = 1.0, 1.25, 0.1  # what a token costs that is read anew, kept as well, or was kept
STEPS = 19
BACK = 20  # as many blocks before a mark a server looks for what it has kept
MARK = "cache_control"


def blocks(request: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The parts of a request in the order in which they are read, and whether each is marked."""
    for tool in request.get("tools", []):
        yield from _block(tool)
    system = request.get("system", [])
    for part in system if isinstance(system, list) else [{"type": "text", "text": system}]:
        yield from _block(part)
    for message in request["messages"]:
        content = message["content"]
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            yield from _block({"role": message["role"], **part})


def _block(part: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    bare = {name: value for name, value in part.items() if name != MARK}
    yield json.dumps(bare, sort_keys=True), MARK in part


def cost(requests: list[dict[str, Any]]) -> float:
    """What the requests cost, as part of what they cost if nothing is cached; in characters."""
    kept: set[tuple[str, ...]] = set()
    paid = whole = 0.0
    for request in requests:
        found = list(blocks(request))
        texts = [text for text, _ in found]
        marks = [at + 1 for at, (_, is_marked) in enumerate(found) if is_marked]
        assert len(marks) <= 4, "Anthropic allows no more"
        looked = {before for mark in marks for before in range(max(0, mark - BACK), mark + 1)}
        read = max((at for at in looked if tuple(texts[:at]) in kept), default=0)
        last = max(marks, default=0)
        kept |= {tuple(texts[:mark]) for mark in marks}
        sizes = [len(text) for text in texts]
        paid += (
            READ * sum(sizes[:read]) + WRITE * sum(sizes[read:last]) + FRESH * sum(sizes[max(read, last) :])
        )
        whole += FRESH * sum(sizes)
    return paid / whole


@pytest.mark.parametrize("at_once", [1, 15])
async def test_a_turn_of_many_steps_costs_a_fraction_where_its_beginning_is_kept(
    bench: Bench, at_once: int
) -> None:
    """Though a model calls so many tools at once that a server does not look back to the step before."""
    lay_out(bench.root, {f"{number}.py": b"value = 1\n" * (200 // at_once) for number in range(STEPS)})

    def calls(step: int) -> tuple[Call, ...]:
        path = json.dumps({"path": f"{step}.py"})
        return tuple(Call(arguments=path, id=f"call_{step}_{number}") for number in range(at_once))

    steps = [Say(text=f"Step {number}.", calls=calls(number), finish="tools") for number in range(STEPS - 1)]
    async with model_server(*steps, Say(text="Done.")) as server:
        there = Address(kind="anthropic", name="claude-x", base_url=server.url("anthropic"), key="k" * 20)
        bench.provider = Remote(lambda: there, 5.0)
        report = await bench.turn()
    assert report.state is State.FINISHED, report.reason
    assert len(server.asked) == STEPS
    assert cost(server.asked) <= 0.30
