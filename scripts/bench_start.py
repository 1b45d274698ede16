"""
How soon `handrail run` asks its model and `handrail serve` answers `initialize`, in processor time, and how
many such runs there may be at once.

The yardstick is interpreters that only import the same libraries: every module but ours that a process of
the run has imported when its first request arrives. There is one for each process, as a run has the SDK in a
process of its own. Beside it stands the bare SDK, which imports what it needs and asks.
All three are taken in turn; each figure is a median. A server is compared with one of pygls that has no
features. The processor time of a run is that of its process and
all that this has started, when the model's server has its request.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

ROUNDS = 7
RUNS_AT_ONCE = 50
LIMIT_RATIO = 1.25  # of the yardstick
LIMIT_INITIALIZE = 1.15  # of a bare pygls server
LIMIT_AT_ONCE = 1.5  # of the processor time of a run alone, for each of many at once
PACKAGE = "handrail"
HEAD = "import time:"

BARE = """
import asyncio, sys
from openai import AsyncOpenAI
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

async def ask():
    client = AsyncOpenAI(base_url=sys.argv[1], api_key="none")
    model = OpenAIChatModel("bench", provider=OpenAIProvider(openai_client=client))
    asked = [ModelRequest(parts=[UserPromptPart(content="Go.")])]
    async with model.request_stream(asked, None, ModelRequestParameters()) as stream:
        async for _ in stream:
            pass

asyncio.run(ask())
"""
PYGLS = """
from pygls.lsp.server import LanguageServer

LanguageServer("bare", "1").start_io()
"""
# Has each process write what it imports into a file of its own; found by Python when it starts.
APART = """
import os
os.dup2(os.open(os.path.join(os.path.dirname(__file__), f"{os.getpid()}.log"), os.O_WRONLY | os.O_CREAT), 2)
"""
# What a library looks for and does not find is in the list as well.
IMPORTS = """
import contextlib, importlib, sys, time
for name in sys.argv[1:]:
    with contextlib.suppress(Exception):
        importlib.import_module(name)
print(time.process_time())
"""


@dataclass
class Model:
    """A model's server; calls `asked` when a request for an answer arrives."""

    asked: Callable[[], None] = lambda: None
    url: str = field(init=False)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve while the block runs."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(404)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                model.asked()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                for choice in ({"delta": {"content": "Done."}}, {"delta": {}, "finish_reason": "stop"}):
                    piece = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "bench"}
                    whole = {**piece, "choices": [{"index": 0, "finish_reason": None, **choice}]}
                    self.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 2 * RUNS_AT_ONCE

        with Server(("127.0.0.1", 0), Handler) as server:
            self.url = f"http://127.0.0.1:{server.server_port}/v1"
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield
            server.shutdown()


