"""The words of an answer that a model was giving when its server was killed: they are in no journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from handrail.agent.chat.transcript import TranscriptTurn
from handrail.agent.chat.view import COMING, END
from handrail.core.documents.page import Page, Part


def with_words(parts: Iterable[Part], page: Page, turns: Sequence[TranscriptTurn]) -> list[Part]:
    """
    Returns the parts with those words above the end of their turn, as they are in the document.

    Args:
        parts: Those that the journal has.
        page: The document.
        turns: Of the conversation.
    """
    ended = {f"{COMING}{one.turn}": f"{END}{one.turn}" for one in turns if _was_interrupted(one)}
    rows = dict[str, list[str]]()
    for line in page.lines if ended else ():
        if line.part in ended:
            rows.setdefault(ended[line.part], []).append(line.text)
    result = list[Part]()
    for part in parts:
        if part.key in rows:
            key = f"{COMING}{part.key.removeprefix(END)}"
            result.append(Part(key=key, rows=_rows_apart(rows[part.key])))
        result.append(part)
    return result


def _rows_apart(rows: Sequence[str]) -> tuple[str, ...]:
    """Returns the rows, each with its end, and with an empty one below them, as in each part."""
    ended = [row if row.endswith("\n") else f"{row}\n" for row in rows]
    return (*ended, "\n") if ended[-1].strip() else tuple(ended)


def _was_interrupted(one: TranscriptTurn) -> bool:
    return not (one.state or one.is_running or one.is_elsewhere or one.coming.strip())
