"""
Recognise an answer that ends with a promise: the model says what it is going to do, but makes no call.

Only the last sentences are examined. Offers ("I can…, if you like"), questions and plans with conditions do
not count. After a false alarm the model merely repeats its answer, so this need not be certain.
"""

from __future__ import annotations

import re
from collections.abc import Set

from handrail.patterns import lazy_pattern

LIMIT_READ_CHARS = 600  # from the end
SENTENCES = 2
READ = (
    r"look|check|read|open|inspect|examine|search|find|explore|review|view|list|see|verify|investigate"
    r"|analy[sz]e|start|begin|proceed|continue|go|call|take|get|scan"
)
CHANGE = (
    r"edit|change|update|modify|fix|add|create|write|apply|make|implement|rename|remove|delete|replace|refactor"
    r"|patch|insert|move|run|execute|test|try|rewrite|correct|adjust|put|set|install|do|use|build|save|commit"
)
FIRST = (
    r"(?:first|now|next|then|also|just|quickly|go ahead and|proceed to|start by|begin by|need to|have "
    r"to)"
)
WILL = (
    r"(?:\bI(?:['’]ll| will| shall|['’]m (?:now )?going to| am (?:now )?going to|['’]m about to| am about "
    r"to)"
    r"|\b(?:let me|let['’]s|let us)|^(?:now|next|first|then),? I(?: need to| have to| must)?)"
)
ING = (
    r"(?:^|\b(?:now|I['’]m|I am(?: now)?) )(?:editing|updating|applying|making|writing|creating|fixing"
    r"|changing|adding|running|reading|checking|implementing|proceeding)\b"
)
ELSEWHERE = lazy_pattern(
    r"\bich (?:werde|will)\b(?! nicht)|\bje vais\b|\bvoy a\b|\b(?:eu )?vou\b|\bsto per\b"
    r"|我(?:现在|将|会|来|要|先|就)",
    re.IGNORECASE,
)
STILL = lazy_pattern(rf"{ING}.*(?:\bnow\b[.!]?|\.\.\.|…|:)\s*$", re.IGNORECASE)
NOT = lazy_pattern(
    r"\blet me know\b|\bif\b|\b(?:once|when|after|would) you\b|\bunless\b|\bwait\b|\bnot\b|\bnever\b"
    r"|\bin (?:the )?future\b|\bfrom now on\b|\bwenn\b|\bfalls\b|\bsi\b|\bse\b|如果",
    re.IGNORECASE,
)
SENTENCE = lazy_pattern(r"(?<=[.!?。！？:…])\s+|\n+")  # Chinese full stops


def is_promise(text: str, tools: Set[str]) -> bool:
    """Whether *text* ends with one that the *tools* that were offered can keep."""
    if not tools:
        return False
    end = text.rstrip()[-LIMIT_READ_CHARS:].replace("**", "").replace("`", "")
    sentences = [each.strip() for each in SENTENCE.split(end) if each.strip()]
    will = WILL_CHANGE if "patch" in tools else WILL_READ
    is_question = end.endswith(("?", "\uff1f"))
    return not is_question and any(_is_meant(each, will) for each in sentences[-SENTENCES:])


def _is_meant(sentence: str, will: re.Pattern[str]) -> bool:
    if NOT.search(sentence):
        return False
    return any(pattern.search(sentence) for pattern in (will, ELSEWHERE, STILL))


def _will(verbs: str) -> re.Pattern[str]:
    return re.compile(rf"{WILL},?(?: {FIRST})*,? (?:re-?)?(?:{verbs})\b", re.IGNORECASE)


WILL_READ, WILL_CHANGE = _will(READ), _will(f"{READ}|{CHANGE}")
