"""
A model behind HTTP that says its answers piece by piece, each when it is told to go on.

It speaks as OpenAI's Chat Completions do. What a piece waits for is a `GET /next`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LIMIT_S = 60


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is said, in pieces of which all but the first are waited for; then the calls."""

    pieces: Sequence[str]
    calls: Sequence[Mapping[str, object]] = ()


@dataclass
class StreamingModel:
    """
    Gives these answers, one a request.

    Attributes:
        url: Its base URL.
        asked: The messages of each request.
    """

    answers: list[Answer]
    url: str = ""
    asked: list[list[dict[str, Any]]] = field(default_factory=list)
    _gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def go_on(self) -> None:
        """The next piece may be said."""
        self._gate.release()

    def events(self, messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The answer to a request."""
        self.asked.append(messages)
        answer = self.answers[len(self.asked) - 1]
        for number, piece in enumerate(answer.pieces):
            if number and not self._gate.acquire(timeout=LIMIT_S):
                return
            yield {"delta": {"content": piece}, "finish_reason": None}
        for index, call in enumerate(answer.calls):
            function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
            one = {"index": index, "id": f"call_{index}", "type": "function", "function": function}
            yield {"delta": {"tool_calls": [one]}, "finish_reason": None}
        yield {"delta": {}, "finish_reason": "tool_calls" if answer.calls else "stop"}


@contextmanager
def streaming_model(*answers: Answer) -> Iterator[StreamingModel]:
    """A running one."""
    model = StreamingModel(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name is http.server's
            if self.path == "/next":
                model.go_on()
            self.send_response(200 if self.path == "/next" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:  # the name is http.server's
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in model.events(asked["messages"]):
                chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
                told = json.dumps({**chunk, "choices": [{"index": 0, **event}]})
                self.wfile.write(f"data: {told}\n\n".encode())
                self.wfile.flush()
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
