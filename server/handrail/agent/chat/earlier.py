"""
An earlier conversation in the form in which a model sees it: the user's prompts, and the answer of each turn.

Nothing else is shown: no tool calls, no results, and no turns that were undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from handrail.core.conversation.journal import Entry, Said, TurnBegun, TurnEnded, drop_rewound
from handrail.core.conversation.message import AssistantMessage, UserMessage
from handrail.counts import count_hidden
from handrail.values import dataclass, replace

LIMIT_PART_CHARS = 4_000  # of a prompt, or of an answer
LIMIT_CHARS = 20_000  # of all; older turns are left out first
NO_ANSWER = "(no answer)"


@dataclass(frozen=True, slots=True)
class _QuotedTurn:
    prompt: str
    answer: str = ""


def tell_turns(entries: Iterable[Entry], redact: Callable[[str], str]) -> str:
    """
    Quotes the turns of a journal, oldest first, within `LIMIT_CHARS`.

    Args:
        redact: Takes the values of keys out of a text; used before anything is cut,
            so that no part of a key stays.

    Returns:
        The text; empty if no turn counts.
    """
    texts = [_text(each, redact) for each in _quoted_turns(entries)]
    room, kept = LIMIT_CHARS, list[str]()
    for text in reversed(texts):
        room -= len(text)
        if room < 0 and kept:
            break
        kept.insert(0, text)
    if left := len(texts) - len(kept):
        turns = "1 earlier turn is" if left == 1 else f"{left} earlier turns are"
        kept.insert(0, f"({turns} not shown.)\n")
    return "\n".join(kept)


def _quoted_turns(entries: Iterable[Entry]) -> list[_QuotedTurn]:
    quoted = list[_QuotedTurn]()
    is_copied = False  # what a fork has of another session is one turn of many messages
    for entry in drop_rewound(entries):
        match entry:
            case TurnBegun(is_copied=True):
                is_copied = True
            case TurnBegun(prompt=prompt):
                quoted.append(_QuotedTurn(prompt))
            case Said(message=UserMessage(text=text, is_ours=False)) if is_copied:
                quoted.append(_QuotedTurn(text))
            case Said(message=AssistantMessage(text=text)) if quoted and text.strip():
                quoted[-1] = replace(quoted[-1], answer=text)
            case TurnEnded():
                is_copied = False
            case _:
                pass
    return quoted


def _text(one: _QuotedTurn, redact: Callable[[str], str]) -> str:
    prompt, answer = (_cut(redact(each).strip()) for each in (one.prompt, one.answer))
    return f"User:\n{prompt}\n\nAnswer:\n{answer or NO_ANSWER}\n"


def _cut(text: str) -> str:
    more = len(text) - LIMIT_PART_CHARS
    if more <= 0:
        return text
    return f"{text[:LIMIT_PART_CHARS]}\n({count_hidden(more, 'character')}.)"
