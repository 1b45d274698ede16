"""No write leaves the workspace, whatever becomes a link between the check and the use."""

from __future__ import annotations

import asyncio
import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.kit import update
from handrail.adapters.files import disk, entry, files, folders, lock
from handrail.adapters.files.disk import Disk
from handrail.adapters.files.files import uri_of
from handrail.core.checkpoint import LINK, Image
from handrail.core.documents.change import Applied, Change, Create, Delete
from handrail.core.documents.text import Text
from handrail.core.failure import Code

MINE, THEIRS = b"one\ntwo\n", b"theirs\n"
AT_FDCWD, EXCHANGE = -100, 2


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a folder `src` in it; beside it lies one of somebody else's with the same names."""
    for folder, held in (("work/src/inner", MINE), ("theirs/inner", MINE)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.txt").write_bytes(held)
        (tmp_path / folder).parent.joinpath("a.txt").write_bytes(held)
    return tmp_path / "work"


def swap(root: Path) -> None:
    """Put a link to somebody else's folder in the place of `src`."""
    (root / "src").rename(root / "src-as-it-was")
    (root / "src").symlink_to(root.parent / "theirs")


def text(content: str) -> Text:
    found = Text.parse(content.encode(), None)
    assert isinstance(found, Text)
    return found


def changes(root: Path, folder: str) -> list[Change]:
    base = text(MINE.decode())
    uri = uri_of(root / folder / "a.txt")
    return [
        update(root / folder / "a.txt", base, ("one", "ONE")),
        Delete(uri=uri, base=base),
        Create(uri=uri_of(root / folder / "new.txt"), text=base),
        Create(uri=uri_of(root / folder / "new" / "folder" / "new.txt"), text=base),
    ]


def held(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"/"
        for path in folder.rglob("*")
    }


each_folder = pytest.mark.parametrize("folder", ["src", "src/inner"])
each_change = pytest.mark.parametrize("number", range(4))


@each_folder
@each_change
async def test_a_folder_that_became_a_link_after_the_judgement(root: Path, folder: str, number: int) -> None:
    change, before = changes(root, folder)[number], held(root.parent / "theirs")
    swap(root)
    (landing,) = await Disk(roots=lambda: [root]).apply([change], "")
    assert not isinstance(landing, Applied)
    assert landing.failure.code is Code.STALE_DOCUMENT
    assert held(root.parent / "theirs") == before


@each_folder
@each_change
async def test_a_folder_that_becomes_a_link_at_the_worst_moment(
    root: Path, folder: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All has been checked and locked: what is left is to open it."""

    @contextmanager
    def late(path: Path) -> Iterator[entry.Entry]:
        swap(root)
        with real(path) as place:
            yield place

    change, before, real = changes(root, folder)[number], held(root.parent / "theirs"), entry.hold
    monkeypatch.setattr(entry, "hold", late)
    (landing,) = await Disk(roots=lambda: [root]).apply([change], "")
    assert not isinstance(landing, Applied)
    assert held(root.parent / "theirs") == before


@each_change
async def test_a_folder_that_becomes_a_link_once_it_is_open(
    root: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is made where it was judged, wherever that folder lies by now."""

    @contextmanager
    def early(path: Path) -> Iterator[entry.Entry]:
        with real(path) as place:
            swap(root)
            yield place

    change, before, real = changes(root, "src")[number], held(root.parent / "theirs"), entry.hold
    monkeypatch.setattr(entry, "hold", early)
    await Disk(roots=lambda: [root]).apply([change], "")
    assert held(root.parent / "theirs") == before


async def test_the_file_itself_becomes_a_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def late(path: Path, stand_ins: Path | None) -> Iterator[None]:
        with real(path, stand_ins):
            path.unlink()
            path.symlink_to(root.parent / "theirs" / "a.txt")
            yield

    change, real = changes(root, "src")[0], lock.hold
    monkeypatch.setattr(disk.lock, "hold", late)
    (landing,) = await Disk(roots=lambda: [root]).apply([change], "")
    assert not isinstance(landing, Applied)
    assert (root.parent / "theirs" / "a.txt").read_bytes() == MINE


async def test_folders_are_not_made_through_a_link(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(path: Path, **how: bool) -> object:
        swap(root)
        return real(path, **how)

    change, before, real = changes(root, "src")[3], held(root.parent / "theirs"), folders.make_missing
    monkeypatch.setattr(folders, "make_missing", late)
    (landing,) = await Disk(roots=lambda: [root]).apply([change], "")
    assert not isinstance(landing, Applied)
    assert held(root.parent / "theirs") == before


@pytest.mark.parametrize(
    "act",
    [
        lambda disk, uri: disk.put(uri, MINE, b"new", None),
        lambda disk, uri: disk.put(uri, MINE, None, None),
        lambda disk, uri: disk.put_image(uri, Image(raw=MINE, mode=0o644), Image(raw=b"x", mode=LINK)),
        lambda disk, uri: disk.put_image(uri, Image(raw=MINE, mode=0o644), Image(raw=None)),
    ],
)
async def test_restores_stay_inside_as_well(
    root: Path, act: Callable[[Disk, str], asyncio.Future[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def late(path: Path) -> Iterator[entry.Entry]:
        swap(root)
        with real(path) as place:
            yield place

    before, real = held(root.parent / "theirs"), entry.hold
    monkeypatch.setattr(entry, "hold", late)
    assert await act(Disk(roots=lambda: [root]), uri_of(root / "src" / "a.txt")) is not None
    assert held(root.parent / "theirs") == before


async def test_a_race_that_nobody_arranges(root: Path) -> None:
    """The folder and a link to somebody else's trade places all the time."""
    (root / "link").symlink_to(root.parent / "theirs")
    system = ctypes.CDLL(None, use_errno=True)
    ended = threading.Event()

    def trade() -> None:
        one, other = os.fsencode(root / "src"), os.fsencode(root / "link")
        while not ended.is_set():
            if system.renameat2(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE):
                return  # a file system that cannot

    before = held(root.parent / "theirs")
    trader = threading.Thread(target=trade)
    trader.start()
    try:
        place = Disk(roots=lambda: [root])
        for number in range(150):
            made = Create(uri=uri_of(root / "src" / f"{number}" / "new.txt"), text=text("new\n"))
            await place.apply([*changes(root, "src")[:1], made], "")
    finally:
        ended.set()
        trader.join()
    assert held(root.parent / "theirs") == before
    assert not list(root.rglob(".handrail-*"))


async def test_a_link_above_the_workspace_is_no_obstacle(root: Path) -> None:
    (root.parent / "short").symlink_to(root)
    short = root.parent / "short"
    (landing, *_) = await Disk(roots=lambda: [short]).apply(changes(short, "src")[:1], "")
    assert isinstance(landing, Applied)
    assert (root / "src" / "a.txt").read_bytes() == b"ONE\ntwo\n"


async def test_what_was_judged_outside_is_changed_there(root: Path) -> None:
    (landing,) = await Disk(roots=lambda: [root]).apply(changes(root.parent, "theirs")[:1], "")
    assert isinstance(landing, Applied)


def test_a_folder_that_cannot_be_listed_can_be_passed_through(root: Path) -> None:
    (root / "src").chmod(0o311)
    try:
        with entry.hold(root / "src" / "inner" / "a.txt") as place:
            assert files.read(place, 100).raw == MINE
    finally:
        (root / "src").chmod(0o755)


async def test_what_a_killed_writer_left_is_removed(root: Path) -> None:
    """By the next write in that folder; what is young, or only looks like it, stays."""
    folder = root / "src"
    strays = [".handrail-0123456789abcdef", ".handrail-ab_c1def", ".handrail-fedcba9876543210"]
    kept = [".handrail-0000000000000000", ".handrail-0123456789abcdefg", ".handrail", ".handrail-notes.md"]
    for name in (*strays[:2], *kept):
        (folder / name).write_bytes(b"half")
    (folder / strays[2]).symlink_to("a.txt")
    for name in (*strays, *kept[1:]):
        os.utime(folder / name, (0, 0), follow_symlinks=False)
    (landing, *_) = await Disk(roots=lambda: [root]).apply(changes(root, "src")[:1], "")
    assert isinstance(landing, Applied)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*kept, "a.txt", "inner"])