def used_s(pid: int) -> float:
    """Processor time of a process that runs and of all below it; of those that have ended, what they left."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    ended_s = sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    below = [int(child) for task in tasks for child in task.read_text().split()]
    return time.clock_gettime(~pid << 3 | 2) + ended_s + sum(map(used_s, below))


class Starts:
    """Processes that ask the model, or only import."""

    def __init__(self, model: Model, folder: Path) -> None:
        self._model, self._folder = model, folder
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment = kept | {
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),  # as what is installed is compiled
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }

    def command(self, workspace: Path) -> list[str]:
        """A run in a workspace of its own."""
        workspace.mkdir(exist_ok=True)
        options = (
            "--model",
            "openai-chat:bench",
            "--base-url",
            self._model.url,
            "--workspace",
            str(workspace),
        )
        return [sys.executable, "-P", "-m", PACKAGE, "run", "Go.", *options]

    def until_asked(self, command: list[str], look: Callable[[int], T], **environment: str) -> T:
        """What *look* finds, given the process, when the model is asked."""
        found: list[T] = []
        ready = threading.Event()
        errors = self._folder / "errors"

        def asked() -> None:
            ready.wait()
            found.append(look(process.pid))

        self._model.asked = asked
        with errors.open("wb") as file:
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=file, env=self._environment | environment
            )
            ready.set()
            code = process.wait()
        self._model.asked = lambda: None
        if code or not found:
            raise RuntimeError(f"{command} ended with {code}:\n{errors.read_text()[-2000:]}")
        return found[0]

    def run(self) -> float:
        """Processor time of a run of ours."""
        return self.until_asked(self.command(self._folder / "work"), used_s)

    def bare(self) -> float:
        """Processor time of the SDK alone."""
        return self.until_asked([sys.executable, "-c", BARE, self._model.url], used_s)

    def libraries(self) -> list[list[str]]:
        """The modules that each process of a run has imported when it asks, but for ours, in their order."""
        logs = self._folder / "imports"
        logs.mkdir()
        (logs / "sitecustomize.py").write_text(APART)
        told = self.until_asked(
            self.command(self._folder / "work"),
            lambda _: [path.read_text("utf-8", "replace") for path in logs.glob("*.log")],
            PYTHONPATH=os.fspath(logs),
            PYTHONPROFILEIMPORTTIME="1",
        )
        imported = (
            [line.rpartition("|")[2].strip() for line in log.splitlines() if line.startswith(HEAD)]
            for log in told
        )
        return [
            [name for name in names if name.partition(".")[0] not in (PACKAGE, "imported package")]
            for names in imported
        ]

    def imports(self, processes: list[list[str]]) -> float:
        """Processor time of an interpreter for each process, which imports its modules."""
        command = [sys.executable, "-P", "-c", IMPORTS]
        used = (subprocess.check_output([*command, *names], env=self._environment) for names in processes)
        return sum(map(float, used))

    def until_greeted(self, *command: str) -> float:
        """Processor time of a server until it has answered `initialize`."""
        params: dict[str, Any] = {"processId": None, "rootUri": self._folder.as_uri(), "capabilities": {}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
        process = subprocess.Popen(
            [sys.executable, "-P", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment,
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            process.stdin.flush()
            length = 0
            while line := process.stdout.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if b'"result"' not in process.stdout.read(length):
                raise RuntimeError(f"{command} did not answer initialize")
            used = used_s(process.pid)
            process.kill()
        return used

    async def at_once(self, count: int) -> tuple[list[int | None], float]:
        """Exit codes of that many runs, and the processor time that they have taken until their end."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = [
            await asyncio.create_subprocess_exec(
                *self.command(self._folder / f"work-{number}"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
            )
            for number in range(count)
        ]
        codes: list[int | None] = [await process.wait() for process in started]
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return codes, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(check: Callable[..., None], rounds: int = ROUNDS, at_once: int = RUNS_AT_ONCE) -> None:
    """Measure all, and tell *check* each figure and its bound."""
    model = Model()
    with tempfile.TemporaryDirectory() as name, model.serving():
        starts = Starts(model, Path(name))
        starts.run()  # which compiles what is not
        names = starts.libraries()
        starts.imports(names)
        starts.bare()
        taken = [(starts.imports(names), starts.run(), starts.bare()) for _ in range(rounds)]
        imports, ours, bare = (statistics.median(each) for each in zip(*taken, strict=True))
        ratios = [run / yardstick for yardstick, run, _ in taken]
        print(f"       first request after {ours:.2f} s, bare SDK's {bare:.2f} s; imports {imports:.2f} s")
        check("processor time to the first request, of imports", statistics.median(ratios), LIMIT_RATIO, "x")
        servers = (("-m", PACKAGE, "serve"), ("-c", PYGLS))
        for server in servers:
            starts.until_greeted(*server)  # which compiles what is not
        greeted = [[starts.until_greeted(*server) for server in servers] for _ in range(rounds)]
        own, theirs = (statistics.median(each) for each in zip(*greeted, strict=True))
        print(f"       initialize is answered after {own:.2f} s, by bare pygls after {theirs:.2f} s")
        check("processor time to initialize, of bare pygls", own / theirs, LIMIT_INITIALIZE, "x")
        if not at_once:
            return
        _, alone_s = asyncio.run(starts.at_once(1))
        began = time.monotonic()
        codes, together_s = asyncio.run(starts.at_once(at_once))
        print(f"       {at_once} runs at once took {time.monotonic() - began:.0f} s")
        check(f"failures among {at_once} runs at once", sum(code != 0 for code in codes), 0)
        check("processor time of each, of a run alone", together_s / at_once / alone_s, LIMIT_AT_ONCE, "x")


if __name__ == "__main__":
    from bench_loop import check, failures

    measure(check)
    sys.exit(1 if failures else 0)
