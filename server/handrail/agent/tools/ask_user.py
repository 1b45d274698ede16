"""
Ask the user something that only the user can decide: a question with a few answers to choose from, or to
answer in other words.
"""

from __future__ import annotations

from handrail.agent.tools import call
from handrail.core.failure import Failure
from handrail.core.policy.tool_kind import ToolKind
from handrail.ports import DENY

LIMIT_CHOICES = 6
LIMIT_CHARS = 80  # of a choice: editors show them as buttons


def parse(arguments: call.Arguments) -> call.UserQuestion | Failure:
    """Read the arguments of a call."""
    question = call.text(arguments, "question")
    if isinstance(question, Failure) or not question.strip():
        return call.bad("question", "a question that is not empty")
    given = arguments.get("choices")
    choices = given if isinstance(given, list) else []
    good = [
        each.strip() for each in choices if isinstance(each, str) and 0 < len(each.strip()) <= LIMIT_CHARS
    ]
    if len(good) != len(choices) or not 2 <= len(set(good)) <= LIMIT_CHOICES:
        return call.bad("choices", f"2 to {LIMIT_CHOICES} different answers of 1 to {LIMIT_CHARS} characters")
    if DENY in good:
        return call.bad(
            "choices", f"answers other than {DENY!r}, which handrail uses itself: use other words"
        )
    return call.UserQuestion(question=question.strip(), choices=tuple(dict.fromkeys(good)))


TOOL = call.Tool(
    kind=ToolKind.TALK,
    offer=call.offer(
        "ask_user",
        "Ask the user for a decision that only they can make, or for something that you cannot find out. "
        "Later calls wait for the answer, unless they only read. Do not ask for "
        "permission to use a tool: handrail does that.",
        {
            "question": {"type": "string"},
            "choices": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 2,
                "maxItems": LIMIT_CHOICES,
                "description": "Short answers. Cover all cases: not every user can type another.",
            },
        },
        ("question", "choices"),
    ),
    parse=parse,
)
