"""What a restore meets on a real disk: bytes that are no text, modes, links, limits, other roots."""

from __future__ import annotations

import asyncio
import errno
import stat
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from bench import Bench, outline
from handrail.adapters.checkpoints.port import ShadowRepo
from handrail.adapters.files.disk import Disk
from handrail.adapters.files.failure import unreadable
from handrail.agent.restore.compare import NOW, compare
from handrail.agent.restore.restore import RestoreReport
from handrail.core.checkpoint import Image, Limits, StepId, Target
from handrail.core.documents.change import Change, Landing, Status
from handrail.core.failure import Failure
from handrail.ports import CheckpointError, Document
from handrail.testing import answer, call, lay_out, snapshot

STEP = StepId(session="s", turn="t-9", number=1, label="A command")


async def command(bench: Bench, act: Callable[[], object]) -> None:
    """What a turn does that runs one command."""
    taken = await bench.repo.before_command(STEP)
    act()
    await bench.repo.after_command(STEP, taken)


def reasons(report: RestoreReport) -> list[str]:
    return [conflict.reason for conflict in report.conflicts]


BINARY, OTHER = bytes(range(256)), bytes(reversed(range(256)))


async def test_bytes_that_are_no_text_come_back_as_a_whole(bench: Bench) -> None:
    lay_out(bench.root, {"changed": BINARY, "deleted": BINARY})

    def act() -> None:
        (bench.root / "changed").write_bytes(OTHER)
        (bench.root / "deleted").unlink()
        (bench.root / "created").write_bytes(OTHER)

    await command(bench, act)
    report = await bench.restore("t-9")
    assert reasons(report) == []
    assert snapshot(bench.root) == {"changed": BINARY, "deleted": BINARY}
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert snapshot(bench.root) == {"changed": OTHER, "created": OTHER}


async def test_bytes_that_somebody_changed_since_are_kept(bench: Bench) -> None:
    lay_out(bench.root, {"a": BINARY})
    await command(bench, lambda: (bench.root / "a").write_bytes(OTHER))
    (bench.root / "a").write_bytes(OTHER + b"\0")
    report = await bench.restore("t-9")
    assert "changed since" in reasons(report)[0]
    assert snapshot(bench.root) == {"a": OTHER + b"\0"}


async def test_a_document_that_is_named_twice_is_taken_back_once(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\n", "b": b"one\n"})
    await command(bench, lambda: [(bench.root / name).write_bytes(b"two\n") for name in "ab"])
    uri = (bench.root / "a").as_uri()
    report = await bench.restore("t-9", uris=[uri, uri.replace("/a", "/./a"), uri])
    assert (report.restored, report.conflicts) == ((uri,), ())
    assert snapshot(bench.root) == {"a": b"one\n", "b": b"two\n"}


async def test_permissions_come_back(bench: Bench) -> None:
    lay_out(bench.root, {"run.sh": b"#!/bin/sh\n", "both.sh": b"#!/bin/sh\n"})
    for name in ("run.sh", "both.sh"):
        (bench.root / name).chmod(0o755)

    def act() -> None:
        (bench.root / "run.sh").chmod(0o644)
        (bench.root / "both.sh").chmod(0o644)
        (bench.root / "both.sh").write_bytes(b"changed\n")

    await command(bench, act)
    await bench.restore("t-9")
    for name in ("run.sh", "both.sh"):
        path = bench.root / name
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"#!/bin/sh\n", 0o755)


