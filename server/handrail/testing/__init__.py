"""
The public kit for tests of a workflow: scripts for the scripted model, and workspaces byte by byte.

With these and `handrail run --model scripted:FILE` a whole turn is tested without a network or a model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def call(tool: str, /, **arguments: object) -> dict[str, object]:
    """A tool call for `answer`."""
    return {"name": tool, "arguments": arguments}


def answer(text: str = "", *calls: Mapping[str, object]) -> dict[str, object]:
    """One answer of the scripted model: what it says, and the calls it makes."""
    return {"text": text, "calls": list(calls)}


def script(file: Path, *answers: Mapping[str, object]) -> str:
    """Write a script to *file*; returns the value for the setting `handrail.model`."""
    file.write_text(json.dumps(list(answers)), encoding="utf-8")
    return f"scripted:{file}"


def lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write *files* (relative path to bytes) below *folder*."""
    for name, raw in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)


def snapshot(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below *folder*, by relative path with `/`."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
