"""
Runs the server as if it were an older or a newer one: `other_version.py CHANGES.json PROGRAM ARGUMENT…`.

The file is read at the start. `lacks`: requests that it does not know, nor name as those that it answers.
`silent`: whether it does not say at all which ones it answers. `newer`: whether it names a request that no
client knows, tells of events of an unknown kind, has an item of an unknown kind in every conversation, and
questions and checkpoints of unknown kinds. `fails`: requests that fail, with what is said then.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

METHOD_NOT_FOUND, INTERNAL_ERROR = -32601, -32603
ITEM = {"id": "item-of-later", "kind": "hologram", "light": 7}


def messages(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """What comes, until the stream ends."""
    while header := stream.readline():
        if header.lower().startswith(b"content-length:"):
            length = int(header.split(b":")[1])
        elif not header.strip():
            yield json.loads(stream.read(length))


class Out:
    """A stream that several threads write messages to."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.lock = threading.Lock()

    def write(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        with self.lock:
            self.stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self.stream.flush()


def changed(message: dict[str, Any], changes: dict[str, Any]) -> list[dict[str, Any]]:
    """What is told instead of a message of the server's."""
    result, is_newer = message.get("result"), changes.get("newer", False)
    if isinstance(result, dict) and "capabilities" in result:
        ours = result["capabilities"]["experimental"]["handrail"]
        ours["requests"] = [each for each in ours["requests"] if each not in changes.get("lacks", [])]
        if is_newer:
            ours["requests"].append("handrail/chat/dream")
        if changes.get("silent"):
            del result["capabilities"]["experimental"]
    elif is_newer and isinstance(result, dict) and "items" in result and "revision" in result:
        result["items"].append(ITEM)
    elif is_newer and message.get("method") == "handrail/chat/changed":
        message["params"]["items"] = [*message["params"].get("items", []), ITEM]
    elif is_newer and message.get("method") == "handrail/approval/request":
        message["params"]["kind"] = "hologram"
    elif is_newer and isinstance(result, list):
        for each in (each for each in result if isinstance(each, dict) and {"steps", "paths"} <= each.keys()):
            each["kind"] = "hologram"
            each["paths"] = [{**path, "change": "hologram"} for path in each["paths"]]
    elif is_newer and message.get("method") == "handrail/turn/update":
        later = {**message["params"], "event": {"kind": "hologram"}}
        return [{**message, "params": later}, message]
    return [message]


def main(file: str, *command: str) -> int:
    changes = json.loads(Path(file).read_text())
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        inward, outward = Out(server.stdin), Out(sys.stdout.buffer)

        def ask() -> None:
            for message in messages(sys.stdin.buffer):
                if message.get("method") in changes.get("lacks", []):
                    error = {"code": METHOD_NOT_FOUND, "message": f"Method Not Found: {message['method']}"}
                    outward.write({"jsonrpc": "2.0", "id": message["id"], "error": error})
                elif message.get("method") in changes.get("fails", {}):
                    error = {"code": INTERNAL_ERROR, "message": changes["fails"][message["method"]]}
                    outward.write({"jsonrpc": "2.0", "id": message["id"], "error": error})
                else:
                    inward.write(message)
            inward.stream.close()

        threading.Thread(target=ask, daemon=True).start()
        for message in messages(server.stdout):
            for each in changed(message, changes):
                outward.write(each)
    return server.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
