"""Each half of the lock that files are changed under, the client's and the server's, keeps out the other."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from handrail.adapters.files import lock as of_server
from handrail.headless import lock as of_client
from handrail.headless.errors import EditRefusedError
from holder import held_by_another_process


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_client, "WAIT_S", 0.02)
    monkeypatch.setattr(of_server, "WAIT_S", 0.02)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "handrail" / "locks"


@pytest.fixture(params=["folder", "stand-in", "hard link"])
def names(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """Two names of one document, on disks of several kinds."""
    (tmp_path / "work").mkdir()
    (tmp_path / "other").mkdir()
    first = second = tmp_path / "work" / "a"
    first.write_text("one\n")
    if request.param == "hard link":
        second = tmp_path / "other" / "b"
        os.link(first, second)
    if request.param == "stand-in":
        real = fcntl.flock

        def flock(handle: int, operation: int) -> None:
            if stat.S_ISDIR(os.fstat(handle).st_mode):
                raise OSError(errno.EOPNOTSUPP, "Operation not supported")
            real(handle, operation)

        monkeypatch.setattr(fcntl, "flock", flock)
    return first, second


async def test_each_half_keeps_out_the_other(names: tuple[Path, Path], state: Path) -> None:
    first, second = names
    async with of_client.hold([first]):
        with pytest.raises(of_server.HeldError), of_server.hold(second, state):
            pass
    with of_server.hold(first, state):
        with pytest.raises(EditRefusedError, match="has kept the folder of this file locked"):
            async with of_client.hold([second]):
                pass
        async with of_client.hold([first.parent.parent / "c"]):
            pass
    async with of_client.hold([second]):
        pass
    assert not state.exists() or not list(state.iterdir()), "nothing is left behind"


async def test_whoever_waits_for_two_folders_in_any_order_gets_both(tmp_path: Path) -> None:
    paths = [tmp_path / name / "a" for name in ("x", "y")]
    for path in paths:
        path.parent.mkdir()
    of_client.WAIT_S = 10.0  # the fixture takes it back
    holding = set[int]()

    async def hold(number: int, wanted: Iterable[Path]) -> None:
        for _ in range(50):
            async with of_client.hold(wanted):
                assert not holding
                holding.add(number)
                await asyncio.sleep(0)
                holding.remove(number)

    await asyncio.gather(*(hold(number, paths[:: (-1) ** number]) for number in range(4)))


async def test_two_files_of_one_folder_take_one_lock(tmp_path: Path) -> None:
    async with of_client.hold([tmp_path / "a", tmp_path / "b"]):
        pass


async def test_of_a_folder_that_is_not_there_the_nearest_is_locked(tmp_path: Path) -> None:
    async with of_client.hold([tmp_path / "x" / "y" / "a"]):
        with pytest.raises(of_server.HeldError), of_server.hold(tmp_path / "a", None):
            pass


async def test_who_holds_the_lock_is_said(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as holder, pytest.raises(EditRefusedError) as refused:
        async with of_client.hold([tmp_path / "a"]):
            pass
    assert f"process {holder} has kept" in str(refused.value)


async def test_without_any_lock_it_is_refused(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(handle: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(EditRefusedError, match="set XDG_STATE_HOME"):
        async with of_client.hold([tmp_path / "a"]):
            pass


async def test_waiting_holds_nothing_else_up(tmp_path: Path) -> None:
    of_client.WAIT_S = 10.0
    order: list[str] = []

    async def wait() -> None:
        async with of_client.hold([tmp_path / "a"]):
            order.append("locked")

    with of_server.hold(tmp_path / "a", None):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        order.append("meanwhile")
    await waiting
    assert order == ["meanwhile", "locked"]
