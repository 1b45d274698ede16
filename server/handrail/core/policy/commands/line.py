"""
Parse a command line that can run without a shell.

Such a line has simple commands of literal words and plain file patterns, joined by `|`, `&&`, `||`, `;` and
line ends; its only redirects are to and from `/dev/null`, and of one channel to the other. Every character
belongs to a token that is listed here. For any other line the answer is why it needs a shell.

Theory of operation. Tokens are found by a table of patterns, the first that matches decides, and they leave
no gaps: `ls -l 'a b' 2>/dev/null` is word, blank, word, blank, word, blank, redirect. A word is found by a
second table, of pieces; in one that only a shell can expand (`$x`, `~`, `{a,b}`), no piece matches, and the
line is not read. A backslash before a line ending is supported only between words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from handrail.patterns import lazy_pattern
from handrail.values import dataclass

LIMIT_CHARS = 10_000
NOTHING = "no command"
END = r"(?=[ \t\n;|&]|\Z)"  # what may follow a redirect


class Kind(StrEnum):
    """The kinds of tokens."""

    BLANK = "blank"
    COMMENT = "comment"
    LINE_END = "line-end"
    OPERATOR = "operator"
    REDIRECT = "redirect"
    WORD = "word"


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """
    A word of a command.

    Attributes:
        text: Its value, which is also used if it is a pattern that no file matches.
        pattern: A file pattern, in which a backslash quotes the next character; empty if it is not a pattern.
        source: As it is written.
    """

    text: str
    pattern: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A part of the line, from *start* up to *end*."""

    kind: Kind
    start: int
    end: int
    text: str
    word: Word | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """A channel (0, 1, 2) that leads to where another one leads at that moment; None for `/dev/null`."""

    channel: int
    to: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simple:
    """A simple command: its words, never empty, and its redirects in order; *text* as it is written."""

    text: str
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """
    Commands of which each reads what the one before prints.

    Attributes:
        after: The operator before it: `;`, `&&` or `||`; `;` for the first.
        negated: Whether it begins with `!`.
    """

    after: str
    negated: bool
    commands: tuple[Simple, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedsShell:
    """The reason why a line needs a shell, as what follows "because of"."""

    why: str


TOKENS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.BLANK, re.compile(r"[ \t]+(?:\\\n[ \t]*)*")),
    (Kind.COMMENT, re.compile(r"#[^\n]*")),
    (Kind.LINE_END, re.compile(r"\n")),
    (Kind.OPERATOR, re.compile(r"&&|\|\||\|(?!&)|;(?![;&])")),
    (Kind.REDIRECT, re.compile(rf"(?:[012]?>>?|&>>?|0?<)[ \t]*/dev/null{END}|2>&1{END}|1?>&2{END}")),
)
CLOSE = r"(?:[0-9]-[0-9]|[A-Z]-[A-Z]|[a-z]-[a-z]|[A-Za-z0-9_.,])+\]"
# The pieces of a word, and what each of them is.
PIECES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("plain", re.compile(r"""[^ \t\n'"\\$`|&;<>(){}~*?\[]+""")),
    ("single", re.compile(r"'[^']*'")),
    ("double", re.compile(r'"(?:[^"\\$`]|\\[\s\S]|\$(?=["|) ]))*"')),
    ("escaped", re.compile(r"\\[^\n]")),
    ("dollar", re.compile(r"\$(?=[ \t\n]|\Z)")),
    ("wild", re.compile(rf"\*+|\?|\[[!^]?{CLOSE}")),
    ("bracket", re.compile(r"\[(?=[ \t\n]|\Z)")),
    ("tilde", re.compile(r"~")),
    ("brace", re.compile(r"[{}]")),
)
IN_DOUBLE = lazy_pattern(r'\\([\\$`"]|\n)')
WILD = lazy_pattern(r"([*?\[\]\\])")
DESCENDING = lazy_pattern(r"([0-9A-Za-z])-([0-9A-Za-z])")
# Names to which only a shell gives a meaning.
_OF_SHELL = (
    "if then else elif fi for while until do done case esac in function select time coproc { } ! [[ ]] . : "
    "alias bg bind break builtin caller command compgen complete compopt continue declare dirs disown enable "
    "eval exec exit export fc fg getopts hash help history jobs let local logout mapfile popd pushd read "
    "readarray readonly return set shift shopt source suspend times trap type typeset ulimit umask unalias "
    "unset wait kill"
)
OF_SHELL = frozenset(_OF_SHELL.split())


def read(line: str) -> tuple[Pipeline, ...] | NeedsShell:
    """The pipelines of *line*, at least one; or why a shell is needed."""
    tokens_ = tokens(line)
    if isinstance(tokens_, NeedsShell):
        return tokens_
    meant = [token for token in tokens_ if token.kind not in (Kind.BLANK, Kind.COMMENT)]
    try:
        pipelines = tuple(_pipelines(meant, line))
    except _NoPipelineError as error:
        return NeedsShell(why=str(error))
    return pipelines or NeedsShell(why=NOTHING)


