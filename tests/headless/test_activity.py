"""What counts as work of a server, by what Linux says of its process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.headless.server import activity

PID, FIRST, SECOND = 7, 7, 8


def process(folder: Path, monkeypatch: pytest.MonkeyPatch, *states: str) -> None:
    """A process whose threads are in these states, with a name that is made to confuse."""
    monkeypatch.setattr(activity, "PROCESSES", folder)
    for thread, state in enumerate(states, FIRST):
        told = folder / str(PID) / "task" / str(thread) / "stat"
        told.parent.mkdir(parents=True)
        told.write_text(f"{thread} (a) R (b) {state} 1 1 1 0 -1 0 0 0 0 0 30 20 0 0 20 0 1 0\n")
    (folder / str(PID) / "stat").write_bytes((folder / str(PID) / "task" / str(FIRST) / "stat").read_bytes())


@pytest.mark.parametrize(
    ("states", "runnable"), [("S", False), ("SR", True), ("SD", True), ("SS", False), ("TZ", False)]
)
def test_a_thread_that_could_run_or_waits_for_the_disk_is_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, states: str, runnable: bool
) -> None:
    process(tmp_path, monkeypatch, *states)
    assert activity.is_runnable(PID) is runnable


def test_the_thread_that_asks_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(tmp_path, monkeypatch, "R", "S")
    assert activity.is_runnable(PID)
    assert not activity.is_runnable(PID, but=FIRST)


def test_the_time_of_a_processor_is_told_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process(tmp_path, monkeypatch, "S")
    assert activity.used_s(PID) == pytest.approx(50 / os.sysconf("SC_CLK_TCK"))


def test_of_a_process_that_has_ended_nothing_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "PROCESSES", tmp_path)
    assert activity.used_s(PID) is None
    assert not activity.is_runnable(PID)
