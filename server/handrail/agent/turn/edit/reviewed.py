"""The changes of calls for review: the texts before and after, and the call that made each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from handrail.agent.turn.edit.plan import PlannedFile
from handrail.agent.turn.edit.preimage import Held, Left, names
from handrail.core.checkpoint import StepId
from handrail.core.documents.change import Applied, Change, Delete, Landing
from handrail.core.documents.text import Text
from handrail.ports import Document, Ports
from handrail.ports.review import AgentChange

Tried = tuple[Sequence[PlannedFile], Sequence[Change], Sequence[Landing]]  # of one call


async def made_changes(
    ports: Ports, step: StepId, tried: Sequence[Tried], before: Held, ours: Mapping[str, Left]
) -> list[AgentChange]:
    """
    Returns the changes that calls made to their documents.

    Args:
        ports: The ports of the server.
        step: The step whose checkpoint has the earlier contents.
        tried: The files, changes and landings of each call.
        before: The documents before all of these calls.
        ours: The result of `preimage.written_texts`; documents that it leaves out count as they are now.
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
            own = list[AgentChange]()
            for uri in [change.uri for change in file.changes if change.uri in before]:
                now_at = renames.get(uri, uri)
                was, left = before[uri], ours.get(uri)
                is_removed = uri in removed  # an editor may keep a buffer of it
                now = await ports.editor.read(now_at) if left is None and not is_removed else left
                each = AgentChange(
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


def _join_moves(made: list[AgentChange]) -> list[AgentChange]:
    """Joins a document that a patch removed with the one that it created into one move."""
    match made:
        case [AgentChange(before=None) as target, AgentChange(before=Text() as before, after=None) as source]:
            return [replace(target, before=before, moved_from=source.uri)]
    return made
