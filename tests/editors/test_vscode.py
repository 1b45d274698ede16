"""
The main job in a real VS Code: the extension, installed from its VSIX, applies a reply and takes it back, in
all the ways that it offers; and a language model that another extension brings to VS Code answers turns.

The steps and their assertions run inside VS Code's extension host (`vscode/host/`); this module
builds what a user would install, gives it an empty profile and a workspace, and reads what the steps
recorded. The extension installs its server into its private environment, as it does for everyone. Pictures
are kept in `.cache/vscode/`.
"""

import base64
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

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "client-vscode"
HERE = Path(__file__).resolve().parent / "vscode"
PICTURES = ROOT / ".cache" / "vscode"

sys.path.append(str(ROOT / "scripts"))
editors = importlib.import_module("install_editors")

pytestmark = [pytest.mark.vscode, pytest.mark.xdist_group("large")]

OPEN = "prices.py"
TYPED = "# Not saved yet.\n"  # typed into the editor; VS Code gives it the document's own line end
PRICES = (
    b'"""Prices with tax."""\r\n\r\nTAX = 0.19\r\n\r\n\r\n'
    b"def total(items):\r\n    return sum(items) * (1 + TAX)\r\n"
)
SHOP = b"from prices import total\n\nprint(total([10, 20]))\n"
NOTE = "Preise f\u00fcr das Caf\u00e9\r\nGr\u00fc\u00dfe\r\n".encode("latin-1")

REPLY = """\
I raised the tax and renamed the rest accordingly.

prices.py
<<<<<<< SEARCH
TAX = 0.19
=======
TAX = 0.21
# raised in January
>>>>>>> REPLACE

shop.py
<<<<<<< SEARCH
print(total([10, 20]))
=======
print(f"{total([10, 20]):.2f}")
>>>>>>> REPLACE

note.txt
<<<<<<< SEARCH
Gr\u00fc\u00dfe
=======
Viele Gr\u00fc\u00dfe
>>>>>>> REPLACE

prices.py
<<<<<<< SEARCH
    return sum(articles) + TAX * len(articles)
=======
    return round(sum(items) * (1 + TAX), 2)
>>>>>>> REPLACE
"""


def text(before: bytes, *changes: tuple[bytes, bytes]) -> bytes:
    for old, new in changes:
        assert before.count(old) == 1
        before = before.replace(old, new)
    return before


RAISED = (b"TAX = 0.19\r\n", b"TAX = 0.21\r\n# raised in January\r\n")
ROUNDED = (b"return sum(items) * (1 + TAX)", b"return round(sum(items) * (1 + TAX), 2)")
DISK_BEFORE = {
    OPEN: PRICES,
    "shop.py": SHOP,
    "note.txt": NOTE,
    "stock.txt": b"apples 1\npears 2\nplums 3\nfigs 4\n",
    "list.txt": b"one\ntwo\n",
    ".editorconfig": b"root = true\n\n[note.txt]\ncharset = latin1\n",
}
DISK_AFTER = {
    "shop.py": text(SHOP, (b"print(total([10, 20]))", b'print(f"{total([10, 20]):.2f}")')),
    "note.txt": text(NOTE, ("Gr\u00fc\u00dfe".encode("latin-1"), "Viele Gr\u00fc\u00dfe".encode("latin-1"))),
}


def scenario() -> dict[str, object]:
    """What the steps need to know, as JSON: texts as text, bytes as base64."""
    unsaved = TYPED.encode().replace(b"\n", b"\r\n") + PRICES
    after = text(unsaved, RAISED)
    fixed = text(after, ROUNDED)
    return {
        "open": OPEN,
        "closed": list(DISK_AFTER),
        "typed": TYPED,
        "reply": REPLY,
        "outcomes": ["note.txt landed ", "prices.py failed no-match", "prices.py landed ", "shop.py landed "],
        "before": unsaved.decode(),
        "after": after.decode(),
        "fixed": fixed.decode(),
        "edit": {"path": OPEN, "old_string": "TAX = 0.19", "new_string": "TAX = 0.21"},
        "raised": unsaved.decode().replace("TAX = 0.19", "TAX = 0.21"),
        "problemLine": after.decode().split("\r\n").index("    return sum(items) * (1 + TAX)"),
        "disk": {
            "before": {name: base64.b64encode(data).decode() for name, data in DISK_BEFORE.items()},
            "after": {name: base64.b64encode(data).decode() for name, data in DISK_AFTER.items()},
        },
    }


@pytest.fixture(scope="module")
def vscode() -> editors.VSCode:
    return editors.install_vscode()


@pytest.fixture(scope="module")
def vsix(vscode: editors.VSCode) -> Path:
    """The extension as users get it, carrying the server's wheel."""
    editors.install_extension_tools(EXTENSION, vscode.node_bin)
    editors.run(
        ["npm", "run", "package"], cwd=EXTENSION, env={**vscode.environment, "PYTHON": sys.executable}
    )
    return EXTENSION / "handrail.vsix"


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
            pytest.fail("VS Code did not start:\n" + "".join(lines))
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        rest, _ = process.communicate(timeout=20)
        log.write_text("".join(lines) + rest)


def test_a_pasted_reply_in_vscode(vscode: editors.VSCode, vsix: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "shop"
    workspace.mkdir()
    for name, data in DISK_BEFORE.items():
        (workspace / name).write_bytes(data)
    profile = tmp_path / "profile"
    (profile / "User").mkdir(parents=True)
    shutil.copy(HERE / "settings.json", profile / "User" / "settings.json")
    (tmp_path / "config.yaml").touch()
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    config = tmp_path / "run.json"
    environment = {
        **vscode.environment,
        "EXTENSIONS_GALLERY": "{}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "HANDRAIL_TEST_CONFIG": str(config),
    }
    program = [
        str(vscode.code_server),
        "--config",
        str(tmp_path / "config.yaml"),
        "--user-data-dir",
        str(profile),
    ]
    program += ["--extensions-dir", str(tmp_path / "extensions")]
    editors.run([*program, "--install-extension", str(vsix)], env=environment)

    quiet = ["--auth", "none", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"]
    # Without a short grace time, a closed browser leaves the extension host and the server alive for hours.
    start = [*program, *quiet, "--reconnection-grace-time", "2", "--bind-addr", "127.0.0.1:0", str(workspace)]
    results = tmp_path / "results.json"
    with serve(start, environment, tmp_path / "serve.log") as url:
        settings = {
            "url": url,
            "chromium": str(vscode.chromium),
            "playwright": str(vscode.playwright),
            "workspace": str(workspace),
            "tests": str(HERE / "host"),
            "results": str(results),
            "pictures": str(PICTURES),
            "scenario": scenario(),
        }
        config.write_text(json.dumps(settings))
        said = editors.run(["node", str(HERE / "drive.mjs"), str(config)], env=environment)

    recorded = json.loads(results.read_text())
    print(f"VS Code {recorded['vscode']}; pictures in {PICTURES}")
    for step in recorded["steps"]:
        print(f"  {step.get('seconds', '-')} s {step['name']}")
        assert step["error"] is None, f"{step['name']}: {step['error']}\n{said}"
    assert {name: (workspace / name).read_bytes() for name in DISK_BEFORE} == DISK_BEFORE
