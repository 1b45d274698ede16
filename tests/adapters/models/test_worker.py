"""Models whose SDK runs in a process of its own: the same answers and errors, and ends of either process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.model_server import FORMATS, WINDOWS, Call, Drop, Raw, Refuse, Say, events, model_server
from handrail.adapters.models.address import Address
from handrail.adapters.models.remote import Remote
from handrail.adapters.models.worker.parent import ModelWorker
from handrail.core.conversation.message import Delta, Piece, Response, StopReason, Thought, UserMessage
from handrail.ports import ProviderDown, ProviderError

GO = (UserMessage(text="Go."),)


def remote(worker: ModelWorker, url: str, kind: str = "openai-chat") -> Remote:
    address = Address(kind=kind, name="m", base_url=url, key="k" * 20, window_tokens=WINDOWS.get(kind, 0))
    return Remote(lambda: address, 30.0, worker=worker)


async def pieces_of(provider: Remote) -> list[Piece]:
    return [piece async for piece in provider.complete(GO, [])]


async def process_of(worker: ModelWorker) -> int:
    return (await worker.ensure_running()).process.pid


async def ended(worker: ModelWorker) -> None:
    """The process is killed, and that is known."""
    running = await worker.ensure_running()
    running.process.kill()
    await running.process.wait()


async def test_answers_and_errors_are_the_same_in_every_format() -> None:
    """In one process, one after the other."""
    worker = ModelWorker()
    for kind in FORMATS:
        said = Say(text="I look. " * 50, thinking="Hm. " * 5, calls=(Call(),), finish="tools")
        async with model_server(
            said, said, Refuse(status=401, message="No such key."), Refuse(status=429)
        ) as server:
            here = remote(worker, server.url(kind), kind)
            alone = Remote(here._address, 30.0)
            (*deltas, response), (*others, same) = await pieces_of(here), await pieces_of(alone)
            assert isinstance(response, Response)
            assert isinstance(same, Response)
            assert replace(response, private="") == replace(same, private="")  # which has the time in it
            assert bool(response.private) == bool(same.private)
            for what in (Delta, Thought):
                text, other = (
                    "".join(piece.text for piece in found if isinstance(piece, what))
                    for found in (deltas, others)
                )
                assert text == other
            with pytest.raises(ProviderError, match=r"HTTP 401: No such key\.") as refused:
                await pieces_of(here)
            assert not isinstance(refused.value, ProviderDown)
            with pytest.raises(ProviderDown, match="429"):
                await pieces_of(here)
    await ended(worker)


@pytest.mark.parametrize("kind", FORMATS)
async def test_a_server_s_odd_counts_are_not_written_to_standard_error(
    kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = ModelWorker()
    said = "".join(events(Say(text="Yes."), kind)).replace(": 11,", ': "many",').replace(": 7", ": 1e30")
    rows = {"Content-Type": "application/x-ndjson" if kind == "ollama" else "text/event-stream"}
    async with model_server(Raw(200, said.encode(), rows)) as server:
        *_, response = await pieces_of(remote(worker, server.url(kind), kind))
    assert isinstance(response, Response)
    assert (response.text, response.usage.input_tokens) == ("Yes.", 0)
    await ended(worker)
    assert capfd.readouterr().err == ""


async def test_how_long_to_wait_is_told() -> None:
    worker = ModelWorker()
    async with model_server(Refuse(status=429, headers={"Retry-After": "7"})) as server:
        with pytest.raises(ProviderDown) as down:
            await pieces_of(remote(worker, server.url("openai-chat")))
    assert down.value.wait_s == 7
    await ended(worker)


async def test_many_pieces_are_gathered() -> None:
    """What comes at once is one piece, and nothing of it is lost or waits for the end."""
    worker = ModelWorker()
    words = " ".join(map(str, range(2_000)))
    async with model_server(Say(text=words), Say(text=words, hangs_after=3)) as server:
        provider = remote(worker, server.url("openai-chat"))
        *deltas, response = await pieces_of(provider)
        assert "".join(piece.text for piece in deltas if isinstance(piece, Delta)) == words
        assert isinstance(response, Response)
        assert response.text == words
        async with aclosing(provider.complete(GO, [])) as pieces:
            await asyncio.wait_for(anext(pieces), 20)  # though the answer does not end
            assert not server.left.is_set()
        await asyncio.wait_for(server.left.wait(), 20)  # nobody waits for it: the connection is closed
    await ended(worker)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_two_at_once_and_an_interrupt() -> None:
    """A terminal interrupts both processes; what comes of that, the server decides."""
    worker = ModelWorker()
    async with model_server(Say(text="One.", hangs_after=2), Say(text="Two.")) as server:
        provider = remote(worker, server.url("openai-chat"))
        async with aclosing(provider.complete(GO, [])) as first:
            await anext(first)
            child = await process_of(worker)
            os.kill(child, signal.SIGINT)
            second = await pieces_of(provider)
            assert await process_of(worker) == child
    assert isinstance(second[-1], Response)
    assert second[-1].stop is StopReason.FINISH
    await ended(worker)


async def test_a_process_that_is_killed_is_down_and_another_one_goes_on() -> None:
    worker = ModelWorker()
    async with model_server(Say(text="Half of it.", hangs_after=2), Say(text="All.")) as server:
        provider = remote(worker, server.url("openai-chat"))
        async with aclosing(provider.complete(GO, [])) as pieces:
            await anext(pieces)
            first = await process_of(worker)
            os.kill(first, signal.SIGKILL)
            with pytest.raises(ProviderDown, match="has ended"):
                await anext(pieces)
        assert isinstance((await pieces_of(provider))[-1], Response)
        assert await process_of(worker) != first
    await ended(worker)


async def test_a_connection_that_is_dropped_is_down() -> None:
    worker = ModelWorker()
    async with model_server(Drop()) as server:
        with pytest.raises(ProviderDown):
            await pieces_of(remote(worker, server.url("openai-chat")))
    await ended(worker)


async def test_a_model_that_cannot_be_is_told() -> None:
    worker = ModelWorker()
    with pytest.raises(ProviderError, match="nowhere"):
        await pieces_of(Remote(lambda: Address(kind="nowhere", name="m", base_url="", key=""), worker=worker))
    await ended(worker)


PARENT = """
import asyncio, os, sys
from handrail.adapters.models.address import Address
from handrail.adapters.models.worker.parent import ModelWorker
from handrail.adapters.models.remote import Remote

async def main():
    worker = ModelWorker()
    address = Address(kind="openai-chat", name="m", base_url=sys.argv[1], key="k")
    provider = Remote(lambda: address, worker=worker)
    async for piece in provider.complete([], []):
        heavy = [name for name in ("openai", "pydantic_ai") if name in sys.modules]
        print((await worker.ensure_running()).process.pid, heavy, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_it_ends_with_the_server_and_runs_nothing_of_the_folder(tmp_path: Path) -> None:
    """However that ends; and the folder may hold a json.py of its own."""
    (tmp_path / "json.py").write_text("open('ran', 'w')\n")
    async with model_server(Say(text="Half of it.", hangs_after=2)) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-c", PARENT, server.url("openai-chat"),
            stdout=subprocess.PIPE, cwd=tmp_path,
        )  # fmt: skip
        assert process.stdout is not None
        child, _, heavy = (await process.stdout.readline()).decode().strip().partition(" ")
        assert heavy == "[]", "the SDK is not imported here"
        assert int(child) != process.pid
        process.kill()
        await process.wait()
        await asyncio.wait_for(server.left.wait(), 20)  # the child has gone as well
    assert not (tmp_path / "ran").exists()
