"""Rules for the model, one concern a file; `handrail.core.conversation.prompt` puts them together."""

from __future__ import annotations

from importlib.resources import files

VERSION = 27  # increase it with each change of what models are told here or by the tools; sessions record it


def text(name: str) -> str:
    """The rules in the file *name*, without its extension."""
    return (files(__name__) / f"{name}.md").read_text(encoding="utf-8").strip()
