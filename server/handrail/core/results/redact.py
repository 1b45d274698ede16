"""
Remove the values of keys from text before anyone else reads it.

A key is found as it is and in its usual encodings: escaped for a URL, JSON or a program's source, in base64
of either alphabet (alone or within a longer text), and in hexadecimal; line ends within an encoding count
for nothing. What holds an encoded key is read in *views*: the same text decoded or with nothing but digits in
it, and for each of its characters the place where it comes from.

    text      x = a2V5L1\\nZhbHVl%3D    the key is `key/value`
    unescaped x = a2V5L1⏎ZhbHVl=
    joined    x=a2V5L1ZhbHVl=          holds base64 of the key

Encodings of an encoding are not searched for, except for escapes.

Of a key with several lines, each long word is a key too, unless it may be an ordinary word: a listing with
line numbers has something between its lines. Where a text says that something was left out (`…`, `...`), a
part of a key next to it counts as a key too: many texts are shortened before they come here.

A key may be given with the text around it (`local_secret`): then it is a key only there, and where it is
encoded.
"""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from urllib.parse import quote, quote_plus

from handrail.core.documents.placeholder import REDACTED
from handrail.patterns import lazy_pattern
from handrail.values import dataclass, field

SHORTEST_CHARS = 8  # shorter values occur in ordinary text
ESCAPE = lazy_pattern(
    r"\\+(?:u(?P<unicode>[0-9a-f]{4})|x(?P<hex>[0-9a-f]{2})|(?P<end>[nrt])|(?P<same>[\"'/]?))"
    r"|%(?:25)*(?P<percent>[0-9a-f]{2})",
    re.IGNORECASE,
)
HALF_ESCAPE = lazy_pattern(
    r"(?:\\{1,8}(?:u[0-9a-f]{0,3}|x[0-9a-f]?)?|%(?:25){0,4}[0-9a-f]?)\Z", re.IGNORECASE
)
BLANK = lazy_pattern(r"\s+")
BETWEEN_DIGITS = lazy_pattern(r"(?:0x|[\s:,-])+", re.IGNORECASE)
URL_ALPHABET = str.maketrans("-_", "+/")
DIGITS = str.maketrans("ABCDEF", "abcdef", ":,-")
# An ordinary word, such as `service_account` or `AES-256`; a key's other words belong to the secret.
COMMON = lazy_pattern(r"(?:(?:[A-Z]?[a-z]{0,15}|[A-Z]{1,15})[0-9]{0,6}[-_./:@,=?&]+)*")
AROUND_WORD = "\"'`,;()[]{}<>"
LEFT_OUT = lazy_pattern(r"…|\.\.\.")
BESIDE = lazy_pattern(r"[\"'’)\s]{0,3}(?:…|\.\.\.)|\s?\(…")  # after what was cut off
BESIDE_CHARS = 6
MARK_OF_PLACE = "\0"  # around a key that is one only in its place; no environment has it
Span = tuple[int, int]
HELD = 16  # times the longest key: what may be held back of a text that is not all there yet


def local_secret(before: str, key: str, after: str = "") -> str:
    """Returns the secret for a *key* that is one only between *before* and *after*."""
    return f"{before}{MARK_OF_PLACE}{key}{MARK_OF_PLACE}{after}"


def value_of(secret: str) -> str:
    """Returns the value of *secret*, wherever it is one."""
    return secret.split(MARK_OF_PLACE)[1] if MARK_OF_PLACE in secret else secret


def redact(text: str, secrets: Sequence[str]) -> str:
    """*text* without the *secrets*, in any usual encoding; the longest are removed first."""
    return _replace(text, _find_keys(text, _views(tuple(secrets))))


def find_keys(text: str, secrets: Sequence[str]) -> list[Span]:
    """Returns where `redact` would remove the *secrets* from *text*, in order."""
    return _find_keys(text, _views(tuple(secrets)))


def settle_tail(text: str, secrets: Sequence[str]) -> tuple[str, str]:
    """
    Take keys out of text that is not all there yet.

    Returns:
        The part of *text* that is complete, without the *secrets*; and its unchanged end, which may be the
        beginning of a secret: put it before the next text.
    """
    views = _views(tuple(secrets))
    if not views:
        return text, ""
    found, start = _find_keys(text, views), _begin_of_key(text, views)
    whole = _find_keys(text, views, are_whole=True) if any(view.around for view in views) else found
    start = next((begin for begin, end in whole if begin < start < end), start)
    return _replace(text[:start], [span for span in found if span[1] <= start]), text[start:]


