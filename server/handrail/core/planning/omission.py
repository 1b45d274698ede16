"""
Find placeholder rows of a new text, in place of code that was left out.

Some rows are unambiguous ("... existing code ..."). Others may be placeholders ("# rest of the code"), and
count as such only if the edit removes code that they could replace; otherwise they are comments. A row that
the search text or the document already has is ordinary text. A placeholder may also be next to code in its
row; it is one if code goes, and if it is all of a body or begins with dots.

The placeholder that handrail shows in place of a key is one too: it would replace the key.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from handrail.core.documents.edit import Block, opcodes
from handrail.core.documents.placeholder import REDACTED
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.matching import similar
from handrail.patterns import lazy_pattern
from handrail.values import dataclass

KEY_REMOVED = lazy_pattern(re.escape(REDACTED.strip("[]")), re.IGNORECASE)
LIMIT_CHARS = 300  # no placeholder is as long
LIMIT_WORDS = 14
LIMIT_UNKNOWN = 3  # words of a remark that has other signs of being a placeholder
LIMIT_COMPARED = 10_000  # pairs of rows; beyond this only their number tells what goes
COUNTERPART = 0.5  # likeness of a row that goes with one that comes in its place
BEGINS = (*"#/-;%!*{[(<@'\".…", "rem", "REM", "Rem", "dnl", "rest", "Rest", "the rest", "The rest")

LEFT_OUT = r"(?:existing|rest|remaining|other|same|unchanged|previous|keep)\b"
SURE = lazy_pattern(
    r"^(?:(?P<comment>#|//|\{?/\*|<!--|--|;|%)\s*)?"
    r"(?:(?:\.{3}|…)(?:\s+|(?(comment)|(?!)))\(?" + LEFT_OUT + r".*"
    r"|(?:\.{3}|…)\(?" + LEFT_OUT + r"\s+(?:of|code|content|lines?|file|unchanged|remains?|is|stays?)\b.*"
    r"|(?:\.{3}|…)\s*\[?truncated\]?.*"
    r"|\(?(?:the )?rest (?:of (?:the |your |this )?(?:\w+ ){1,2})?"
    r"(?:(?:is |remains |stays )?(?:unchanged|the same)|(?:goes |stays )?here)\)?\.?)"
    r"\s*(?:\*/\}?|-->)?$",
    re.IGNORECASE,
)
OPENING = lazy_pattern(
    r"(?:\{?/\*+|<!--+|\{\{!(?:--)?|\{#-?|<%(?:--|#)|@\*|\(\*+|\{-|--\[\[|/{2,}!?|#+|--+|;+|%+|!+|\*+"
    r"|['\"](?=\s)|(?:rem|dnl)\b)[\s=*~-]*",
    re.IGNORECASE,
)
CLOSING = lazy_pattern(r"\s*(?:\*+/\}?|--+>|[#/;%=*~-]{2,}|(?:--)?\}\}|-?#\}|(?:--)?%>|\*@|\*+\)|-\}|\]\])$")
BRACKETS = lazy_pattern(r"^(?:\[(.*)\]|\((.*)\)|<(.*)>|\{(.*)\})$")
BODY = lazy_pattern(r"[{(\[]\s*(/\*.*?\*/)\s*[})\]]|(?<=[)>\w])\s*\{\s*(\.{3,}|…)\s*\}")
BEHIND = lazy_pattern(r"(?:^|(?<=\s))(?:#|//|--|/\*)\s?.*$")
EMPTY = lazy_pattern(r"(?:^|[:{(\[\s])(?:\.{3}|pass)?;?$")  # what code ends with whose body is still to come
DOTS_FIRST, DOTS_LAST = lazy_pattern(r"^(?:\.{3,}|…)"), lazy_pattern(r"(?:\.{3,}|…)$")
PROSE = lazy_pattern(r"^[\w\s,/&()'.:;!…-]*$")
REMARK = lazy_pattern(r"^[\w\s,/&()'.:;!…\[\]<>`\"-]*$")
WORD = lazy_pattern(r"[^\W\d_]+")

WORDS = {  # that say it on their own, such that need another, what is left out, and what stands between
    "alone": """
        unchanged omitted elided snip snipped etc truncated rest remainder same unmodified untouched
        abbreviated continued continues skipped
    """,
    "marks": """
        existing remaining other others previous prior original keep kept preserve preserved leave
        more brevity before again intact
    """,
    "things": """
        code content contents file files function functions method methods implementation
        implementations body logic class classes line lines part parts stuff everything section
        sections component components import imports definition definitions statement statements
        program script module test tests handler handlers field fields property properties rule
        rules style styles entry entries item items element elements text source block blocks setup
        declarations members variables constants routes cases config configuration options settings
        types html css markup template document arguments parameters
    """,
    "fill": """
        the your this that these those of all and or in into to for from my our any with it its here
        go goes stay stays remain remains is are be been was were as at below above now left out on
        has have had not no changes change changed modifications needed required exactly just like
        will would should so forth alone shown also else i ve re s
    """,
}
ALONE, MARKS, THINGS, FILL = (frozenset(WORD.findall(words)) for words in WORDS.values())
PLANS = frozenset(("todo", "fixme", "note"))  # may as well tell what is to be done
KNOWN = ALONE | MARKS | THINGS | FILL
STAYS = lazy_pattern(
    r"\b(?:stays?|remains?|is|are|left|keep|kept)\b.*"
    r"\b(?:as (?:they are|it is|is|before)|the same|unchanged|unmodified|untouched|intact)\b"
)
PHRASES = ({"as", "is"}, {"as", "before"}, {"no", "changes"}, {"not", "changed"}, {"keep"}, {"kept"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remark:
    """
    A row that may be a placeholder.

    Attributes:
        words: Its text in lower case; the whole row if it has no words.
        is_sure: Whether it is one even if no code is removed.
        is_vague: Whether it may be about something else.
    """

    words: tuple[str, ...]
    is_sure: bool
    is_vague: bool


def _remark(row: str) -> _Remark | None:
    """Returns the remark of *row*, if it may be a placeholder for omitted code."""
    row = row.strip()
    if len(row) > LIMIT_CHARS or not (row.startswith(BEGINS) or row.endswith(("...", "…"))):
        return None
    opened = OPENING.match(row)
    core = row[opened.end() :] if opened else row
    core = CLOSING.sub("", core) if opened else core
    bracketed = BRACKETS.match(core.strip())
    core = next(filter(None, bracketed.groups()), "") if bracketed else core
    core = core.strip()
    words = tuple(WORD.findall(core.lower()))
    if SURE.match(row):
        return _Remark(words=words, is_sure=True, is_vague=False)
    if not (REMARK if opened else PROSE).match(core) or len(words) > LIMIT_WORDS:
        return None
    first, last = DOTS_FIRST.match(core), DOTS_LAST.search(core)
    if first and not opened and core[first.end() :][:1] not in ("", " ") and len(words) < 2:
        return None  # a spread: `...rest`
    dots = (first is not None) + (last is not None and last.start() > 0)
    if not words:
        return _Remark(words=(row,), is_sure=False, is_vague=False) if dots else None
    signs, names_calls = dots + (bracketed is not None), "()" in core
    return _remark_of(words, signs, is_comment=opened is not None, names_calls=names_calls)


def _remark_of(
    words: tuple[str, ...], signs: int, *, is_comment: bool, names_calls: bool = False
) -> _Remark | None:
    """
    Reads *words* as a remark that something is left out, given the number of *signs* of that: dots and
    brackets.
    """
    said = set(words)
    unknown = sum(word not in KNOWN for word in words)
    is_phrase = any(phrase <= said for phrase in PHRASES)
    is_marked = bool(said & (ALONE | MARKS)) or is_phrase
    if not is_comment:
        is_told = signs and is_marked and not unknown
    elif signs:
        is_told = signs > 1 or not unknown or (is_marked and unknown <= LIMIT_UNKNOWN)
    else:
        is_told = not unknown and is_marked and (is_phrase or bool(said & (ALONE | THINGS)))
    text = " ".join(words)
    is_vague = not is_told and is_comment and unknown < LIMIT_UNKNOWN and "rest of" in text
    if not is_told and is_comment and (names_calls or said & (THINGS | MARKS)):
        is_vague = is_vague or STAYS.search(text) is not None
    if said & PLANS and not is_told:
        is_vague = is_comment and unknown <= len(said & PLANS) and bool(said & MARKS) and bool(said & THINGS)
    return _Remark(words=words, is_sure=False, is_vague=is_vague) if is_told or is_vague else None


class _Change:
    """Rows of a text that become others."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self.old = old
        self.new = new
        self._taken: dict[tuple[int, bool], bool] = {}

    @cached_property
    def groups(self) -> list[Block]:
        """The blocks in which the texts differ; two with nothing but brackets between them are one."""
        old, new = [row.strip() for row in self.old], [row.strip() for row in self.new]
        blocks = opcodes(old, new)
        joined = blocks[:1]
        for (_, above, _, _), block in pairwise(blocks):
            if any(WORD.search(row) for row in old[above : block[0]]):
                joined.append(block)
            else:
                joined[-1] = (joined[-1][0], block[1], joined[-1][2], block[3])
        return joined

    def takes_code(self, at: int, *, is_vague: bool) -> bool:
        """Whether the edit removes code that row *at* could replace; for a vague row, more than it adds."""
        number = bisect_right(self.groups, at, key=lambda block: block[2]) - 1
        if number < 0 or at >= self.groups[number][3]:
            return False
        known = self._taken.get((number, is_vague))
        if known is None:
            known = self._taken[number, is_vague] = self._takes_code(self.groups[number], is_vague=is_vague)
        return known

    def _takes_code(self, block: Block, *, is_vague: bool) -> bool:
        i, j, k, m = block
        goes, comes = list(_code(self.old[i:j])), list(_code(self.new[k:m]))
        if len(goes) > len(comes) or is_vague or len(goes) * len(comes) > LIMIT_COMPARED:
            return len(goes) > len(comes)
        return any(all(similar.likeness(row, other) < COUNTERPART for other in comes) for row in goes)


