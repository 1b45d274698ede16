"""The lock that files are changed under: waited for, given up with a reason, and had on any kind of disk."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.kit import code, names, one, update
from handrail.adapters.files import lock, system_lock
from handrail.adapters.files.disk import Disk, uri_of
from handrail.core.checkpoint import LINK, Image
from handrail.core.documents.change import Applied, Change, Create, Delete, Rejected
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from holder import held_by_another_process


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "WAIT_S", 0.02)


def without_locks(monkeypatch: pytest.MonkeyPatch, *, of_files: bool = False) -> None:
    """The disk has no locks of folders, as NFS has none, nor of files if so wished."""
    real = fcntl.flock

    def flock(handle: int, operation: int) -> None:
        if of_files or stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.ENOLCK, "No locks available")
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)


async def lines_of_many(folder: Path, stand_ins: Path | None) -> None:
    """Many editors change one line each of a file that all of them have read as it was; all land."""
    path, count = folder / "a", 12
    base = Text("".join(f"old {number};\n\n" for number in range(count)))
    path.write_text(base.content)
    changes = [update(path, base, (f"old {number};", f"new {number};")) for number in range(count)]
    landings = await asyncio.gather(*(one(Disk(stand_ins), change) for change in changes))
    assert all(isinstance(landing, Applied) for landing in landings), landings
    assert path.read_text() == base.content.replace("old", "new")


async def test_many_editors_of_one_process_keep_out_of_each_others_way(tmp_path: Path) -> None:
    await lines_of_many(tmp_path, None)
    assert names(tmp_path) == ["a"]


@pytest.mark.usefixtures("impatient")
async def test_whoever_waits_in_vain_changes_nothing_and_says_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\n")
    text = Text("one\n")
    changes: list[Change] = [
        update(path, text, ("one", "two")),
        Delete(uri=uri_of(path), base=text),
        Create(uri=uri_of(tmp_path / "b"), text=text),
    ]
    disk, place = Disk(), Image(raw=b"a", mode=LINK)
    with held_by_another_process(tmp_path) as holder:
        failures = [
            landing.failure for landing in await disk.apply(changes, "") if isinstance(landing, Rejected)
        ]
        failures += [
            failure
            for failure in (
                await disk.put(uri_of(path), b"one\n", b"two\n", None),
                await disk.put_image(uri_of(tmp_path / "link"), Image(raw=None), place),
            )
            if failure is not None
        ]
    assert [failure.code for failure in failures] == [Code.BUSY] * 5
    for failure in failures:
        assert f"process {holder} (" in failure.message
        assert failure.message.endswith("Nothing was changed.")
    assert names(tmp_path) == ["a"]
    assert path.read_text() == "one\n"
    assert isinstance(await one(disk, changes[0]), Applied), "the lock ended with its holder"


@pytest.mark.usefixtures("impatient")
async def test_a_lock_in_one_folder_holds_up_no_other(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    with held_by_another_process(tmp_path):
        assert isinstance(
            await one(Disk(), Create(uri=uri_of(tmp_path / "below" / "a"), text=Text("a"))), Applied
        )


@pytest.mark.usefixtures("impatient")
async def test_a_new_file_that_had_to_wait_in_vain_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "take", lambda handle, writes: False)
    assert (
        code(await one(Disk(), Create(uri=uri_of(tmp_path / "x" / "y" / "a"), text=Text("a")))) is Code.BUSY
    )
    assert names(tmp_path) == []


@pytest.mark.usefixtures("impatient")
async def test_through_a_link_the_folder_of_the_document_is_locked(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "links").mkdir()
    (tmp_path / "real" / "a").write_text("one\n")
    (tmp_path / "links" / "a").symlink_to("../real/a")
    change = update(tmp_path / "links" / "a", Text("one\n"), ("one", "two"))
    with held_by_another_process(tmp_path / "real"):
        assert code(await one(Disk(), change)) is Code.BUSY
    with held_by_another_process(tmp_path / "links"):
        assert isinstance(await one(Disk(), change), Applied)


@pytest.mark.usefixtures("impatient")
async def test_a_file_with_names_in_two_folders_is_locked_in_both(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "a").write_text("one\n")
    os.link(tmp_path / "one" / "a", tmp_path / "two" / "a")
    with held_by_another_process(tmp_path / "two" / "a"):
        landing = await one(Disk(), update(tmp_path / "one" / "a", Text("one\n"), ("one", "two")))
    assert code(landing) is Code.BUSY
    assert (tmp_path / "two" / "a").read_text() == "one\n"


async def test_where_a_folder_cannot_be_locked_a_file_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    (tmp_path / "work").mkdir()
    await lines_of_many(tmp_path / "work", tmp_path / "locks")
    assert names(tmp_path) == ["locks", "work", "work/a"], "nothing is left behind"


async def test_where_a_folder_cannot_be_opened_a_file_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def no_folders(path: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_DIRECTORY and not flags & os.O_PATH:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", no_folders)
    (tmp_path / "work").mkdir()
    await lines_of_many(tmp_path / "work", tmp_path / "locks")


@pytest.mark.parametrize("stand_ins", [None, "locks"])
async def test_without_any_lock_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_ins: str | None
) -> None:
    without_locks(monkeypatch, of_files=True)
    (tmp_path / "a").write_text("one\n")
    disk = Disk(stand_ins and tmp_path / stand_ins)
    landing = await one(disk, update(tmp_path / "a", Text("one\n"), ("one", "two")))
    assert isinstance(landing, Rejected)
    assert landing.failure.code is Code.EDIT_REJECTED
    assert "can be locked" in landing.failure.message
    assert "XDG_STATE_HOME" in landing.failure.steps[0]
    assert (tmp_path / "a").read_text() == "one\n"


@pytest.mark.parametrize("has_locks", [True, False])
def test_a_lock_of_what_has_been_replaced_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_locks: bool
) -> None:
    """While somebody waits, another folder takes the folder's place, or another file the stand-in's."""
    if not has_locks:
        without_locks(monkeypatch)
    work, stand_ins, locked = tmp_path / "work", tmp_path / "locks", list[int]()
    work.mkdir()

    def taken(handle: int, *, writes: bool) -> bool:
        is_taken = system_lock.take(handle, writes=writes)
        locked.append(os.fstat(handle).st_ino)
        if len(locked) == 1:
            here = work if has_locks else next(stand_ins.iterdir())
            here.rename(tmp_path / "old")
            if has_locks:
                work.mkdir()
        return is_taken

    monkeypatch.setattr(lock, "take", taken)
    with lock.hold(work / "a", stand_ins):
        here = work if has_locks else next(stand_ins.iterdir())
        assert locked == [(tmp_path / "old").stat().st_ino, here.stat().st_ino]


async def test_a_folder_that_is_gone_has_no_documents(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "a"
    assert code(await one(Disk(), update(path, Text("one\n"), ("one", "two")))) is Code.NO_SUCH_FILE
    assert code(await one(Disk(), Delete(uri=uri_of(path), base=Text("")))) is Code.NO_SUCH_FILE
    assert isinstance(await Disk().put(uri_of(path), b"one", b"two", None), Failure)
    assert names(tmp_path) == []


async def test_a_lock_holds_against_another_process(tmp_path: Path) -> None:
    """What the holder sees is the same lock: the folder's, and it is free again afterwards."""
    probe = (
        "import fcntl, os, sys\nfcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    )

    def is_free() -> bool:
        command = [sys.executable, "-c", probe, str(tmp_path)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    with lock.hold(tmp_path / "a", None):
        assert not is_free()
    assert is_free()
