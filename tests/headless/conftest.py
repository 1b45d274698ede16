"""A client and its server are joined in one process, or are two; what a command does is the same."""

from __future__ import annotations

import pytest

from e2e import variants
from handrail.cli.commands import ONE_PROCESS

WAYS = {"one process": "1", "two processes": "0"}


@pytest.fixture(params=WAYS)
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test runs in both ways."""
    monkeypatch.setenv(ONE_PROCESS, WAYS[request.param])


@pytest.fixture
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long test runs in one of the ways, in another one with the next commit."""
    (way,) = variants.some_of(request.node.nodeid, variants.commit(), sorted(WAYS), 1)
    print(f"client and server: {way}")  # shown if the test fails
    monkeypatch.setenv(ONE_PROCESS, WAYS[way])
