"""The examples of docs/testing.md run as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`(\S+\.py)`:\n\n```python\n(.*?)^```$", PAGE, re.M | re.S))


def run(folder: Path, *argv: str, package: Path = ROOT / "server") -> subprocess.CompletedProcess[str]:
    """Run the documentation's files in *folder* with pytest, apart from our own configuration."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *argv]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("test_words.py", 2 * 7 + 6 + 2),
        ("test_clients.py", 2 + 4 + 2),
        ("test_workflow.py", 1),
        ("test_plugin.py", 1),
    ],
)
def test_an_example_passes(tmp_path: Path, name: str, passed: int) -> None:
    done = run(tmp_path, name)
    assert f"{passed} passed" in done.stdout.splitlines()[-1], done.stdout + done.stderr
    assert done.returncode == 0


def test_a_failed_test_shows_the_session(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text("async def test_wrong(editor):\n    assert not editor.traffic\n")
    done = run(tmp_path, "test_wrong.py", "--client-profiles=helix")
    assert "1 failed" in done.stdout.splitlines()[-1], done.stdout + done.stderr
    assert "session of helix" in done.stdout
    assert '→ {"jsonrpc": "2.0"' in done.stdout


def test_an_unknown_profile_is_said(tmp_path: Path) -> None:
    done = run(tmp_path, "--client-profiles=notepad")
    assert done.returncode != 0
    assert "there is no client profile 'notepad'" in done.stderr + done.stdout


@pytest.mark.releases
def test_the_wheel_has_all_that_the_kit_needs(tmp_path: Path) -> None:
    """The recordings of editors are data, which a wheel may lack although the repository has them."""
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(wheel, check=True, timeout=300)
    (built,) = tmp_path.glob("handrail-*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(unpacked)
    where = (
        f"import handrail\n\ndef test_where():\n    assert handrail.__file__.startswith({str(unpacked)!r})\n"
    )
    (tmp_path / "test_where.py").write_text(where)
    done = run(tmp_path, "test_where.py", "test_words.py", "--client-profiles=emacs", package=unpacked)
    assert "4 passed" in done.stdout.splitlines()[-1], done.stdout + done.stderr