def _code(rows: Sequence[str]) -> Iterator[str]:
    """Yields the rows that are neither blank, nor brackets, nor comments."""
    for row in map(str.strip, rows):
        if WORD.search(row) and not OPENING.match(row) and _remark(row) is None:
            yield row


def _inner_placeholder(row: str) -> str | None:
    """Returns the part of *row* that may be a placeholder next to code, if there is one."""
    if len(row) > LIMIT_CHARS or _remark(row) is not None:
        return None
    for body in BODY.finditer(row):
        if (
            row[: body.start()].strip()
            and (remark := _remark(body[1] or body[2])) is not None
            and not remark.is_vague
        ):
            return body[0].strip()
    behind = BEHIND.search(row)
    remark = _remark(behind[0]) if behind else None
    if behind is None or remark is None or remark.is_vague:
        return None
    code = row[: behind.start()].rstrip()
    words = OPENING.sub("", behind[0], count=1)
    return behind[0] if code.strip() and (EMPTY.search(code) or DOTS_FIRST.match(words)) else None


def omission(text: Text, new: Sequence[str], old: Sequence[str]) -> Failure | None:
    """
    Returns the failure `omission` if a row of *new* is a placeholder for omitted code.

    Args:
        text: The document.
        new: The new rows.
        old: The rows that they replace.
    """
    if (wrong := placeholder_of_key(text, new)) is not None:
        return wrong
    remarks = {row: remark for row in set(new) if (remark := _remark(row)) is not None}
    found = [(at, remarks[row]) for at, row in enumerate(new) if row in remarks]
    change = _Change(old, new)
    inner = ((at, _inner_placeholder(row)) for at, row in enumerate(new))
    for at, part in inner:
        if part and part not in text.content and change.takes_code(at, is_vague=False):
            return _failure(part)
    if not found:
        return None
    known = {remark.words for row in {*text.rows, *old} if (remark := _remark(row)) is not None}
    for at, remark in found:
        if remark.words in known or _is_stub(new, at):
            continue
        if remark.is_sure or change.takes_code(at, is_vague=remark.is_vague):
            return _failure(new[at].strip())
    return None


