"""Files that are watched: every change is told of, also one made before the watch stood."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.adapters.files.disk import uri_of
from handrail.adapters.files.watch import FileWatch

if sys.platform == "linux":
    import resource

SOON_S = 20


@pytest.fixture
def watch() -> Iterator[FileWatch]:
    found = FileWatch()
    yield found
    found.close()


async def told(watch: FileWatch, path: Path, change: str | None = None) -> str:
    """What is told of first, of *path* alone, once it is watched and, if at all, changed."""
    first: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    watch.follow([uri_of(path)], lambda uri: first.done() or first.set_result(uri))
    if change is not None:
        path.write_text(change)
    return await asyncio.wait_for(first, SOON_S)


async def test_what_changed_before_the_watch_stood_is_told(watch: FileWatch, tmp_path: Path) -> None:
    for path in (tmp_path / "a.txt", tmp_path / "b.txt"):
        path.write_text("changed")
        assert await told(watch, path) == uri_of(path)


async def test_what_is_followed_no_longer_is_not_told_of(watch: FileWatch, tmp_path: Path) -> None:
    one, other = tmp_path / "a.txt", tmp_path / "b.txt"
    assert await told(watch, one, "one") == uri_of(one)
    changes: list[str] = []
    watch.follow([], changes.append)
    one.write_text("again")
    assert await told(watch, other, "other") == uri_of(other)
    assert changes == []


async def test_a_folder_that_is_made_later_is_watched_once_it_is_followed_again(
    watch: FileWatch, tmp_path: Path
) -> None:
    path = tmp_path / "later" / "a.txt"
    changes = asyncio.Queue[str]()
    watch.follow([uri_of(path)], changes.put_nowait)
    assert await changes.get() == uri_of(path)
    path.parent.mkdir()
    watch.follow([uri_of(path)], changes.put_nowait)
    assert await changes.get() == uri_of(path)
    path.write_text("there")
    assert await asyncio.wait_for(changes.get(), SOON_S) == uri_of(path)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a watch is no open file")
async def test_where_the_system_refuses_to_watch_all_else_goes_on(
    watch: FileWatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.txt"
    changes = asyncio.Queue[str]()
    usual, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_one = os.dup(0)
    os.close(next_one)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_one, most))
    try:
        watch.follow([uri_of(path)], changes.put_nowait)
        watch.follow([uri_of(path)], changes.put_nowait)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (usual, most))
    assert await changes.get() == uri_of(path)
    warned = [each for each in caplog.records if each.levelname == "WARNING"]
    assert ["cannot be watched" in each.getMessage() for each in warned] == [True], "it is said once"
    assert await changes.get() == uri_of(path)
    other = tmp_path / "b.txt"
    watch.follow([uri_of(other)], changes.put_nowait)
    assert await changes.get() == uri_of(other)
    other.write_text("there")
    assert await asyncio.wait_for(changes.get(), SOON_S) == uri_of(other)
