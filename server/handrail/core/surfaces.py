"""
Write text of models, files, commands and paths for people, so that surfaces show it and never interpret it.

A surface is whatever shows text: an editor's notifications, a progress line, the title of a code action, a
Markdown document. Each function here is for one kind of surface and takes text as it is. Characters that are
invisible, or that reorder text, are written as codes, such as `\\u202e`; anything that a surface would take
for a link, a command or an icon is broken up with a backslash. Only length removes anything, which `…` shows.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from handrail.patterns import lazy_pattern

LINE_CHARS = 300  # of one line, unless a surface has less room
WIDTH = 100  # characters of a row in a fenced block; editors may cut a longer one off
LINE_END, GOES_ON, CUT = "⏎", "↪", "…"

# Characters that Python calls printable and people cannot see: fillers, joiners, variation selectors.
UNSEEN = lazy_pattern(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
PICTURE = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]\ufe0f?[\U0001f3fb-\U0001f3ff]?"
)
EMOJI = lazy_pattern(f"{PICTURE}(?:\u200d{PICTURE})*|[0-9#*]\ufe0f\u20e3")
BLANK = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})  # categories of characters that show nothing
PLAIN = bytes(range(0x20, 0x7F)) + b"\n\t"  # the characters of ASCII that stay as they are
LIMIT_MARKS = 2  # combining marks on one character; more of them cover the lines around it

# VS Code makes links of `[text](target)` and icons of `$(name)` in messages, progress and quick picks; other
# clients render Markdown with HTML. A backslash in between ends all of these, and Markdown does not show it.
# One that is there already counts: two of them are a backslash, and what follows is live.
ACTIVE = lazy_pattern(r"\](?=[\(\[:])|\$(?=\()|!(?=\[)|(?<!\\)(?:\\\\)*(?=<[A-Za-z/!?]|&[#A-Za-z])")
MARKDOWN = lazy_pattern(r"[\\`*_{}\[\]()#+\-.!|<>&~$^=:@]")


# Vim, Kate and Emacs obey settings that stand in the text of a file.
MODELINE = lazy_pattern(r"(?<!\w)(?:vim?|ex|kate)(?=[<=>]?\d*:)|-\*-|Local(?= Variables:)", re.IGNORECASE)


def visible(text: str) -> str:
    """
    Returns *text* with all that cannot be seen written by its number; line feeds and tabs stay.

    A carriage return before a line feed goes with it.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text.isascii() and not text.encode("ascii").translate(None, PLAIN):
        return text  # at once, as most texts are
    shown, marks = [], LIMIT_MARKS  # a mark at the beginning has nothing to stand on
    for character in text:
        is_mark = unicodedata.category(character) in ("Mn", "Me")
        marks = marks + 1 if is_mark else 0
        is_plain = character in "\n\t" or (character.isprintable() and not UNSEEN.match(character))
        shown.append(character if is_plain and marks <= LIMIT_MARKS else _number(character))
    return "".join(shown)


def is_blank(text: str) -> bool:
    """Whether nothing of *text* can be seen: blanks, line ends, and characters without a shape or a width."""
    return not any(
        unicodedata.category(character) not in BLANK and not UNSEEN.match(character) for character in text
    )


def prose(text: str) -> str:
    """Returns *text* as `visible` does; what belongs to an emoji stays, as people and models write them."""
    if text.isascii():
        return visible(text)
    result, at = list[str](), 0
    for emoji in EMOJI.finditer(text):
        result += (visible(text[at : emoji.start()]), emoji[0])
        at = emoji.end()
    return "".join((*result, visible(text[at:]))) if result else visible(text)


def line(text: str, limit: int = LINE_CHARS) -> str:
    """
    Returns *text* as one line for a surface that interprets nothing: a title, a label.

    Line ends are `⏎`; what is beyond *limit* characters is `…`. Text that went through this function once
    stays the same.
    """
    shown = visible(text.strip("\r\n"))
    shown = re.sub(r"[\n\t]", lambda match: LINE_END if match[0] == "\n" else "\\t", shown)
    return shown if len(shown) <= limit else shown[: limit - 1] + CUT


def lines(text: str) -> str:
    """Returns *text* in lines, for a surface that interprets nothing, such as a log."""
    return visible(text)


def shorten(text: str, limit: int) -> str:
    """Returns *text* without its middle, if it has more than *limit* characters: it may quote anything."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail]} {CUT} {text[-tail:]}"


def message(text: str, limit: int = LINE_CHARS) -> str:
    """Returns *text* as one line for a surface that may make links or icons of it: messages, progress."""
    return inert(line(text, limit))


def inert(text: str) -> str:
    """Returns *text* with links, icons, HTML and entities taken apart by a backslash."""
    if not ("]" in text or "<" in text or "&" in text or "$" in text or "[" in text):
        return text  # at once, as most texts are
    return ACTIVE.sub(lambda match: match[0] + "\\", text)


def markdown(text: str, limit: int = LINE_CHARS) -> str:
    """Returns *text* as one line of Markdown that reads as the text does."""
    return MARKDOWN.sub(lambda match: "\\" + match[0], line(text, limit))


def code(text: str, limit: int = LINE_CHARS) -> str:
    """Returns *text* as code in a line of Markdown."""
    shown = line(text, limit)
    return markdown(text, limit) if "`" in shown or not shown.strip() else f"`{shown}`"


def block(text: str, language: str = "") -> str:
    """
    Returns *text* as a fenced block of Markdown that holds all of it.

    Long rows are cut, and the continuation of a row begins with `↪`, so no part of the text can be beyond the
    edge of a window. Settings for editors, such as `vim:` and `-*-`, are cut in the same way.
    """
    rows = [part for row in visible(text).split("\n") for part in _wrap(row)]
    longest = max((len(found) for row in rows for found in re.findall(r"`+", row)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((fence + language, *rows, fence))


def may_set(text: str) -> bool:
    """Whether a row of a text may be a setting for editors."""
    return (":" in text or "-*-" in text) and MODELINE.search(text) is not None


def without_settings(row: str, *, is_code: bool) -> list[str]:
    """Returns a row of Markdown without settings for editors; of code, it is cut before they are complete."""
    if not may_set(row):
        return [row]
    if is_code:
        return _wrap(row)
    return [MODELINE.sub(lambda match: "-*\\-" if match[0] == "-*-" else match[0] + "\\", row)]


def _wrap(row: str) -> list[str]:
    row = row.replace(GOES_ON, _number(GOES_ON)).replace("\t", "\\t" if row.strip() == "" else "\t")
    cuts = [0, *(found.start() + 1 for found in MODELINE.finditer(row)), len(row)]
    runs = [row[start:end] for start, end in pairwise(cuts)]
    parts = [run[at : at + WIDTH] for run in runs for at in range(0, len(run), WIDTH)] or [""]
    return [parts[0], *(f"{GOES_ON} {part}" for part in parts[1:])]


def _number(character: str) -> str:
    """A character by its number, as programs write it."""
    number = ord(character)
    if number < 0x80:
        return character.encode("unicode_escape").decode("ascii")
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