# ---- Views ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as a view shows it, and where in the text each of its characters starts and ends."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True, slots=True)
class View:
    """
    One way to read a text.

    Attributes:
        keys: What a key looks like there, the longest first.
        left_out: What of the text counts for nothing.
        letters: Which characters are read as others.
        of_text: Whether it reads the text as it is, and not what its escapes mean.
        around: How many characters before and after it belong to a key's place, for keys that have one.
    """

    keys: tuple[str, ...]
    left_out: re.Pattern[str] | None = None
    letters: Mapping[int, int | None] | None = None
    of_text: bool = False
    around: Mapping[str, Span] = field(default_factory=dict)

    def show(self, text: str, joined: str) -> str:
        """Returns *text*, which is *joined* without blanks, as this view reads it."""
        is_by_digits = self.left_out is BETWEEN_DIGITS and ("0x" in text or "0X" in text)
        if self.left_out is not None:  # `joined` is what the pattern leaves, and many times faster
            text = self.left_out.sub("", text) if is_by_digits else joined
        return text if self.letters is None else text.translate(self.letters)

    def read(self, base: Reading) -> Reading:
        """The same, and where it comes from."""
        if self.left_out is None:
            return base
        gone = [found.span() for found in self.left_out.finditer(base.text)]
        begins, ends = [0, *(end for _, end in gone)], [*(start for start, _ in gone), len(base.text)]
        kept = [range(start, end) for start, end in zip(begins, ends, strict=True)]
        starts = [base.starts[at] for part in kept for at in part]
        shown = self.show(base.text, _join(base.text))
        return Reading(shown, starts, [base.ends[at] for part in kept for at in part])


def _join(text: str) -> str:
    """Returns *text* without blanks."""
    return "".join(text.split())


@lru_cache(maxsize=16)
def _views(secrets: tuple[str, ...]) -> tuple[View, ...]:
    """The views of a text in which *secrets* are looked for; none if there are none."""
    whole = [secret for secret in secrets if secret and MARK_OF_PLACE not in secret]
    known = {part for secret in whole for part in (secret, *_parts(secret))}
    parted = [secret.split(MARK_OF_PLACE) for secret in secrets if MARK_OF_PLACE in secret]
    around = {"".join(parts): (len(parts[0]), len(parts[-1])) for parts in parted}
    if not known and not around:
        return ()
    values = known | {key for _, key, _ in parted}
    raw = [each.encode("utf-8", "surrogateescape") for each in values if len(each) >= SHORTEST_CHARS]
    forms = (form for secret in known for form in _forms(secret))
    return (
        View(_longest_first((*forms, *around)), of_text=True, around=around),
        View(_longest_first(meant for secret in known for meant in _meanings(secret))),
        View(_longest_first(core for each in raw for core in _base64_cores(each)), BLANK, URL_ALPHABET),
        View(_longest_first(each.hex() for each in raw), BETWEEN_DIGITS, DIGITS),
    )


def _parts(secret: str) -> Iterator[str]:
    """Yields the long words of a key that has several lines, without those that may be ordinary words."""
    for text in (secret, _without_escapes(secret)):
        words = text.split() if "\n" in text.strip() else ()
        for word in (word.strip(AROUND_WORD) for word in words):
            if len(word) >= SHORTEST_CHARS and not COMMON.fullmatch(f"{word}."):
                yield word


def _longest_first(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({key for key in keys if key}, key=len, reverse=True))


def _forms(secret: str) -> Iterator[str]:
    """*secret* as it is, and as it is usually escaped, whatever it holds itself."""
    raw, in_json = secret.encode("utf-8", "surrogateescape"), json.dumps(secret)
    yield secret
    yield quote(raw, safe="")
    yield quote_plus(raw)
    yield quote(quote(raw, safe=""), safe="")
    yield in_json[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield json.dumps(in_json)[3:-3]
    yield "".join(f"\\x{each:02x}" for each in raw)


def _meanings(secret: str) -> Iterator[str]:
    """
    Yields *secret* with its escapes resolved.

    What it holds itself may look like an escape: that is read with the others, unless it was escaped.
    """
    for meant in (secret, _without_escapes(secret)):
        by_byte = meant.encode("utf-8", "surrogateescape").decode("latin-1")  # as in URLs
        by_pair = "".join(map(_pair, meant))  # as in JSON
        for each in (meant, by_byte, by_pair):
            yield each
            yield each.replace(" ", "+")  # as forms are sent


def _pair(character: str) -> str:
    """A character as UTF-16 has it."""
    number = ord(character) - 0x10000
    return character if number < 0 else chr(0xD800 + (number >> 10)) + chr(0xDC00 + (number & 0x3FF))


def _base64_cores(raw: bytes) -> Iterator[str]:
    """
    Yields the base64 of *raw* that is the same whatever is around it: one for each offset within three bytes.
    """
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode("ascii")
        yield encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]


def _has_escapes(text: str) -> bool:
    return "\\" in text or "%" in text


def _without_escapes(text: str) -> str:
    return ESCAPE.sub(_unescape_one, text) if _has_escapes(text) else text


def _unescape(text: str) -> Reading:
    """*text* with its escapes read; a backslash that means nothing is left out."""
    starts, ends, at = list[int](), list[int](), 0
    for found in ESCAPE.finditer(text) if _has_escapes(text) else ():
        size = len(_unescape_one(found))
        starts += [*range(at, found.start()), *[found.start()] * size]
        ends += [*range(at + 1, found.start() + 1), *[found.end()] * size]
        at = found.end()
    starts += range(at, len(text))
    return Reading(_without_escapes(text), starts, [*ends, *range(at + 1, len(text) + 1)])