def has_placeholder_of_key(content: str) -> bool:
    """Whether *content* has what is shown in place of keys."""
    return KEY_REMOVED.search(content) is not None


def placeholder_of_key(text: Text, new: Sequence[str]) -> Failure | None:
    """Returns the failure if a row of *new* has what is shown in place of keys, and the document has not."""
    row = next((row for row in new if has_placeholder_of_key(row)), None)
    return None if row is None or has_placeholder_of_key(text.content) else key_failure("The new text")


def key_failure(what: str) -> Failure:
    """Returns the failure for a text, called *what*, with a placeholder whose value is not certain."""
    return Failure(
        code=Code.OMISSION,
        message=f"{what} has {REDACTED}, which handrail shows in place of the value of a key. It is not "
        "certain which value is meant, so this edit was not made.",
        steps=(
            f"Edit only lines without {REDACTED}, or send a line with it exactly as you read it, so that it "
            "keeps its value.",
            "Where you need a key in a new place, have the program read it, for example from an environment "
            "variable.",
        ),
    )


def _failure(placeholder: str) -> Failure:
    return Failure(
        code=Code.OMISSION,
        message=f"The new text leaves out lines: {placeholder!r} is in their place.",
        steps=("Send the lines in full.", "Or edit only the lines that change."),
    )


def _is_stub(new: Sequence[str], at: int) -> bool:
    """Whether the row *at* may be the three dots that are all of a Python block."""
    above = next((new[line].rstrip() for line in range(at - 1, -1, -1) if new[line].strip()), ":")
    below = next((row for row in new[at + 1 :] if row.strip()), "")
    is_last = _depth(below) < _depth(new[at])
    return new[at].strip() == "..." and is_last and above.endswith((":", '"""', "'''"))


def _depth(row: str) -> int:
    return len(row) - len(row.lstrip()) if row else -1
