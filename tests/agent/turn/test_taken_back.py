"""
What contained commands do is taken back byte for byte; what no snapshot covers stays as it was.

Commands are drawn at random, up to three a turn; each turn is taken back by its checkpoint.
`HANDRAIL_COMMANDS` says how many turns.
"""

from __future__ import annotations

import os
import random
import re
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.namespaces import allowed
from bench import Bench, Yes
from handrail.adapters.commands.process import Processes
from handrail.adapters.containment import containment, enter
from handrail.adapters.containment.containment import Containment
from handrail.adapters.workspace.protected import kind_of
from handrail.adapters.worktrees import stats
from handrail.agent.turn.command import appeared
from handrail.core.checkpoint import CommandChange, CommandEffects, Kind, NotCovered
from handrail.core.documents.text import IF_TOO_LARGE
from handrail.core.policy.containment import Sandbox
from handrail.ports import ALLOW, DENY, FOR_SESSION, CheckpointError, Ports, Question, Terms
from handrail.testing import answer, call, lay_out

COUNT = int(os.environ.get("HANDRAIL_COMMANDS", "6"))
namespaces = pytest.mark.skipif(
    not allowed(), reason="the kernel of this machine allows no namespaces of one's own"
)
landlocked = pytest.mark.skipif(not enter.version(), reason="the kernel of this machine has no Landlock")
FILES = {
    "a.txt": b"one\ntwo\nthree\n",
    "crlf.txt": b"one\r\ntwo\r\n",
    "raw.bin": bytes(range(256)) * 40,
    "latin.txt": b"caf\xe9\n",
    "empty": b"",
    "bom.txt": b"\xef\xbb\xbfone\n",
    "sp ace.txt": b"one\n",
    "src/main.py": b"print('one')\n",
    "src/deep/er/util.py": b"# two\n",
    "docs/b.md": b"# B\n",
    "run.sh": b"#!/bin/sh\necho run\n",
    ".hidden": b"hidden\n",
    ".gitignore": b"data/\n*.log\nlarge/\n",
    "data/kept.csv": b"1,2\n3,4\n",
    "data/deep/kept.bin": b"\0\1\2" * 100,
    "one.log": b"ignored, and alone\n",
    "src/two.log": b"ignored\n",
    "large/file": b"0" * 21_000_000,
}
PLACES = (
    *(name for name in FILES if name != ".gitignore"),
    "new.txt",
    "src/new.py",
    "new/deep/file",
    "link",
    "data/new",
    "big",
)
# What commands do to a path, or to two of them.
ACTS = """
echo changed > {a}
echo more >> {a}
printf 'x\\0y\\r\\n' > {a}
: > {a}
rm -f {a}
rm -rf $(dirname {a})
rm -rf src docs
mv -f {a} {b}
cp -f {a} {b}
cp -r src copy
mkdir -p {a}.d && touch {a}.d/x
mkdir -p new/deep && cp {a} new/deep/
ln -sfn {b} {a}
chmod +x {a}
chmod 600 {a}
truncate -s 7 {a}
sed -i s/o/0/g {a}
tee {a} {b} < run.sh
dd if=raw.bin of={a} bs=100 count=3 conv=notrunc status=none
find . -name '*.txt' -not -path './data/*' -delete
for f in *.txt; do mv "$f" "$f.old"; done
tar cf all.tar src && rm -rf src && tar xf all.tar && rm all.tar
mv src moved && mkdir src && mv moved/main.py src/other.py
rm -rf data; mkdir data; echo new > data/kept.csv
find data -type f -exec sh -c 'echo spoiled > "$1"' _ {} ';'
mv data/kept.csv data/moved.csv; cp data/moved.csv taken.csv
touch -d '2001-01-01' {a}
head -c 100000 /dev/zero > big
rm -f {a}; mkfifo {a}
ln -f {a} {b}; echo shared > {b}
ln {a} hard; chmod 600 {a}
ln {a} hard; sed -i s/o/0/ hard
cp -al src copied; echo x >> copied/main.py
rm -f {a}; mkdir -p {a}/e/f
chmod 700 src
python3 -c 'import pathlib, sys; pathlib.Path(sys.argv[1]).write_bytes(b"\\xff" * 99)' {a}
"""


# A project that is built and tested; its keys stay closed.
PROJECT = {
    "Makefile": b"build/answer: answer.c\n\tmkdir -p build\n\tcc -c answer.c\n"
    b"\tcc -o build/answer answer.o\nclean:\n\trm -rf build answer.o\n",
    "answer.c": b"int main(void) { return 42; }\n",
    "test_answer.py": b"import pytest\ndef test_answer(tmp_path):\n    (tmp_path / 'a').write_text('42')\n"
    b"    with pytest.raises(PermissionError):\n        open('.env')\n"
    b"    assert open('kept.txt').read() == 'kept'\n    open('new.txt', 'w').write('new')\n",
    "kept.txt": b"kept",
    ".env": b"KEY=secret\n",
    "AGENTS.md": b"rules\n",
}


