"""
What the table of commands says is true of the real programs: they change nothing, and read only what it says.

Lines of known options, drawn at random, are run in a throw-away folder in which every file has a text of its
own. `python tests/adapters/commands/test_rows.py 20000 --seed 7 --only tree` tries as many.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from handrail.core.policy.commands.known import Known, find_command
from handrail.core.policy.commands.options import Below
from handrail.core.policy.commands.table import TABLE
from handrail.testing import snapshot
from shell_lines import options

# `date` could set the clock if its row were wrong; the others have rows that say nothing.
LEFT_OUT = frozenset({"date", "echo", "printf", "test", "[", "true", "false", "pwd", "expr", "find", "sed"})
ENDLESS = frozenset({"-f", "-F", "--follow", "--retry", "-s", "--sleep-interval", "--pid"})  # of `tail`
FILES = (
    "a.py",
    "b.txt",
    ".hidden",
    ".env",
    "sub/c.py",
    "sub/.d/e.py",
    "sub/.env",
    "sub/deep/f.txt",
    "1",
    "-n",
)
VALUES = (
    "1",
    "2",
    "x",
    "o",
    "R",
    "ol",
    "out",
    "text",
    "*.py",
    "path",
    "name",
    "always",
    "never",
    "a.py",
    "-",
    "",
)
OPERANDS = ("a.py", "b.txt", "sub", ".", "new", "*", "1", "./-n", "text", "sub/c.py", "..", "link", "folder")


def lines(random: random.Random, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Lines without an end."""
    while True:
        name = random.choice(names)
        known_options = options(TABLE[name]) or [("", "")]
        words = [name]
        for _ in range(random.choice((0, 1, 1, 2, 2, 3))):
            option, signs = random.choice(known_options)
            if option == "-#":
                words.append("-3")
            elif option and not (name == "tail" and option in ENDLESS):
                words += _given(random, option, signs)
        words += [random.choice(OPERANDS) for _ in range(random.choice((0, 1, 1, 2, 3)))]
        yield tuple(words)


def _given(random: random.Random, option: str, signs: str) -> Sequence[str]:
    value, is_word = random.choice(VALUES), option.startswith("--")
    if set(signs) & set(":<?") and random.random() < 0.5:
        return (f"{option}={value}" if is_word else option + value,)
    return (option, value) if set(signs) & set(":<") else (option,)


class Ground:
    """A folder with files, and one beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "w"
        for number, name in enumerate(FILES):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"text {_canary(number)}\n" * 3)
        (folder / "outside").mkdir()
        (folder / "outside" / "x.py").write_text(f"text {_canary(len(FILES))}\n")
        (self.root / "link").symlink_to("../outside/x.py")
        (self.root / "folder").symlink_to("../outside")
        self.before = snapshot(folder)
        self.environment = {"PATH": os.environ["PATH"], "HOME": os.fspath(folder), "LC_ALL": "C.UTF-8"}

    def complaint(self, words: tuple[str, ...]) -> str | None:
        """What is wrong with the row by which *words* are known; None if they are not known."""
        found = find_command(words, " ".join(words))
        if not isinstance(found, Known):
            return None
        ended = subprocess.run(
            (words[0], *found.arguments),
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        if (after := snapshot(self.folder)) != self.before:
            changed = {name for name in {**after, **self.before} if after.get(name) != self.before.get(name)}
            self.before = after
            return f"changes {sorted(changed)}"
        printed = (ended.stdout + ended.stderr).decode("utf-8", "replace")
        shown = {number for number in range(len(FILES) + 1) if _canary(number) in printed}
        return f"shows {shown}" if shown - self._may_be_shown(found) else ""

    def _may_be_shown(self, found: Known) -> set[int]:
        """The numbers of the files that the command is said to read."""
        allowed = {
            path for read in found.meant.reads for path in self._read(self.root / read.path, read.below)
        }
        paths = [*(self.root / name for name in FILES), self.folder / "outside" / "x.py"]
        return {number for number, path in enumerate(paths) if path.resolve() in allowed}

    def _read(self, path: Path, below: Below) -> Iterator[Path]:
        yield path.resolve()
        for each in path.rglob("*") if below not in (Below.NOTHING, Below.NAMES) else ():
            is_hidden = any(part.startswith(".") for part in each.relative_to(path).parts)
            if not (below is Below.VISIBLE and is_hidden):
                yield each.resolve() if below is Below.LINKED or not each.is_symlink() else each


def _canary(number: int) -> str:
    """The text of a file, in which nothing is replaced by another one's."""
    return f"canary-{'abcdefghijklmnopqrstuvwxyz'[number] * 7}-"


def installed(environ: Mapping[str, str]) -> list[str]:
    """The commands of the table that are there."""
    path = environ["PATH"]
    return [name for name in TABLE if name not in LEFT_OUT and shutil.which(name, path=path)]


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    folder = os.path.dirname(sys.executable)  # which has ripgrep
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{folder}")
    return Ground(tmp_path)


def test_commands_change_nothing_and_read_what_their_rows_say(ground: Ground) -> None:
    names = installed(ground.environment)
    assert {"ls", "grep", "sort", "rg"} <= set(names)
    source = lines(random.Random(3), names)
    found = [(words, ground.complaint(words)) for _, words in zip(range(400), source, strict=False)]
    assert len([said for _, said in found if said is not None]) > 100
    assert [(words, said) for words, said in found if said] == []


@pytest.mark.parametrize(
    "words",
    [
        ("tree", "-Po", "*", "new"),
        ("tree", "-LR", "1"),
        ("tree", "-aIo", "x", "new"),
        ("tree", "-L1o", "new"),
    ],
)
def test_tree_takes_no_value_out_of_the_same_word(words: tuple[str, ...]) -> None:
    """To it, the letters behind one with a value are options as well: `-o` writes a file."""
    assert isinstance(find_command(words, " ".join(words)), str)
    assert isinstance(find_command(("tree", "-aL", "1", "-P", "*.py", "sub"), ""), Known)


def main() -> int:
    """Run as many lines as asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder).resolve())
        source = lines(random.Random(asked.seed), asked.only or installed(os.environ))
        found = [
            (words, ground.complaint(words)) for _, words in zip(range(asked.count), source, strict=False)
        ]
    for words, said in [each for each in found if each[1]][:40]:
        print(f"{words}: {said}")
    ran = len([said for _, said in found if said is not None])
    print(f"{asked.count} lines, {ran} known, {len([said for _, said in found if said])} wrong")
    return int(any(said for _, said in found))


if __name__ == "__main__":
    sys.exit(main())
