"""A file that is no text is called what it is."""

from __future__ import annotations

import zlib

import pytest

from handrail.core.documents import binary
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure

FILES = {
    "an image (PNG)": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "an image (JPEG)": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "an image (WebP)": b"RIFF\x24\x99\0\0WEBPVP8 ",
    "a PDF document": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "a ZIP archive or a document of an office program": b"PK\x03\x04\x14\0\x88",
    "a compressed file (gzip)": zlib.compress(b"text", wbits=31),
    "a program (ELF)": b"\x7fELF\x02\x01\x01\0",
    "a database (SQLite)": b"SQLite format 3\0\x10\0",
    "sound or video": b"\0\0\0\x20ftypisom",
}


@pytest.mark.parametrize(("kind", "raw"), FILES.items())
def test_what_is_no_text_is_named(kind: str, raw: bytes) -> None:
    assert binary.kind_of(raw) == kind
    found = Text.parse(raw)
    assert isinstance(found, Failure)
    assert found.code is Code.BAD_ENCODING
    assert kind in found.message
    assert not any("UTF-8" in step for step in found.steps)


@pytest.mark.parametrize("raw", [b"PNG", b"GIF is a format", b"%PDF in words", b"BMW\n", b"MZ", b""])
def test_text_is_no_binary(raw: bytes) -> None:
    assert isinstance(Text.parse(raw), Text)
