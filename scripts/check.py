"""
The gate: format, lint, types, import contracts, generated files and all tests, in an environment of its own.

CI runs it with `--all`, which adds the checks that need larger installs (VS Code, Emacs, Vim, the extension's
tools, the documentation), and the other versions of Python that this machine has. Further arguments go to
pytest, whose summary is the last line.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # Python can be told to leave it out
import environment
from interpreters import interpreters, oldest

EXTRAS = ("dev", "editors")
WORKERS = 8  # at most
LARGE = "vscode or emacs or vim or releases or model"
# The long searches' share; what has begun takes up to half a minute more. Tests have small ones by default.
SEARCHES = {
    "HANDRAIL_COMMANDS": "10",
    "HANDRAIL_ESCAPES": "100",
    "HANDRAIL_LINES": "1000",
    "HANDRAIL_MACHINE_S": "20",
    "HANDRAIL_REPLAY_FILES": "50",
    "HANDRAIL_SCENARIOS_S": "15",
}
CORE = ("tests/core", "tests/test_standard_streams.py")
GIVING_WAY = ("nice", "-n", "5") if os.name == "posix" else ()  # before what runs in the background

Command = tuple[str, ...]
Step = Callable[[str, Command], int]

_printing = threading.Lock()


def main() -> int:
    """Run every step; stop at the first that fails."""
    options, rest = _parser().parse_known_args()
    if options.brief:
        os.environ["HANDRAIL_BRIEF"] = "1"
    python = environment.ensure(("test",) if options.core else EXTRAS, is_own=options.own)
    # Tests start thousands of processes. Without .pyc files, each of them would compile all modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PATH"] = os.pathsep.join((str(python.parent), os.environ.get("PATH", os.defpath)))
    if not options.all:
        return _check(python, options, rest)
    for name, extent in SEARCHES.items():
        os.environ.setdefault(name, extent)
    background = _Background(_on_other_pythons)
    try:
        return _check(python, options, rest) or background.wait()
    finally:
        background.stop()


def _check(python: Path, options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run the steps, and then the tests."""
    for name, command in _steps(python, options):
        if code := _step(name, command):
            return code
    if code := _side_by_side(_long_steps(python, options)):
        return code
    selected = ("--editors=one", *(() if options.all else ("-m", f"not ({LARGE})")))
    tests = CORE if options.core else ()
    return _run((str(python), "-m", "pytest", *_parallel(), *selected, *tests, *rest))


