"""What is done again and again takes a bounded share of the time, and the last change is never left out."""

import asyncio
from dataclasses import dataclass, field

import pytest

from handrail.lsp.pacing import SHARE, Paced

TOOK_S = 0.001


@dataclass
class Work:
    """Work that takes a while, by a clock of its own."""

    now_s: float = 0.0
    times: int = 0
    is_done: asyncio.Event = field(default_factory=asyncio.Event)

    def act(self) -> None:
        self.times += 1
        self.now_s += TOOK_S
        self.is_done.set()


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def paced(work: Work) -> Paced:
    return Paced(act=work.act, now_s=lambda: work.now_s)


async def test_the_first_is_done_at_once_and_many_soon_after_it_are_done_as_one(
    work: Work, paced: Paced
) -> None:
    paced.soon()
    assert work.times == 1
    work.is_done.clear()
    for _ in range(100):
        paced.soon()
    assert work.times == 1
    await work.is_done.wait()
    paced.finish()  # nothing is left
    assert work.times == 2


async def test_the_longer_it_takes_the_longer_is_the_pause(work: Work, paced: Paced) -> None:
    paced.soon()
    work.now_s += TOOK_S * SHARE * 0.9
    paced.soon()
    assert work.times == 1
    work.now_s += TOOK_S * SHARE * 0.2
    paced.soon()
    assert work.times == 2


async def test_what_is_left_is_done_at_the_end_and_only_once(work: Work, paced: Paced) -> None:
    paced.soon()
    paced.soon()
    paced.finish()
    assert work.times == 2
    paced.finish()
    await asyncio.sleep(0)
    assert work.times == 2


async def test_what_may_not_wait_is_done_at_once(work: Work, paced: Paced) -> None:
    paced.may_wait = lambda: False
    paced.soon()
    paced.soon()
    assert work.times == 2


async def test_after_an_error_it_is_done_again(work: Work, paced: Paced) -> None:
    def fail() -> None:
        work.now_s += TOOK_S
        raise OSError("The client is gone.")

    paced.act = fail
    with pytest.raises(OSError, match="gone"):
        paced.soon()
    paced.act = work.act
    paced.soon()
    await work.is_done.wait()
    assert work.times == 1
