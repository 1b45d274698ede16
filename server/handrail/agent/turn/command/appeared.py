"""
What a contained command wrote other than plain changes of files.

New files that run later are moved away before anything else runs, and are put back only after a yes. Changes
that exist only in a layer are reported, because they are not in the workspace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.agent.tools.call import CommandReport, Console
from handrail.agent.turn.command.notes import in_words
from handrail.core.checkpoint import NOTHING, CommandEffects, NotCovered, StepId
from handrail.core.documents import diff
from handrail.core.documents.text import Text
from handrail.core.policy.place import ASKED, Place, why_asked
from handrail.core.policy.shell import Appeared
from handrail.ports import CheckpointError, Document, Ports

APPEARED = (
    "It appeared while a command was running, and was moved away until you answer. If you answer no, it "
    "stays away; handrail keeps it for 30 days, and tells you where."
)
SEVERAL_APPEARED = (
    "They appeared while a command was running, and were moved away until you answer. If you answer no, they "
    "stay away; handrail keeps them for 30 days, and tells you where."
)
NOTHING_CHANGED = CommandEffects()


def uris(not_covered: Sequence[NotCovered], ports: Ports) -> tuple[str, ...]:
    """Returns the URIs that a snapshot does not cover."""
    places = (ports.workspace.resolve(each.path) for each in not_covered)
    return tuple(place.uri for place in places if isinstance(place, Place))


def note_created_folders(before: Sequence[NotCovered], effects: CommandEffects, ports: Ports) -> str:
    """
    Notes what a command created and no snapshot covers: later commands may write there.

    Returns a note about files that were there before, and that snapshots no longer cover.
    """
    known, changed = {each.path for each in before}, {each.path for each in effects.changes}
    new = [each for each in effects.not_covered if each.path not in known]
    ports.process.note_folders(uris([each for each in new if each.path not in changed], ports))
    lost = ", ".join(f"{each.path} ({each.reason})" for each in new if each.path in changed)
    if not lost:
        return ""
    return (
        "Checkpoints can no longer include these, so later commands in the sandbox cannot change them: "
        f"{lost}."
    )


def tell_layers(printed: CommandReport, ports: Ports, console: Console) -> tuple[str, ...]:
    """
    Returns the paths at which a command changed something only in a layer; tells the user once about each.
    """
    paths = []
    for uri, layer in printed.layers:
        path = in_words(_path(uri, ports))
        paths.append(path)
        if layer not in console.named:
            console.named.add(layer)
            said = (
                f"The command did not change {path}, because checkpoints do not include it. What the "
                "command wrote there is in a separate copy, a layer, which only later commands see: "
                f"{layer}. Copy from there what you want to keep (in a terminal, `handrail layer list` shows "
                "a command that does this). The layer is deleted a week after handrail has ended."
            )
            console.notice(said, False)
    return tuple(paths)


async def put_back_saved(printed: CommandReport, began: Sequence[Document], ports: Ports) -> CommandReport:
    """Puts back what the user's editor saved while the command ran; returns the rest of what appeared."""
    if not printed.appeared:
        return printed
    known = {document.uri: document.saved for document in began}
    now = await ports.editor.open_documents()  # by what the editor told: the files themselves are away
    saved = {
        each.uri: each.saved
        for each in now
        if each.saved is not None and each.saved is not known.get(each.uri)
    }
    left: list[Appeared] = []
    for each in printed.appeared:
        is_moved = each.lies_in and any(_is_below(uri, each.uri) for uri in saved)
        left += await ports.process.put_back_saved(each.uri, saved) if is_moved else (each,)
    return replace(printed, appeared=tuple(left))


def unsearched_note(why: str) -> str:
    """Says what could not be searched for files that run later, for the model and the user."""
    return (
        "handrail could not check whether files appeared that other programs run by themselves, such as git "
        f"hooks: {why}. Before you use git, look for new files in .git/hooks, .husky and .vscode."
    )


