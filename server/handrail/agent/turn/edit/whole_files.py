"""
Carry a new text for a whole file, or its deletion, over to what the document holds by now.

The model writes a whole file as it has read it. If others have changed the document since, their changes are
kept where the new text is not about the same lines; otherwise nothing is written.
"""

from __future__ import annotations

import asyncio

from handrail.agent.turn.seen import Known, Reading, show_difference
from handrail.core.documents import edit
from handrail.core.documents.placeholder import FindKeys
from handrail.core.documents.text import Text, to_lf
from handrail.core.failure import Code, Failure
from handrail.core.patches.hunk import FilePatch, Operation
from handrail.core.planning import hidden
from handrail.core.planning.plan import keep_end
from handrail.core.policy.place import Place
from handrail.values import replace

KEPT = "Changes that others have made to the file in the meantime were kept."
AGAIN = "Read the document again."


async def carry_over(
    patch: FilePatch, place: Place, text: Text, readings: Known, find_keys: FindKeys
) -> FilePatch | Failure:
    """
    Returns the patch of a file that holds *text*, with what others changed since the model read it.

    A failure if both have changed the same lines, or if a file is to be deleted that the model does not know
    as it is.
    """
    reading, now = readings.get(place.identity), to_lf(text.content)
    if (
        patch.operation not in (Operation.WRITE, Operation.DELETE)
        or reading is None
        or not reading.differs(now)
    ):
        return patch
    if patch.operation is Operation.DELETE:
        return _failure(place, reading, now, "so it was not deleted", "Then delete it if you still want to.")
    base = now if reading.read is None else reading.read
    content = await asyncio.to_thread(hidden.restore_content, patch.content, base, find_keys)
    if isinstance(content, Failure):
        return content
    merged = await asyncio.to_thread(_merge, reading.read, to_lf(content), now)
    if merged is None:
        then = "Then write it again, with these changes."
        return _failure(place, reading, now, "so the new text was not written", then)
    notes = (*patch.notes, *([] if content == patch.content else [hidden.NOTE]))
    return replace(patch, content=merged, notes=(*notes, KEPT) if merged != content else notes)


def check_is_there(patch: FilePatch, place: Place, readings: Known) -> Failure | None:
    """Returns a failure if the patch writes a file that others have deleted since the model read it."""
    if patch.operation is not Operation.WRITE or place.identity not in readings:
        return None
    return Failure(
        code=Code.STALE_DOCUMENT,
        message=(
            f"{place.path} has been deleted or renamed since the agent last read or wrote it, so the new "
            "text was not written."
        ),
        steps=(
            "Find out where its text is now.",
            "Or, if you want to create the file again, send this call again.",
        ),
        uri=place.uri,
    )


def _merge(base: str | None, wanted: str, now: str) -> str | None:
    """Returns *wanted* with what *now* has changed in *base*; None if both have changed the same lines."""
    if wanted == now:
        return wanted
    if base is None:
        return None
    wanted = keep_end(base, wanted)
    moved = edit.rebase(Text(base), edit.edits_between(base, wanted), now)
    return None if any(each.conflict for each in moved) else edit.apply(now, [each.edit for each in moved])


def _failure(place: Place, reading: Reading, now: str, so: str, then: str) -> Failure:
    where = "" if reading.read is None else f", at {show_difference(reading.read, now)}"
    return Failure(
        code=Code.STALE_DOCUMENT,
        message=f"{place.path} has changed since the agent last read or wrote it{where}, {so}.",
        steps=(AGAIN, then),
        uri=place.uri,
    )
