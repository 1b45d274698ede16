"""
Restore how a text is written as bytes: its line ends, its byte order mark, its encoding.

Texts are compared without them, because some editors hide them. So what a turn changed of them (a command
does, an edit never) is found and restored here. A text with several kinds of line ends is compared with
them, so these need nothing more.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from handrail.core.checkpoint import Image, Restoration
from handrail.core.documents import edit
from handrail.core.documents.revert import revert
from handrail.core.documents.text import Text, to_lf

Texts = tuple[Text, Text]  # before the turn, and as the turn left it


def is_more_than_text(each: Restoration) -> bool:
    """Whether the turn also changed the form of a document."""
    if each.gaps or each.after is None or each.before.unsaved is not None:
        return False
    texts = filter(None, map(_text, (each.before, each.after)))
    return len({(*_encoding(text), frozenset(_eols(text))) for text in texts}) > 1


def in_earlier_form(each: Restoration, now: Text) -> bytes | None:
    """
    Returns the bytes of a file whose text and form are restored.

    None if the turn did not change the form, if others have changed it or the same lines since, or if the
    text cannot be written in the earlier form.
    """
    texts = _texts(each)
    if texts is None:
        return None
    before, after = texts
    has_eol, has_encoding = _has_eol_of(now, texts), _has_encoding_of(now, texts)
    if not has_eol and not has_encoding:
        return None
    if has_eol:
        if not _eols(now) <= _eols(before) | _eols(after):
            return None
        now, before, after = (replace(text, content=to_lf(text.content)) for text in (now, *texts))
    edits = revert(now, [(before, after)])
    if edits is None:
        return None
    content = edit.apply(now.content, edits)
    raw = (before if has_encoding else now).encode(
        content.replace("\n", texts[0].eol) if has_eol else content
    )
    return raw if isinstance(raw, bytes) else None


def has_form_of_turn(each: Restoration, raw: bytes) -> bool:
    """Whether a file still has the line ends, mark or encoding that the turn gave it."""
    texts = _texts(each)
    now = Text.parse(raw, each.after.encoding) if texts is not None and each.after is not None else None
    return (
        texts is not None
        and isinstance(now, Text)
        and (_has_eol_of(now, texts) or _has_encoding_of(now, texts))
    )


def _has_eol_of(now: Text, texts: Texts) -> bool:
    """Whether a text has line ends of the turn, if it changed all from one kind to another."""
    before, after = map(_eols, texts)
    return len(before) == len(after) == 1 and before != after and bool(after & _eols(now))


def _has_encoding_of(now: Text, texts: Texts) -> bool:
    """Whether a text has the mark or the encoding of the turn; without a mark, an encoding is a guess."""
    before, after = texts
    return (before.bom or after.bom) and _encoding(before) != _encoding(after) == _encoding(now)


def _texts(each: Restoration) -> Texts | None:
    if not is_more_than_text(each) or each.after is None:
        return None
    before, after = _text(each.before), _text(each.after)
    return None if before is None or after is None else (before, after)


def _text(image: Image) -> Text | None:
    text = None if image.raw is None else Text.parse(image.raw, image.encoding)
    return text if isinstance(text, Text) else None


def _encoding(text: Text) -> tuple[str, bool]:
    return text.encoding, text.bom


def _eols(text: Text) -> Set[str]:
    return frozenset(filter(None, text.eols))
