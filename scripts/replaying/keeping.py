"""
Keep cases that are not as asked, as files that one can look at and compare.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path

from replaying.verdict import Case, changes_of

LIMIT = 40  # of each class and verdict; more are more of the same


def keep(folder: Path, case: Case, reply: Mapping[str, object], given: str) -> None:
    """Write a case below *folder*: before, patch, expected and got, and the request as it was sent."""
    kind = folder / f"{given}-{re.sub(r'[^A-Za-z0-9]+', '-', case.kind.name).strip('-')}"
    kind.mkdir(parents=True, exist_ok=True)
    number = len(list(kind.iterdir())) + 1
    if number > LIMIT:
        return
    place = kind / f"{number:02}-{case.notation}"
    place.mkdir()
    about = (
        f"{case.name}\nclass: {case.kind.name}\nasked: {case.kind.duty.value}\nverdict: {given}",
        f"already expected: {case.already}\n",
        f"status: {reply['status']}\ncode: {reply['code']}\ntier: {reply['tier']}\n{reply['message'] or ''}",
    )
    (place / "case.txt").write_text("\n".join(about), encoding="utf-8")
    (place / "request.json").write_text(json.dumps(case.request), encoding="utf-8")
    (place / "patch.txt").write_bytes(_patch(case).encode("utf-8", "surrogatepass"))
    for name, files in (
        ("before", _before(case)),
        ("expected", case.right),
        ("got", changes_of(case, reply)),
    ):
        for path, raw in files.items():
            (place / f"{name}-{Path(path).name}").write_bytes(raw if raw is not None else b"(no file)\n")


def _before(case: Case) -> dict[str, bytes]:
    single, files = case.request.get("before_b64"), case.request.get("files")
    if isinstance(single, str):
        return {str(case.request["path"]): base64.b64decode(single)}
    assert isinstance(files, dict)
    return {path: base64.b64decode(raw) for path, raw in files.items()}


def _patch(case: Case) -> str:
    hunks = case.request.get("hunks")
    if not isinstance(hunks, list):
        return str(case.request["patch"])
    pieces = (
        f"start_line: {h['start_line']}\n--- old\n{h['old']}\n--- new\n{h['new']}\n---\n" for h in hunks
    )
    return "".join(pieces)
