"""
Demonstrate handrail: a turn edits real files, one edit does not fit, and a restore undoes the turn.

Makes the virtual environment, copies `examples/workspace` to a scratch folder, applies the reply in
`examples/reply.md` there through the headless client and a real server, and restores the checkpoint. It
needs no model. The exit code is 0 if every byte is as before.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))  # Python can be told to leave it out
import environment

EXAMPLES = environment.ROOT / "examples"
ONE_FAILED = 1  # the exit code of `handrail run` when an edit did not land, as one of the reply must not


def main() -> int:
    """Run the demonstration; returns the exit code."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()  # there are none but --help
    python = environment.ensure()
    with tempfile.TemporaryDirectory(prefix="handrail-demo-") as scratch:
        workspace = Path(scratch) / "workspace"
        shutil.copytree(EXAMPLES / "workspace", workspace)
        return show(Handrail(python, workspace, Path(scratch) / "state"))


def show(handrail: Handrail) -> int:
    """All chapters of the demonstration."""
    before = contents(handrail.workspace)
    chapter("The workspace, copied to a scratch folder")
    for name, raw in before.items():
        print(f"  {name:<24}{described(raw)}")

    chapter("A reply copied from a chat, applied by a server process: each edit is checked after it is made")
    print("  (the reply: examples/reply.md)", flush=True)
    code = handrail.run("run", "-", stdin=(EXAMPLES / "reply.md").read_bytes())
    if code != ONE_FAILED:
        return wrong(f"one edit must fail and the others land, but `handrail run` ended with {code}")
    changed = [name for name, raw in contents(handrail.workspace).items() if before.get(name) != raw]

    chapter("The checkpoint, taken before the first change")
    found = json.loads(handrail.output("checkpoint", "list", "--json"))
    if len(found) != 1:
        return wrong(f"there must be one checkpoint, not {len(found)}")
    for path in found[0]["paths"]:
        print(f"  {path['change']:<9}{path['path']}")

    chapter(f"Undoing the turn: handrail checkpoint restore {found[0]['id']}")
    code = handrail.run("checkpoint", "restore", found[0]["id"])
    after = contents(handrail.workspace)
    if code or after != before:
        differing = sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))
        return wrong(f"these files are not as before: {differing}; restoring ended with {code}")

    chapter(f"{len(changed)} files were changed, and every byte of all {len(after)} files is as before")
    for name, raw in after.items():
        print(f"  {name:<24}{described(raw)}")
    return 0


class Handrail:
    """The installed command, working on one folder with a state folder of its own."""

    def __init__(self, python: Path, workspace: Path, state: Path) -> None:
        self.workspace = workspace
        self._command = (str(python), "-m", "handrail")
        self._environment = os.environ | {"XDG_STATE_HOME": str(state)}

    def run(self, *arguments: str, stdin: bytes = b"") -> int:
        """Run a command with its output shown; returns its exit code."""
        return self._start(arguments, stdin, None).returncode

    def output(self, *arguments: str) -> bytes:
        """What a command prints."""
        return self._start(arguments, b"", subprocess.PIPE).stdout

    def _start(
        self, arguments: tuple[str, ...], stdin: bytes, stdout: int | None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            (*self._command, *arguments, "--workspace", str(self.workspace)),
            input=stdin,
            stdout=stdout,
            env=self._environment,
            check=False,
        )


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file below *folder*, by relative path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def described(raw: bytes) -> str:
    """How a file is written."""
    parts = [f"{len(raw):>5} bytes"]
    parts += ["byte order mark"] if raw.startswith(b"\xef\xbb\xbf") else []
    parts += ["CRLF"] if b"\r\n" in raw else []
    parts += ["tabs"] if b"\t" in raw else []
    try:
        raw.decode()
    except UnicodeDecodeError:
        parts.append("Latin-1")
    parts += [] if raw.endswith(b"\n") else ["no final newline"]
    return ", ".join(parts)


def chapter(title: str) -> None:
    """Print a heading."""
    wants_bold = sys.stdout and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    bold, plain = ("\x1b[1m", "\x1b[0m") if wants_bold else ("", "")
    print(f"\n{bold}== {title}{plain}", flush=True)


def wrong(what: str) -> int:
    """Say what went otherwise than it must; the exit code for it."""
    print(f"\nThe demonstration went wrong: {what}.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    environment.run(main)
