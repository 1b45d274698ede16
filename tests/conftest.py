"""Options of the tests; what the tests of one layer share stands in a conftest of their own folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import spec
from bench import Bench


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="Write what the cases of tests/specs come to into them; then read the diff.",
    )


def pytest_configure(config: pytest.Config) -> None:
    spec.update = config.getoption("--update")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "work"
    root.mkdir()
    return Bench(root, tmp_path / "state")
