"""Files are named, replaced and waited for without loss."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.adapters.files import files
from handrail.adapters.files.disk import path_of, uri_of
from handrail.adapters.files.files import in_thread


@given(st.lists(st.binary(min_size=1, max_size=40).filter(lambda raw: not {0, 47} & set(raw)), min_size=1))
def test_every_posix_name_has_a_uri_and_back(parts: list[bytes]) -> None:
    path = os.fsdecode(b"/" + b"/".join(part for part in parts if part not in (b".", b"..")))
    assert path_of(uri_of(Path(path))) == Path(path)
    assert uri_of(path).isascii()


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c.txt", "/a/b c.txt"),
        ("file:///a/b c%C3%A4.txt", "/a/b cä.txt"),
        ("FILE://localhost/a", "/a"),
        ("file:/a", "/a"),
        ("file:///a%0Ab", "/a\nb"),
        ("file:///a\tb", "/a\tb"),
        ("file:///a/../b", "/a/../b"),
        ("file://server/share/a", None),
        ("file:///a#b", None),
        ("file:///a?b", None),
        ("file:///a%00b", None),
        ("file:///\ud800", None),
        ("file:a", None),
        ("untitled:Untitled-1", None),
        ("/a", None),
        ("", None),
    ],
)
def test_uris(uri: str, path: str | None) -> None:
    assert path_of(uri) == (None if path is None else Path(path))


def test_uris_are_spelled_as_vs_code_spells_them() -> None:
    assert uri_of(Path("/a b/c:d[1]#(2).txt")) == "file:///a%20b/c%3Ad%5B1%5D%23%282%29.txt"


def test_a_file_that_changed_since_it_was_read_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for links in (1, 2):
        path.write_bytes(b"read")
        if links == 2:
            os.link(path, tmp_path / "b")
        found = files.read(path, 100)
        path.write_bytes(b"changed since")
        assert not files.replace(path, b"new", found)
        assert not files.remove(path, found)
        assert path.read_bytes() == b"changed since"
    found = files.read(path, 100)
    path.unlink()
    assert not files.remove(path, found)
    assert os.listdir(tmp_path) == ["b"], "no unfinished file is left"


def test_no_unfinished_file_is_left_of_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files.create(path, b"first")
    assert files.replace(path, b"second", files.read(path, 100))
    with pytest.raises(FileExistsError):
        files.create(path, b"third")
    assert os.listdir(tmp_path) == ["a"]
    assert path.read_bytes() == b"second"


async def test_work_that_raises_what_no_future_takes_has_an_end() -> None:
    with pytest.raises(RuntimeError, match="StopIteration was raised in a thread"):
        await in_thread(next, iter(()))


async def test_who_is_cancelled_waits_for_the_end_of_the_work() -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait(30)
        ended.set()

    task = asyncio.ensure_future(in_thread(work))
    await asyncio.to_thread(begun.wait, 30)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
