"""The user's rules for reading hold for files below a folder that a command or a search looks through."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import pytest

from bench import Bench
from handrail.core.policy.place import Place
from handrail.core.policy.rules import read
from handrail.ports import ALLOW, DENY, Terms
from handrail.testing import answer, call, lay_out

FILES = {
    "a.txt": b"needle\n",
    "src/main.py": b"needle\n",
    "src/deep/private.py": b"needle: private\n",
    "src/deep/.hidden": b"needle: hidden\n",
    "docs/a.md": b"needle\n",
}


def terms(*rules: tuple[str, str, str]) -> Terms:
    found = read([{"tool": tool, "match": match, "verdict": verdict} for tool, match, verdict in rules])
    assert isinstance(found, tuple)
    return Terms(rules=found)


def with_files(bench: Bench) -> Bench:
    """*bench* with files, none of them protected, and a user who says no."""
    lay_out(bench.root, FILES)
    bench.approver.says = DENY
    return bench


@pytest.fixture
def ground(bench: Bench) -> Bench:
    return with_files(bench)


@pytest.fixture
def ripgrep(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ripgrep of this Python environment is on PATH."""
    folder = os.path.dirname(sys.executable)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert os.path.exists(os.path.join(folder, "rg"))


async def run(bench: Bench, *lines: str) -> list[str]:
    """What became of each line, called at once in one turn: it ran, was asked about, or was blocked."""
    bench.approver.asked.clear()
    bench.says(answer("", *(call("terminal", command=line) for line in lines)), answer("Done."))
    report = await bench.turn()
    asked = {question.subject for question in bench.approver.asked}
    codes = [code for _, code in bench.results(report.session)][-len(lines) :]
    return ["asked" if line in asked else code or "ran" for line, code in zip(lines, codes, strict=True)]


READERS = ("grep -r needle .", "grep -r needle src", "cd src && grep -r needle", "diff src docs")


@pytest.mark.parametrize("match", ["src/deep/private.py", "private.py", "src/deep/**", "*.py", "src/**"])
@pytest.mark.parametrize("tool", ["read_file", "read", "*"])
async def test_what_reads_all_below_obeys(ground: Bench, tool: str, match: str) -> None:
    ground.terms = terms((tool, match, "block"))
    assert await run(ground, *READERS) == ["blocked"] * 4
    assert await run(ground, "grep -r needle docs", "grep needle a.txt", "ls -R") == ["ran"] * 3
    ground.terms = terms((tool, match, "ask"))
    assert await run(ground, *READERS) == ["asked"] * 4
    ground.terms = terms((tool, match, "block"), (tool, match, "allow"))
    assert await run(ground, *READERS) == ["ran"] * 4


@pytest.mark.usefixtures("ripgrep")
async def test_ripgrep_obeys(ground: Bench) -> None:
    ground.terms = terms(("read_file", "private.py", "block"), ("read_file", ".hidden", "block"))
    assert await run(ground, "rg needle", "rg needle docs") == ["blocked", "ran"]
    ground.terms = terms(("read_file", ".hidden", "block"))
    assert await run(ground, "rg needle", "rg --hidden needle", "rg -uu needle") == [
        "ran",
        "blocked",
        "blocked",
    ]


@pytest.mark.usefixtures("ripgrep")
async def test_where_an_ignore_file_leads_outside_ripgrep_asks(ground: Bench) -> None:
    (ground.root / "docs" / ".gitignore").symlink_to("/dev/null")
    assert await run(ground, "rg needle", "rg needle docs", "rg needle src") == ["asked", "asked", "ran"]


async def test_a_block_is_found_behind_what_is_asked_about(ground: Bench) -> None:
    lay_out(ground.root, {f"many/{number}/.env": b"KEY=1\n" for number in range(9)})
    lay_out(ground.root, {"many/.aws/x": b"x"})
    for rule in (("read_file", "many/.aws/x", "block"), ("read_file", "many/8/.env", "block")):
        ground.terms = terms(("read_file", "many/*/**", "ask"), rule)
        assert await run(ground, "grep -r needle many") == ["blocked"]


async def test_what_is_not_seen_is_not_asked_about(ground: Bench) -> None:
    ground.terms = terms(("read_file", ".hidden", "block"))
    assert await run(ground, "grep -r needle src", "find . -name x", "ls -aR") == ["blocked", "ran", "ran"]


async def found(bench: Bench, **arguments: object) -> str:
    bench.says(answer("", call("search", pattern="needle", **arguments)), answer("Done."))
    report = await bench.turn()
    return bench.texts(report.session)[-1]


@pytest.mark.parametrize("tool", ["read_file", "search", "read"])
@pytest.mark.parametrize("verdict", ["ask", "block"])
async def test_a_search_leaves_out_what_rules_close(ground: Bench, tool: str, verdict: str) -> None:
    ground.terms = terms((tool, "private.py", verdict))
    said = await found(ground)
    assert "src/main.py" in said
    assert "private" not in said


async def test_a_search_that_was_asked_about_shows_it(ground: Bench) -> None:
    ground.approver.says = ALLOW
    ground.terms = terms(("read", "src/deep/**", "ask"))
    assert "private" in await found(ground, path="src/deep")
    ground.terms = terms(("read_file", "src/deep/**", "block"))
    assert "private" not in await found(ground, path="src/deep")