class Contained(Bench):
    """A bench whose commands are contained."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.containment = Containment(
            environ=os.environ,
            roots=lambda: self.folders.roots,
            kind_of=kind_of,
            state=lambda: self.state.parent / "contained",
        )

    def ports(self) -> Ports:
        process = Processes(os.environ, lambda: self.folders.roots, self.containment)
        return replace(super().ports(), process=process)


@pytest.fixture(
    params=[pytest.param("bubblewrap", marks=namespaces), pytest.param("Landlock", marks=landlocked)]
)
def contained(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Contained]:
    """Commands that run unasked in bubblewrap, and after a yes where only Landlock holds them."""
    root = tmp_path / "work"
    lay_out(root, FILES)
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("a.txt")
    git = ("git", "-C", root, "-c", "user.name=u", "-c", "user.email=e")
    for arguments in (["init", "-q"], ["add", "a.txt", "src", "run.sh"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    if request.param == "Landlock":
        monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    says = Yes(ALLOW if request.param == "Landlock" else DENY)
    found = Contained(
        root, tmp_path / "state", approver=says, terms=Terms(sandbox=Sandbox.AUTO, timeout_s=60)
    )
    yield found
    found.containment.close()


def state(root: Path) -> dict[str, object]:
    """Every file and link below *root*, with its rights, but for git's."""
    found: dict[str, object] = {}
    for path in root.rglob("*"):
        name = path.relative_to(root).as_posix()
        if name.startswith(".git/") or (path.is_dir() and not path.is_symlink()):
            continue
        rights = stat.S_IMODE(path.lstat().st_mode)
        found[name] = (
            os.readlink(path) if path.is_symlink() else (rights, path.is_file() and path.read_bytes())
        )
    return found


class Notes(Processes):
    """Says what commands may change later."""

    noted: tuple[str, ...] = ()

    def note_folders(self, uris: Sequence[str]) -> None:
        self.noted = tuple(uris)


def test_what_a_command_only_made_unreadable_is_not_its_own(tmp_path: Path) -> None:
    """No checkpoint could bring it back if a later command changed it."""
    bench = Bench(tmp_path / "work", tmp_path / "state")
    notes = Notes(os.environ, lambda: bench.folders.roots)
    before = (NotCovered(path="large", reason="large"),)
    after = [NotCovered(path=name, reason="it cannot be read") for name in ("large", "new", "old.txt")]
    changes = [
        CommandChange(uri=(bench.root / name).as_uri(), path=name, change=Kind.CHANGED)
        for name in ("old.txt", "other.txt")
    ]
    effects = CommandEffects(changes=tuple(changes), not_covered=tuple(after))
    told = appeared.note_created_folders(before, effects, replace(bench.ports(), process=notes))
    assert notes.noted == ((bench.root / "new").as_uri(),)
    assert told == (
        "Checkpoints can no longer include these, so later commands in the sandbox cannot change them: "
        "old.txt (it cannot be read)."
    )


def lines(chance: random.Random) -> list[str]:
    """The commands of a turn."""
    rows = ACTS.strip().splitlines()
    made = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        acts = [chance.choice(rows) for _ in range(chance.choice((1, 2, 3)))]
        made.append("; ".join(_about(chance, act) for act in acts))
    return made


def _about(chance: random.Random, act: str) -> str:
    for name in ("{a}", "{b}"):
        act = act.replace(name, f"'{chance.choice(PLACES)}'")
    return act


async def test_what_contained_commands_do_is_taken_back(contained: Contained) -> None:
    chance = random.Random(3)
    before = state(contained.root)
    ran = changed = 0
    for _ in range(COUNT):
        wanted = lines(chance)
        contained.says(*(answer("", call("terminal", command=line)) for line in wanted), answer("Done."))
        report = await contained.turn()
        after = state(contained.root)
        ran, changed = ran + len(wanted), changed + (after != before)
        apart = {name for name in before if name.startswith(("data/", "large/"))}
        assert {name for name in apart if after.get(name) != before[name]} == set(), wanted
        if report.checkpoint is not None:
            restored = await contained.restore(report.checkpoint)
            assert not restored.conflicts, wanted
        assert difference(before, state(contained.root)) == {}, wanted
    is_weak = (await contained.containment.available()).is_weak
    assert [each for each in contained.approver.asked if "Landlock" not in each.detail] == []
    assert len(contained.approver.asked) == (ran if is_weak else 0)
    assert changed > COUNT // 2


