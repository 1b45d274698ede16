"""These tests need a kernel that lets users have namespaces; asked without any of our code."""

from __future__ import annotations

import pytest

from adapters.namespaces import allowed


@pytest.fixture(autouse=True)
def namespaces() -> None:
    if not allowed():
        pytest.skip("the kernel of this machine allows no namespaces of one's own")
