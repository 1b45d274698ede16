"""
The layout of a step in git: a sparse tree of what it touched, and a commit on top of the previous step.

    checkpoint.json           the record, see `record`
    before/PATH after/PATH    what a file held before the step and after it, or where a link pointed
    unsaved/PATH unsaved-after/PATH   the editor's text, where it differed
    intended/PATH unsaved-intended/PATH   what was about to be after the step, until it is known what is

A PATH is relative to the workspace folder, below the folder's name if there are several. Whatever a git
tree cannot hold in a name is percent-encoded, reversibly, so `git fsck --strict` has nothing to say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from dulwich.objects import ObjectID, format_timezone, serialize_tree, sorted_tree_items

from handrail.adapters.checkpoints import pack
from handrail.adapters.checkpoints.record import Step, to_json
from handrail.adapters.files.paths import inside
from handrail.core.checkpoint import LINK
from handrail.values import dataclass

RECORD = "checkpoint.json"
AUTHOR = b"handrail <handrail@localhost>"
PLAIN, PROGRAM, FOLDER = 0o100644, 0o100755, 0o040000

# Where there is no folder to be relative to, and for a path that means two things in one step. No encoded
# name begins like these, as what follows their percent sign is no number.
OUTSIDE, UNTITLED, CLASH = "%outside", "%untitled", "%clash"

# Git gives a meaning to names that begin like this, in any case; the tilde is for Windows' short names.
MEANT = re.compile(r"\.git", re.IGNORECASE)
ESCAPED = frozenset("%/\\~")

Folder = dict[str, "Folder | tuple[int, str]"]


def stored_name(name: str) -> str:
    """A name that any git tree can hold; what cannot be printed, or means something, is percent-encoded."""
    escaped = "".join(c if c.isprintable() and c not in ESCAPED else _percent(c) for c in name)
    return "%2E" + escaped[1:] if MEANT.match(escaped) else escaped


def _percent(character: str) -> str:
    try:
        raw = os.fsencode(character)
    except UnicodeEncodeError:  # half of a pair, which no file name has, but a URI may
        raw = character.encode("utf-8", "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in raw)


def stored_path(real: Path, roots: Sequence[Path], names: Sequence[str]) -> str:
    """
    Returns the path of a file in a tree; *real* and *roots* have every link resolved, *names* are those of
    the roots.
    """
    home = inside(os.fspath(real), roots)
    if home is None:
        parts = [OUTSIDE, *(stored_name(part) for part in real.parts if part != "/")]
    else:
        number, path = home
        parts = [stored_name(names[number])] if len(roots) > 1 else []
        parts += map(stored_name, path.parts)
    return "/".join(parts)


def untitled_path(uri: str) -> str:
    """Returns the path in a tree of a document without a file."""
    return f"{UNTITLED}/{stored_name(uri)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCommit:
    """
    The commit of a step.

    Attributes:
        name: Its id.
        own: Its tree and its record, which no other step can have.
        entries: All that it is made of, but for the documents' own blobs.
    """

    name: ObjectID
    own: tuple[ObjectID, ...]
    entries: tuple[pack.Entry, ...]


def commit(step: Step, parent: ObjectID | None) -> StepCommit:
    """The commit of *step* on that of the step before."""
    record = pack.make_entry(pack.BLOB, to_json(step))
    areas: dict[str, Folder] = {}
    for entry in step.entries:
        for kept, of_disk, of_editor in (
            (entry.before, "before", "unsaved"),
            (entry.after, "after", "unsaved-after"),
            (entry.intended, "intended", "unsaved-intended"),
        ):
            if kept is not None and kept.blob is not None:
                mode = LINK if kept.mode == LINK else PROGRAM if (kept.mode or 0) & 0o100 else PLAIN
                _put(areas.setdefault(of_disk, {}), entry.stored, (mode, kept.blob))
            if kept is not None and kept.unsaved is not None:
                _put(areas.setdefault(of_editor, {}), entry.stored, (PLAIN, kept.unsaved.blob))
    trees: list[pack.Entry] = []
    root = _tree({**areas, RECORD: (PLAIN, record.name.decode())}, trees)
    parents = b"" if parent is None else b"parent %s\n" % parent
    made = pack.make_entry(pack.COMMIT, b"tree %s\n%s%s" % (root, parents, _authorship(step)))
    return StepCommit(name=made.name, own=(root, record.name), entries=(record, *trees, made))


def _put(folder: Folder, path: str, leaf: tuple[int, str]) -> None:
    """Hangs *leaf* into nested folders; where something else has its place, aside."""
    at = folder
    *above, name = path.split("/")
    for part in above:
        below = at.setdefault(part, {})
        if not isinstance(below, dict):
            folder[f"{CLASH}-{leaf[1]}"] = leaf
            return
        at = below
    if at.setdefault(name, leaf) != leaf:
        folder[f"{CLASH}-{leaf[1]}"] = leaf


def _tree(folder: Folder, trees: list[pack.Entry]) -> ObjectID:
    """Adds the tree of a folder to *trees*, after those of the folders in it; returns its id."""
    rows = {
        name.encode(): (FOLDER, _tree(below, trees))
        if isinstance(below, dict)
        else (below[0], ObjectID(below[1].encode()))
        for name, below in folder.items()
    }
    content = b"".join(serialize_tree(sorted_tree_items(rows, name_order=False)))
    trees.append(pack.make_entry(pack.TREE, content))
    return trees[-1].name


def _authorship(step: Step) -> bytes:
    """The author, time and message of a commit: the label, then whose step it is."""
    time = datetime.fromisoformat(step.time)
    offset = time.utcoffset()
    zone = format_timezone(int(offset.total_seconds()) // 60 * 60 if offset else 0)
    who = b"%s %d %s" % (AUTHOR, max(0, int(time.timestamp())), zone)
    label = step.id.label.strip() or "Untitled step"
    whose = f"Session: {step.id.session}\nTurn: {step.id.turn}\nStep: {step.id.number}\n"
    message = re.sub(r"[\0\r]", "", f"{label}\n\n{whose}").encode("utf-8", "replace")
    return b"author %s\ncommitter %s\n\n%s" % (who, who, message)
