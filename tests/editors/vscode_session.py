"""
A real VS Code with the extension from its VSIX, an empty profile and a workspace, in which steps run.

The steps are modules in `vscode/host/`; they run inside VS Code's extension host. Pictures are kept in
`.cache/vscode/`.
"""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from editors import installed

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "client-vscode"
HERE = Path(__file__).resolve().parent / "vscode"
PICTURES = ROOT / ".cache" / "vscode"
OFFLINE = {"EXTENSIONS_GALLERY": "{}"}

sys.path.append(str(ROOT / "scripts"))
editors = importlib.import_module("install_editors")


def install(vscode: editors.VSCode, vsix: Path, folder: Path) -> Path:
    """Install the packed extension as users do; returns the folder that each VS Code gets a copy of."""
    (folder / "config.yaml").touch()
    extensions = folder / "extensions"
    folders = ["--user-data-dir", str(folder / "profile"), "--extensions-dir", str(extensions)]
    command = [str(vscode.code_server), "--config", str(folder / "config.yaml"), *folders]
    editors.run([*command, "--install-extension", str(vsix)], env={**vscode.environment, **OFFLINE})
    return extensions


def pack(vscode: editors.VSCode, folder: Path) -> Path:
    """The extension as users get it, carrying the server's wheel."""
    editors.install_extension_tools(EXTENSION, vscode.node_bin)
    packed = folder / "handrail.vsix"
    editors.run(
        ["npm", "run", "package", "--", "--out", str(packed)],
        cwd=EXTENSION,
        env={**vscode.environment, "PYTHON": sys.executable},
    )
    return packed


@contextmanager
def serve(command: list[str], environment: dict[str, str], log: Path) -> Iterator[str]:
    """Run VS Code on a free loopback port; yields its address."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if "server listening on" in line:
                yield line.split(" on ")[1].strip().rstrip("/") + "/"
                break
        else:
            raise RuntimeError("VS Code did not start:\n" + "".join(lines))
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        rest, _ = process.communicate(timeout=20)
        log.write_text("".join(lines) + rest)


class VSCode:
    """A VS Code with the extension, an empty profile and a workspace folder, and a way to run steps in it."""

    def __init__(self, editor: editors.VSCode, extensions: Path, folder: Path) -> None:
        """Copies the folder of *extensions*, see `install`, so that a test may change it."""
        self.editor = editor
        self.folder = folder
        self.workspace = folder / "shop"
        self.workspace.mkdir()
        self.opens = {"folder": str(self.workspace)}
        self.config = folder / "run.json"
        self.profile = folder / "profile"
        self.language = ""
        self.moves = False  # what turns or blinks, which takes half a processor to draw
        self.environment = {
            **editor.environment,
            **OFFLINE,
            "XDG_STATE_HOME": str(folder / "state"),
            "HANDRAIL_TEST_CONFIG": str(self.config),
        }
        (folder / "config.yaml").touch()
        self.program = [
            str(editor.code_server),
            "--config",
            str(folder / "config.yaml"),
            "--user-data-dir",
            str(self.profile),
            "--extensions-dir",
            str(folder / "extensions"),
        ]
        # The sources' server needs no installation; that the carried one is installed, one test shows.
        installed.environment(folder)
        self.own_server = {"handrail.serverPath": str(folder / "bin" / "handrail")}
        shutil.copytree(extensions, folder / "extensions")

    def add_folders(self, **names: Path) -> None:
        """Have the window open several folders, first the usual one; the others are called so there."""
        listed = [{"path": str(folder), "name": name} for name, folder in names.items()]
        file = self.folder / "shops.code-workspace"
        file.write_text(json.dumps({"folders": [{"path": str(self.workspace)}, *listed]}))
        self.opens = {"workspace": str(file)}

    def translate(self, language: str) -> None:
        """Have the extension in a language whose strings are the English ones in brackets."""
        (folder,) = (self.folder / "extensions").glob("handrail.handrail-*")
        for name in ("package.nls", "l10n/bundle.l10n"):
            strings = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            translated = json.dumps({key: f"[{text}]" for key, text in strings.items()})
            (folder / f"{name}.{language}.json").write_text(translated, encoding="utf-8")
        self.language = language

    def run(self, *steps: str, scenario: dict[str, object], trusts: bool = True, **settings: object) -> None:
        """
        Run the modules of *steps*, and fail with the first step that does.

        Args:
            steps: Names of modules in `vscode/host/`; they build on each other.
            scenario: For the steps.
            trusts: Whether the user trusts every workspace.
            settings: Settings of the machine, beside the user's that keep VS Code quiet.
        """
        usual = json.loads((HERE / "settings.json").read_text())
        usual["security.workspace.trust.enabled"] = not trusts
        for name, content in (("User", usual), ("Machine", settings)):
            (self.profile / name).mkdir(parents=True, exist_ok=True)
            (self.profile / name / "settings.json").write_text(json.dumps(content))
        pictures = PICTURES / "-".join(steps)
        shutil.rmtree(pictures, ignore_errors=True)
        pictures.mkdir(parents=True)
        quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check"]
        # Without a short grace time, a closed browser leaves extension host and server alive for hours.
        rest = ["--reconnection-grace-time=2", "--bind-addr=127.0.0.1:0"]
        rest += ["--disable-workspace-trust"] if trusts else []
        results = self.folder / "results.json"
        command = [*self.program, *quiet, *rest, *self.opens.values()]
        with serve(command, self.environment, self.folder / "serve.log") as url:
            told = {
                "url": url,
                "opens": self.opens,
                "chromium": str(self.editor.chromium),
                "playwright": str(self.editor.playwright),
                "workspace": str(self.workspace),
                "tests": str(HERE / "host"),
                "steps": list(steps),
                "results": str(results),
                "pictures": str(pictures),
                "profile": str(self.profile),
                "language": self.language,
                "moves": self.moves,
                "axe": str(EXTENSION / "node_modules" / "axe-core" / "axe.min.js"),
                "scenario": scenario,
            }
            self.config.write_text(json.dumps(told))
            said = editors.run(["node", str(HERE / "drive.mjs"), str(self.config)], env=self.environment)

        recorded = json.loads(results.read_text())
        print(f"VS Code {recorded['vscode']}; pictures in {pictures}")
        for step in recorded["steps"]:
            print(f"  {step.get('seconds', '-')} s {step['name']}")
            assert step["error"] is None, f"{step['name']}: {step['error']}\n{said}\n{self._log()}"

    def _log(self) -> str:
        """What the extension has written to its log."""
        return "\n".join(file.read_text() for file in sorted(self.profile.rglob("Handrail*.log")))
