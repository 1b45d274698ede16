"""Whoever starts handrail may stop reading, or close a stream beforehand; it ends as it does otherwise."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from searches import IS_BRIEF

COMMANDS = {
    "help": ("--help",),
    "doctor": ("doctor",),
    "unknown command": ("nonsense",),
    "no reply": ("apply", "nowhere.md", "--workspace", "."),
    "lines": ("apply", "--jsonl"),
    "list": ("checkpoint", "list", "--workspace", "."),
    "list as JSON": ("checkpoint", "list", "--json", "--workspace", "."),
    "settings": ("config", "list"),
    "chat": ("chat", "--workspace", "."),
    "serve": ("serve",),
}
REQUEST = (
    b'{"id": 1, "kind": "replace", "path": "a", "before_b64": "YQo=", "hunks": [{"old": "a", "new": "b"}]}\n'
)
STREAMS = ("stdout", "stderr")


def environment(folder: Path, *, buffered: bool = True) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return kept | {"XDG_STATE_HOME": str(folder / "state")} | ({} if buffered else {"PYTHONUNBUFFERED": "1"})


def ended(
    arguments: tuple[str, ...], folder: Path, buffered: bool, unread: str | None = None
) -> tuple[int, dict[str, bytes]]:
    """The exit code, and what was written to each stream, but numbers (times); *unread* has no reader."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        (sys.executable, "-m", "handrail", *arguments),
        input=REQUEST * 2,
        stdout=writing if unread == "stdout" else subprocess.PIPE,
        stderr=writing if unread == "stderr" else subprocess.PIPE,
        cwd=folder,
        env=environment(folder, buffered=buffered),
        check=False,
    )
    os.close(writing)
    return done.returncode, {name: re.sub(rb"[\d.]+", b"0", getattr(done, name) or b"") for name in STREAMS}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_reader_that_leaves_changes_neither_exit_code_nor_the_other_stream(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    code, written = ended(arguments, tmp_path, buffered=True)
    for unread, buffered in itertools.product(STREAMS, (True,) if IS_BRIEF else (True, False)):
        if not (written[unread] or buffered):
            continue  # a stream that gets nothing is the same however it is buffered
        expected = (code, {**written, unread: b""})
        assert ended(arguments, tmp_path, buffered, unread) == expected, (unread, buffered)


@pytest.mark.parametrize(("name", "code"), [("lines", 0), ("list", 0), ("serve", 1)])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_closed_is_one_that_leads_nowhere(
    name: str, code: int, closed: str, tmp_path: Path
) -> None:
    program = (sys.executable, "-m", "handrail", *COMMANDS[name])
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *program],
        input=REQUEST,
        capture_output=True,
        cwd=tmp_path,
        env=environment(tmp_path),
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)
