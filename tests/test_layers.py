"""The layers hold: what the core may import, and that the gate fails when a rule is broken."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SERVER = ROOT / "server"
CORE = sorted(path.stem for path in (SERVER / "handrail" / "core").glob("*.py") if path.stem != "__init__")

# What a module loads; unless it is `match` itself, that one is replaced by an empty module.
LOADED = """
import importlib, json, sys, types
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
match = "handrail.core.matching.similar"
if sys.argv[2] != match:
    sys.modules[match] = types.ModuleType(match)
importlib.import_module(sys.argv[2])
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""

BREAKS = [
    ("core/text.py", "import os", "The core does no I/O"),
    ("core/plan.py", "import asyncio", "The core does no I/O"),
    ("core/patch.py", "from pathlib import Path", "The core does no I/O"),
    ("core/verify.py", "import time", "The core does no I/O"),
    ("core/edit.py", "import cattrs", "The core does no I/O"),
    ("core/plan.py", "import rapidfuzz", "Only match knows rapidfuzz"),
    ("core/text.py", "import handrail.ports", "Layers import only what is to their right"),
    ("ports/__init__.py", "import handrail.agent.loop", "Layers import only what is to their right"),
    ("agent/loop.py", "import handrail.adapters.disk", "Layers import only what is to their right"),
    ("agent/loop.py", "import lsprotocol.types", "Only lsp knows LSP"),
    ("agent/loop.py", "import subprocess", "The agent reaches the world through ports"),
    ("adapters/paste.py", "import handrail.agent.loop", "Adapters know ports and core, not the agent"),
    ("headless/run.py", "import handrail.core.text", "The headless client shares no code with the server"),
    ("stray.py", '"""A module in no layer."""', "Layers import only what is to their right"),
]


@pytest.mark.parametrize("module", CORE)
def test_a_core_module_pulls_in_nothing_but_the_standard_library(module: str) -> None:
    command = [sys.executable, "-I", "-c", LOADED, str(SERVER), f"handrail.core.{module}"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    foreign = set(json.loads(done.stdout)) - sys.stdlib_module_names - {"handrail"}
    if module == "match":
        foreign = {name for name in foreign if "cython" not in name}  # what rapidfuzz itself runs on
    assert foreign == ({"rapidfuzz"} if module == "match" else set())


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter with the project's contracts, on the package in *folder*."""
    program = "import importlinter.cli as cli, sys; sys.exit(cli.lint_imports_command())"
    command = [sys.executable, "-c", program, "--no-cache", "--config", "pyproject.toml"]
    environment = {"PYTHONPATH": str(folder), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layers")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SERVER / "handrail", folder / "handrail", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_the_layers_hold(package: Path) -> None:
    done = lint(package)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("module", "line", "contract"), BREAKS, ids=lambda value: value.partition("\n")[0])
def test_breaking_a_layer_rule_fails_the_gate(package: Path, module: str, line: str, contract: str) -> None:
    path = package / "handrail" / module
    text = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text(f"{text or ''}\n{line}\n", encoding="utf-8")
    try:
        done = lint(package)
    finally:
        path.unlink()
        if text is not None:
            path.write_text(text, encoding="utf-8")
    assert done.returncode != 0
    assert f"{contract} BROKEN" in done.stdout, done.stdout + done.stderr