async def test_equal_files_are_not_rewritten(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\n"})
    await command(bench, lambda: (bench.root / "a").write_bytes(b"two\n"))
    (bench.root / "a").write_bytes(b"one\n")
    before = (bench.root / "a").stat()
    report = await bench.restore("t-9")
    after = (bench.root / "a").stat()
    assert report.unchanged == ((bench.root / "a").as_uri(),)
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


async def test_a_path_that_became_a_link_to_outside_is_left_alone(bench: Bench, tmp_path: Path) -> None:
    lay_out(bench.root, {"a": b"one\n"})
    bench.says(answer("", call("write_file", path="a", content="two\n")), answer("Done."))
    report = await bench.turn()
    (tmp_path / "secret").write_bytes(b"two\n")
    (bench.root / "a").unlink()
    (bench.root / "a").symlink_to(tmp_path / "secret")
    assert report.checkpoint is not None
    restored = await bench.restore(report.checkpoint)
    assert "leads to another file" in reasons(restored)[0]
    assert (tmp_path / "secret").read_bytes() == b"two\n"


async def test_a_file_that_became_a_folder_is_left_alone(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\n", "c": b"one\n"})
    calls = [call("write_file", path=path, content="two\n") for path in "ac"]
    bench.says(answer("", *calls), answer("Done."))
    report = await bench.turn()
    (bench.root / "a").unlink()
    lay_out(bench.root, {"a/b": b"the user's\n"})
    assert report.checkpoint is not None
    restored = await bench.restore(report.checkpoint)
    assert "it is a folder" in reasons(restored)[0]
    assert snapshot(bench.root) == {"a/b": b"the user's\n", "c": b"one\n"}


EDIT = call("patch", path="a", old_string="one", new_string="two")
CREATION = call("write_file", path="a", content="two\n")


UTF_16, MARK = "utf-16-le", "\ufeff"
FORMS: dict[str, tuple[Callable[[str], bytes], Callable[[str], bytes]]] = {  # of the file before and after
    "CRLF": (str.encode, lambda text: text.replace("\n", "\r\n").encode()),
    "LF": (lambda text: text.replace("\n", "\r\n").encode(), str.encode),
    "CR": (str.encode, lambda text: text.replace("\n", "\r").encode()),
    "a mark": (str.encode, lambda text: f"{MARK}{text}".encode()),
    "no mark": (lambda text: f"{MARK}{text}".encode(), str.encode),
    "UTF-16": (str.encode, lambda text: f"{MARK}{text}".encode(UTF_16)),
    "all": (str.encode, lambda text: f"{MARK}{text}".replace("\n", "\r\n").encode(UTF_16)),
}


@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
async def test_line_ends_mark_and_encoding_come_back_beside_what_the_user_typed(
    bench: Bench, form: tuple[Callable[[str], bytes], Callable[[str], bytes]], edited: bool
) -> None:
    (before, after), path = form, bench.root / "a"
    lay_out(bench.root, {"a": before("one\ntwo\nthree\n")})
    two = "TWO" if edited else "two"
    await command(bench, lambda: path.write_bytes(after(f"one\n{two}\nthree\n")))
    path.write_bytes(after(f"zero\none\n{two}\nthree\nfour\n"))
    report = await bench.restore("t-9")
    assert outline(report) == [[path.as_uri()], [], [], [], [], None]
    assert path.read_bytes() == before("zero\none\ntwo\nthree\nfour\n")
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert path.read_bytes() == after(f"zero\none\n{two}\nthree\nfour\n")


async def test_line_ends_come_back_where_the_user_typed_others(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\ntwo\n"})
    await command(bench, lambda: (bench.root / "a").write_bytes(b"one\r\ntwo\r\n"))
    (bench.root / "a").write_bytes(b"one\r\ntwo\r\nthree\n")
    await bench.restore("t-9")
    assert snapshot(bench.root) == {"a": b"one\ntwo\nthree\n"}


async def test_a_file_that_the_user_renamed_is_a_conflict_that_names_the_ways_on(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\n"})
    await command(bench, lambda: (bench.root / "a").write_bytes(b"ONE\n"))
    (bench.root / "a").rename(bench.root / "b")
    (reason,) = reasons(await bench.restore("t-9"))
    assert "deleted or renamed" in reason
    (bench.root / "b").rename(bench.root / "a")  # as it says
    assert reasons(await bench.restore("t-9")) == []
    assert snapshot(bench.root) == {"a": b"one\n"}


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o000])
async def test_a_file_that_the_turn_made_read_only_is_restored(bench: Bench, mode: int) -> None:
    lay_out(bench.root, {"a": b"one\n", "typed": b"1\n2\n3\n4\n", "binary": BINARY})
    before = modes(bench.root)

    def act() -> None:
        lay_out(bench.root, {"a": b"ONE\n", "typed": b"1\nTWO\n3\n4\n", "binary": OTHER, "new": b"new\n"})
        for name in ("a", "typed", "binary", "new"):
            (bench.root / name).chmod(mode)

    await command(bench, act)
    (bench.root / "typed").write_bytes(b"1\nTWO\n3\n4\n5\n")  # as root may
    report = await bench.restore("t-9")
    assert reasons(report) == []
    assert snapshot(bench.root) == {"a": b"one\n", "typed": b"1\n2\n3\n4\n5\n", "binary": BINARY}
    assert modes(bench.root) == before
    assert report.checkpoint is not None
    assert reasons(await bench.restore(report.checkpoint)) == []
    assert snapshot(bench.root)["a"] == b"ONE\n"


async def test_a_file_that_others_made_read_only_stays_so_and_the_way_on_is_named(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\n"})
    await command(bench, lambda: (bench.root / "a").write_bytes(b"ONE\n"))
    (bench.root / "a").chmod(0o444)
    report = await bench.restore("t-9", is_foreseen=False)
    assert reasons(report) == [
        "a was left unchanged, because it is read-only. To change it, make it writable first."
    ]
    assert modes(bench.root) == {"a": 0o444}


class Waiting(Disk):
    """The disk, which waits for ever before an edit or a removal."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = asyncio.Event()

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        self.is_asked.set()
        await asyncio.Event().wait()
        return await super().apply(changes, label)


@pytest.mark.parametrize("text", [b"one\n", None])
async def test_a_restore_that_is_stopped_leaves_a_read_only_file_so(bench: Bench, text: bytes | None) -> None:
    lay_out(bench.root, {} if text is None else {"a": text})

    def act() -> None:
        lay_out(bench.root, {"a": b"ONE\n"})
        (bench.root / "a").chmod(0o444)

    await command(bench, act)
    bench.editor = waiting = Waiting()
    restore = asyncio.create_task(bench.restore("t-9"))
    await waiting.is_asked.wait()
    restore.cancel()
    with pytest.raises(asyncio.CancelledError):
        await restore
    assert modes(bench.root)["a"] == 0o444
    assert snapshot(bench.root)["a"] == b"ONE\n"


def modes(root: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()}


DELETION = call("patch", mode="v4a", patch="*** Begin Patch\n*** Delete File: a\n*** End Patch\n")


class Denied(Disk):
    """The disk, with a file that exists but cannot be read."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    async def read(self, uri: str) -> Document | Failure:
        refused = unreadable(self.path, PermissionError(errno.EACCES, "Permission denied"))
        return refused if uri == self.path.as_uri() else await super().read(uri)

    async def read_bytes(self, uri: str) -> bytes | None:
        return None if uri == self.path.as_uri() else await super().read_bytes(uri)

    async def read_image(self, uri: str) -> Image | None:
        return None if uri == self.path.as_uri() else await super().read_image(uri)


@pytest.mark.parametrize(
    ("files", "edit"), [({"a": b"one\n"}, EDIT), ({}, CREATION), ({"a": b"one\n"}, DELETION)]
)
async def test_a_file_that_cannot_be_read_is_not_called_deleted(
    bench: Bench, files: dict[str, bytes], edit: dict[str, object]
) -> None:
    lay_out(bench.root, files)
    bench.says(answer("", edit), answer("Done."))
    turn = (await bench.turn()).turn
    lay_out(bench.root, {"a": b"the user's\n"})
    bench.editor = Denied(bench.root / "a")
    restored = await bench.restore(turn)
    assert reasons(restored) == ["a cannot be read: permission is denied."]
    assert "/dev/null" not in await compare(bench.ports(), turn, NOW, None)
    assert snapshot(bench.root) == {"a": b"the user's\n"}


@pytest.mark.parametrize(
    ("files", "edit"), [({"a": b"one\n"}, EDIT), ({}, CREATION), ({"a": b"one\n"}, DELETION)]
)
async def test_what_is_in_the_way_of_a_restore_or_its_undoing_is_told_without_a_turn(
    bench: Bench, files: dict[str, bytes], edit: dict[str, object]
) -> None:
    lay_out(bench.root, files)
    bench.says(answer("", edit), answer("Done."))
    checkpoint: str | None = (await bench.turn()).turn
    path = bench.root / "a"
    for _ in range(2):
        assert checkpoint is not None
        there = path.read_bytes() if path.exists() else None
        path.write_bytes(b"another\n")
        (reason,) = reasons(await bench.restore(checkpoint))
        assert "turn" not in reason
        (reason,) = reasons(await bench.restore(checkpoint, uris=[path.as_uri()], lines=(0, 0)))
        assert "turn" not in reason
        if there is None:
            path.unlink()
        else:
            path.write_bytes(there)
        checkpoint = (await bench.restore(checkpoint)).checkpoint


async def test_a_restore_at_the_limit_loses_neither_what_it_brings_back_nor_the_way_back(
    bench: Bench,
) -> None:
    contents = [Random(number).randbytes(40_000).hex().encode() + b"\n" for number in range(8)]
    limit = 300_000
    bench.repo.set_limits(Limits(max_bytes=limit))
    lay_out(bench.root, {"a": contents[0]})
    for after in contents[1:]:
        bench.says(answer("", call("write_file", path="a", content=after.decode())), answer("Done."))
        assert (await bench.turn()).checkpoint is not None
    known = await bench.repo.list()
    assert len(known) < 7, "the limit has been hit"
    oldest = known[-1].id
    (bench.root / "a").write_bytes(Random(8).randbytes(40_000).hex().encode() + b"\n")
    assert reasons(await bench.restore(oldest)) != []
    assert oldest in [each.id for each in await bench.repo.list()], "it is needed for what was not restored"
    (bench.root / "a").write_bytes(contents[-1])
    restored = await bench.restore(known[0].id)
    assert (bench.root / "a").read_bytes() == contents[-2]
    assert restored.checkpoint is not None
    await bench.restore(restored.checkpoint)
    assert (bench.root / "a").read_bytes() == contents[-1]


async def test_a_patch_over_three_files_in_two_roots_is_taken_back_in_both(
    bench: Bench, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    lay_out(bench.root, {"a": b"a\n"})
    lay_out(other, {"b": b"b\n", "c": b"c\n"})
    bench.folders.replace((bench.root, other))
    sections = "".join(
        f"*** Update File: {path}\n@@\n-{path[-1]}\n+{path[-1].upper()}\n"
        for path in ("work/a", "other/b", "other/c")
    )
    patch = f"*** Begin Patch\n{sections}*** End Patch\n"
    bench.says(answer("", call("patch", mode="v4a", patch=patch)), answer("Done."))
    report = await bench.turn()
    assert snapshot(other) == {"b": b"B\n", "c": b"C\n"}
    assert report.checkpoint is not None
    restored = await bench.restore(report.checkpoint)
    assert len(restored.restored) == 3
    assert snapshot(bench.root) | snapshot(other) == {"a": b"a\n", "b": b"b\n", "c": b"c\n"}


async def test_a_checkpoint_of_another_project_is_refused(bench: Bench, tmp_path: Path) -> None:
    lay_out(bench.root, {"a": b"one\n"})
    bench.says(answer("", call("write_file", path="a", content="two\n")), answer("Done."))
    report = await bench.turn()
    assert report.checkpoint is not None
    lay_out(tmp_path / "other", {"a": b"two\n"})
    bench.folders.replace((tmp_path / "other",))
    with pytest.raises(CheckpointError, match="no checkpoint"):
        await bench.restore(report.checkpoint)
    assert snapshot(tmp_path / "other") == {"a": b"two\n"}


async def test_line_ends_stay_whatever_attributes_say(bench: Bench) -> None:
    files = {".gitattributes": b"* text=auto\n", "a": b"one\r\ntwo\r\n", "b": b"one\ntwo\r\n"}
    lay_out(bench.root, files)
    await command(bench, lambda: [(bench.root / name).unlink() for name in files])
    await bench.restore("t-9")
    assert snapshot(bench.root) == files


async def test_two_restores_at_once_are_both_whole(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\n", "b": b"one\n"})
    turns = []
    for name in ("a", "b"):
        bench.says(answer("", call("write_file", path=name, content="two\n")), answer("Done."))
        turns.append((await bench.turn()).checkpoint)
    restores: list[Awaitable[RestoreReport]] = [bench.restore(str(turn)) for turn in turns]
    found = await asyncio.gather(*restores)
    assert [reasons(each) for each in found] == [[], []]
    assert snapshot(bench.root) == {"a": b"one\n", "b": b"one\n"}


async def test_what_somebody_made_where_the_turn_had_deleted_a_file_is_kept(bench: Bench) -> None:
    lay_out(bench.root, {"a.txt": b"one\n"})
    bench.says(
        answer(
            "", call("patch", mode="v4a", patch="*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n")
        ),
        answer("Done."),
    )
    report = await bench.turn()
    assert report.checkpoint is not None
    assert snapshot(bench.root) == {}
    lay_out(bench.root, {"a.txt": b"the user's own\n"})
    restored = await bench.restore(report.checkpoint)
    assert snapshot(bench.root) == {"a.txt": b"the user's own\n"}
    assert len(restored.conflicts) == 1


async def test_a_turn_is_taken_back_after_its_last_steps_were(bench: Bench) -> None:
    """What is there is not what the turn left, but what one of its steps did."""
    lay_out(bench.root, {"a": b"one\ntwo\n", "b": BINARY})
    bench.says(
        answer("", call("patch", path="a", old_string="two", new_string="TWO")),
        answer("", call("write_file", path="made", content="1\n")),
        answer("", call("patch", path="a", old_string="one", new_string="ONE")),
        answer("", call("patch", path="made", old_string="1", new_string="2")),
        answer("Done."),
    )
    report = await bench.turn()
    assert report.checkpoint is not None
    await bench.restore(f"{report.checkpoint}.3")
    assert snapshot(bench.root) == {"a": b"one\nTWO\n", "b": BINARY, "made": b"1\n"}
    restored = await bench.restore(report.checkpoint)
    assert reasons(restored) == []
    assert snapshot(bench.root) == {"a": b"one\ntwo\n", "b": BINARY}


async def test_a_restore_that_changes_nothing_leaves_no_checkpoint(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"one\n"})
    await command(bench, lambda: (bench.root / "a").write_bytes(b"two\n"))
    for there in (b"one\n", b"three\n"):
        (bench.root / "a").write_bytes(there)
        report = await bench.restore("t-9")
        assert (len(report.unchanged), len(report.conflicts)) == ((1, 0) if there == b"one\n" else (0, 1))
        assert report.checkpoint is None
        assert [each.id for each in await bench.repo.list()] == ["t-9"]


async def test_permissions_that_come_back_are_told(bench: Bench) -> None:
    lay_out(bench.root, {"run.sh": b"#!/bin/sh\n", "binary": BINARY})
    await command(bench, lambda: [(bench.root / name).chmod(0o755) for name in ("run.sh", "binary")])
    report = await bench.restore("t-9")
    assert (len(report.restored), report.unchanged) == (2, ())
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    assert {stat.S_IMODE((bench.root / name).stat().st_mode) for name in ("run.sh", "binary")} == {0o755}


class Neighbour(Disk):
    """The disk, on which another process edits the same file just before and just after our first change."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        super().__init__()
        self.acts = list(acts)

    async def apply(self, changes: Sequence[Change], label: str) -> tuple[Landing, ...]:
        self._act()
        landings = await super().apply(changes, label)
        self._act()
        return landings

    def _act(self) -> None:
        if self.acts:
            self.acts.pop(0)()


def replacing(path: Path, old: str, new: str) -> Callable[[], object]:
    return lambda: path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize(("old", "new"), [("ours", "OURS"), ("theirs 1", "OURS")])
async def test_what_another_process_wrote_around_an_edit_is_not_taken_back(
    bench: Bench, old: str, new: str
) -> None:
    """The second edit is of a line that the other process changes as well, so it does not land."""
    lay_out(bench.root, {"a": b"ours\n\ntheirs 0\n\ntheirs 1\n\ntheirs 2\n"})
    path = bench.root / "a"
    bench.editor = Neighbour(replacing(path, "theirs 1", "1"), replacing(path, "theirs 2", "2"))

    class Late(ShadowRepo):
        """The other process is also quicker than the checkpoint."""

        async def ensure(self, step: StepId, targets: Sequence[Target]) -> str:
            replacing(path, "theirs 0", "0")()
            return await super().ensure(step, targets)

    repo = bench.repo
    bench.repo = Late(bench.state, lambda: bench.folders.roots, lambda: datetime.now(UTC))
    edit = call("patch", path="a", mode="replace", old_string=old, new_string=new)
    bench.says(answer("", edit), answer("Done."))
    report = await bench.turn()
    bench.repo = repo
    landed = [outcome.status is Status.LANDED for outcome in report.outcomes]
    assert landed == [old == "ours"]
    there = "OURS" if landed[0] else "ours"
    assert snapshot(bench.root) == {"a": f"{there}\n\n0\n\n1\n\n2\n".encode()}
    if report.checkpoint is None:  # nothing was changed, so there is nothing to take back
        assert not landed[0]
        return
    await bench.restore(report.turn)
    assert snapshot(bench.root) == {"a": b"ours\n\n0\n\n1\n\n2\n"}


async def test_a_file_that_another_process_has_added_to_is_not_removed(bench: Bench) -> None:
    path = bench.root / "a"
    bench.editor = Neighbour(lambda: None, lambda: path.write_text("ours\ntheirs\n"))
    bench.says(answer("", call("write_file", path="a", content="ours\n")), answer("Done."))
    report = await bench.turn()
    (conflict,) = (await bench.restore(report.turn)).conflicts
    assert "changed since" in conflict.reason
    assert snapshot(bench.root) == {"a": b"ours\ntheirs\n"}


ADD = "*** Begin Patch\n*** Add File: a\n+ours\n*** End Patch\n"
DELETE = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"
MOVE = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-old\n+ours\n*** End Patch\n"


@pytest.mark.parametrize(
    ("before", "patch", "names"),
    [
        ({}, ADD, "a"),
        ({"a": b"old\n"}, DELETE, "a"),
        ({"a": b"old\n"}, MOVE, "b"),
        ({"a": b"old\n"}, MOVE, "a"),
    ],
    ids=["add", "delete", "move-onto", "move-from"],
)
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_file_that_another_process_wrote_in_the_moment_of_an_edit_is_its_own(
    bench: Bench, before: dict[str, bytes], patch: str, names: str, when: str
) -> None:
    """Whether the edit lands or not: a restore takes back what the turn did, and nothing else."""
    lay_out(bench.root, before)

    def theirs() -> None:
        (bench.root / names).write_text("theirs\n")

    bench.editor = Neighbour(*((theirs,) if when == "before" else (lambda: None, theirs)))
    bench.says(
        answer("", call("patch", mode="v4a", patch=patch)),
        answer("", call("write_file", path="other", content="ours\n")),
        answer("Done."),
    )
    report = await bench.turn()
    assert snapshot(bench.root)[names] == b"theirs\n"
    assert report.outcomes[-1].status is Status.LANDED
    await bench.restore(report.turn)
    assert snapshot(bench.root) == {**before, names: b"theirs\n"}


async def test_what_another_process_wrote_between_two_edits_of_an_answer_is_not_taken_back(
    bench: Bench,
) -> None:
    lay_out(bench.root, {"a": b"ours 0\n\ntheirs\n\nours 1\n"})
    path = bench.root / "a"
    bench.editor = Neighbour(lambda: None, replacing(path, "theirs", "THEIRS"))
    edits = [
        call("patch", path="a", mode="replace", old_string=f"ours {number}", new_string=f"OURS {number}")
        for number in range(2)
    ]
    bench.says(answer("", *edits), answer("Done."))
    report = await bench.turn()
    assert snapshot(bench.root) == {"a": b"OURS 0\n\nTHEIRS\n\nOURS 1\n"}
    restored = await bench.restore(report.turn)
    assert snapshot(bench.root) == {"a": b"ours 0\n\nTHEIRS\n\nours 1\n"}
    assert (len(restored.restored), restored.conflicts) == (1, ())


async def test_what_somebody_wrote_between_an_edit_and_a_command_of_an_answer_is_not_taken_back(
    bench: Bench,
) -> None:
    lay_out(bench.root, {"a": b"ours 0\n\ntheirs\n\nours 1\n"})
    path = bench.root / "a"
    await bench.repo.ensure(STEP, [Target(uri=path.as_uri())])
    replacing(path, "ours 0", "OURS 0")()
    await bench.repo.record(STEP, [Target(uri=path.as_uri())])
    replacing(path, "theirs", "THEIRS")()
    await command(bench, replacing(path, "ours 1", "OURS 1"))
    report = await bench.restore("t-9")
    assert snapshot(bench.root) == {"a": b"ours 0\n\nTHEIRS\n\nours 1\n"}
    assert (len(report.restored), report.conflicts) == (1, ())


@pytest.mark.parametrize("when", ["before", "after"])
async def test_what_another_process_wrote_in_the_moment_of_a_restore_is_not_taken_back_with_it(
    bench: Bench, when: str
) -> None:
    lay_out(bench.root, {"a": b"ours\n\ntheirs\n", "b": b"gone\n"})
    path = bench.root / "a"
    edits = [
        call("patch", path="a", mode="replace", old_string="ours", new_string="OURS"),
        call("patch", mode="v4a", patch="*** Begin Patch\n*** Add File: c\n+made\n*** End Patch\n"),
        call("patch", mode="v4a", patch="*** Begin Patch\n*** Delete File: b\n*** End Patch\n"),
    ]
    bench.says(answer("", *edits), answer("Done."))
    report = await bench.turn()
    assert snapshot(bench.root) == {"a": b"OURS\n\ntheirs\n", "c": b"made\n"}

    def theirs() -> None:
        replacing(path, "theirs", "THEIRS")()

    def theirs_anew() -> None:
        (bench.root / "c").write_text("theirs\n")

    late = (lambda: None, theirs_anew, lambda: None, theirs)
    bench.editor = Neighbour(*((theirs,) if when == "before" else late))
    restored = await bench.restore(report.turn)
    made = {} if when == "before" else {"c": b"theirs\n"}
    assert snapshot(bench.root) == {"a": b"ours\n\nTHEIRS\n", "b": b"gone\n", **made}
    assert restored.checkpoint is not None
    await bench.restore(restored.checkpoint)
    assert snapshot(bench.root) == {"a": b"OURS\n\nTHEIRS\n", **(made or {"c": b"made\n"})}


class Moment(Disk):
    """The disk, on which another process writes just before our n-th read."""

    def __init__(self, at: int, act: Callable[[], object]) -> None:
        super().__init__()
        self.left, self.act = at, act

    async def read(self, uri: str) -> Document | Failure:
        self.left -= 1
        if self.left == 0:
            self.act()
        return await super().read(uri)


@pytest.mark.parametrize("at", range(1, 13))
async def test_what_another_process_writes_at_any_moment_of_two_edits_is_not_taken_back(
    bench: Bench, at: int
) -> None:
    lay_out(bench.root, {"a": b"ours 0\n\ntheirs\n\nours 1\n"})
    bench.editor = moment = Moment(at, replacing(bench.root / "a", "theirs", "THEIRS"))
    edits = [
        call("patch", path="a", mode="replace", old_string=f"ours {number}", new_string=f"OURS {number}")
        for number in range(2)
    ]
    bench.says(answer("", *edits), answer("Done."))
    report = await bench.turn()
    assert moment.left <= 0
    assert snapshot(bench.root) == {"a": b"OURS 0\n\nTHEIRS\n\nOURS 1\n"}
    await bench.restore(report.turn)
    assert snapshot(bench.root) == {"a": b"ours 0\n\nTHEIRS\n\nours 1\n"}


LINES = b"".join(b"line %d\n" % number for number in range(20))
V4A = "*** Begin Patch\n{}*** End Patch\n"
MOVES = {
    "moved": "*** Update File: a\n*** Move to: b\n",
    "moved-and-edited": "*** Update File: a\n*** Move to: b\n@@\n-line 3\n+LINE 3\n",
    "added-and-deleted": "*** Add File: b\n"
    + "".join(f"+line {n}\n" for n in range(20))
    + "*** Delete File: a\n",
}


@pytest.mark.parametrize("patch", MOVES.values(), ids=MOVES)
async def test_a_moved_file_stays_if_its_old_name_is_taken(bench: Bench, patch: str) -> None:
    lay_out(bench.root, {"a": LINES, "z": b"z\n"})
    calls = [
        call("patch", mode="v4a", patch=V4A.format(patch)),
        call("write_file", path="other", content="other\n"),
        call("write_file", path="z", content="Z\n"),
    ]
    bench.says(answer("", *calls), answer("Done."))
    report = await bench.turn()
    assert report.checkpoint is not None
    moved = (bench.root / "b").read_bytes()
    lay_out(bench.root, {"a": b"the user's\n"})
    restored = await bench.restore(report.checkpoint)
    assert snapshot(bench.root) == {"a": b"the user's\n", "b": moved, "z": b"z\n"}
    assert "text from a" in reasons(restored)[0 if "b" in restored.conflicts[0].uri[-1] else 1]
    (bench.root / "a").unlink()
    assert reasons(await bench.restore(report.checkpoint)) == []
    assert snapshot(bench.root) == {"a": LINES, "z": b"z\n"}


async def test_of_many_moved_files_only_those_stay_whose_old_names_are_taken(bench: Bench) -> None:
    files = {
        f"old/{name}": (b"equal\n" if name in "ab" else BINARY if name == "c" else b"%s\n" % name.encode())
        for name in "abcd"
    }
    lay_out(bench.root, files)
    await command(bench, lambda: (bench.root / "old").rename(bench.root / "new"))
    lay_out(bench.root, {"old/c": b"the user's\n", "old/a": b"the user's\n"})
    await bench.restore("t-9")
    kept = {"old/a": b"the user's\n", "old/c": b"the user's\n", "new/a": b"equal\n", "new/c": BINARY}
    assert snapshot(bench.root) == {**kept, "old/b": b"equal\n", "old/d": b"d\n"}


async def test_files_that_changed_places_stay_if_one_cannot_be_restored(bench: Bench) -> None:
    lay_out(bench.root, {"a": LINES, "b": b"one\ntwo\n"})

    def swap() -> None:
        (bench.root / "a").rename(bench.root / "c")
        (bench.root / "b").rename(bench.root / "a")
        (bench.root / "c").rename(bench.root / "b")

    await command(bench, swap)
    now = {"a": b"one\nTWO\n", "b": LINES}
    lay_out(bench.root, now)
    await bench.restore("t-9")
    assert snapshot(bench.root) == now


async def test_a_moved_file_stays_if_its_old_folder_cannot_be_made(bench: Bench) -> None:
    """What fails only when it is tried is not foreseen."""
    lay_out(bench.root, {"old/a": LINES})
    await command(
        bench, lambda: [(bench.root / "old" / "a").rename(bench.root / "b"), (bench.root / "old").rmdir()]
    )
    (bench.root / "old").write_bytes(b"the user's\n")
    await bench.restore("t-9", is_foreseen=False)
    assert snapshot(bench.root) == {"old": b"the user's\n", "b": LINES}


async def test_a_file_that_resembles_a_deleted_one_is_removed(bench: Bench) -> None:
    lay_out(bench.root, {"a": b"import os\nimport sys\n" + LINES})

    def act() -> None:
        (bench.root / "a").unlink()
        (bench.root / "new").write_bytes(b"import os\nimport sys\n\nprint(sys.argv)\n")

    await command(bench, act)
    lay_out(bench.root, {"a": b"the user's\n"})
    await bench.restore("t-9")
    assert snapshot(bench.root) == {"a": b"the user's\n"}


LATIN1, NO_CHARSET = b"root = true\n[*]\ncharset = latin1\n", b"root = true\n"


@pytest.mark.parametrize(
    ("charsets", "old", "now", "expected"),
    [
        ((NO_CHARSET, LATIN1), b"\xc3\xa9\none\n", b"one\nm\xefne\n", b"\xe9\none\nm\xefne\n"),
        ((LATIN1, NO_CHARSET), b"\xe9\none\n", b"one\nm\xc3\xafne\n", b"\xc3\xa9\none\nm\xc3\xafne\n"),
        ((LATIN1, LATIN1), b"\xe9\none\n", b"one\nm\xefne\n", b"\xe9\none\nm\xefne\n"),
        # It was UTF-8 all the time, and the charset was wrong.
        ((LATIN1, NO_CHARSET), b"\xc3\xa9\none\n", b"one\nm\xc3\xafne\n", b"\xc3\xa9\none\nm\xc3\xafne\n"),
        *(
            (
                (NO_CHARSET, NO_CHARSET),
                f"{row}\none\n".encode(),
                "one\nmïne\n".encode("utf-16"),
                f"{row}\none\nmïne\n".encode("utf-16"),
            )
            for row in ("é", "ab", "abc")
        ),
    ],
)
async def test_lines_come_back_in_the_encoding_that_the_file_has_now(
    bench: Bench, charsets: tuple[bytes, bytes], old: bytes, now: bytes, expected: bytes
) -> None:
    lay_out(bench.root, {".editorconfig": charsets[0], "a.txt": old})
    row = old.decode("latin-1" if charsets[0] == LATIN1 else "utf-8").partition("\n")[0]
    edit = call("patch", path="a.txt", old_string=f"{row}\none", new_string="one")
    bench.says(answer("", edit), answer("Done."))
    report = await bench.turn()
    assert report.checkpoint is not None
    lay_out(bench.root, {".editorconfig": charsets[1], "a.txt": now})
    assert reasons(await bench.restore(report.checkpoint)) == []
    assert (bench.root / "a.txt").read_bytes() == expected


async def test_a_character_that_the_encoding_lacks_by_now_is_a_conflict(bench: Bench) -> None:
    lay_out(bench.root, {".editorconfig": NO_CHARSET, "a.txt": "€\none\n".encode()})
    bench.says(
        answer("", call("patch", path="a.txt", old_string="€\none", new_string="one")), answer("Done.")
    )
    report = await bench.turn()
    assert report.checkpoint is not None
    lay_out(bench.root, {".editorconfig": LATIN1, "a.txt": "one\nmïne\n".encode("latin-1")})
    restored = await bench.restore(report.checkpoint, is_foreseen=False)
    assert "U+20AC" in reasons(restored)[0]
    assert (bench.root / "a.txt").read_bytes() == "one\nmïne\n".encode("latin-1")


async def test_the_differences_of_a_checkpoint_are_read_in_the_encoding_of_then(bench: Bench) -> None:
    lay_out(bench.root, {".editorconfig": LATIN1, "a.txt": "é\none\n".encode("latin-1")})
    bench.says(
        answer("", call("patch", path="a.txt", old_string="é\none", new_string="one")), answer("Done.")
    )
    report = await bench.turn()
    assert report.checkpoint is not None
    assert "-é\n" in await compare(bench.ports(), report.checkpoint, None, None)


async def test_a_text_that_cannot_be_read_any_more_is_not_said_to_be_no_text(bench: Bench) -> None:
    lay_out(bench.root, {"a": "é\none\n".encode()})
    await command(bench, lambda: (bench.root / "a").write_bytes(b"one\n"))
    (bench.root / "a").write_bytes(b"one\nm\xefne\n")
    (reason,) = reasons(await bench.restore("t-9"))
    assert "cannot be read as text" in reason


FILE_TO_FOLDER = V4A.format("*** Delete File: b\n*** Add File: b/x/c\n+y\n*** Add File: b/d\n+y\n")


async def test_a_file_that_the_turn_replaced_by_a_folder_comes_back(bench: Bench) -> None:
    lay_out(bench.root, {"b": b"precious\n"})
    bench.says(answer("", call("patch", mode="v4a", patch=FILE_TO_FOLDER)), answer("Done."))
    report = await bench.turn()
    assert snapshot(bench.root) == {"b/x/c": b"y\n", "b/d": b"y\n"}
    assert report.checkpoint is not None
    restored = await bench.restore(report.checkpoint)
    assert reasons(restored) == []
    assert snapshot(bench.root) == {"b": b"precious\n"}
    assert restored.checkpoint is not None
    assert reasons(await bench.restore(restored.checkpoint)) == []
    assert snapshot(bench.root) == {"b/x/c": b"y\n", "b/d": b"y\n"}


async def test_a_folder_with_a_file_of_the_user_stays_in_the_place_of_a_file(bench: Bench) -> None:
    lay_out(bench.root, {"b": b"precious\n"})
    bench.says(answer("", call("patch", mode="v4a", patch=FILE_TO_FOLDER)), answer("Done."))
    report = await bench.turn()
    lay_out(bench.root, {"b/x/mine": b"the user's\n"})
    assert report.checkpoint is not None
    for is_foreseen in (False, True):
        restored = await bench.restore(report.checkpoint, is_foreseen=is_foreseen)
        assert "folder" in reasons(restored)[0]
        assert snapshot(bench.root) == {"b/x/mine": b"the user's\n"}
    (bench.root / "b" / "x" / "mine").unlink()
    for folder in ("b/x", "b"):
        (bench.root / folder).rmdir()
    assert reasons(await bench.restore(report.checkpoint)) == []
    assert snapshot(bench.root) == {"b": b"precious\n"}


async def test_two_turns_that_replaced_a_file_by_a_folder_come_back_one_by_one(bench: Bench) -> None:
    lay_out(bench.root, {"b": b"precious\n"})
    turns = []
    for section in ("*** Delete File: b\n", "*** Add File: b/c\n+y\n"):
        bench.says(answer("", call("patch", mode="v4a", patch=V4A.format(section))), answer("Done."))
        turns.append(str((await bench.turn()).checkpoint))
    assert "folder" in reasons(await bench.restore(turns[0]))[0]
    assert snapshot(bench.root) == {"b/c": b"y\n"}
    for turn in reversed(turns):
        assert reasons(await bench.restore(turn)) == []
    assert snapshot(bench.root) == {"b": b"precious\n"}


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
async def test_the_difference_of_a_turn_has_only_its_own_changes(bench: Bench, eol: str) -> None:
    rows = "one\ntwo\nthree\nfour\nfive\nsix\n".replace("\n", eol).encode()
    lay_out(bench.root, {"a.txt": rows})
    file = bench.root / "a.txt"
    bench.says(
        answer("", call("patch", path="a.txt", old_string="one", new_string="ONE")),
        answer("", call("patch", path="a.txt", old_string="six", new_string="SIX")),
        answer("Done."),
        acts={1: lambda: file.write_bytes(file.read_bytes().replace(b"three", b"3"))},
    )
    turn = (await bench.turn()).checkpoint
    assert turn is not None
    shown = await compare(bench.ports(), turn, None, None)
    changed = [row for row in shown.splitlines() if row[0] in "+-" and not row.startswith(("---", "+++"))]
    assert changed == ["-one", "+ONE", "-six", "+SIX"]
    assert " 3\n" in shown
    assert "-three\n+3\n" in await compare(bench.ports(), turn, NOW, None)