def _unescape_one(escape: re.Match[str]) -> str:
    if number := escape["unicode"] or escape["hex"] or escape["percent"]:
        return chr(int(number, 16))
    return "\n" if escape["end"] else escape["same"]


# ---- Finding ----------------------------------------------------------------------------------------


def _find_keys(text: str, views: Sequence[View], *, are_whole: bool = False) -> list[Span]:
    """Returns the spans of keys, or their whole places, in order; overlapping ones are joined."""
    spans: list[Span] = []
    meant = _without_escapes(text) if views else ""
    unspaced = _join(meant)
    for view in views:
        shown = view.show(text if view.of_text else meant, unspaced)
        present = [key for key in view.keys if key in shown]
        found = list(_find_cut_keys(shown, [key for key in view.keys if key not in view.around]))
        if present:
            pattern = re.compile("|".join(map(re.escape, present)))
            around = {} if are_whole else view.around
            found += [_trim(each, around) for each in pattern.finditer(shown)]
        if found:
            reading = view.read(_plain_reading(text) if view.of_text else _unescape(text))
            spans += [(reading.starts[start], reading.ends[end - 1]) for start, end in found]
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _trim(match: re.Match[str], around: Mapping[str, Span]) -> Span:
    """Returns the span of a key without the place that it was found in."""
    before, after = around.get(match[0], (0, 0))
    return match.start() + before, match.end() - after


def _find_cut_keys(text: str, keys: Sequence[str]) -> Iterator[Span]:
    """Yields the spans of parts of *keys* next to which *text* says that something was left out."""
    cuts = [found.span() for found in LEFT_OUT.finditer(text)] if "…" in text or "..." in text else []
    if not cuts:
        return
    for key in keys:
        if len(key) > SHORTEST_CHARS:
            yield from _find_beginnings(text, key)
            yield from _find_ends(text, key)
    every_key, between = "\0".join(keys), [(start, end) for (_, start), (end, _) in pairwise(cuts)]
    parts = {part for start, end in between if len(part := _bare(text[start:end])) >= SHORTEST_CHARS}
    cut = {part for part in parts if part in every_key}
    for start, end in between if cut else ():
        if (part := _bare(text[start:end])) in cut:
            at = text.index(part, start)
            yield at, at + len(part)


def _bare(text: str) -> str:
    """Returns *text* without what may be between it and the marks around it."""
    return text.strip(" )(\"'")


def _find_beginnings(text: str, key: str) -> Iterator[Span]:
    """Yields the spans of beginnings of *key* that were cut off."""
    head, at = key[:SHORTEST_CHARS], -1
    while (at := text.find(head, at + 1)) >= 0:
        size = bisect_left(range(len(key)), True, key=lambda size: not text.startswith(key[: size + 1], at))
        # A key may have dots itself, which are not told from those that follow it.
        if any(BESIDE.match(text, at + size - dots) for dots in range(3)):
            yield at, at + size


def _find_ends(text: str, key: str) -> Iterator[Span]:
    """Yields the spans of ends of *key* whose beginning was cut off."""
    tail, at = key[-SHORTEST_CHARS:], -1
    while (at := text.find(tail, at + 1)) >= 0:
        end = at + len(tail)
        size = bisect_left(
            range(len(key)), True, key=lambda size: not text.endswith(key[-size - 1 :], 0, end)
        )
        for start in range(end - size, end - size + 3):
            before = text[max(start - BESIDE_CHARS, 0) : start].rstrip(" )\"'‘\n")
            if before.endswith(("…", "...")):
                yield end - size, end
                break


def _replace(text: str, spans: Sequence[Span]) -> str:
    parts, at = list[str](), 0
    for start, end in spans:
        parts += [text[at:start], REDACTED]
        at = end
    return "".join((*parts, text[at:])) if spans else text


def _begin_of_key(text: str, views: Sequence[View]) -> int:
    """Returns the offset near the end of *text* at which a key may begin; its length if none does."""
    longest = max(len(key) for view in views for key in view.keys)
    first = max(len(text) - HELD * longest, 0)
    tail = text[first:]
    half = HALF_ESCAPE.search(tail)
    starts = [half.start() if half else len(tail)]
    for view in views:
        base = _plain_reading(tail) if view.of_text else _unescape(tail[: half.start() if half else None])
        reading = view.read(base)
        if view.left_out is BETWEEN_DIGITS and tail.endswith("0"):  # it may be that of `0x`
            starts += [reading.starts[at] for at in _beginnings(reading.text[:-1], view.keys)]
        starts += [reading.starts[at] for at in _beginnings(reading.text, view.keys)]
    return first + min(starts)


def _plain_reading(text: str) -> Reading:
    return Reading(text, range(len(text)), range(1, len(text) + 1))


def _beginnings(text: str, keys: Sequence[str]) -> Iterator[int]:
    """Yields offsets from which the end of *text* is an incomplete one of *keys*; the first for each."""
    for key in keys:
        at = max(len(text) - len(key) + 1, 0)
        while (at := text.find(key[0], at)) >= 0:
            if key.startswith(text[at:]):
                yield at
                break
            at += 1
