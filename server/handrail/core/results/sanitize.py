"""
Make an error fit for a model to read: nothing in it can pass for the conversation's own framing.

Errors contain foreign text: a compiler's output, a file's content, a server's answer. Anything that looks
like a role, a tool call or the end of a block is removed; so are control characters; and the length is
limited. The user's log keeps the original.
"""

from __future__ import annotations

import re

from handrail.core.failure import Failure
from handrail.patterns import lazy_pattern

PREFIX = "[TOOL_ERROR]"
LIMIT_CHARS = 2_000  # of a whole error, its prefix included (agent-resilience 3)
READ_CHARS = 4 * LIMIT_CHARS  # what is looked at of a longer text, half from each end
PASSES = 8  # tags within tags, each hiding the next; what is deeper loses its brackets

TAG_NAMES = (
    "assistant|human|system|system-reminder|user|developer|thinking|"
    "tool|tool[_-]?calls?|tool[_-]?results?|tool[_-]?use|tool[_-]?response|"
    "function|function[_-]?calls?|function[_-]?results?|function[_-]?response|functions|invoke|"
    "parameters?|arguments|result|results|response|input|output|message"
)
FRAMING = lazy_pattern(
    rf"<\s*/?\s*(?:[a-z_][\w-]*:)?(?:{TAG_NAMES})(?:[\s/=|][^<>]*)?>"  # with or without attributes
    rf"|</?(?:[a-z_][\w-]*:)?(?:{TAG_NAMES})(?=[\s/=|]|<|$)"  # one that never ends
    r"|<\|[^<>|]{0,40}\|>"  # <|im_start|> and its like
    r"|<!\[CDATA\[|\]\]>"
    r"|<<\s*/?\s*SYS\s*>>|\[/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS)\]"
    r"|`{3,}[\w+.-]*|~{3,}[\w+.-]*"  # fences, whose end would seem to be the error's end
    r"|\[TOOL_ERROR\]",
    re.IGNORECASE,
)
CONTROLS = lazy_pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
COLOURS = lazy_pattern("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)")


def clean(text: str, limit: int = LIMIT_CHARS) -> str:
    """*text* without framing and control characters, at most *limit* characters, most of it from its end."""
    text = _shorten(text, max(READ_CHARS, limit))
    text = CONTROLS.sub("", COLOURS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    for _ in range(PASSES):
        without = FRAMING.sub("", text)
        if without == text:
            break
        text = without
    else:
        text = text.translate({ord("<"): "(", ord(">"): ")", ord("`"): "'", ord("~"): "-", ord("["): "("})
    return _shorten(text.strip(), limit)


def result_text(failure: Failure) -> str:
    """A failure as the result of a tool call: its class first, then what happened, then what to do."""
    steps = "".join(f"\n{number}. {step}" for number, step in enumerate(failure.steps, 1))
    room = LIMIT_CHARS - len(PREFIX) - len(failure.code) - 4
    steps = clean(steps, room // 2)
    said = clean(failure.message, room - len(steps) - 1)
    return f"{PREFIX} {failure.code}: {said}" + (f"\n{steps}" if steps else "")


def error(text: str) -> str:
    """Any other error as the result of a tool call."""
    return f"{PREFIX} {clean(text, LIMIT_CHARS - len(PREFIX) - 1)}"


def _shorten(text: str, limit: int) -> str:
    """The beginning and, since causes come last, more of the end; a sentence between them says so."""
    if len(text) <= limit:
        return text
    left_out = f" (… {len(text) - limit:,} or more characters of this message are left out …) "
    room = max(limit - len(left_out), 0)
    head = room * 2 // 5
    return (text[:head] + left_out + text[len(text) - (room - head) :])[:limit]
