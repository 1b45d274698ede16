"""
Name the kind of a file that is not text, by its first bytes.
"""

from __future__ import annotations

import re

KINDS: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), kind)
    for pattern, kind in (
        (rb"\x89PNG\r\n\x1a\n", "an image (PNG)"),
        (rb"\xff\xd8\xff", "an image (JPEG)"),
        (rb"GIF8[79]a", "an image (GIF)"),
        (rb"RIFF....WEBP", "an image (WebP)"),
        (rb"BM....\x00\x00\x00\x00", "an image (BMP)"),
        (rb"\x00\x00[\x01\x02]\x00[^\x00]\x00", "an image (ICO)"),
        (rb"(?:II\*\x00|MM\x00\*)", "an image (TIFF)"),
        (rb"....ftyp(?:avif|heic|mif1)", "an image"),
        (rb"%PDF-", "a PDF document"),
        (rb"PK(?:\x03\x04|\x05\x06)", "a ZIP archive or a document of an office program"),
        (rb"\x1f\x8b", "a compressed file (gzip)"),
        (rb"(?:BZh\d|\xfd7zXZ\x00|7z\xbc\xaf|\x28\xb5\x2f\xfd|Rar!)", "a compressed file"),
        (rb"\x7fELF", "a program (ELF)"),
        (rb"MZ.{58}", "a program (Windows)"),
        (rb"(?:\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe)", "a program (Mach-O)"),
        (rb"\xca\xfe\xba\xbe", "compiled code"),
        (rb"\x00asm", "compiled code (WebAssembly)"),
        (rb"SQLite format 3\x00", "a database (SQLite)"),
        (rb"(?:....ftyp|\x1aE\xdf\xa3|ID3|OggS|fLaC|RIFF....(?:WAVE|AVI ))", "sound or video"),
        (rb"(?:wOF[F2]|\x00\x01\x00\x00\x00|OTTO)", "a font"),
    )
)


# Pictures that the models' servers take, and their media types.
PICTURES: tuple[tuple[re.Pattern[bytes], str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), media)
    for pattern, media in (
        (rb"\x89PNG\r\n\x1a\n", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8[79]a", "image/gif"),
        (rb"RIFF....WEBP", "image/webp"),
    )
)


def media_of(raw: bytes) -> str:
    """The media type of a picture with these bytes; empty if models do not take such pictures."""
    return next((media for pattern, media in PICTURES if pattern.match(raw)), "")


def kind_of(raw: bytes) -> str:
    """Returns the kind of a file with these bytes, in words; empty if it is unknown."""
    return next((kind for pattern, kind in KINDS if pattern.match(raw)), "")