def _parallel() -> tuple[str, ...]:
    """Options for more workers than processors: a test waits for a third of its time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return "--numprocesses", str(min(cores + (cores + 1) // 2, WORKERS)), "--dist", "loadgroup"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)  # what is not ours is pytest's
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument(
        "--all",
        action="store_true",
        help="with VS Code, Emacs, Vim, the extension, and every Python of this machine",
    )
    extent.add_argument("--core", action="store_true", help="only generated files and the tests of the core")
    parser.add_argument("--own", action="store_true", help="in an environment that uses exactly this Python")
    parser.add_argument("--brief", action="store_true", help="with a tenth of the examples of each search")
    return parser


def _steps(python: Path, options: argparse.Namespace) -> Iterator[tuple[str, Command]]:
    tool = python.parent
    if not options.core:
        yield "format", (str(tool / "ruff"), "format", "--check", "--quiet", ".")
        yield "lint", (str(tool / "ruff"), "check", "--quiet", ".")
        yield "import contracts", (str(python), "scripts/contracts.py")
    yield "generated files", (str(python), "scripts/generate.py", "--check")


def _long_steps(python: Path, options: argparse.Namespace) -> Iterator[list[tuple[str, Command]]]:
    """Rows of steps: each needs what those before it in its row have installed, or must not disturb them."""
    if not options.core:
        types = ("types", (str(python.parent / "mypy"), "--no-error-summary"))
        yield (
            [types, ("documentation", (str(python), "scripts/documentation.py"))] if options.all else [types]
        )
    if options.all:
        yield [
            ("editors", (str(python), "scripts/install_editors.py")),
            ("extension: types and lint", (str(python), "scripts/check_extension.py")),
            ("packages to replay", (str(python), "scripts/replay.py", "--fetch")),
        ]


class _Background:
    """Steps that run one after another beside everything else, with what it leaves of the processors."""

    def __init__(self, run: Callable[[Step], int]) -> None:
        """Begins with *run*, which takes what runs a step and returns the exit code of all."""
        self._changing, self._is_stopped = threading.Lock(), False
        self._process: subprocess.Popen[bytes] | None = None
        self._pool = ThreadPoolExecutor(1)
        self._ended = self._pool.submit(run, self._step)

    def _step(self, name: str, command: Command) -> int:
        began = time.monotonic()
        with self._changing:
            if self._is_stopped:
                return 1
            self._process = process = subprocess.Popen(
                (*GIVING_WAY, *command),
                cwd=environment.ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                process_group=0,  # with all else that it starts, so that `stop` ends these too
            )
        output, _ = process.communicate()
        if not self._is_stopped:
            _tell_all(output, name, process.returncode, time.monotonic() - began)
        return process.returncode

    def wait(self) -> int:
        """Returns the exit code once all steps have ended."""
        return self._ended.result()

    def stop(self) -> None:
        """Ends what still runs, for which no one waits after a failed step or Ctrl-C."""
        with self._changing:
            self._is_stopped = True
            if self._process is not None and self._process.poll() is None:
                if os.name == "nt":
                    self._process.terminate()
                else:
                    os.killpg(self._process.pid, signal.SIGTERM)
        self._pool.shutdown()


def _on_other_pythons(step: Step) -> int:
    """Check the core on each other Python that is here; run the demonstration on the oldest and newest."""
    found = interpreters()
    supported = _supported()
    for version in sorted(supported - found.keys()):
        print(f"--  Python {_dotted(version)} is not on this machine", flush=True)
    for version, python in found.items():
        commands = {
            "the core": ("scripts/check.py", "--core", "--brief", "--quiet"),
            "the demonstration": ("scripts/demo.py",),
        }
        if version == sys.version_info[:2]:
            del commands["the core"]
        if version not in (min(found), max(found)):
            del commands["the demonstration"]
        for name, command in commands.items():
            code = step(f"Python {_dotted(version)}: {name}", (str(python), *command))
            if code == environment.NOT_READY and version not in supported:
                print(
                    f"--  Python {_dotted(version)} is skipped: pyproject.toml does not list it",
                    flush=True,
                )
                break
            if code:
                return code
    if (older := oldest()) is not None and older[0][:2] == sys.version_info[:2]:
        version, python = older
        return step(
            f"Python {_dotted(version)}: the core",
            (str(python), "scripts/check.py", "--core", "--own", "--brief", "--quiet"),
        )
    return 0


def _supported() -> set[tuple[int, int]]:
    """The versions that pyproject.toml says are."""
    listed = (environment.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return {(3, int(minor)) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', listed)}


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _step(name: str, command: Command) -> int:
    """Run a step, and say how it ended and how long it took."""
    began = time.monotonic()
    code = _run(command)
    _tell_end(name, code, time.monotonic() - began)
    return code


def _side_by_side(rows: Iterable[Sequence[tuple[str, Command]]]) -> int:
    """Run rows of steps beside each other, each row in its order; no step begins once one has failed."""
    codes = [0]

    def run(row: Sequence[tuple[str, Command]]) -> None:
        for name, command in row:
            if any(codes):
                return
            began = time.monotonic()
            done = subprocess.run(
                command, cwd=environment.ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            codes.append(done.returncode)
            _tell_all(done.stdout, name, done.returncode, time.monotonic() - began)

    with ThreadPoolExecutor() as pool:
        for each in [pool.submit(run, row) for row in rows]:
            each.result()
    return next(filter(None, codes), 0)


def _tell_all(output: bytes, name: str, code: int, took_s: float) -> None:
    """Print what a step has printed, and how it ended."""
    with _printing:
        sys.stdout.write(output.decode("utf-8", "replace"))
        _tell_end(name, code, took_s)


def _tell_end(name: str, code: int, took_s: float) -> None:
    print(f"{'ok' if code == 0 else 'FAILED'}  {name} ({took_s:.1f} s)", flush=True)


def _run(command: Command) -> int:
    return subprocess.run(command, cwd=environment.ROOT, check=False).returncode


if __name__ == "__main__":
    environment.run(main)
