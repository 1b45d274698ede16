"""
Finds mentions in a message (`@`): documents, lines of them, and what else its writer may point at.

Code is left out: an `@` in a fenced block or in a code span belongs to the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.values import dataclass

SELECTION, PROBLEMS, DIFF, SESSION = "selection", "problems", "diff", "session"
NAMES = {
    SELECTION: "the latest selection in the editor",
    PROBLEMS: "the edits that did not land",
    DIFF: "the pending changes or, if there are none, the uncommitted ones",
    SESSION: 'the latest other conversation; @session:ID or @"session:TITLE" names another one',
}
LIMIT = 50  # of one message

_MENTION = re.compile(
    r'(?<![^\s(\["\'])@(?:"((?:\\["\\]|\\(?!["\\])|[^"\n\\])+)"((?::\d+(?:-\d+)?)?)|([^\s"@]+))'
)
_OPEN = re.compile(
    r'(?<![^\s(\["\'`])@(?:"(?P<quoted>(?:\\["\\]|\\(?!["\\])|[^"\n\\])*)|(?P<plain>[^\s"@]*))$'
)
_ESCAPED = re.compile(r'\\(["\\])')  # in quotes
_LINES = re.compile(r":([1-9]\d{0,6})(?:-([1-9]\d{0,6}))?$")
_ENDING = re.compile(r"\.\w")
_AFTER = ".,;:!?)]'*_"  # what a sentence may put behind a path
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\n))*?(?<!`)\1(?!`)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """
    Something that a message names.

    Attributes:
        name: The text behind the `@`, without lines; *full*: with them, since they may be part of the name.
        first, last: The lines, counted from 1, both included; 0 for all.
    """

    name: str
    full: str
    first: int = 0
    last: int = 0

    @property
    def is_path(self) -> bool:
        """Whether it can only be meant as a path: other words with an `@` are names of people."""
        return (
            bool(self.first) or "/" in self.full or " " in self.full or _ENDING.search(self.full) is not None
        )


def mentions(text: str) -> tuple[Mention, ...]:
    """Returns the names in *text*, each once, in order."""
    return tuple(dict.fromkeys(_find(text)))[:LIMIT]


def _find(text: str) -> Iterator[Mention]:
    for quoted, lines, plain in _MENTION.findall(_without_code(text)):
        full = _ESCAPED.sub(r"\1", quoted) or plain.rstrip(_AFTER)
        if not full:
            continue
        range_ = _LINES.search(lines if quoted else full)
        if range_ is None:
            yield Mention(name=full, full=full)
            continue
        first = int(range_[1])
        name = full if quoted else full[: range_.start()]
        yield Mention(name=name, full=full, first=first, last=max(first, int(range_[2] or first)))


def _without_code(text: str) -> str:
    return _SPAN.sub(" ", _FENCED.sub("\n", text))


def unfinished_mention(before: str) -> tuple[str, int] | None:
    """
    Finds the name that is being typed at the end of a line.

    Returns:
        The name so far, and its number of characters with the `@` before it; None if no name is being typed.
    """
    found = _OPEN.search(before)
    if found is None:
        return None
    quoted = found["quoted"]
    return found["plain"] if quoted is None else _ESCAPED.sub(r"\1", quoted), len(found[0])


def write_mention(path: str) -> str:
    """A path as it is named."""
    if re.search(r'[\s"@]', path) is None and not path.endswith(tuple(_AFTER)):
        return f"@{path}"
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'@"{quoted}"'
