"""
Checkpoints as values: steps, images, checkpoints, snapshots.

How and where they are stored is decided by the implementation of the port `Checkpoints`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from handrail.core.documents.text import Text
from handrail.values import dataclass, field

LINK = 0o120000  # as in git, and as in the file systems of Unix


@dataclass(frozen=True, slots=True, kw_only=True)
class StepId:
    """
    The step that a checkpoint stands before.

    Attributes:
        number: Counts the steps of the turn from 1.
        label: What the turn is about, for people.
        pinned: Whether no limit may remove it: what a restore took away is nowhere else.
        call: The step's first call, by which its place in the conversation is found; empty if it has none.
        restores: The turns whose texts it restores, which no limit may remove before it has ended.
    """

    session: str
    turn: str
    number: int
    label: str
    pinned: bool = False
    call: str = ""
    restores: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaved:
    """The editor's text where it differs from the disk, with its version."""

    text: Text
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """
    The planned contents of a document, stored before the change in case the server is killed during it.

    Attributes:
        raw: The bytes of the file; None for none.
        unsaved: The editor's text, if it is to be another one.
        leaves_file: Whether only the editor's text is to change, and the file, whatever `raw` says, is not.
    """

    raw: bytes | None
    unsaved: Unsaved | None = None
    leaves_file: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """
    A document that is about to change.

    Attributes:
        unsaved: The editor's text, if the file has another one.
        intended: The planned contents; None if they are unknown.
        is_unfollowed: Whether the path is meant and not the document that it leads to, so that a symbolic
            link there is kept as a link.
        raw: What its file is taken to hold: what the change was computed on, or what it made of that, even if
            someone else has changed the file since. None: what it holds.
        leaves_file: Whether only the editor's text was changed: the file counts as it was before the change,
            whatever the user has saved by now.
        is_gone: Whether there was no file here, before the turn or as it left it, even if one is here by now.
        is_untouched: Whether the turn left it unchanged, even if someone else has changed it since.
        renamed: Its URI by now, if it was renamed since its pre-image was kept.
        is_past: Whether this is how it was a while ago: nothing will be changed, so it is only kept if the
            step does not have the document yet.
    """

    uri: str
    raw: bytes | None = None
    unsaved: Unsaved | None = None
    intended: Intended | None = None
    is_unfollowed: bool = False
    leaves_file: bool = False
    is_gone: bool = False
    is_untouched: bool = False
    renamed: str | None = None
    is_past: bool = False


