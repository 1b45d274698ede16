"""
What a model is told besides the conversation, as text.

What the user points at is given as data: its path and first line, then the text between fences that it
does not contain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from handrail.core.message import Excerpt, UserMessage


def user_text(message: UserMessage) -> str:
    """A user's message with what it points at."""
    return "\n\n".join([message.text, *map(_excerpt, message.context)])


def _excerpt(excerpt: Excerpt) -> str:
    longest = max((len(run) for run in re.findall(r"`+", excerpt.text)), default=2)
    fence = "`" * max(3, longest + 1)
    end = "" if excerpt.text.endswith("\n") else "\n"
    return f"{excerpt.path}, from line {excerpt.first_line}:\n{fence}\n{excerpt.text}{end}{fence}"


class Mode(StrEnum):
    """What the user wants of a turn: work, an answer, or a plan."""

    EDIT = "edit"
    ASK = "ask"
    PLAN = "plan"


INSTRUCTIONS = "AGENTS.md"  # where a project says how it wants to be worked on
LIMIT_INSTRUCTIONS = 32_000  # characters of each; what is longer would crowd out the work
REASONING = re.compile(
    r"(?:^|[/:-])(?:o[1-9]|gpt-(?:[5-9]|oss)|claude-(?:opus|sonnet|haiku|[4-9])|deepseek-(?:r|reasoner)|qwq"
    r"|gemini-(?:2\.5|[3-9])|grok-[3-9]|magistral)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What a project says about itself: the path of the file, and its text."""

    path: str
    text: str


def reasons(model: str) -> bool:
    """Whether a model is known to reason by itself, by its name; others are given a method."""
    return REASONING.search(model) is not None


def system_text(rules: Sequence[str], facts: Sequence[str], instructions: Sequence[Instructions]) -> str:
    """
    What a model is told before the conversation.

    Args:
        rules: Texts of `handrail.prompts`, in order.
        facts: One line each, about the workspace; they are given as data.
        instructions: Of the project, in the order of the workspace folders.
    """
    parts = [rule.strip() for rule in rules]
    if facts:
        parts.append("Facts about the workspace:\n" + "\n".join(f"- {fact}" for fact in facts))
    for each in instructions:
        excerpt = Excerpt(path=each.path, first_line=1, text=each.text[:LIMIT_INSTRUCTIONS])
        parts.append(
            "The project's own instructions. Follow them where they do not go against the user's wishes "
            f"or the rules above.\n{_excerpt(excerpt)}"
        )
    return "\n\n".join(parts)
