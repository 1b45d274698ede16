"""
The user's own rules about what may run: by tool, and by a pattern for its path or its command.

The last rule that matches decides. A pattern for paths is one of .gitignore: without a slash it is for the
name alone, `*` ends at a slash and `**` does not. Outside the workspace, a rule allows only what an absolute
pattern names, or a pattern for all that there is. In one for commands `*` is any text. A command has many
parts, and a rule is for one of them: `npm *` does not cover what comes after `&&`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

from handrail.core.policy import wildcard
from handrail.core.policy.commands.git_runs import without_options
from handrail.core.policy.commands.runs import MARK, Words, base_name
from handrail.core.policy.shell import ParsedCommand, Part
from handrail.core.policy.tool_kind import RULE_GROUPS, ToolKind
from handrail.values import dataclass, replace

BEYOND_PART = re.compile(r"[|;&<>]")  # what no part of a command has, unless in quotes
LIMIT_RULES = 500
LIMIT_PATTERN_CHARS = 1_000


class Decision(StrEnum):
    """The decision of a rule; the strictest of several parts or paths holds."""

    ALLOW = "allow"
    ASK = "ask"
    BLOCK = "block"


STRICT = (Decision.ASK, Decision.BLOCK)  # the stricter one last
ALL = ("*", "**")
ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


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


def decision_for_path(
    rules: Sequence[Rule], tool: str, kind: ToolKind, paths: Sequence[str], named: Sequence[str] = ()
) -> Decision | None:
    """
    Returns the rules' decision on a tool's use of a file.

    Args:
        paths: The file's paths: relative to each workspace folder that it is in, and after the folder's name
            if there are several; absolute outside all folders.
        named: The same of a path with links that leads to it. No rule for such a path allows anything.
    """
    for rule in reversed(rules):
        meant = paths if rule.decision is Decision.ALLOW else (*paths, *named)
        if rule.is_for(tool, kind) and any(_is_for_path(rule, path) for path in meant):
            return rule.decision
    return None


def _is_for_path(rule: Rule, path: str) -> bool:
    """
    Whether a rule is for a path: to allow what is outside all folders, it must say so; else letter case, and
    the code points of accented characters, do not matter.
    """
    if rule.decision is not Decision.ALLOW:
        return path_pattern(rule.match).fullmatch(path) is not None or (
            path_pattern(_fold(rule.match)).fullmatch(_fold(path)) is not None
        )
    is_meant = rule.match in ALL or ABSOLUTE.match(rule.match) or not ABSOLUTE.match(path)
    return bool(is_meant and path_pattern(rule.match).fullmatch(path))


@lru_cache(maxsize=1_000)
def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def decision_for_part(
    rules: Sequence[Rule], tool: str, kind: ToolKind, part: Part, *, is_allowed: bool = False
) -> Decision | None:
    """
    Returns the rules' decision on one part of a command, and on the commands that it runs.

    A rule that allows covers only what is written: it does not apply if a variable is set, or if only the
    shell can determine a word. Other rules apply to every spelling of the name, and to commands that other
    commands run. If it is unclear whether they apply, they ask.

    Args:
        is_allowed: Whether a rule allows commands of which this is unclear.
    """
    own = _decision_for_words(rules, tool, kind, part, is_allowed=is_allowed)
    is_allowed = is_allowed or own is Decision.ALLOW
    inside = [decision_for_part(rules, tool, kind, each, is_allowed=is_allowed) for each in part.runs]
    strict = {each for each in (own, *inside) if each in STRICT}
    if not strict and not is_allowed:
        maybe = (decision_for_part(rules, tool, kind, each) for each in part.maybe)
        is_asked = any(each in STRICT for each in maybe) or (
            part.unclear and _are_for_some(rules, tool, kind)
        )
        strict = {Decision.ASK} if is_asked else set()
    return max(strict, key=STRICT.index, default=own)


def _decision_for_words(
    rules: Sequence[Rule], tool: str, kind: ToolKind, part: Part, *, is_allowed: bool
) -> Decision | None:
    """Returns the rules' decision on the words of a part alone."""
    written, spellings = _blank(part.text), _spellings(part)
    otherwise: Decision | None = None
    for rule in reversed(rules):
        if not rule.is_for(tool, kind):
            continue
        pattern = _text_pattern(rule.match)
        if rule.decision is Decision.ALLOW:
            if part.words and not part.assigns and None not in part.words and pattern.fullmatch(written):
                return otherwise or rule.decision
            is_allowed = is_allowed or rule.match.strip() in ALL
        elif any(pattern.fullmatch(each) for each in spellings):
            return rule.decision
        elif not is_allowed and _is_for_some(rule) and _may_match(rule.match, part.marked):
            otherwise = Decision.ASK
    return otherwise


