"""A model of what documents hold on the disk and in an editor, and of what a restore makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

NAMES = ("a.txt", "deep/b.txt", "deep/c.txt", "d.txt")
PLACES = 4  # in each file; every change is of one of them

Content = tuple[str, ...] | None  # the value at each place, None for no file


def raw(content: tuple[str, ...]) -> bytes:
    """A file: each value between lines that never change."""
    return "".join(f"-- {at} --\n{value}\n" for at, value in enumerate(content)).encode()


@dataclass(frozen=True)
class Image:
    """What a checkpoint has of a file: its bytes, and the editor's text if that is another."""

    disk: Content
    unsaved: Content = None

    @property
    def text(self) -> Content:
        return self.disk if self.unsaved is None else self.unsaved


@dataclass
class Change:
    """
    What a turn found in a file, and what it left, or was about to leave when it was killed.

    Attributes:
        lefts: What its steps but for the last one left.
    """

    before: Image
    after: Image
    lefts: list[Image] = field(default_factory=list)

    def up_to(self, now: Content) -> Change:
        """Without the last steps, if what is there *now* is what those before them left."""
        for left in (self.after, *reversed(self.lefts)):
            if (left.disk is None) if now is None else (left.text == now):
                return Change(self.before, left)
        return self


@dataclass
class Model:
    """
    All files, and the documents that are open.

    Attributes:
        saves: Whether the editor saves when it is asked to.
        buffers: The text of each open document.
        kept: What the checkpoints hold, by turn and file.
    """

    saves: bool
    disk: dict[str, Content] = field(default_factory=lambda: dict.fromkeys(NAMES))
    buffers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kept: dict[str, dict[str, Change]] = field(default_factory=dict)

    def copy(self) -> Model:
        return replace(self, disk=dict(self.disk), buffers=dict(self.buffers))

    def shown(self, name: str) -> Content:
        """What a reader sees: the editor's text where it is open."""
        return self.buffers.get(name, self.disk[name])

    def is_dirty(self, name: str) -> bool:
        return name in self.buffers and self.buffers[name] != self.disk[name]

    def image(self, name: str) -> Image:
        return Image(self.disk[name], self.buffers[name] if self.is_dirty(name) else None)

    def place(self, name: str) -> tuple[bytes | None, str | None]:
        """The bytes on the disk, and the text in the editor."""
        disk, buffer = self.disk[name], self.buffers.get(name)
        return None if disk is None else raw(disk), None if buffer is None else raw(buffer).decode()

    def is_written(self, name: str, content: tuple[str, ...]) -> None:
        """An edit of the agent's: in the editor where it is open."""
        if name in self.buffers:
            self.buffers[name] = content
        else:
            self.disk[name] = content

    def is_deleted(self, name: str) -> None:
        """By the agent; an editor keeps a document whose text is nowhere else."""
        if not self.is_dirty(name):
            self.buffers.pop(name, None)
        self.disk[name] = None

    def takes_back(self, name: str, change: Change) -> bool:
        """Do what a restore does to a file; False for a conflict, where it does nothing to its text."""
        now = self.shown(name)
        change = change.up_to(now)
        before, after = change.before, change.after
        if now is None:
            if before.text is not None and after.disk is not None:
                return False
            self.disk[name] = before.text
            return True
        if before.text is None:
            if after.text != now:
                return False
            self.is_deleted(name)
            return True
        return self._rewrites(name, change, now)

    def _rewrites(self, name: str, change: Change, now: tuple[str, ...]) -> bool:
        before, after, was_dirty = change.before, change.after, self.is_dirty(name)
        if name in self.buffers:
            deleted = after.disk is None and before.disk is not None and self.disk[name] is None
            beneath = after.unsaved is not None and after.disk != before.disk
            if deleted or (beneath and self.disk[name] == after.disk):
                self.disk[name] = before.disk
        if now == before.text:
            return True
        if after.text is None:
            return False
        assert before.text is not None
        back = list(now)
        for at, (was, became) in enumerate(zip(before.text, after.text, strict=True)):
            if was != became and now[at] not in (was, became):
                return False
            back[at] = was if was != became else now[at]
        if tuple(back) == now:
            return True
        self.is_written(name, tuple(back))
        if name in self.buffers and self.saves and not was_dirty and before.unsaved is None:
            self.disk[name] = self.buffers[name]
        return True