class Kind(StrEnum):
    """The ways in which a path differs from its pre-image."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointPath:
    """One path of a checkpoint: relative to the root with `/`, absolute outside it; `uri` names the same."""

    uri: str
    path: str
    change: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointStep:
    """One step of a checkpoint: restoring its id takes this step and what follows back; see `StepId.call`."""

    id: str
    paths: tuple[str, ...]
    call: str = ""


class Origin(StrEnum):
    """The kinds of changes before which a checkpoint is taken."""

    TURN = "turn"
    QUICK_FIX = "quickFix"
    UNDO = "undo"  # in a review
    RESTORE = "restore"
    REDO = "redo"  # a restore that was taken back


RESTORING, REDOING = "Before restoring: ", "Before undoing a restore: "  # how the labels of those two begin
IN_LISTS = {RESTORING: "Restore: ", REDOING: "Undo of a restore: "}  # there, they are what can be undone
ORIGINS = {"q": Origin.QUICK_FIX, "u": Origin.UNDO, "r": Origin.RESTORE}  # by what ids begin with


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """
    The pre-images of what one turn changed.

    Attributes:
        id: The turn's id.
        session, turn, label: Whose it is.
        time: When it was begun, RFC 3339 with offset.
        root: The workspace folder, as an absolute path.
        steps, paths: What it holds.
    """

    id: str
    session: str
    turn: str
    label: str
    time: str
    root: str
    steps: tuple[CheckpointStep, ...]
    paths: tuple[CheckpointPath, ...]

    @property
    def origin(self) -> Origin:
        """The kind of change before which it was taken."""
        origin = ORIGINS.get(self.id.partition("-")[0], Origin.TURN)
        return Origin.REDO if origin is Origin.RESTORE and self.label.startswith(REDOING) else origin

    @property
    def name(self) -> str:
        """What its restore undoes, in words; the label of a restore's checkpoint says when that was taken."""
        if self.origin in (Origin.RESTORE, Origin.REDO):
            for begins, instead in IN_LISTS.items():
                if self.label.startswith(begins):
                    return instead + self.label.removeprefix(begins)
        return self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """
    The contents of a path at one moment.

    Attributes:
        raw: The bytes on disk, or where a symbolic link points; None if there was nothing.
        mode: The permission bits, `LINK` for a symbolic link, None if there is no file.
        unsaved: The editor's text, if it differed from the disk.
        encoding: The encoding that was configured for the path then; None for UTF-8, or if it is unknown.
    """

    raw: bytes | None
    mode: int | None = None
    unsaved: Unsaved | None = None
    encoding: str | None = field(default=None, compare=False)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link itself."""
        return self.mode == LINK


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """
    One path to restore.

    Attributes:
        uri: The document.
        before: The contents before the turn (or step) first touched it.
        after: The contents that the turn left, as last recorded; None if they are unknown.
        is_seen: Whether the turn certainly wrote that; otherwise it was killed when it was about to.
        gaps: What others changed between two steps: (what one step left, what the next one found).
        made_folders: Folders that did not exist before, as URIs, innermost first; a file may have been there.
        identity: The document that the URI meant then, whatever it means by now.
        is_shared: Whether a command made it one file with another one.
        earlier: The same for the first steps alone, the most first: if the later steps have been restored
            already, this is what the document holds now.
        before_last: The contents before it was last touched; None if it was touched once (see `before`).
        renamed_from: Its URI then, if the user has renamed it since; else empty.
    """

    uri: str
    before: Image
    after: Image | None
    gaps: tuple[tuple[Image, Image], ...] = ()
    made_folders: tuple[str, ...] = ()
    identity: str = field(default="", compare=False)
    is_seen: bool = True
    is_shared: bool = False
    earlier: tuple[Restoration, ...] = field(default=(), compare=False)
    before_last: Image | None = field(default=None, compare=False)
    renamed_from: str = field(default="", compare=False)

    @property
    def is_unfollowed(self) -> bool:
        """Whether the path was or is a link, so that its target must be left alone."""
        return self.is_shared or self.before.is_link or (self.after is not None and self.after.is_link)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDocument:
    """A document that has been changed since a checkpoint was begun, and what it held then."""

    uri: str
    path: str
    image: Image


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCovered:
    """A path that a snapshot leaves out, as people read it, and why: no checkpoint can bring it back."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """
    All that the workspace folders hold before a command runs.

    Attributes:
        id: Names it in `after_command`.
        not_covered: What it leaves out.
        crowded: The folders with so many files that it does not keep their permissions, as people read them.
        borrows: Whether it leans on objects of the user's own repository, until the command has ended.
    """

    id: str
    not_covered: tuple[NotCovered, ...] = ()
    crowded: tuple[str, ...] = ()
    borrows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorActivity:
    """
    The typing and saves in an editor while a command ran.

    Attributes:
        unsaved: Open documents with text that the disk did not have before the command, and has not now: no
            command changes that.
        saved: The URIs of documents that hold what the user has typed and saved.
        edited: The URIs of documents that calls have edited, while the command ran in the background.
    """

    unsaved: Sequence[Target] = ()
    saved: Sequence[str] = ()
    edited: Sequence[str] = ()


NOTHING = EditorActivity()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandChange:
    """A file that a command changed: its URI, and its path as in a checkpoint."""

    uri: str
    path: str
    change: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEffects:
    """
    The changes of the workspace folders while a command ran.

    Attributes:
        checkpoint: The turn's id, if anything changed: restoring the turn undoes these changes too.
        not_covered: Changes, or parts of the folders, that no checkpoint covers.
    """

    changes: tuple[CommandChange, ...] = ()
    checkpoint: str | None = None
    not_covered: tuple[NotCovered, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    The limits of what is kept: bytes on the disk, and days since a turn last changed something.

    Attributes:
        is_setting: Whether the user's settings have them.
    """

    max_bytes: int = 1_000_000_000
    max_age_days: int = 30
    is_setting: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The result of pruning: the removed checkpoints, and the number of bytes in use now."""

    removed: tuple[str, ...]
    bytes_used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Soundness:
    """The problems of the store (none if it is sound), and the number of examined checkpoints."""

    checkpoints: int
    problems: tuple[str, ...]
