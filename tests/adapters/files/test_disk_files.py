"""Files are made, deleted and restored on disk, and nothing else is touched."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

from adapters.kit import code, full_disk, large, names, one, stamp
from handrail.adapters.files.disk import Disk, uri_of
from handrail.core.documents.change import Applied, Create, Delete, Rejected
from handrail.core.documents.text import Text
from handrail.core.failure import Code
from handrail.ports import Editor


async def test_a_new_file_gets_its_folders_and_exact_bytes(disk: Editor, tmp_path: Path) -> None:
    path = tmp_path / "x" / "y" / "a.txt"
    text = Text("a\r\n\u00e9", "utf-16-le", True)
    assert await one(disk, Create(uri=uri_of(path), text=text)) == Applied(text=text)
    assert path.read_bytes() == b"\xff\xfea\0\r\0\n\0\xe9\0"
    assert names(tmp_path) == ["x", "x/y", "x/y/a.txt"]
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


async def test_nothing_that_is_there_is_created_over(disk: Editor, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "folder", "link"):
        landing = await one(disk, Create(uri=uri_of(tmp_path / name), text=Text("new")))
        assert code(landing) is Code.FILE_EXISTS
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert names(tmp_path) == ["file", "folder", "link"]


async def test_a_dangling_link_is_filled_not_replaced(disk: Editor, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    assert isinstance(await one(disk, Create(uri=uri_of(tmp_path / "link"), text=Text("a"))), Applied)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"a"


async def test_of_many_who_create_a_file_one_does(tmp_path: Path) -> None:
    changes = [Create(uri=uri_of(tmp_path / "new" / "a"), text=Text(str(number))) for number in range(20)]
    landings = await asyncio.gather(*(one(Disk(), change) for change in changes))
    landed = [landing.text for landing in landings if isinstance(landing, Applied)]
    assert len(landed) == 1
    assert landed[0] is not None
    assert (tmp_path / "new" / "a").read_bytes() == landed[0].raw
    assert names(tmp_path) == ["new", "new/a"]


async def test_a_create_that_fails_leaves_nothing(disk: Editor, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    expected = {
        tmp_path / "plain" / "a": Code.EDIT_REJECTED,
        tmp_path / "plain" / "x" / "a": Code.EDIT_REJECTED,
        tmp_path / "x" / "y" / ("a" * 300): Code.EDIT_REJECTED,
    }
    for path, wanted in expected.items():
        assert code(await one(disk, Create(uri=uri_of(path), text=Text("a")))) is wanted
    with full_disk(1000):
        landing = await one(disk, Create(uri=uri_of(tmp_path / "x" / "a"), text=Text("a" * 5000)))
    assert code(landing) is Code.EDIT_REJECTED
    landing = await one(disk, Create(uri=uri_of(tmp_path / "x" / "a"), text=Text("→", "latin-1")))
    assert code(landing) is Code.BAD_ENCODING
    assert names(tmp_path) == ["plain"]


async def test_a_delete_removes_what_was_judged_and_nothing_else(disk: Editor, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"changed")
    landing = await one(disk, Delete(uri=uri_of(path), base=Text("judged")))
    assert isinstance(landing, Rejected)
    assert landing.failure.code is Code.STALE_DOCUMENT
    assert landing.failure.message == "a has changed in the meantime, so it was not deleted."
    assert path.read_bytes() == b"changed"
    assert await one(disk, Delete(uri=uri_of(path), base=Text("changed"))) == Applied(text=None)
    assert code(await one(disk, Delete(uri=uri_of(path), base=Text("changed")))) is Code.NO_SUCH_FILE
    assert names(tmp_path) == []


async def test_a_delete_through_a_link_deletes_the_document(disk: Editor, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"a")
    (tmp_path / "link").symlink_to("target")
    assert isinstance(await one(disk, Delete(uri=uri_of(tmp_path / "link"), base=Text("a"))), Applied)
    assert names(tmp_path) == ["link"]


async def test_everything_is_saved(disk: Editor) -> None:
    assert await disk.save(["file:///a", "file:///b"]) == {"file:///a", "file:///b"}


async def test_put_makes_a_file_hold_exactly_these_bytes(tmp_path: Path) -> None:
    disk, path = Disk(), tmp_path / "x" / "a"
    assert await disk.put(uri_of(path), None, b"\0\xff\r", 0o751) is None
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"\0\xff\r", 0o751)
    before, marked = path.stat(), stamp(path)
    assert await disk.put(uri_of(path), None, b"\0\xff\r", None) is None
    assert stamp(path) == marked, "an equal file keeps its time"
    assert await disk.put(uri_of(path), None, b"\0\xff\r", 0o640) is None
    assert (path.stat().st_mtime_ns, stat.S_IMODE(path.stat().st_mode)) == (before.st_mtime_ns, 0o640)
    assert await disk.put(uri_of(path), b"\0\xff\r", b"b", 0o400) is None
    assert await disk.put(uri_of(path), b"b", b"c", None) is None, "a restore is not kept out by a mode"
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"c", 0o400)
    assert names(tmp_path) == ["x", "x/a"]
    assert await disk.put(uri_of(path), b"c", None, None) is None
    assert await disk.put(uri_of(path), b"c", None, None) is None
    assert await disk.put(uri_of(path / "below"), b"c", None, None) is None
    assert names(tmp_path) == ["x"]


async def test_put_keeps_what_was_not_found_before(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for found, there in ((b"a", b"b"), (None, b"b"), (b"a", None)):
        for wanted in (b"c", None):
            path.unlink(missing_ok=True)
            if there is not None:
                path.write_bytes(there)
            failure = await Disk().put(uri_of(path), found, wanted, None)
            if wanted is None and there is None:
                assert failure is None, "it is gone already"
                continue
            assert failure is not None
            assert (failure.code, failure.uri) == (Code.STALE_DOCUMENT, uri_of(path))
            assert "the agent" not in failure.message, "a restore comes here too"
            assert (path.read_bytes() if path.exists() else None) == there


async def test_put_keeps_links(tmp_path: Path) -> None:
    disk = Disk()
    (tmp_path / "a").write_bytes(b"a")
    os.link(tmp_path / "a", tmp_path / "hard")
    (tmp_path / "soft").symlink_to("a")
    assert await disk.put(uri_of(tmp_path / "soft"), b"a", b"b", 0o755) is None
    assert (tmp_path / "hard").read_bytes() == b"b"
    assert stat.S_IMODE((tmp_path / "hard").stat().st_mode) == 0o755
    assert (tmp_path / "soft").is_symlink()


async def test_put_says_what_is_in_its_way(tmp_path: Path) -> None:
    disk = Disk()
    (tmp_path / "folder").mkdir()
    (tmp_path / "plain").write_bytes(b"")
    large(tmp_path / "large", 200_000_000)
    expected = {"folder": Code.EDIT_REJECTED, "plain/a": Code.EDIT_REJECTED, "large": Code.TOO_LARGE}
    for name, wanted in expected.items():
        failure = await disk.put(uri_of(tmp_path / name), b"", b"a", None)
        assert failure is not None
        assert (failure.code, failure.uri) == (wanted, uri_of(tmp_path / name))
    assert (tmp_path / "large").stat().st_size == 200_000_000
    failure = await disk.put("untitled:1", None, b"a", None)
    assert failure is not None
    assert failure.code is Code.NO_SUCH_FILE


async def test_only_empty_folders_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "a" / "mine").write_bytes(b"")
    (tmp_path / "plain").write_bytes(b"")
    folders = ["a/b/c", "a/b", "a", "plain", "missing"]
    await Disk().remove_empty_folders([uri_of(tmp_path / name) for name in folders] + ["untitled:1"])
    assert names(tmp_path) == ["a", "a/mine", "plain"]