class YesTo(Yes):
    """Answers each question as the first of *answers* that stands in what it opens; else with no."""

    def __init__(self, **answers: str) -> None:
        super().__init__()
        self.answers = answers

    async def ask(self, question: Question) -> str | None:
        self.asked.append(question)
        return next((answer for word, answer in self.answers.items() if word in question.detail), DENY)


@pytest.mark.parametrize("refused", ["network", "repository"])
async def test_each_thing_that_is_opened_has_a_question_of_its_own(
    contained: Contained, refused: str, tmp_path: Path
) -> None:
    """A yes to the one is no yes to the other; what was allowed for the session is not asked about again."""
    other = next(name for name in ("network", "repository") if name != refused)
    says = contained.approver = YesTo(**{other: FOR_SESSION})
    line = f"git tag made && git ls-remote {tmp_path}/nowhere"
    both = call("terminal", command=line, needs=["network", "repository"], why="It does.")
    contained.says(answer("", both), answer("", both), answer("Done."))
    await contained.turn()
    opened = [next(word for word in ("network", "repository") if word in each.detail) for each in says.asked]
    assert opened == (
        ["network", "network"] if refused == "network" else ["network", "repository", "repository"]
    )
    assert all("The model's reason: It does." in each.detail for each in says.asked)
    assert list((contained.root / ".git/refs/tags").iterdir()) == []


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    lay_out(root, PROJECT)
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


