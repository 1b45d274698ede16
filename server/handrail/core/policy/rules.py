"""
The user's own rules about what may run: by tool, and by a pattern for its path or its command.

The last rule that matches decides. A pattern for paths is one of .gitignore: without a slash it is for the
name alone, `*` ends at a slash and `**` does not. In one for commands `*` is any text. A command has many
parts, and a rule is for one of them: `npm *` does not cover what comes after `&&`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

from handrail.core.policy import wildcard
from handrail.core.policy.shell import ParsedCommand, Part
from handrail.core.policy.tool_kind import RULE_GROUPS, ToolKind
from handrail.values import dataclass

BEYOND_PART = re.compile(r"[|;&<>]")  # what no part of a command has, unless in quotes
LIMIT_RULES = 500
LIMIT_PATTERN_CHARS = 1_000


class Decision(StrEnum):
    """The decision of a rule; the strictest of several parts or paths holds."""

    ALLOW = "allow"
    ASK = "ask"
    BLOCK = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """
    One rule.

    Attributes:
        tool: A tool, one of `RULE_GROUPS` for all tools of that kind, or `*` for all.
        match: A pattern for the path, or for a part of the command.
    """

    tool: str
    match: str
    decision: Decision

    def is_for(self, tool: str, kind: ToolKind) -> bool:
        """Whether the rule says something of *tool*, which is of that *kind*."""
        return self.tool in ("*", tool) or (self.tool == kind and kind in RULE_GROUPS)


# While a client has never told its settings: they may hold stricter rules than the defaults.
UNTIL_SETTINGS = (
    Rule(tool="edit", match="**", decision=Decision.ASK),
    Rule(tool="terminal", match="*", decision=Decision.ASK),
)


def why_asked(rules: Sequence[Rule]) -> str:
    """Returns why a rule requires a question, for people."""
    if tuple(rules[-len(UNTIL_SETTINGS) :]) == UNTIL_SETTINGS:
        return "The editor has not sent its settings yet."
    return "Your setting handrail.approvals requires this question."


def read(value: object) -> tuple[Rule, ...] | str:
    """The rules in a setting's value, `[{tool, match, verdict}]`; else what is wrong, for the user."""
    if not isinstance(value, list | tuple):
        return "it must be a list of rules"
    if len(value) > LIMIT_RULES:
        return f"it has {len(value)} rules; the limit is {LIMIT_RULES}"
    rules: list[Rule] = []
    for number, each in enumerate(value, 1):
        rule = each if isinstance(each, Mapping) else {}
        tool, match, verdict = (rule.get(name) for name in ("tool", "match", "verdict"))
        if not isinstance(tool, str) or not isinstance(match, str) or verdict not in tuple(Decision):
            return (
                f'rule {number} must be like {{"tool": "terminal", "match": "npm test", "verdict": "allow"}}'
            )
        if not tool or len(match) > LIMIT_PATTERN_CHARS:
            return f"rule {number} has no tool, or a pattern that is too long"
        rules.append(Rule(tool=tool, match=match, decision=Decision(verdict)))
    return tuple(rules)


def decision_for_path(rules: Sequence[Rule], tool: str, kind: ToolKind, path: str) -> Decision | None:
    """
    Returns the rules' decision on a tool's use of *path*: relative to its folder, or absolute outside all.
    """
    for rule in reversed(rules):
        if rule.is_for(tool, kind) and path_pattern(rule.match).fullmatch(path):
            return rule.decision
    return None


def decision_for_part(rules: Sequence[Rule], tool: str, kind: ToolKind, part: Part) -> Decision | None:
    """
    Returns the rules' decision on one part of a command.

    A rule that allows covers only what is written: it does not apply if a variable is set, or if only the
    shell can determine a word. Other rules apply to every spelling of the name.
    """
    written, spellings = _blank(part.text), _spellings(part)
    for rule in reversed(rules):
        if not rule.is_for(tool, kind):
            continue
        pattern = _text_pattern(rule.match)
        if rule.decision is Decision.ALLOW:
            if part.words and not part.assigns and None not in part.words and pattern.fullmatch(written):
                return rule.decision
        elif any(pattern.fullmatch(each) for each in spellings):
            return rule.decision
    return None


def decision_for_line(
    rules: Sequence[Rule], tool: str, kind: ToolKind, command: ParsedCommand
) -> Decision | None:
    """
    Returns the rules' decision on a whole line.

    One that is written out allows it. Others ask or block only: those that are for more than one part, and
    all if the line cannot be taken apart.
    """
    line = _blank(command.line)
    for rule in reversed(rules):
        if not rule.is_for(tool, kind):
            continue
        if rule.decision is Decision.ALLOW:
            matches = rule.match.strip() == command.line.strip() and "*" not in rule.match
        else:
            is_of_line = bool(command.unclear) or BEYOND_PART.search(rule.match) is not None
            matches = is_of_line and _text_pattern(rule.match).fullmatch(line) is not None
        if matches:
            return rule.decision
    return None


def _spellings(part: Part) -> list[str]:
    """A part as it is written, without assignments, and with the name alone of a program that has a path."""
    words = [word or "" for word in part.words]
    plain = " ".join(words)
    short = " ".join([words[0].rpartition("/")[2], *words[1:]]) if words else ""
    return [_blank(part.text), plain, short]


def _blank(text: str) -> str:
    return re.sub(r"\s+", " ", text.strip())


@lru_cache(maxsize=1024)
def _text_pattern(match: str) -> re.Pattern[str]:
    """`*` is any text; `npm *` is `npm` alone, too."""
    return wildcard.text_regex(_blank(match))


@lru_cache(maxsize=1024)
def path_pattern(match: str) -> re.Pattern[str]:
    """A pattern for paths; without a slash it is for the name alone."""
    pattern = match.removeprefix("./")
    if "/" not in pattern.rstrip("/"):
        pattern = f"**/{pattern}"
    return wildcard.path_regex(f"{pattern}**" if pattern.endswith("/") else pattern)
