"""Options of the tests; what the tests of one layer share stands in a conftest of their own folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import spec
from bench import Bench
from e2e import variants

# Where a test is not about containment, commands that may change files are asked about on every machine.
os.environ.setdefault("HANDRAIL_SANDBOX", "off")
os.environ["XDG_CONFIG_HOME"] = os.devnull  # what is set on this machine does not count
ID_CHARS = 100  # of a parameter that names a test as it is
settings.register_profile("any machine", deadline=None)  # no test reads a clock to judge speed
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="Write what the cases of tests/specs come to into them; then read the diff.",
    )

    parser.addoption(
        "--clients",
        default="two",
        help="The clients that are laid over the end-to-end tests that edit: `two` for each test, others "
        "with each commit, `all`, `plain` for none, or the name of one (see "
        "handrail.testing.variations).",
    )

    parser.addoption(
        "--editors",
        default="all",
        choices=("all", "two", "one"),
        help="The editors in which end-to-end tests play: `one` or `two` for each test, others with each "
        "commit, or `all`.",
    )


def pytest_configure(config: pytest.Config) -> None:
    spec.update = config.getoption("--update")
    config.addinivalue_line(
        "markers", "any_client: must come to the same with every client of handrail.testing.variations"
    )


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Keeps long texts out of the names of tests, all of which each worker sends."""
    return f"{argname}-of-{len(val)}" if isinstance(val, (str, bytes)) and len(val) > ID_CHARS else None


def pytest_report_header(config: pytest.Config) -> str:
    return f"clients: {config.getoption('--clients')}, by commit {variants.commit()[:12]}"


@pytest.fixture(autouse=True)
def sound_stores(request: pytest.FixtureRequest) -> Iterator[None]:
    """Git finds nothing wrong with any store of checkpoints that a test leaves, unless it damages one."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    if folder is not None and request.node.get_closest_marker("damage") is None:
        assert [line for store in stores(folder) for line in complaints(store)] == []


def stores(folder: Path) -> Iterator[Path]:
    """The stores that lie in one of the places where tests keep their state."""
    for depth in range(4):
        yield from folder.glob("*/" * depth + "handrail/*/checkpoints.git")


def complaints(store: Path) -> list[str]:
    """What git says of a store. What nothing names any more is swept up by the next tidying."""
    command = ("git", "--git-dir", os.fspath(store), "fsck", "--strict", "--no-dangling", "--no-progress")
    environment = {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = (ended.stdout + ended.stderr).splitlines()
    return [line for line in lines if not line.startswith("notice:")]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "work"
    root.mkdir()
    return Bench(root, tmp_path / "state")
