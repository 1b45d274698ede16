"""
Read the text of an image, to compare it with the text that the document has now.

The file may have another encoding by now. Then its old bytes must not be read as if they were of today.
"""

from __future__ import annotations

from dataclasses import replace

from handrail.core.checkpoint import Image
from handrail.core.documents.text import Text, to_lf

UTF_8 = "utf-8"


def text_of(image: Image | None, now: Text) -> Text | None:
    """
    Returns the text of an image to compare with *now*: the editor's if it was unsaved; None if not text.

    Some editors hold LF whatever the file has, so where both have one kind of line end, the text gets that of
    *now*.
    """
    text = None if image is None else image.unsaved.text if image.unsaved else _decode(image, now)
    if text is None:
        return None
    here, there = ({eol for eol in each.eols if eol} for each in (now, text))
    if len(here) == len(there) == 1 and here != there:
        return replace(text, content=to_lf(text.content).replace("\n", now.eol))
    return text


def _decode(image: Image, now: Text) -> Text | None:
    """
    Returns the text of a file as it was, whose encoding may have been changed since; None if it is not text.

    Bytes may be valid in several encodings, and the configuration may have been wrong then or be wrong now.
    So the encoding counts in which the text has most of the lines of *now*; of equals, UTF-8 and then the
    one that was configured.
    """
    if image.raw is None:
        return None
    configured = image.encoding or UTF_8
    names = [configured] if configured == now.encoding else [UTF_8, configured, now.encoding]
    parsed = (Text.parse(image.raw, name) for name in dict.fromkeys(names))
    texts = [text for text in parsed if isinstance(text, Text)]
    rows = set(now.rows) if len(texts) > 1 else set()
    return max(texts, key=lambda text: len(rows.intersection(text.rows)), default=None)
