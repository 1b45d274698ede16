"""Pasted replies and tool calls that the tests give to turns."""

from __future__ import annotations

from typing import Any

from handrail.testing import call


def block(path: str, old: str, new: str) -> str:
    """A reply that replaces lines of a file: whole lines, without the last line end."""
    return f"{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def v4a(*sections: str) -> str:
    """A reply with one V4A envelope."""
    return "\n".join(("*** Begin Patch", *sections, "*** End Patch")) + "\n"


def fence(path: str, content: str) -> str:
    """A reply that gives a whole file."""
    return f"```text {path}\n{content}```\n"


def patch(path: str, old: str, new: str, **more: Any) -> dict[str, object]:
    """A call of the tool `patch` in its simplest mode."""
    return call("patch", path=path, old_string=old, new_string=new, **more)


def statuses(report: dict[str, Any]) -> list[str]:
    """What became of each mutation: landed, already, or the code of its failure."""
    return [
        outcome["failure"]["code"] if outcome["status"] == "failed" else outcome["status"]
        for outcome in report["outcomes"]
    ]