# ---- Several folders, and links ---------------------------------------------------------------------


async def judged(bench: Bench, tool: str, **arguments: object) -> str:
    """What became of a call: it ran, was asked about, or was blocked."""
    bench.approver.asked.clear()
    bench.says(answer("", call(tool, **arguments)), answer("Done."))
    report = await bench.turn()
    return "asked" if bench.approver.asked else bench.results(report.session)[-1][1] or "ran"


def open_folders(bench: Bench, names: Sequence[str]) -> None:
    """Opens folders below the first one in place of it, and without one the first alone."""
    bench.folders.replace([bench.root / name for name in names] or [bench.root])


@pytest.mark.parametrize("folders", [["src"], ["src", "docs"], ["docs", "src"], ["src", "src/deep"]], ids=str)
@pytest.mark.parametrize("match", ["deep/**", "deep/private.py", "deep/", "private.py", "**/private.py"])
async def test_a_rule_holds_whatever_other_folders_are_open(
    ground: Bench, folders: list[str], match: str
) -> None:
    open_folders(ground, folders)
    file = os.fspath(ground.root / "src/deep/private.py")
    edit = {"path": file, "content": "x\n"}
    ground.terms = terms(("*", match, "block"))
    assert await judged(ground, "write_file", **edit) == "blocked"
    assert await judged(ground, "read_file", path=file) == "blocked"
    assert await judged(ground, "terminal", command=f"cat {file}") == "blocked"
    assert await judged(ground, "terminal", command=f"grep -r needle {os.path.dirname(file)}") == "blocked"
    assert "private" not in await found(ground)
    ground.terms = terms(("*", match, "ask"))
    assert await judged(ground, "read_file", path=file) == "asked"
    ground.terms = terms(("*", match, "ask"), ("*", match, "allow"))
    assert await judged(ground, "read_file", path=file) == "ran"


async def test_a_rule_can_be_for_one_of_several_folders(ground: Bench) -> None:
    open_folders(ground, ["src", "docs"])
    ground.terms = terms(("read", "src/**", "block"))
    assert await judged(ground, "read_file", path="main.py") == "blocked"
    assert await judged(ground, "read_file", path="a.md") == "ran"


@pytest.mark.parametrize("folders", [[], ["src", "docs"]], ids=["one folder", "two folders"])
@pytest.mark.parametrize("match", ["linked/**", "linked/private.py", "linked/"])
async def test_a_rule_holds_for_the_path_through_a_link(
    ground: Bench, folders: list[str], match: str
) -> None:
    open_folders(ground, folders)
    top = ground.root / folders[0] if folders else ground.root
    (top / "linked").symlink_to(ground.root / "src" / "deep")
    ground.terms = terms(("*", match, "block"))
    assert await judged(ground, "read_file", path="linked/private.py") == "blocked"
    assert await judged(ground, "terminal", command=f"cat {top}/linked/private.py") == "blocked"
    assert await judged(ground, "write_file", path="linked/private.py", content="x\n") == "blocked"
    assert await judged(ground, "read_file", path=os.fspath(ground.root / "src/deep/private.py")) == "ran"


@pytest.mark.parametrize("folders", [[], ["src", "docs"]], ids=["one folder", "two folders"])
@pytest.mark.parametrize("match", ["linked/**", "linked/private.py", "linked/"])
async def test_a_rule_holds_for_what_is_below_a_link(ground: Bench, folders: list[str], match: str) -> None:
    open_folders(ground, folders)
    top = ground.root / folders[0] if folders else ground.root
    (top / "linked").symlink_to(ground.root / "src" / "deep")
    ground.terms = terms(("*", match, "block"))
    for command in (f"grep -r needle {top}/linked/", f"cd {top}/linked && grep -r needle"):
        assert await judged(ground, "terminal", command=command) == "blocked"
    assert "private" not in await found(ground, path="linked")
    ground.terms = terms(("*", match, "ask"))
    assert await judged(ground, "terminal", command=f"grep -r needle {top}/linked/") == "asked"


async def test_no_link_widens_what_a_rule_allows(ground: Bench) -> None:
    (ground.root / "linked").symlink_to(ground.root / "src" / "deep")
    ground.terms = terms(("*", "**", "ask"), ("*", "linked/**", "allow"))
    assert await judged(ground, "read_file", path="linked/private.py") == "asked"


async def test_a_rule_holds_for_a_name_that_is_no_text(ground: Bench) -> None:
    name = os.fsdecode(b"deep/\xff.py")
    (ground.root / "src" / name).write_bytes(b"needle\n")
    ground.terms = terms(("*", "src/deep/**", "block"))
    place = ground.folders.resolve(os.fspath(ground.root / "src" / name))
    assert isinstance(place, Place)
    assert await judged(ground, "read_file", path=place.path) == "blocked"


async def test_a_rule_holds_for_a_document_that_will_be_saved_there(ground: Bench) -> None:
    ground.terms = terms(("*", "src/deep/**", "block"))
    uri = f"untitled:{ground.root}/src/deep/new.py"
    assert await judged(ground, "write_file", path=uri, content="x\n") == "blocked"
