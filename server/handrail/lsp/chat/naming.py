"""
The names of conversations' files.

A conversation that begins empty has no title yet, and an editor keeps its file open under the first name. So
the file is renamed after its title when it has been closed, or when handrail opens it again. If an editor
reopens it under the first name, from a buffer that it has kept, the file gets that name back.
"""

from __future__ import annotations

import re

NAME = re.compile(r"chat-[a-z0-9-]{1,60}\.md")
SLUG_CHARS = 40
TAIL_CHARS = 6  # of a session's id


def first_name(session: str) -> str:
    """Returns the name of a conversation without a title."""
    return f"chat-{_tail(session)}.md"


def titled_name(session: str, title: str) -> str:
    """Returns the name of a conversation that is called *title*."""
    words = "-".join(re.findall(r"[a-z0-9]+", title.lower()))[:SLUG_CHARS].strip("-")
    return f"chat-{words}-{_tail(session)}.md" if words else first_name(session)


def _tail(session: str) -> str:
    return re.sub(r"[^a-z0-9]", "", session.lower())[-TAIL_CHARS:] or "session"