def tokens(line: str) -> tuple[Token, ...] | NeedsShell:
    """All of *line*, token by token, without a gap."""
    if len(line) > LIMIT_CHARS:
        return NeedsShell(why=f"more than {LIMIT_CHARS:,} characters")
    if any(not character.isprintable() and character not in "\n\t" for character in line):
        return NeedsShell(why="invisible characters")
    tokens: list[Token] = []
    at = 0
    while at < len(line):
        token = _token(line, at) or _word(line, at)
        if token is None:
            return NeedsShell(why=_quote(line, at))
        tokens.append(token)
        at = token.end
    return tuple(tokens)


class _NoPipelineError(Exception):
    """The tokens are not those of pipelines."""


def _token(line: str, at: int) -> Token | None:
    for kind, pattern in TOKENS:
        if match := pattern.match(line, at):
            return Token(kind=kind, start=at, end=match.end(), text=match[0])
    return None


def _word(line: str, at: int) -> Token | None:
    """The word at *at*; None if only a shell can determine its value."""
    text = pattern = ""
    start, is_pattern = at, False
    while match := next(((name, m) for name, p in PIECES if (m := p.match(line, at))), None):
        name, piece = match[0], match[1][0]
        came = _value(name, piece, text)
        if came is None or (name == "bracket" and at > start):
            return None
        text += came
        is_pattern = is_pattern or name == "wild"
        pattern += piece if name == "wild" else WILD.sub(r"\\\1", came)
        at = match[1].end()
    source = line[start:at]
    is_number = source.isdigit() and line[at : at + 1] in ("<", ">")  # it would number a channel
    has_braces = bool(re.search("[{}]", source)) and ("," in source or ".." in source)
    is_uneven = is_pattern and "//" in pattern  # of which shells make what they like
    if at == start or is_number or has_braces or is_uneven:
        return None
    word = Word(text=text, pattern=pattern if is_pattern else "", source=source)
    return Token(kind=Kind.WORD, start=start, end=at, text=source, word=word)


def _value(name: str, piece: str, before: str) -> str | None:
    """
    Returns the value of a piece of a word, after *before* in the same word; None if only a shell can
    determine it.
    """
    match name:
        case "single":
            return piece[1:-1]
        case "double":
            return IN_DOUBLE.sub(lambda m: "" if m[1] == "\n" else m[1], piece[1:-1])
        case "escaped":
            return piece[1]
        case "tilde" if not before or before[-1] in "=:":
            return None
        case "brace" if not before:
            return None
        case "wild":
            return None if any(low > high for low, high in DESCENDING.findall(piece)) else piece
        case _:
            return piece


def _pipelines(meant: Sequence[Token], line: str) -> Iterator[Pipeline]:
    """Read *meant*: pipelines, joined by operators, where a line end is a `;` that may stand alone."""
    left = list(meant)
    after = ";"
    while True:
        _skip_line_ends(left)
        if not left:
            if after != ";":
                raise _NoPipelineError("the missing command at its end")
            return
        yield _pipeline(left, after, line)
        joint = left.pop(0).text if left else ";"
        after = ";" if joint == "\n" else joint


def _pipeline(left: list[Token], after: str, line: str) -> Pipeline:
    """Read one pipeline off *left*."""
    negated = left[0].text == "!"
    if negated:
        left.pop(0)
    commands = [_simple(left, line)]
    while left and left[0].text == "|" and left[0].kind is Kind.OPERATOR:
        left.pop(0)
        _skip_line_ends(left)
        commands.append(_simple(left, line))
    return Pipeline(after=after, negated=negated, commands=tuple(commands))


def _skip_line_ends(left: list[Token]) -> None:
    while left and left[0].kind is Kind.LINE_END:
        left.pop(0)


def _simple(left: list[Token], line: str) -> Simple:
    """Read one command off *left*."""
    words: list[Word] = []
    redirects: list[Redirect] = []
    first = last = left[0] if left else None
    while left and left[0].kind in (Kind.WORD, Kind.REDIRECT):
        last = left.pop(0)
        if last.word is not None:
            words.append(last.word)
        else:
            redirects += _redirects(last.text)
    if not words or first is None or last is None:
        raise _NoPipelineError("an operator without a command")
    name = words[0]
    if name.pattern or "=" in name.text or name.text in OF_SHELL:
        raise _NoPipelineError(f"`{name.source}` in the place of a command")
    return Simple(text=line[first.start : last.end], words=tuple(words), redirects=tuple(redirects))


def _redirects(text: str) -> Iterator[Redirect]:
    if text in ("2>&1", ">&2", "1>&2"):
        yield Redirect(channel=2 if text == "2>&1" else 1, to=1 if text == "2>&1" else 2)
    elif text.startswith("&"):
        yield Redirect(channel=1, to=None)
        yield Redirect(channel=2, to=None)
    else:
        channel = int(text[0]) if text[0].isdigit() else 0 if text[0] == "<" else 1
        yield Redirect(channel=channel, to=None)


def _quote(line: str, at: int) -> str:
    """Returns the text at *at* up to the next blank, for people."""
    found = re.match(r"\S{1,20}", line[at:])
    return f"`{found[0]}`" if found else "a backslash before a line end"
