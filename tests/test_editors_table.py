"""The table of docs/editors.md is what the tests come to."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("editors_table", ROOT / "scripts" / "editors_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_follows_from_the_tests(script: ModuleType) -> None:
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    assert script.written(page, script.table(script.collected())) == page, "run scripts/editors_table.py"


def test_a_cell_is_empty_where_no_test_is(script: ModuleType) -> None:
    tests = [
        f"tests/e2e/{name}[neovim]" if not name.endswith("::") else f"tests/e2e/{name}test_x[neovim]"
        for wanted in script.FEATURES.values()
        for name in wanted
        if not name.startswith(("test_vscode", "test_neovim", "test_emacs", "test_lsp_mode", "test_vim"))
    ]
    real = [
        f"tests/editors/{name}"
        for wanted in script.FEATURES.values()
        for name in wanted
        if name.startswith("test_emacs")
    ]
    others = [
        f"tests/editors/{name}"
        for wanted in script.FEATURES.values()
        for name in wanted
        if name.startswith(("test_vscode", "test_neovim", "test_lsp_mode", "test_vim"))
    ]
    row = script.table([*tests, *real, *others]).splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")[2:-1]] == ["real", "real", "real", "real", "", ""]


def test_a_test_that_is_not_there_is_an_error(script: ModuleType) -> None:
    with pytest.raises(KeyError, match="there is no test"):
        script.table([])
