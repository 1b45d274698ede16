"""The VS Code extension without VS Code: what its build refuses, and other editors."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from editors.vscode_session import EXTENSION, HERE, editors

pytestmark = [pytest.mark.vscode, pytest.mark.xdist_group("large")]

USES = "\nexport const used = {};\nvoid used.then(console.log);\n"


def build(folder: Path, use: str) -> str:
    """What the build says of the sources with one more way to use the library; empty if it builds them."""
    vscode = editors.install_vscode()
    editors.install_extension_tools(EXTENSION, vscode.node_bin)
    for name in ("src", "webview"):
        shutil.copytree(EXTENSION / name, folder / name)
    for name in ("build.mjs", "package.json", "tsconfig.json", "node_modules"):
        (folder / name).symlink_to(EXTENSION / name)
    with (folder / "src" / "extension.ts").open("a") as source:
        source.write(USES.format(use))
    command = ["node", "--preserve-symlinks-main", "build.mjs"]
    done = subprocess.run(
        command, check=False, cwd=folder, env=vscode.environment, capture_output=True, text=True
    )
    return done.stderr if done.returncode else ""


def test_it_refuses_the_library_imported_as_the_extension_runs(tmp_path: Path) -> None:
    said = build(tmp_path, 'import("vscode-languageclient/node")')
    assert "imported as it runs, the library would have no names" in said


@pytest.mark.parametrize("name", ["vscode-languageclient", "vscode-languageserver-protocol"])
def test_it_refuses_a_second_copy_of_the_library(tmp_path: Path, name: str) -> None:
    said = build(tmp_path, f'Promise.resolve(require("{name}"))')
    assert "would be carried twice" in said


def test_it_is_activated_in_an_editor_without_language_models_and_a_chat() -> None:
    """As in some that are built on VS Code: no such editor can be had here."""
    vscode = editors.install_vscode()
    editors.install_extension_tools(EXTENSION, vscode.node_bin)
    said = editors.run(["node", str(HERE / "page" / "activate.mjs"), str(EXTENSION)], env=vscode.environment)
    assert said.strip() == "activated"
