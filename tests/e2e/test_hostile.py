"""Whatever a workspace, a model or a model's server supplies, the server answers, and takes little memory."""

from __future__ import annotations

import os
import subprocess
import time
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import pytest

from adapters.model_server import Raw, model_server
from e2e.client import Editor
from e2e.conftest import Stage
from e2e.habits import VSCODE
from handrail.testing import answer, call
from handrail.testing.texts import Json

LIMIT_MEMORY_KB = 600_000
BOMBS = ("*a" * 40 + "b", "**/a" * 40 + "/b", "a?" * 100 + "*a" * 100, "{a,b}" * 8 + "*a" * 30 + "b")
LOOKS = (
    call("list_files", glob=BOMBS[0]),
    call("search", pattern="one", glob=BOMBS[1]),
    call("search", pattern="(a|a)*b"),
    call("read_file", path="a.txt"),
    call("terminal", command="git status"),
    call("terminal", command=f"ls {BOMBS[0]}"),
    call("terminal", command="make x"),  # which is asked about, and has a snapshot after a yes
)


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def patterns(path: Path) -> None:
    head = "[" if path.name == ".editorconfig" else ""
    rows = (f"[{bomb}]\ncharset = latin1\n" if head else f"{bomb}\n" for bomb in BOMBS * 20)
    path.write_text("".join(rows))


SETTING_FILES = (".gitignore", ".editorconfig", "AGENTS.md", ".gitattributes", ".ignore", "deep/.gitignore")
GITS_FILES = (
    ".git/HEAD",
    ".git/config",
    ".git/index",
    ".git/info/exclude",
    ".gitmodules",
    ".git/packed-refs",
)


@asynccontextmanager
async def working(stage: Stage, settings: Json, reached: Callable[[Editor], bool]) -> AsyncIterator[Editor]:
    """A turn that is stopped once *reached*; the server has to answer that, and whatever else it is asked."""
    editor = await stage.start(VSCODE, settings=settings)
    editor.answers = ["allow"]
    started = await editor.start_turn("Work.")
    await editor.until(lambda: reached(editor))
    yield editor
    began = time.perf_counter()
    await editor.request("failure.list")
    answered_s = time.perf_counter() - began
    await editor.request("turn.cancel", turn=started["turn"])
    cancelled_s = time.perf_counter() - began - answered_s
    report = await editor.request("turn.wait", turn=started["turn"])
    ended_s = time.perf_counter() - began
    (server,) = stage.running
    status = Path(f"/proc/{server.pid}/status").read_text()
    peak_kb = int(status.partition("VmHWM:")[2].split()[0])
    print(
        f"answered {answered_s:.3f} s, cancelled {cancelled_s:.3f} s, ended {ended_s:.3f} s, {peak_kb} kB,"
        f" {report['state']}"
    )
    assert report["state"] in ("cancelled", "finished", "failed")
    assert peak_kb < LIMIT_MEMORY_KB


def some_tool(editor: Editor) -> bool:
    return any(each["event"]["kind"] in ("toolCall", "toolResult") for each in editor.updates)


def lay_out(stage: Stage) -> None:
    subprocess.run(["git", "init", "--quiet", str(stage.root)], check=True)
    stage.put("a.txt", "one\n")
    stage.put("a" * 250, "a" * 5_000)
    stage.put("/".join(["a" * 100] * 20) + "/a", "")
    stage.put("deep/b.txt", "one\n")


@pytest.mark.parametrize("names", [SETTING_FILES, GITS_FILES], ids=["settings", "git"])
@pytest.mark.parametrize("spoil", [pipe, endless, patterns])
async def test_files_that_hold_up_whoever_reads_them(
    stage: Stage, names: tuple[str, ...], spoil: Callable[[Path], None]
) -> None:
    lay_out(stage)
    settings = stage.script(answer("", *LOOKS), answer("Done."))
    for name in names:
        spoil(stage.root / name)
    async with working(stage, settings, some_tool):
        pass


async def test_twenty_thousand_calls(stage: Stage) -> None:
    lay_out(stage)
    calls = [
        call("terminal", command=f"cat a.txt | head -n {number}; cd deep && cat *.txt")
        for number in range(20_000)
    ]
    async with working(stage, stage.script(answer("", *calls), answer("Done.")), some_tool):
        pass


@cache
def bomb(megabytes: int) -> bytes:
    """So much text in few kilobytes."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    blanks = b" " * 1_000_000
    return b"".join((*(packing.compress(blanks) for _ in range(megabytes)), packing.flush()))


@pytest.mark.parametrize("status", [200, 400])
async def test_an_answer_that_unpacks_to_more_than_may_be_taken(stage: Stage, status: int) -> None:
    packed = {"Content-Encoding": "gzip", "Content-Type": "text/event-stream"}
    async with model_server(*(Raw(status=status, body=bomb(1_000), headers=packed),) * 9) as server:
        settings = {"model": "openai-chat:m", "baseUrl": server.url("openai-chat"), "keyName": "HOME"}
        async with working(stage, settings, lambda editor: bool(server.asked)):
            pass
