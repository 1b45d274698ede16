"""What calls have made of documents, as it is to be reviewed: texts before and after, and whose they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from handrail.agent.turn.edit.plan import PlannedFile
from handrail.agent.turn.edit.preimage import Held, Left, names
from handrail.core.checkpoint import StepId
from handrail.core.documents.change import Applied, Change, Delete, Landing
from handrail.core.documents.text import Text
from handrail.ports import Document, Ports
from handrail.ports.review import Made

Tried = tuple[Sequence[PlannedFile], Sequence[Change], Sequence[Landing]]  # of one call


async def made_changes(
    ports: Ports, step: StepId, tried: Sequence[Tried], before: Held, ours: Mapping[str, Left]
) -> list[Made]:
    """
    What calls have made of their documents.

    Args:
        ports: The world.
        step: Whose checkpoint has what was there before.
        tried: The files, changes and landings of each call.
        before: What the documents held before all of them.
        ours: What `preimage.written_texts` says; what it does not say is as it is found now.
    """
    result = []
    for files, changes, landings in tried:
        renames = names(changes, landings)
        removed = {
            change.uri
            for change, landing in zip(changes, landings, strict=True)
            if isinstance(change, Delete) and isinstance(landing, Applied)
        }
        for file in files:
            mutation = file.parts[0].mutation
            own = list[Made]()
            for uri in [change.uri for change in file.changes if change.uri in before]:
                now_at = renames.get(uri, uri)
                was, left = before[uri], ours.get(uri)
                is_removed = uri in removed  # an editor may keep a buffer of it
                now = await ports.editor.read(now_at) if left is None and not is_removed else left
                each = Made(
                    uri=now_at,
                    before=was.text if isinstance(was, Document) else None,
                    after=now.text if isinstance(now, Document) else now if isinstance(now, Text) else None,
                    turn=mutation.turn,
                    call=mutation.call,
                    step=f"{step.turn}.{step.number}",
                )
                own += [each] if each.before != each.after else []
            result += _join_moves(own)
    return result


def _join_moves(made: list[Made]) -> list[Made]:
    """What one patch of a file did, with a document that it removed and one that it created as a move."""
    match made:
        case [Made(before=None) as target, Made(before=Text() as before, after=None) as source]:
            return [replace(target, before=before, moved_from=source.uri)]
    return made
