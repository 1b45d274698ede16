"""The layers hold: what the core may import, and that the gate fails when a rule is broken."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from handrail import ports

ROOT = Path(__file__).resolve().parent.parent
SERVER = ROOT / "server"
CORE = sorted(
    ".".join(path.relative_to(SERVER).with_suffix("").parts)
    for path in (SERVER / "handrail" / "core").rglob("*.py")
    if path.stem != "__init__"
)
SIMILAR = "handrail.core.matching.similar"

# What a module loads; unless it is `similar` itself, rapidfuzz is replaced by an empty module.
LOADED = """
import importlib, json, sys, types
sys.path.insert(0, sys.argv[1])
if sys.argv[2] != sys.argv[3]:
    sys.modules["rapidfuzz"] = rapidfuzz = types.ModuleType("rapidfuzz")
    rapidfuzz.fuzz = rapidfuzz.process = None
before = set(sys.modules)
importlib.import_module(sys.argv[2])
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""

LOADED_BY_WORKER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import handrail.adapters.models.worker.child
print(json.dumps(sorted(name for name in sys.modules if name.startswith("handrail."))))
"""

BREAKS = [
    (
        "testing/profiles.py",
        "import handrail.core.documents.text",
        "The kit for tests shares no code with the server",
    ),
    ("core/documents/text.py", "import os", "The core does no I/O"),
    ("core/planning/plan.py", "import asyncio", "The core does no I/O"),
    ("core/patches/notations.py", "from pathlib import Path", "The core does no I/O"),
    ("core/ledger/ledger.py", "import time", "The core does no I/O"),
    ("core/documents/edit.py", "import cattrs", "The core does no I/O"),
    ("core/planning/plan.py", "import rapidfuzz", "Only similar knows rapidfuzz"),
    ("core/documents/text.py", "import handrail.ports", "Layers import only what is to their right"),
    ("ports/__init__.py", "import handrail.agent.turn.loop", "Layers import only what is to their right"),
    (
        "agent/turn/loop.py",
        "import handrail.adapters.files.disk",
        "Layers import only what is to their right",
    ),
    ("agent/turn/loop.py", "import lsprotocol.types", "Only lsp knows LSP"),
    ("agent/turn/loop.py", "import subprocess", "The agent reaches the world through ports"),
    (
        "adapters/models/paste.py",
        "import handrail.agent.turn.loop",
        "Adapters know ports and core, not the agent",
    ),
    (
        "headless/commands/turn.py",
        "import handrail.core.documents.text",
        "The headless client shares no code with the server",
    ),
    (
        "core/results/truncate.py",
        "import handrail.core.ledger.report",
        "The core's packages import only what is below them",
    ),
    (
        "core/patches/reply.py",
        "import handrail.core.results.redact",
        "The core's packages import only what is below them",
    ),
    (
        "core/stray.py",
        '"""A module in no level."""',
        "The core's packages import only what is below them",
    ),
    (
        "core/planning/plan.py",
        "import handrail.core.policy.rules",
        "The edit engine knows neither the conversation nor the policy",
    ),
    (
        "core/ledger/ledger.py",
        "import handrail.core.conversation.message",
        "The edit engine knows neither the conversation nor the policy",
    ),
    (
        "adapters/commands/process.py",
        "import handrail.adapters.models.keys",
        "Adapters share files and state, and nothing else of each other",
    ),
    (
        "adapters/files/disk.py",
        "import handrail.adapters.state.lock",
        "Adapters share files and state, and nothing else of each other",
    ),
    (
        "agent/turn/loop.py",
        "import handrail.agent.restore.compare",
        "The host runs turns and restores; both stand on tools",
    ),
    ("headless/show.py", "import prompt_toolkit", "Only the chat knows prompt_toolkit"),
    ("stray.py", '"""A module in no layer."""', "Layers import only what is to their right"),
]


@pytest.mark.parametrize("module", CORE)
def test_a_core_module_pulls_in_nothing_but_the_standard_library(module: str) -> None:
    command = [sys.executable, "-I", "-c", LOADED, str(SERVER), module, SIMILAR]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    foreign = set(json.loads(done.stdout)) - sys.stdlib_module_names - {"handrail"}
    if module == SIMILAR:
        foreign = {name for name in foreign if "cython" not in name}  # what rapidfuzz itself runs on
    assert foreign == ({"rapidfuzz"} if module == SIMILAR else set())


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


def test_the_gate_prints_how_packages_stand_on_each_other() -> None:
    done = contracts(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    heading = re.search(r"^core: \d+ packages, (\d+) levels, (\d+) arrows$", done.stdout, re.M)
    assert heading is not None
    assert int(heading[1]) == 6
    assert int(heading[2]) <= 30


def test_the_gate_shows_the_contract_that_is_broken(package: Path) -> None:
    path = package / "handrail" / "core" / "documents" / "stray.py"
    path.write_text("import handrail.core.policy.rules\n", encoding="utf-8")
    try:
        done = contracts(package)
    finally:
        path.unlink()
    assert done.returncode != 0
    assert "The core's packages import only what is below them BROKEN" in done.stdout


def contracts(folder: Path) -> subprocess.CompletedProcess[str]:
    """`scripts/contracts.py`, run on the package in *folder*."""
    environment = {"PYTHONPATH": str(folder), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, str(ROOT / "scripts" / "contracts.py")]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, text=True, timeout=120
    )


def test_each_name_of_ports_is_the_one_that_types_promise() -> None:
    """They are found one module after the other, and a module also has what it has imported itself."""
    promised = [
        (each.module or "", alias.name)
        for each in ast.walk(ast.parse((SERVER / "handrail/ports/__init__.py").read_text()))
        if isinstance(each, ast.ImportFrom) and each.module and each.module.startswith("handrail.ports.")
        for alias in each.names
    ]
    assert len(promised) > 20
    for module, name in promised:
        assert getattr(ports, name) is getattr(importlib.import_module(module), name), name
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = ports.Nothing  # type: ignore[attr-defined]


def test_the_process_of_a_model_loads_only_what_it_needs() -> None:
    command = [sys.executable, "-c", LOADED_BY_WORKER, str(SERVER)]
    loaded = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert [name for name in loaded if name.startswith(("handrail.lsp", "handrail.agent"))] == []
    assert {name.partition("handrail.ports.")[2] for name in loaded} <= {"", "errors", "models"}
