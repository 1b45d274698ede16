"""The notes below the result of a command: what it changed, and which changes cannot be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from handrail.agent.tools.call import CommandReport, Console
from handrail.agent.turn.command import saving
from handrail.core.checkpoint import CommandChange, NotCovered, Snapshot
from handrail.core.failure import Failure
from handrail.core.policy.containment import Contained, Need, Profile
from handrail.ports import Ports

SHOWN = 10  # of each list


def stale_text_note(left: Sequence[str], ports: Ports) -> str:
    """Says which documents' unsaved text the command did not see."""
    names = saving.labels(left, ports)
    return (
        f"The command did not see unsaved changes: it saw only the saved text of {_some(names)}."
        if names
        else ""
    )


async def own_network_note(contained: Contained, ports: Ports) -> str:
    """Says that a background command cannot start a server that other commands reach."""
    if contained.profile is not Profile.WORK or Need.NETWORK in contained.needs:
        return ""
    if (await ports.process.available()).is_weak:  # Landlock closes the network, and gives none in its place
        return "This command has no network, so it cannot start a server. A server needs `needs: network`."
    return (
        "This command has a network of its own. Other commands can reach a server that it starts only if it "
        "and they run with `needs: network`."
    )


def not_reloaded_note(names: Sequence[str]) -> str:
    """Tells the model which open documents do not have what a command wrote to their files."""
    return (
        f"The editor still has the earlier text of {_some(names)}, from before the command. `read_file` and "
        "edits use that text."
    )


def not_reloaded_notice(names: Sequence[str]) -> str:
    """Tells the user the same."""
    what, them = ("files", "them") if names[1:] else ("a file", "it")
    were = "they were" if names[1:] else "it was"
    return (
        f"A command changed {what} that the editor still shows as {were} before: {_some(names)}. "
        f"Load {them} again before you save {them}."
    )


def add_notes(answer: CommandReport | Failure, *notes: str) -> CommandReport | Failure:
    """Returns the answer with *notes* below it."""
    said = [note for note in notes if note]
    if isinstance(answer, Failure):
        return replace(answer, steps=(*answer.steps, *said))
    if not said:
        return answer
    return replace(answer, text="\n".join((answer.text.rstrip("\n"), *said)).lstrip("\n"))


def changed_note(changes: Sequence[CommandChange]) -> str:
    """Names the files that a command changed."""
    names = [f"{change.path} ({change.change})" for change in changes]
    return f"Files that changed while the command was running: {_some(names)}." if names else ""


def edited_note(paths: Sequence[str]) -> str:
    """Names the files that edits changed while a command ran in the background."""
    files, them = ("these files", "them") if paths[1:] else ("this file", "it")
    said = (
        f"Edits changed {files} while the command was running, so it is unclear what the command itself "
        f"changed in {them}: {_some(paths)}."
    )
    return said if paths else ""


def layered_note(paths: Sequence[str]) -> str:
    """Names what was changed only in layers."""
    folders = "these folders" if paths[1:] else "this folder"
    said = f"Changes in {folders} are in a separate copy, which only later commands see: {_some(paths)}."
    return said if paths else ""


def not_covered_note(not_covered: Sequence[NotCovered]) -> str:
    """Names what no checkpoint covers."""
    names = [f"{in_words(each.path)} ({each.reason})" for each in not_covered]
    return f"Not covered by the checkpoint: {_some(names)}." if names else ""


def crowded_note(folders: Sequence[str]) -> str:
    """Says in which folders a checkpoint includes little of the permissions of files."""
    names = _some([in_words(each) for each in folders])
    said = (
        f"There are too many files in {names} to record every change of permissions. If a command changes "
        "nothing else of a file, the checkpoint only has whether the file can be executed."
    )
    return said if folders else ""


def tell_gaps(snapshot: Snapshot, console: Console) -> None:
    """Tells the user once what a snapshot does not include, before a command changes it."""
    new = [each for each in snapshot.not_covered if each.path not in console.named]
    crowded = [each for each in snapshot.crowded if each not in console.named]
    console.named.update((*(each.path for each in new), *crowded))
    for said in filter(None, (not_covered_note(new), crowded_note(crowded))):
        console.notice(said, True)


def in_words(path: str) -> str:
    """Returns the name of a path for a sentence."""
    return "the workspace folder" if path == "." else path


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f", and {more} more" if more > 0 else "")
