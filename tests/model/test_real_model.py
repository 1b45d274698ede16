"""
A turn with a real small model: streamed, with tool calls, cut by its output limit in the middle of a call.

The model cannot code, so nothing is said here about what it answers: only that the turn survives it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench import Bench
from core.test_loop_properties import is_well_formed
from handrail.adapters.models.address import Address
from handrail.adapters.models.remote import Remote
from handrail.core.conversation.message import (
    AssistantMessage,
    Message,
    Piece,
    ToolMessage,
    ToolOffer,
    UserMessage,
)
from handrail.core.ledger.report import State, TextDelta, Used
from handrail.testing import lay_out

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import install_editors  # found once the path is set

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("large")]
Serve = Callable[[int], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts the model with that many tokens for an answer; its base URL."""
    folder = install_editors.install_model()
    running: list[subprocess.Popen[bytes]] = []

    def start(tokens: int) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("serve.py")), str(port), str(tokens)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(folder)},
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"listening")
        return f"http://127.0.0.1:{port}/v1"

    yield start
    for process in running:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def remote(base_url: str) -> Remote:
    return Remote(lambda: Address(kind="openai-chat", name="smollm2", base_url=base_url))


async def test_a_call_is_streamed_and_run(bench: Bench, serve: Serve) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    bench.provider = remote(serve(60))
    report = await bench.host.wait(bench.host.start("Read the file a.txt.", None).id)
    assert report.state in (State.FINISHED, State.STOPPED), report.reason
    assert is_well_formed(bench.history())
    calls = [call for each in bench.history() if isinstance(each, AssistantMessage) for call in each.calls]
    results = [each for each in bench.history() if isinstance(each, ToolMessage)]
    assert calls
    assert results
    assert report.usage.input_tokens > 0
    assert report.usage.output_tokens > 0


async def test_a_call_that_the_limit_cuts_is_not_run_and_the_turn_ends(bench: Bench, serve: Serve) -> None:
    lay_out(bench.root, {"a.txt": b"one\ntwo\n"})
    bench.provider = remote(serve(14))
    report = await bench.host.wait(bench.host.start("Read the file a.txt.", None).id)
    assert report.state in (State.FINISHED, State.STOPPED), report.reason
    assert is_well_formed(bench.history())
    nudges = [each.text for each in bench.history() if isinstance(each, UserMessage)]
    assert any("incomplete and were not run: read_file" in nudge for nudge in nudges)
    assert not [each for each in bench.history() if isinstance(each, ToolMessage)]


@dataclass(frozen=True)
class Toolless:
    """A model that is offered no tools, so that it answers with text."""

    inner: Remote

    @property
    def context_tokens(self) -> int:
        return self.inner.context_tokens

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolOffer]
    ) -> AsyncGenerator[Piece]:
        async for piece in self.inner.complete(messages, []):
            yield piece


async def test_text_is_streamed_in_pieces(bench: Bench, serve: Serve) -> None:
    """More than one piece of text is told before the step is over, and together they are the answer."""
    bench.provider = Toolless(remote(serve(60)))
    report = await bench.host.wait(bench.host.start("What is the sun?", None).id)
    assert report.state in (State.FINISHED, State.STOPPED), report.reason
    over = next(at for at, event in enumerate(bench.events) if isinstance(event, Used))
    pieces = [event.delta for event in bench.events[:over] if isinstance(event, TextDelta)]
    assert len(pieces) > 3
    first = next(each for each in bench.history() if isinstance(each, AssistantMessage))
    assert "".join(pieces) == first.text