def decision_for_line(
    rules: Sequence[Rule], tool: str, kind: ToolKind, command: ParsedCommand
) -> Decision | None:
    """
    Returns the rules' decision on a whole line.

    One that is written out allows it. Others ask or block only: those that are for more than one part, and
    all if the line cannot be taken apart or has no command. If it cannot be taken apart, they ask even if
    they do not match. A rule for several parts asks about a line that has all of them among others.
    """
    line = _blank(command.line)
    otherwise: Decision | None = None
    for rule in reversed(rules):
        if not rule.is_for(tool, kind):
            continue
        if rule.decision is Decision.ALLOW:
            matches = rule.match.strip() == command.line.strip() and "*" not in rule.match
        else:
            is_whole = bool(command.unclear) or not command.parts
            is_of_line = is_whole or BEYOND_PART.search(rule.match) is not None
            matches = is_of_line and _text_pattern(rule.match).fullmatch(line) is not None
            if not matches and BEYOND_PART.search(rule.match) and _has_all_parts(rule.match, command):
                otherwise = Decision.ASK
        if matches:
            return rule.decision
    return Decision.ASK if command.unclear and _are_for_some(rules, tool, kind) else otherwise


def _has_all_parts(match: str, command: ParsedCommand) -> bool:
    """Whether a line has a command or a redirect for each part of a pattern."""
    texts = [text for part in command.parts for text in _all_spellings(part)]
    texts += [redirect.target or "" for redirect in command.redirects]
    patterns = [_text_pattern(each.strip()) for each in BEYOND_PART.split(match) if each.strip()]
    return all(any(pattern.fullmatch(text) for text in texts) for pattern in patterns)


def _all_spellings(part: Part) -> Iterator[str]:
    """Yields the spellings of a part, and of the commands that it runs."""
    yield from _spellings(part)
    for each in part.runs:
        yield from _all_spellings(each)


def why_asked_of_command(rules: Sequence[Rule], tool: str, kind: ToolKind, command: ParsedCommand) -> str:
    """Returns why rules require a question about a command, for people."""
    parts = [decision_for_part(rules, tool, kind, part, is_allowed=True) for part in command.parts]
    line = decision_for_line(rules, tool, kind, replace(command, unclear=""))
    if Decision.ASK in (line, *parts):
        return why_asked(rules)
    about = "Your setting handrail.approvals has rules for certain commands, and handrail cannot tell whether"
    if command.unclear:
        return f"{about} they apply. handrail cannot parse the command: {command.unclear}"
    unclear = next((why for part in command.parts for why in _unclear(part)), "")
    unclear = unclear or "words that only the shell can work out, such as variables"
    return f"{about} they apply, because of {unclear}."


def _unclear(part: Part) -> Iterator[str]:
    """Yields why it is not known what a part runs."""
    if part.unclear:
        yield part.unclear
    if part.maybe:
        yield f"the arguments of `{part.words[0]}`, which may be a command"
    for each in part.runs:
        yield from _unclear(each)


def _are_for_some(rules: Sequence[Rule], tool: str, kind: ToolKind) -> bool:
    """Whether a rule blocks some commands, or asks about them, and none behind it allows all."""
    for rule in reversed(rules):
        if rule.is_for(tool, kind):
            if rule.decision is Decision.ALLOW and rule.match.strip() in ALL:
                return False
            if rule.decision is not Decision.ALLOW and _is_for_some(rule):
                return True
    return False


def _is_for_some(rule: Rule) -> bool:
    """Whether a rule is for some commands: not for all, and not for paths, as a rule for all tools may be."""
    return rule.match.strip() not in ALL and (rule.tool != "*" or " " in rule.match.strip())


def _may_match(match: str, marked: Words) -> bool:
    """Whether words of which only a part is known may become what a pattern is for."""
    if BEYOND_PART.search(match) or not any(MARK.search(word) for word in marked):
        return False
    begin, *rest = _blank(match).split("*")
    for words in _forms(marked):
        first, *others = MARK.split(" ".join(words))
        if not others:  # it is known, so it is a spelling
            continue
        last, end = others[-1], rest[-1] if rest else begin
        begins = begin.startswith((first, first.rstrip())) or (bool(rest) and first.startswith(begin))
        if begins and (end.endswith((last, last.lstrip())) or (bool(rest) and last.endswith(end))):
            return True
    return False


def _forms(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yields words of a command: as they are, with the program's name alone, without options of git."""
    yield words
    if words:
        name = base_name(words[0])
        yield (name, *words[1:])
        if name == "git":
            yield (name, *without_options(words[1:]))


def _spellings(part: Part) -> list[str]:
    """A part as it is written, without assignments, and in the forms of its words."""
    forms = _forms([word or "" for word in part.words])
    return [_blank(part.text), *(_blank(" ".join(form)) for form in forms)]


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
