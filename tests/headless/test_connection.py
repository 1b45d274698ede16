"""How long a server is waited for: while it works, and not for one that does nothing."""

from __future__ import annotations

import sys

import pytest

from handrail.headless.connection import Connection
from handrail.headless.errors import ServerSilentError

SERVER = """
import sys, time
head = sys.stdin.buffer.readline()
sys.stdin.buffer.readline()
sys.stdin.buffer.read(int(head.split(b":")[1]))
{}
body = b'{{"jsonrpc": "2.0", "id": 1, "result": "there"}}'
sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
sys.stdout.buffer.flush()
sys.stdin.buffer.read()
"""
WORKS = "while time.process_time() < 2.5: pass"
WAITS = "sys.stdin.buffer.read()"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how long another process has worked")
async def test_a_server_that_works_is_waited_for() -> None:
    connection = await Connection.start((sys.executable, "-c", SERVER.format(WORKS)))
    try:
        assert await connection.request("x", {}, timeout_s=2.0) == "there"
    finally:
        await connection.close()


async def test_a_server_that_does_nothing_is_given_up() -> None:
    connection = await Connection.start((sys.executable, "-c", SERVER.format(WAITS)))
    try:
        with pytest.raises(ServerSilentError, match="did not answer `x`: it did nothing for"):
            await connection.request("x", {}, timeout_s=0.5)
    finally:
        await connection.close()