def remarks(printed: CommandReport, ports: Ports, console: Console) -> list[str]:
    """Returns notes about what a command wrote that need no question, and shows them to the user."""
    notes = []
    if printed.unsearched:
        notes.append(unsearched_note(printed.unsearched))
    if stuck := [_path(each.uri, ports) for each in printed.appeared if not each.lies_in]:
        these, they, them = ("These files", "They", "them") if stuck[1:] else ("This file", "It", "it")
        notes.append(
            f"{these} appeared while the command was running. {they} may hold keys, or other programs may "
            f"run {them}. handrail could not move {them} away: {', '.join(stuck)}. Look at {them}, and "
            "delete what should not be there."
        )
    if printed.left:
        paths = ", ".join(_path(uri, ports) for uri in printed.left)
        were, them = (
            ("These pipes and sockets were", "them")
            if printed.left[1:]
            else ("This pipe or socket was", "it")
        )
        notes.append(f"{were} moved away, because no program uses {them} any longer: {paths}.")
    if printed.reopened:
        paths = ", ".join(_path(uri, ports) for uri in printed.reopened)
        these = "these folders" if printed.reopened[1:] else "this folder"
        notes.append(
            f"The command took away the owner's permissions on {these}: {paths}. handrail set them again "
            "(u+rwx), because it has to look for files that other programs run later."
        )
    for note in notes:
        console.notice(note, True)
    return notes


async def ask(
    printed: CommandReport, effects: CommandEffects, ports: Ports, step: StepId, console: Console
) -> tuple[CommandEffects, tuple[str, ...]]:
    """
    Asks about files that appeared and were moved away, and puts back those that the user allows.

    Returns:
        The effects, including the files that were put back; and notes about the rest.
    """
    notes = remarks(printed, ports, console)
    moved = [each for each in printed.appeared if each.lies_in]
    if not moved:
        return effects, tuple(notes)
    paths = ", ".join(f"{_path(each.uri, ports)}{'/' if each.is_folder else ''}" for each in moved)
    content = "".join(_content(each, ports) for each in moved)
    away: Sequence[Appeared] = moved
    if await console.keeps(paths, _why(moved, ports), content):
        again, away = await _return(moved, ports, step)
        changes = (*effects.changes, *again.changes)
        effects = replace(effects, changes=changes, checkpoint=again.checkpoint or effects.checkpoint)
    for each in away:
        path = _path(each.uri, ports)
        console.notice(f"{path} was moved away, and is kept here for 30 days: {each.lies_in}", False)
    if away:
        paths = ", ".join(_path(each.uri, ports) for each in away)
        stay, them = ("These files stay", "them") if away[1:] else ("This file stays", "it")
        notes.append(
            f"{stay} moved away: {paths}. Such files may hold keys, or other programs may run them later. "
            f"The user did not allow {them}, or handrail could not put {them} back."
        )
    return effects, tuple(notes)


async def _return(
    moved: Sequence[Appeared], ports: Ports, step: StepId
) -> tuple[CommandEffects, Sequence[Appeared]]:
    """Puts files back; returns the changes that this makes, and the files that could not be put back."""
    try:
        snapshot = await ports.checkpoints.before_command(step)
    except CheckpointError:  # then it could not be undone
        if ports.terms.needs_checkpoint:
            return NOTHING_CHANGED, moved
        return NOTHING_CHANGED, [each for each in moved if await ports.process.put_back(each.uri) is not None]
    left = [each for each in moved if await ports.process.put_back(each.uri) is not None]
    try:
        return await ports.checkpoints.after_command(step, snapshot, NOTHING), left
    except CheckpointError:
        return NOTHING_CHANGED, left


def _why(moved: Sequence[Appeared], ports: Ports) -> str:
    """Returns why files were moved away, for people."""
    places = [ports.workspace.resolve(each.uri) for each in moved]
    asked = [place for place in places if isinstance(place, Place) and (place.why or place.kind in ASKED)]
    appeared = APPEARED if len(moved) == 1 else SEVERAL_APPEARED
    return f"{appeared} {why_asked(asked, '')}" if asked else appeared


def _content(each: Appeared, ports: Ports) -> str:
    """Returns the files that have appeared, as a diff for people."""
    top = _path(each.uri, ports)
    parts = []
    for name, text in each.files:
        path = f"{top}/{name}" if name else top
        parts.append(f"# {path}: not shown\n" if text is None else diff.creation_diff(path, Text(text)))
    return "".join(parts)


def _path(uri: str, ports: Ports) -> str:
    place = ports.workspace.resolve(uri)
    return place.path if isinstance(place, Place) else uri


def _is_below(uri: str, top: str) -> bool:
    return uri == top or uri.startswith(f"{top}/")
