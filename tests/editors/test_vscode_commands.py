"""Every command of the VS Code extension is run by a test in a real VS Code."""

import json
import re
from pathlib import Path

from editors import test_vscode

MANIFEST = test_vscode.EXTENSION / "package.json"
HOST = test_vscode.HERE / "host"
# Run by its id, or by a click on what its title names.
RUN = re.compile(r'\b(?:command|go|withUser|titleOf|click)\(\s*(?:"[^"]*",\s*)?"(handrail\.client\.\w+)"')
RUNS_STEPS = re.compile(r'code\.run\(\s*((?:"\w+",\s*)+)')


def modules() -> list[Path]:
    """The modules with steps that a test runs."""
    source = Path(test_vscode.__file__).read_text(encoding="utf-8")
    names = {name for found in RUNS_STEPS.findall(source) for name in re.findall(r"\w+", found)}
    return [HOST / f"{name}.cjs" for name in sorted(names)]


def test_every_command_is_run_in_vscode() -> None:
    manifest = json.loads(MANIFEST.read_text(encoding="utf-8"))
    commands = {each["command"] for each in manifest["contributes"]["commands"]}
    run = {command for module in modules() for command in RUN.findall(module.read_text(encoding="utf-8"))}
    assert commands - run == set()
