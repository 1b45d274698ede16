"""
Parse = run: what we run of a line that needs no shell is what bash makes of it.

Every command is a recorder, which notes its words, its folder, what it reads and where its output goes; bash
runs the line with these, and so do we. `python tests/adapters/commands/test_parse_is_run.py 20000 --seed 7`
tries as many lines, drawn at random from pieces that shells treat in a special way.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from handrail.adapters.commands.line_run import LineRun
from handrail.adapters.commands.prepare import Programs, prepare
from handrail.core.policy.commands import line as command_line
from handrail.core.policy.commands.line import Kind, NeedsShell
from handrail.core.policy.commands.script import Environment, Script
from handrail.core.policy.commands.table import TABLE

RECORDER = """\
#!/bin/sh
trap '' PIPE
name=${0##*/}
read_all=
while IFS= read -r row || [ -n "$row" ]; do read_all="$read_all$row;"; done
end=$(printf '\\036')
printf '%s\\037' "$PWD" "$read_all" "$name" "$@" "$end" >> "$LOG"  # at once: others write there, too
echo "out of $name" 2>/dev/null  # nobody may read it any more
echo "error of $name" >&2
case $name in false|grep|test) exit 1;; esac
exit 0
"""
BUILT_IN = "echo printf test [ true false pwd"  # what bash would do itself
# fmt: off
FILES = (
    "a.txt", "b.txt", "-dash", ".hidden", "sub/c.py", "sub/d.txt", "sp ace", "[x]", "it's", "n1", "n2",
    "A.txt",
)

NAMES = (
    "ls", "cat", "grep", "echo", "printf", "test", "[", "true", "false", "pwd", "git", "find", "sort",
    "wc",
)
WORDS = (
    "a.txt", "*", "*.txt", "a*", "?.txt", "[ab].txt", "[!a].txt", "[a-b].txt", "sub/*", "*/c.py", "*/",
    "./*", ".*", "'*'", '"*"', "\\*", "'a b'", '"a b"', "a\\ b", "''", '""', "x''y", "'a'\"b\"c", "\\a",
    "\\\\", "'\\'", '"\\a"', '"\\$x"', "'$x'", "$", '"$"', "a$", '"a$ b"', "-n", "--", "-e", "a=b",
    "--x=*.txt", "x#y", "#x", "~", "a~", "=~", "{a,b}", "{a", "a{1}", "HEAD@{1}", "a{b..c}", "!", "x!",
    "!x", "%", "^x", "a^b", "]", "[", "[x]", "[[:alpha:]]", "é", "\"it's\"", "'\"'", "\\'", '\\"', "\\#",
    "a:~", "2", "1", "12", "+x", ",", "@", "-", "*'*'", "'a'*", "\\-*", "**", "**/*.py", "s\\ub/*",
    "'su'b/*", "[]", "[a", "[a]*", "[^a]*", "n[0-9]", "n[1-1]", "nothing*", "sub//*", "*//c.py", "if",
    "do", "done", "{", "}", "[[", "]]", "time", "in", "\\if", "'if'",
)
REDIRECTS = (
    ">/dev/null", "> /dev/null", "2>/dev/null", "2> /dev/null", "&>/dev/null", "2>&1", ">&2", "1>&2",
    "</dev/null", ">>/dev/null", "0</dev/null", "&>>/dev/null", "2>>/dev/null", "3>/dev/null",
    "12>/dev/null", "2>&1-", ">/dev/nullx",
)
CHANGES = (
    "cd sub", "cd sub/", "cd ./sub", "cd nowhere", "cd sub/..", "cd link", "cd a.txt", "cd ''", "cd -P .",
)
JOINTS = (
    " && ", " || ", "; ", " | ", "\n", "&&", "||", ";", "|", " ;\n", " |\n", " &&\n", " ;", ";;", " & ",
    " |& ",
)
# fmt: on
BLANKS = (" ", "  ", "\t", " \\\n", " \\\n  ", "\\\n")
NOISE = (
    *"$`'\"\\(){}[]<>|&;*?#~! \n=",
    "$(",
    "<<",
    "<(",
    "<<<",
    "\\\n",
    "$'",
    '$"',
    "((",
    "&>",
    "!!",
    "é",
    "{}",
)


def lines(random: random.Random) -> Iterator[str]:
    """Lines without an end: most are sound, some are spoiled."""
    while True:
        line = _line(random)
        for _ in range(random.choice((0, 0, 0, 0, 1, 1, 2))):
            at = random.randint(0, len(line))
            line = line[:at] + random.choice(NOISE) + line[at + random.choice((0, 0, 1)) :]
        yield line


def _line(random: random.Random) -> str:
    made = random.choice(("", "", "", "! ", " ", "# first\n", "\n"))
    for count in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        if count:
            made += random.choice(JOINTS[:6] if random.random() < 0.7 else JOINTS)
        if random.random() < 0.12:
            made += random.choice(
                ("cd sub", "cd sub/", "cd ./sub", "cd nowhere", "cd sub/..", "cd link", "cd a.txt", "cd ''")
            )
            continue
        made += random.choice(("", "", "", "", "! ", "'l's ", "2>/dev/null ")) + random.choice(NAMES)
        for _ in range(random.choice((0, 1, 1, 2, 2, 3))):
            made += random.choice(BLANKS[:2] if random.random() < 0.8 else BLANKS)
            made += random.choice(REDIRECTS if random.random() < 0.15 else WORDS)
    return made + random.choice(("", "", "", "", "", " # last", "\n", ";", " ", "#x"))


class Ground:
    """A folder with files, and recorders for all commands."""

    def __init__(self, folder: Path) -> None:
        self.root, self.log, programs = folder / "w", folder / "log", folder / "bin"
        for name in FILES:
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
        (self.root / "link").symlink_to("sub")
        programs.mkdir()
        recorder = programs / "recorder"
        recorder.write_text(RECORDER)
        recorder.chmod(0o755)
        for name in {*TABLE, "git"}:
            (programs / name).symlink_to("recorder")
        self.programs = Programs(path=os.fspath(programs), roots=(self.root,))
        self.environment = {"PATH": os.fspath(programs), "LOG": os.fspath(self.log), "LC_ALL": "C.UTF-8"}

    def script(self, line: str) -> Script | None:
        """What we would run of *line*, every command being known; None if a shell is needed."""
        found = command_line.read(line)
        if isinstance(found, NeedsShell):
            return None
        script = prepare(found, self.root, self.programs)
        if isinstance(script, NeedsShell):
            return None
        if any(stage.why_not or not (stage.program or "cd" in stage.words) for stage in script.stages):
            return None
        steps = (
            replace(step, stages=tuple(replace(stage, arguments=stage.words[1:]) for stage in step.stages))
            for step in script.steps
        )
        return Script(steps=tuple(steps))

    async def ours(self, script: Script) -> object:
        """What we run."""
        read, write = os.pipe()
        environments = dict.fromkeys((*Environment, None), self.environment)
        line_run = LineRun(environments=environments, output=write)
        code = await line_run.script(script)
        os.close(write)
        with os.fdopen(read, "rb") as printed:
            return self._seen(code if code >= 0 else 128 - code, printed.read())

    def bash(self, line: str) -> object:
        """What bash runs."""
        bash = shutil.which("bash")
        assert bash is not None
        ended = subprocess.run(
            (bash, "--noprofile", "--norc", "-c", f'enable -n {BUILT_IN}\neval "$LINE"'),
            cwd=self.root,
            env={**self.environment, "LINE": line},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return self._seen(ended.returncode, ended.stdout)

    def _seen(self, code: int, printed: bytes) -> object:
        raw = self.log.read_bytes() if self.log.exists() else b""
        self.log.unlink(missing_ok=True)
        ran = sorted(each.replace(b"\x1f./-", b"\x1f-") for each in raw.split(b"\x1e\x1f") if each)
        rows = sorted(row for row in printed.splitlines() if b" of " in row)
        return code, ran, rows


async def compare(
    ground: Ground, source: Iterator[str], count: int
) -> tuple[int, list[tuple[str, object, object]]]:
    """How many of *count* lines need no shell, and those of which we and bash run something else."""
    accepted, differing = 0, []
    for _, line in zip(range(count), source, strict=False):
        script = ground.script(line)
        if script is None:
            continue
        accepted += 1
        ours, theirs = await ground.ours(script), await asyncio.to_thread(ground.bash, line)
        if ours != theirs:
            differing.append((line, ours, theirs))
    return accepted, differing


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    if shutil.which("bash") is None:
        pytest.fail("bash is needed to compare with")
    return Ground(tmp_path)


async def test_what_runs_is_what_bash_would_run(ground: Ground) -> None:
    accepted, differing = await compare(ground, lines(random.Random(1)), 600)
    assert accepted > 100
    assert differing == []


def test_every_character_of_a_line_belongs_to_a_token() -> None:
    source = lines(random.Random(2))
    for _, line in zip(range(3_000), source, strict=False):
        found = command_line.tokens(line)
        if not isinstance(found, NeedsShell):
            assert [token.start for token in found] == [0, *(token.end for token in found)][: len(found)]
            assert "".join(line[token.start : token.end] for token in found) == line
            assert all((token.word is not None) == (token.kind is Kind.WORD) for token in found)


def main() -> int:
    """Compare as many lines as asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = lines(random.Random(options.seed))
        accepted, differing = asyncio.run(compare(Ground(Path(folder).resolve()), source, options.count))
    for line, ours, theirs in differing[:20]:
        print(f"{line!r}\n  ours: {ours}\n  bash: {theirs}")
    print(f"{options.count} lines, {accepted} need no shell, {len(differing)} differ")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
