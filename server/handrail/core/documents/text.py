"""
The text of a document, and its bytes, without loss in either direction.

Lines end at LF, CRLF and CR and at nothing else, which is LSP's rule: form feed, U+0085 and U+2028 are
ordinary characters. Every line keeps its own terminator. Bytes that cannot be read and written back
unchanged are refused with `bad-encoding`, never guessed. Offsets count code points.
"""

from __future__ import annotations

import codecs
import re
import sys
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from operator import add

from handrail.core.documents import binary
from handrail.core.documents.index import Index
from handrail.core.failure import Code, Failure
from handrail.values import dataclass

LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
TERMINATOR = re.compile(r"\r\n|\n|\r")

# UTF-32's little-endian mark begins with UTF-16's, so it is looked for first, to be refused.
MARKS: tuple[tuple[bytes, str | None], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, None),
    (codecs.BOM_UTF32_BE, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

NO_TEXT = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of surrogate pairs
NEW_TEXT = "the new text"  # what a message calls a text, unless the caller knows a better name

LIMIT_BYTES = 50_000_000  # beyond this an editor does not sync the document either
LARGEST = f"handrail reads and edits at most {LIMIT_BYTES:,}."
IF_TOO_LARGE = (
    "If you can run commands, read or change it with one, such as `sed 1d FILE > new; cat new > FILE`. If it "
    "is read-only in the sandbox, call the command again with the file in `needs`."
)


def split_lines(content: str) -> list[str]:
    """The lines of *content* with their terminators; no empty line after the last terminator."""
    if "\r" in content:
        return LINE.findall(content)
    lines = [f"{row}\n" for row in content.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def to_lf(content: str) -> str:
    """*content* with every line end written as LF."""
    return content.replace("\r\n", "\n").replace("\r", "\n") if "\r" in content else content


@dataclass(frozen=True)
class Text:
    """
    A document's text and how it is written as bytes.

    Attributes:
        content: The characters, each line with its own terminator, without a byte order mark.
        encoding: The codec's name, as Python knows it.
        bom: Whether the bytes begin with a byte order mark.
    """

    content: str
    encoding: str = "utf-8"
    bom: bool = False

    @staticmethod
    def parse(raw: bytes, named: str | None = None) -> Text | Failure:
        """
        Reads bytes as text.

        Args:
            raw: All bytes of the file.
            named: The codec that the editor or an `.editorconfig` gives for this file, if any. A byte
                order mark wins over it.

        Returns:
            A text whose `raw` is *raw* again; else `bad-encoding` or `too-large`.
        """
        if len(raw) > LIMIT_BYTES:
            return Failure(
                code=Code.TOO_LARGE,
                message=f"The file has {len(raw):,} bytes; {LARGEST}",
                steps=(IF_TOO_LARGE,),
            )
        encoding, mark = named or "utf-8", b""
        for candidate_mark, name in MARKS:
            if raw.startswith(candidate_mark):
                if name is None:
                    return _failure(
                        "The file has a UTF-32 byte order mark, which handrail does not support.",
                        "Convert the file to UTF-8.",
                    )
                encoding, mark = name, candidate_mark
                break
        if not _is_known(encoding):
            return _failure(
                f"The file's configured encoding, {encoding!r}, is not supported.",
                "Correct the encoding in the .editorconfig, or in the editor.",
                "Or convert the file to UTF-8, and set that encoding there.",
            )
        try:
            text = Text(raw[len(mark) :].decode(encoding), encoding, bool(mark))
            is_whole = text.raw == raw and "\0" not in text.content
        except UnicodeDecodeError as error:
            offset = error.start + len(mark)
            return _undecodable(raw, encoding, f"the byte 0x{raw[offset]:02X} at offset {offset:,}")
        except UnicodeError:
            is_whole = False
        if not is_whole:
            return _undecodable(
                raw, encoding, "bytes that could not be written back unchanged (possibly binary data)"
            )
        return text

    @cached_property
    def raw(self) -> bytes:
        """The bytes of the document. Raises UnicodeEncodeError; `encode` checks text that is not ours."""
        mark = "\ufeff".encode(self.encoding) if self.bom else b""
        return mark + self.content.encode(self.encoding)

    def encode(self, content: str, name: str = NEW_TEXT) -> bytes | Failure:
        """*content* as bytes of this document; or `bad-encoding`, which calls *content* by this *name*."""
        wrong = None if self.bom else self.check_begin(content)
        return wrong or self._encode(content, name)

    def check_begin(self, content: str) -> Failure | None:
        """`bad-encoding` if *content*, written as this document, begins with a byte order mark of its own."""
        if self.bom:
            is_mark = content.startswith("\ufeff") and not self.content.startswith("\ufeff")
        else:
            raw = content[:4].encode(self.encoding, "replace")
            is_mark = any(raw.startswith(mark) for mark, _ in MARKS)
        if not is_mark:
            return None
        return Failure(
            code=Code.BAD_ENCODING,
            message="The new text begins with a character that would be read as a byte order mark.",
            steps=("Remove that character.",),
        )

    def unwritable(self, part: str, sent: str) -> Failure | None:
        """
        `bad-encoding` if this document's encoding cannot write *part*, which comes from the text *sent*. The
        failure gives the character's line in *sent*.
        """
        raw = self._encode(part, NEW_TEXT, sent)
        return raw if isinstance(raw, Failure) else None

    def _encode(self, content: str, name: str, sent: str = "") -> bytes | Failure:
        if (wrong := unwritable(content, name)) is not None:
            return wrong
        try:
            return Text(content, self.encoding, self.bom).raw
        except UnicodeEncodeError as error:
            character = content[error.start]
            read, at = (sent, sent.index(character)) if character in sent else (content, error.start)
            line_number = len(TERMINATOR.findall(read, 0, at)) + 1
            return Failure(
                code=Code.BAD_ENCODING,
                message=(
                    f"The document is {self.encoding}, which cannot encode U+{ord(character):04X} "
                    f"(line {line_number} of {name})."
                ),
                steps=("Use characters that this encoding has.", "Or convert the document first."),
            )

    @cached_property
    def flat(self) -> str:
        """The characters with every line end written as LF."""
        return to_lf(self.content)

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The lines without their terminators; a terminator at the end opens no further row."""
        rows = self.flat.split("\n")
        return tuple(rows if rows[-1] else rows[:-1])

    @cached_property
    def eols(self) -> tuple[str, ...]:
        """The terminator of each row; empty for a last row without one."""
        content, count = self.content, self.flat.count("\n")
        if "\r" not in content:
            result: tuple[str, ...] = ("\n",) * count
        elif content.count("\r\n") == content.count("\r") == count:
            result = ("\r\n",) * count
        else:
            result = tuple(map(sys.intern, TERMINATOR.findall(content)))
        return result if count == len(self.rows) else (*result, "")

    @cached_property
    def starts(self) -> Sequence[int]:
        """The offset at which each line begins; a terminated last row opens one more, as in LSP."""
        offsets = array("Q", accumulate(map(add, map(len, self.rows), map(len, self.eols)), initial=0))
        if self.rows and not self.eols[-1]:
            offsets.pop()
        return offsets

    @cached_property
    def index(self) -> Index:
        """The index of the rows for searches; it lives as long as this text."""
        return Index(self.rows, self.flat)

    @cached_property
    def eol(self) -> str:
        """The most frequent terminator; LF for a document without any."""
        counts = Counter(eol for eol in self.eols if eol)
        return counts.most_common(1)[0][0] if counts else "\n"

    @cached_property
    def has_one_eol(self) -> bool:
        """Whether all terminators are the same."""
        return len({eol for eol in self.eols if eol}) <= 1

    @cached_property
    def is_plain(self) -> bool:
        """Whether every editor keeps these bytes: UTF-8, no mark, and either LF or CRLF throughout."""
        ends_whole = not self.rows or bool(self.eols[-1])  # some editors end the last line when they save
        return (
            self.encoding == "utf-8" and not self.bom and self.has_one_eol and self.eol != "\r" and ends_whole
        )

    def line_at(self, offset: int) -> int:
        """The line, counted from 0, in which *offset* lies; a terminator belongs to its line."""
        return bisect_right(self.starts, max(0, min(offset, len(self.content)))) - 1

    def row_end(self, line: int) -> int:
        """The offset just before the terminator of *line* (counted from 0)."""
        return self.starts[line] + (len(self.rows[line]) if line < len(self.rows) else 0)


def unwritable(content: str, name: str = NEW_TEXT) -> Failure | None:
    """
    `bad-encoding` for characters that no encoding has, or that only binary files have; else None.

    Args:
        name: What the message calls *content*.
    """
    if content.isascii() and "\0" not in content:
        return None
    match = NO_TEXT.search(content)
    if match is None:
        return None
    line_number = len(TERMINATOR.findall(content, 0, match.start())) + 1
    what = "a NUL character," if match[0] == "\0" else f"half of a surrogate pair, U+{ord(match[0]):04X},"
    return Failure(
        code=Code.BAD_ENCODING,
        message=f"Line {line_number} of {name} has {what} which a text file cannot contain.",
        steps=("Send the edit again without that character.",),
    )


def _is_known(encoding: str) -> bool:
    """Whether a codec of this name turns bytes into text; asked with a byte, since none at all pass any."""
    try:
        b"a".decode(encoding, "replace")
    except (LookupError, ValueError):
        return False
    return True


def _undecodable(raw: bytes, encoding: str, what: str) -> Failure:
    if kind := binary.kind_of(raw):
        return Failure(
            code=Code.BAD_ENCODING,
            message=f"The file is {kind}, not text.",
            steps=("Leave it unchanged. If its contents matter for the task, ask the user about them.",),
        )
    return _failure(
        f"The file is not valid {encoding}: it has {what}.",
        "Set its encoding in an .editorconfig, for example charset = latin1.",
        "Or convert the file to UTF-8.",
    )


def _failure(message: str, *steps: str) -> Failure:
    return Failure(code=Code.BAD_ENCODING, message=message, steps=steps)
