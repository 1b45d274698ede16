"""The connection to the editor, where it differs from pygls'."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress

import pytest

from handrail.lsp.connection import LspProtocol, Server


@pytest.fixture
def protocol() -> LspProtocol:
    server = Server(load=lambda server: None, secrets=list)
    assert isinstance(server.protocol, LspProtocol)
    return server.protocol


def test_at_shutdown_all_that_waits_is_ended(protocol: LspProtocol) -> None:
    """An answer that is given as soon as its request is cancelled is no longer waited for."""
    waiting: dict[str, Future[object]] = {name: Future() for name in ("one", "two", "three")}
    for name, answer in waiting.items():
        protocol._request_futures[name] = answer
        answer.add_done_callback(lambda _, name=name: protocol._request_futures.pop(name))
    ending = protocol.lsp_shutdown(None)
    with suppress(StopIteration):
        next(ending)
    assert [answer.cancelled() for answer in waiting.values()] == [True, True, True]