@landlocked
async def test_what_is_built_and_tested_after_a_yes_is_taken_back(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    terms = Terms(sandbox=Sandbox.AUTO, timeout_s=120)
    bench = Contained(project, tmp_path / "state", approver=Yes(ALLOW), terms=terms)
    before = state(project)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    line = (
        "python -m pytest -q && make && make && (build/answer; cp build/answer new; ./new; echo it says $?)"
    )
    bench.says(answer("", call("terminal", command=line)), answer("Done."))
    report = await bench.turn()
    bench.containment.close()
    (asked,) = bench.approver.asked
    assert "Landlock contains the command" in asked.detail
    (said,) = bench.texts()
    assert "1 passed" in said
    assert "cache could not write" not in said
    assert "could not create cache" not in said
    assert "'build/answer' is up to date" in said
    assert "it says 42" in said
    assert (project / "new.txt").read_text() == "new"
    assert (project / ".pytest_cache/README.md").exists()
    assert os.access(project / "build/answer", os.X_OK)
    assert report.checkpoint is not None
    await bench.restore(report.checkpoint)
    left = difference(before, state(project))
    assert [name for name in left if not name.startswith(".pytest_cache/")] == []  # which ignores itself


@pytest.mark.parametrize(
    "lines",
    [
        ["echo changed > crlf.txt"],
        ["rm crlf.txt", "echo changed > crlf.txt"],
        ["sed -i 's/\\r//' crlf.txt"],
        ["printf 'one\\r\\n' > a.txt"],
        ["printf 'one\\n' > bom.txt"],
    ],
)
async def test_line_ends_and_marks_that_a_command_changed_are_taken_back(
    contained: Contained, lines: list[str]
) -> None:
    before = state(contained.root)
    contained.says(*(answer("", call("terminal", command=line)) for line in lines), answer("Done."))
    report = await contained.turn()
    assert difference(before, state(contained.root)) != {}
    assert report.checkpoint is not None
    await contained.restore(report.checkpoint)
    assert difference(before, state(contained.root)) == {}


@pytest.mark.parametrize(
    "lines",
    [
        ["ln -f src/main.py a.txt"],
        ["ln -f src/main.py a.txt; echo changed > a.txt"],
        ["ln a.txt hard; echo changed > hard"],
        ["ln a.txt hard", "echo changed > hard"],
        ["ln a.txt hard; chmod 600 hard"],
        ["cp -al src copied; echo changed >> copied/main.py"],
        ["ln -f crlf.txt a.txt", "ln -f a.txt bom.txt; echo changed > bom.txt", "rm crlf.txt"],
    ],
)
async def test_files_that_a_command_made_one_are_taken_back_each_by_itself(
    contained: Contained, lines: list[str]
) -> None:
    before = state(contained.root)
    contained.says(*(answer("", call("terminal", command=line)) for line in lines), answer("Done."))
    report = await contained.turn()
    assert difference(before, state(contained.root)) != {}
    assert report.checkpoint is not None
    restored = await contained.restore(report.checkpoint)
    assert restored.conflicts == ()
    assert difference(before, state(contained.root)) == {}


LARGE = b"0123456789\n" * 2_000_000


@pytest.mark.parametrize("line", ["sed -i 1d FILE", re.findall("`(sed.*?)`", IF_TOO_LARGE)[0]])
async def test_a_large_file_is_changed_only_by_a_command_that_asks_for_it(
    contained: Contained, line: str
) -> None:
    path = contained.root / "large.txt"
    path.write_bytes(LARGE)
    contained.approver = Yes(ALLOW)
    line = line.replace("FILE", path.name)
    contained.says(answer("", call("terminal", command=line)), answer("Done."))
    report = await contained.turn()
    (told,) = contained.texts(report.session)
    assert "large files and ignored folders may have been read-only" in told
    assert "call it once more with `needs`" in told
    assert path.read_bytes() == LARGE
    (contained.root / "new").unlink(missing_ok=True)
    if line.startswith("sed -i") and (await contained.containment.available()).is_weak:
        return  # Landlock lets no command replace it
    contained.says(answer("", call("terminal", command=line, needs=[path.name], why="it is large")))
    await contained.turn()
    assert "can read and write large.txt" in contained.approver.asked[-1].detail
    assert path.read_bytes() == LARGE[11:]


async def test_a_folder_with_many_files_is_changed_directly(
    contained: Contained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats, "LIMIT_FILES", 2)
    before = state(contained.root)
    contained.says(answer("", call("terminal", command="echo more > many.txt")), answer("Done."))
    report = await contained.turn()
    assert (contained.root / "many.txt").read_text() == "more\n"
    assert report.checkpoint is not None
    await contained.restore(report.checkpoint)
    assert difference(before, state(contained.root)) == {}


async def test_files_that_were_one_before_the_command_still_are_when_it_is_taken_back(
    contained: Contained,
) -> None:
    other = contained.root / "src" / "linked.txt"
    other.hardlink_to(contained.root / "a.txt")
    before = state(contained.root)
    contained.says(answer("", call("terminal", command="echo changed > a.txt")), answer("Done."))
    report = await contained.turn()
    assert other.read_text() == "changed\n"
    assert report.checkpoint is not None
    await contained.restore(report.checkpoint, is_foreseen=False)  # they are counted as two
    assert difference(before, state(contained.root)) == {}
    assert other.samefile(contained.root / "a.txt")


@pytest.mark.parametrize(
    "line",
    ["rm a.txt; mkdir a.txt", "rm a.txt; mkdir -p a.txt/b/c", "rm a.txt; mkdir a.txt; echo x > a.txt/b"],
)
async def test_a_file_in_whose_place_a_command_made_a_folder_is_there_again(
    contained: Contained, line: str
) -> None:
    before = state(contained.root)
    contained.says(answer("", call("terminal", command=line)), answer("Done."))
    report = await contained.turn()
    assert (contained.root / "a.txt").is_dir()
    assert report.checkpoint is not None
    restored = await contained.restore(report.checkpoint)
    assert restored.conflicts == ()
    assert difference(before, state(contained.root)) == {}


# With Landlock they cannot be made.
SOCKET = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"left\")'"


@pytest.mark.parametrize("contained", [pytest.param("bubblewrap", marks=namespaces)], indirect=True)
@pytest.mark.parametrize("line", ["mkfifo left", SOCKET, "rm a.txt; mkfifo a.txt", f"mv a.txt b; {SOCKET}"])
async def test_pipes_and_sockets_that_a_command_leaves_are_moved_away(
    contained: Contained, line: str
) -> None:
    before = state(contained.root)
    contained.says(answer("", call("terminal", command=line)), answer("Done."))
    report = await contained.turn()
    assert "moved away, because no program uses it any longer: " in contained.texts()[0]
    kinds = {stat.S_IFMT(path.lstat().st_mode) for path in contained.root.iterdir()}
    assert kinds <= {stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}
    if report.checkpoint is not None:
        await contained.restore(report.checkpoint)
    assert difference(before, state(contained.root)) == {}


async def test_what_the_user_has_put_into_such_a_folder_is_kept(contained: Contained) -> None:
    contained.says(answer("", call("terminal", command="rm a.txt; mkdir -p a.txt/b")), answer("Done."))
    report = await contained.turn()
    (contained.root / "a.txt/b/mine").write_text("mine\n")
    assert report.checkpoint is not None
    with pytest.raises(CheckpointError, match=r"a\.txt: it is a folder"):
        await contained.restore(report.checkpoint)
    assert (contained.root / "a.txt/b/mine").read_text() == "mine\n"


def difference(before: dict[str, object], after: dict[str, object]) -> dict[str, tuple[object, object]]:
    names = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    return {name: (str(before.get(name))[:80], str(after.get(name))[:80]) for name in sorted(names)}
