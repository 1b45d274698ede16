"""
What a model is told besides the conversation, as text.

What the user points at is given as data: its path and first line, then the text between fences that it
does not contain.
"""

from __future__ import annotations

import re

from handrail.core.message import Excerpt, UserMessage


def user_text(message: UserMessage) -> str:
    """A user's message with what it points at."""
    return "\n\n".join([message.text, *map(_excerpt, message.context)])


def _excerpt(excerpt: Excerpt) -> str:
    longest = max((len(run) for run in re.findall(r"`+", excerpt.text)), default=2)
    fence = "`" * max(3, longest + 1)
    end = "" if excerpt.text.endswith("\n") else "\n"
    return f"{excerpt.path}, from line {excerpt.first_line}:\n{fence}\n{excerpt.text}{end}{fence}"
