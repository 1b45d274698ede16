"""
Search and list with ripgrep, if it is on PATH, without the user's own settings for it.

It leaves out the same files as `listing`. If it cannot do something (such as a pattern that only Python's
`re` supports), this raises `NotDoneError`, and the same is done without it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from handrail.adapters.files.files import in_thread
from handrail.adapters.files.scan import LIMIT_BYTES, LIMIT_S, Match, Scan, SlowError, show_row
from handrail.adapters.git import layout
from handrail.core.policy.environment import inherited_variables

LIMIT_OUTPUT_BYTES = 20_000_000
LIMIT_MEMORY_KB = 2_000_000  # of addresses, most of which it never uses
PATIENCE_S = 2.0  # then it is looked whether it can end at all
SHELL = "/bin/sh"
DONE = (0, 1)  # 1: nothing found
IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore"})
OPTIONS = (
    "--no-config",
    "--no-messages",
    "--color=never",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--sort=path",
    f"--max-filesize={LIMIT_BYTES}",
)
LINE = re.compile(rb"([^\0]*)\0(\d+):(\d+):(.*)")


class NotDoneError(Exception):
    """ripgrep cannot do this."""


def program() -> str | None:
    """The path of ripgrep; None if it is not on PATH."""
    return shutil.which("rg")


async def files(rg: str, folder: Path, internal: Sequence[str]) -> list[Path]:
    """Every file below *folder* that is not ignored. Raises NotDoneError, SlowError."""
    raw, _ = await _run([rg, *OPTIONS, *_exclude(internal), "--files", "--null", "--", "."], folder)
    return await in_thread(_paths, folder, raw)


def _paths(folder: Path, raw: bytes) -> list[Path]:
    return [folder / os.fsdecode(name).removeprefix("./") for name in raw.split(b"\0") if name]


async def find(
    rg: str, scan: Scan, where: Path, internal: Sequence[str], text: str | None = None
) -> tuple[list[Match], bool]:
    """
    Search the file or folder *where*, or *text* instead of what it holds.

    Returns:
        All matches in the order of their paths, the paths as sources, and whether the search was stopped
        early because there are too many. Raises NotDoneError, SlowError.
    """
    options = ["--line-number", "--column", "--with-filename", "--null", "--no-heading", "--crlf"]
    options += ["--ignore-case"] if scan.ignore_case else []
    folder, name = (where, ".") if await in_thread(where.is_dir) else (where.parent, where.name)
    names = ["-"] if text is not None else [name]
    command = [rg, *OPTIONS, *_exclude(internal), *options, "-e", scan.pattern, "--", *names]
    raw, is_cut = await _run(command, folder, text)
    found = [
        _match(line, where if text is not None else folder, text is not None) for line in raw.split(b"\n")
    ]
    return [each for each in found if each is not None], is_cut


def _exclude(internal: Sequence[str]) -> list[str]:
    return [f"--glob=!{name}/" for name in internal]


def _match(line: bytes, folder: Path, is_text: bool) -> Match | None:
    parts = LINE.fullmatch(line.removesuffix(b"\r"))
    if parts is None:
        return None
    row = parts[4].decode("utf-8", "replace")
    at = len(parts[4][: int(parts[3]) - 1].decode("utf-8", "replace"))
    path = folder if is_text else folder / os.fsdecode(parts[1]).removeprefix("./")
    return Match(source=os.fspath(path), line_number=int(parts[2]), offset=at, row=show_row(row, at))


async def _run(command: Sequence[str], folder: Path, given: str | None = None) -> tuple[bytes, bool]:
    """Returns the output of a command, and whether it is incomplete."""
    process = await asyncio.create_subprocess_exec(
        *(*_limit_options(), *command),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE if given is not None else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=inherited_variables(os.environ),
        start_new_session=True,
    )
    reading = asyncio.ensure_future(_read(process, given))
    try:
        async with asyncio.timeout(LIMIT_S):
            ended, _ = await asyncio.wait((reading,), timeout=PATIENCE_S)
            waits_for = "" if ended else await in_thread(layout.waits_for, folder, IGNORE_FILES)
            if waits_for:
                raise NotDoneError(waits_for)
            raw, is_cut = await reading
            if not is_cut and await process.wait() not in DONE:
                raise NotDoneError
    except TimeoutError as error:
        raise SlowError(f"The search did not finish within {LIMIT_S:g} s.") from error
    finally:
        reading.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    return raw, is_cut


def _limit_options() -> Sequence[str]:
    """Returns a command that runs it with limited memory: it reads ignore files as a whole, however large."""
    bounded = f'ulimit -v {LIMIT_MEMORY_KB} 2>/dev/null; exec "$@"'
    return (SHELL, "-c", bounded, "sh") if os.access(SHELL, os.X_OK) else ()


async def _read(process: asyncio.subprocess.Process, given: str | None) -> tuple[bytes, bool]:
    if given is not None:
        raw, _ = await process.communicate(given.encode("utf-8", "replace"))
        return raw, False
    assert process.stdout is not None
    parts: list[bytes] = []
    size = 0
    while chunk := await process.stdout.read(1 << 16):
        parts.append(chunk)
        size += len(chunk)
        if size > LIMIT_OUTPUT_BYTES:
            return b"".join(parts), True
    return b"".join(parts), False
