"""
A real Emacs on a terminal of its own, not as a batch job: without its command loop it has no idle time, and
eglot tells the server of changes only then.

The steps in `emacs/*.el` do what a user does and record what Emacs and the disk hold.
"""

import base64
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from editors import four_patches, installed
from editors.slow_model import KEY_NAME
from editors.terminal import on_terminal

HERE = Path(__file__).resolve().parent / "emacs"
LOGGED_CHARS = 8_000  # of the messages to and from the server
ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "editors"
UNCOMPILED = "(setq native-comp-deferred-compilation nil)"  # that takes as long as a test
SILENT = "(setq native-comp-async-report-warnings-errors nil)"  # else they are shown in a window
COMPILED = f'(setcar native-comp-eln-load-path "{CACHE / "compiled"}/")'  # for all tests, else each compiles
SNIPPET = ROOT / "editors" / "handrail.el"


class Emacs:
    """A workspace folder, and a way to run steps in an Emacs that has nothing of the user's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        found = shutil.which("emacs")
        if found is None:
            pytest.fail("Emacs is missing: python3 scripts/install_editors.py emacs", pytrace=False)
        self.emacs = found
        self.compiling = [f"--eval={UNCOMPILED}"]
        self.more: list[str] = []
        self.environment = {
            **installed.environment(folder),
            "HOME": str(folder),
            KEY_NAME: "a-key-of-the-tests",
            "TERM": "vt100",
            "LANG": "C.UTF-8",
        }

    @property
    def gate(self) -> Path:
        """The file for which a model waits in the middle of its answer."""
        return self.folder / "gate"

    def use(self, package: str) -> None:
        """Have a mode or a client that is not Emacs's own, with all that it needs."""
        if package == "text-mode":
            return
        if package == "lsp-mode":  # too slow without
            self.compiling = [f"--eval={SILENT}", f"--eval={COMPILED}"]
        found = sorted((CACHE / package).glob("usr/share/emacs/site-lisp/elpa-src/*/*-autoloads.el"))
        if not found:
            message = f"{package} is missing: python3 scripts/install_editors.py emacs"
            pytest.fail(message, pytrace=False)
        self.more = [
            argument for file in found for argument in (f"--directory={file.parent}", "-l", str(file))
        ]

    def run(self, steps: str, messages: list[dict[str, object]] | None, **values: object) -> dict[str, Any]:
        """Run the file of *steps*, with *values*, while the model answers (None: pastes); the record."""
        script = self.folder / "script.json"
        model = "paste" if messages is None else four_patches.write_script(script, messages)
        return self.start(steps, SNIPPET, {"model": model, "terminal.save": "always"}, values)

    def start(
        self, steps: str, client: Path, settings: dict[str, object], values: dict[str, object]
    ) -> dict[str, Any]:
        """Run the file of *steps* in an Emacs that is set up by the file *client*; the record."""
        record, plan = self.folder / "record.json", self.folder / "run.json"
        plan.write_text(
            json.dumps(
                {
                    "steps": str(HERE / f"{steps}.el"),
                    "record": str(record),
                    "settings": settings,
                    "clock": str(self.folder / "clock"),
                    "gate": str(self.gate),
                    "values": values,
                }
            )
        )
        files = [argument for file in (client, HERE / "drive.el") for argument in ("-l", str(file))]
        drawn = on_terminal(
            [self.emacs, "-nw", "-q", "--no-splash", *self.compiling, *self.more, *files],
            self.workspace,
            {**self.environment, "HANDRAIL_TEST": str(plan)},
        )
        assert record.exists(), f"Emacs ended before the steps did:\n{drawn}"
        recorded: dict[str, Any] = json.loads(record.read_text())
        print(
            recorded["emacs"],
            recorded["shown"],
            recorded["log"][-LOGGED_CHARS:],
            recorded.get("texts", ""),
            sep="\n",
        )
        assert recorded["problem"] is None, recorded["problem"]
        return recorded


def documented(folder: Path, begins: str) -> Path:
    """The configuration of the documentation that begins with that comment, as a file."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        found = re.search(rf"```elisp\n({begins}.*?)```", page.read_text(), re.DOTALL)
        if found is not None:
            written = folder / "init.el"
            written.write_text(found[1])
            return written
    raise AssertionError(f"The documentation has no configuration that begins with {begins}")


def files(snapshot: dict[str, Any], kind: str) -> dict[str, bytes]:
    """The bytes of all files at a stage: on `disk`, or as `buffers` would be written."""
    return {name: base64.b64decode(data) for name, data in snapshot[kind].items()}
