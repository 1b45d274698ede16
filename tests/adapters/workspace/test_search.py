"""Searching and listing on the real disk: with ripgrep and without it, to the same result."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.adapters.files import scan
from handrail.adapters.files.files import uri_of
from handrail.adapters.workspace import listing, ripgrep
from handrail.adapters.workspace.folders import Folders
from handrail.core.documents.text import Text
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place
from handrail.core.results.search import Lines, Search
from handrail.ports import Document
from handrail.testing import lay_out

TREE = {
    "a.py": b"import os\nneedle = 1\n",
    "b.txt": b"needle\r\nNeedle\r\nneedles\r\n",
    "src/c.ts": b"const needle = 2;\n",
    "src/d.tsx": b"needle\n",
    "src/deep/e.py": b"# a needle\n",
    "src/deep/.hidden.py": b"needle\n",
    ".github/dependabot.yml": b"needle: 1\n",
    ".gitignore": b"build/\n*.log\n!keep.log\n/only-here.txt\n",
    "build/out.py": b"needle\n",
    "x.log": b"needle\n",
    "keep.log": b"needle\n",
    "only-here.txt": b"needle\n",
    "src/only-here.txt": b"needle\n",
    "src/.ignore": b"*.gen.ts\n",
    "src/f.gen.ts": b"needle\n",
    "src/deep/.gitignore": b"!f.gen.ts\n!y.log\n",
    "src/deep/y.log": b"needle\n",
    "src/deep/f.gen.ts": b"needle\n",
    ".git/config": b"needle\n",
    ".env": b"KEY=needle\n",
    "certs/server.pem": b"needle\n",
    "binary.dat": b"\x00\x01needle\n",
    "wide.txt": b"\xff\xfe" + "a needle\n".encode("utf-16-le"),
}
FOUND = [
    ".github/dependabot.yml:1",
    "a.py:2",
    "b.txt:1",
    "b.txt:3",
    "keep.log:1",
    "src/c.ts:1",
    "src/d.tsx:1",
    "src/deep/.hidden.py:1",
    "src/deep/e.py:1",
    "src/deep/y.log:1",
    "src/only-here.txt:1",
    "wide.txt:1",
]


@pytest.fixture(params=["ripgrep", "python"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Searches are made with this program."""
    own = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(own if request.param == "ripgrep" else tmp_path))
    assert (ripgrep.program() is not None) == (request.param == "ripgrep")
    return request.param


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    root = tmp_path / "work"
    lay_out(root, TREE)
    return Folders([root])


def places(found: Lines | Failure) -> list[str]:
    assert isinstance(found, Lines), found
    return [f"{line.path}:{line.line_number}" for line in found.lines]


def place(folders: Folders, path: str) -> Place:
    found = folders.resolve(path)
    assert isinstance(found, Place)
    return found


def unsaved(path: Path, content: str) -> Document:
    return Document(uri=uri_of(path), text=Text(content), version=1, unsaved=True)


async def test_a_search_leaves_out_what_is_ignored_binary_or_protected(
    folders: Folders, program: str
) -> None:
    assert places(await folders.search(Search(pattern="needle"), [])) == FOUND


async def test_a_search_in_a_folder_with_a_glob(folders: Folders, program: str) -> None:
    src = place(folders, "src")
    found = await folders.search(Search(pattern="needle", within=src, glob="*.{ts,tsx}"), [])
    assert places(found) == ["src/c.ts:1", "src/d.tsx:1"]
    found = await folders.search(Search(pattern="needle", glob="src/**/*.py"), [])
    assert places(found) == ["src/deep/.hidden.py:1", "src/deep/e.py:1"]
    found = await folders.search(Search(pattern="needle", glob="*.log"), [])
    assert places(found) == ["keep.log:1", "src/deep/y.log:1"], "a glob does not bring back what is ignored"


async def test_a_named_file_is_searched_whatever_it_is(folders: Folders, program: str) -> None:
    for name in (".env", "x.log", "build/out.py"):
        found = await folders.search(Search(pattern="needle", within=place(folders, name)), [])
        assert places(found) == [f"{name}:1"]


IGNORED = {
    ".gitignore": b"build/\nnode_modules\n/dist\n*.log\n/cache/*\n!keep.log\n",
    "build/a.txt": b"needle\n",
    "build/deep/b.txt": b"needle\n",
    "build/deep/keep.log": b"needle\n",
    "build/deep/x.log": b"needle\n",
    "node_modules/x/c.js": b"needle\n",
    "node_modules/x/node_modules/y/d.js": b"needle\n",
    "dist/.gitignore": b"skip.js\n",
    "dist/dist/e.js": b"needle\n",
    "dist/skip.js": b"needle\n",
    "cache/f.txt": b"needle\n",
    "cache/deep/g.txt": b"needle\n",
    ".venv/.gitignore": b"*\n",
    ".venv/lib/h.py": b"needle\n",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("build", ["a.txt", "deep/b.txt", "deep/keep.log"]),
        ("build/deep", ["b.txt", "keep.log"]),
        ("node_modules", ["x/c.js"]),
        ("node_modules/x", ["c.js"]),
        ("node_modules/x/node_modules", ["y/d.js"]),
        ("dist", ["dist/e.js"]),
        ("cache", []),
        ("cache/deep", ["g.txt"]),
        (".venv", []),
        (".venv/lib", []),
    ],
)
async def test_a_named_folder_is_searched_although_it_is_ignored(
    folders: Folders, program: str, path: str, expected: list[str]
) -> None:
    """Without what is ignored in it."""
    (folders.roots[0] / "build/out.py").unlink()
    lay_out(folders.roots[0], IGNORED)
    wanted = Search(pattern="needle", within=place(folders, path))
    assert places(await folders.search(wanted, [])) == [f"{path}/{each}:1" for each in expected]
    texts = [unsaved(folders.roots[0] / name, "\nneedle\n") for name in IGNORED if ".gitignore" not in name]
    assert places(await folders.search(wanted, texts)) == [f"{path}/{each}:2" for each in expected]


@pytest.mark.parametrize(
    ("pattern", "ignore_case", "expected"),
    [
        (r"^needle$", False, ["b.txt:1", "src/d.tsx:1"]),
        (r"^needle$", True, ["b.txt:1", "b.txt:2", "src/d.tsx:1"]),
        (r"needle(?=s)", False, ["b.txt:3"]),
        (r"(?<=const )needle", False, ["src/c.ts:1"]),
        (r"\bimport\s+os\b", False, ["a.py:1"]),
        (r"there is no such line", False, []),
    ],
)
async def test_patterns(
    folders: Folders, program: str, pattern: str, ignore_case: bool, expected: list[str]
) -> None:
    wanted = Search(pattern=pattern, ignore_case=ignore_case, glob="*.{py,txt,ts,tsx}")
    found = await folders.search(wanted, [])
    plain = [each for each in places(found) if not each.startswith(("src/only", "src/deep", "wide"))]
    assert plain == expected


async def test_a_pattern_that_is_none(folders: Folders, program: str) -> None:
    found = await folders.search(Search(pattern="(needle"), [])
    assert isinstance(found, Failure)
    assert found.code is Code.BAD_ARGUMENTS


async def test_unsaved_text_is_searched_instead_of_the_disk(folders: Folders, program: str) -> None:
    root = folders.roots[0]
    held = [
        unsaved(root / "a.py", "one\ntwo\nneedle, typed\r\n"),
        unsaved(root / "b.txt", "nothing\n"),
        unsaved(root / "new.py", "needle\n"),
        unsaved(root / "y.log", "needle\n"),
        unsaved(root / ".env", "needle\n"),
        Document(uri="untitled:Untitled-1", text=Text("needle\n"), version=1, unsaved=True),
    ]
    found = await folders.search(Search(pattern="needle"), held)
    expected = [each for each in FOUND if not each.startswith(("a.py", "b.txt"))]
    assert places(found) == sorted([*expected, "a.py:3", "new.py:1", "untitled:Untitled-1:1"])
    assert isinstance(found, Lines)
    assert [line.row for line in found.lines if line.path == "a.py"] == ["needle, typed"]
    found = await folders.search(Search(pattern="needle", within=place(folders, "a.py")), held)
    assert places(found) == ["a.py:3"]


GUARDED = {
    ".github/workflows/ci.yml": b"needle\n",
    ".github/workflows/parts/.env": b"needle\n",
    ".github/workflows/parts/part.yml": b"needle\n",
    ".github/workflows/parts/.gitignore": b"ignored.yml\n",
    ".github/workflows/parts/ignored.yml": b"needle\n",
    ".vscode/keys/server.pem": b"needle\n",
    ".vscode/settings.json": b"needle\n",
    ".ssh/config": b"needle\n",
    ".ssh/id_rsa": b"needle\n",
    "certs/server.key": b"needle\n",
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".github/workflows", [".github/workflows/ci.yml:1", ".github/workflows/parts/part.yml:1"]),
        (".github/workflows/parts", [".github/workflows/parts/part.yml:1"]),
        (".vscode", [".vscode/settings.json:1"]),
        (".ssh", [".ssh/config:1", ".ssh/id_rsa:1"]),
        (".github", [".github/dependabot.yml:1"]),
        ("certs", []),
    ],
)
async def test_the_search_of_a_protected_folder_covers_what_its_question_said(
    folders: Folders, program: str, path: str, expected: list[str]
) -> None:
    """Not the files below it that are protected for another reason: no one was asked about these."""
    lay_out(folders.roots[0], GUARDED)
    wanted = Search(pattern="needle", within=place(folders, path))
    assert places(await folders.search(wanted, [])) == expected
    texts = [unsaved(folders.roots[0] / name, "\nneedle\n") for name in GUARDED if "ignore" not in name]
    typed = [f"{each[:-1]}2" if each[:-2] in GUARDED else each for each in expected]
    assert places(await folders.search(wanted, texts)) == typed
    assert not any(
        each.startswith((".ssh", ".vscode", ".github/w", "certs"))
        for each in places(await folders.search(Search(pattern="needle"), texts))
    )


async def test_unsaved_text_of_files_that_run_later_is_searched(folders: Folders, program: str) -> None:
    lay_out(folders.roots[0], {"AGENTS.md": b"needle\n"})
    wanted = Search(pattern="needle", glob="*.md")
    assert places(await folders.search(wanted, [])) == ["AGENTS.md:1"]
    held = [unsaved(folders.roots[0] / "AGENTS.md", "one\nneedle\n")]
    assert places(await folders.search(wanted, held)) == ["AGENTS.md:2"]


async def test_unsaved_text_outside_is_searched_if_its_folder_is_named(
    folders: Folders, program: str, tmp_path: Path
) -> None:
    lay_out(tmp_path / "outside", {"a.txt": b"needle\n"})
    wanted = Search(pattern="needle", within=place(folders, str(tmp_path / "outside")))
    held = [unsaved(tmp_path / "outside" / "a.txt", "one\nneedle\n")]
    assert places(await folders.search(wanted, held)) == [f"{tmp_path}/outside/a.txt:2"]
    assert places(await folders.search(Search(pattern="needle"), held)) == FOUND


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", [".github/dependabot.yml:1", "AGENTS.md:1", "a.txt:1"]),
        (".github/workflows", [".github/workflows/ci.yml:1", ".github/workflows/parts/part.yml:1"]),
        (".github/workflows/parts", [".github/workflows/parts/part.yml:1"]),
        (".vscode", [".vscode/settings.json:1"]),
        (".vscode/keys", []),
        (".ssh", [".ssh/config:1", ".ssh/id_rsa:1"]),
        (".ssh/id_rsa", [".ssh/id_rsa:1"]),
        ("certs", []),
        ("certs/server.key", ["certs/server.key:1"]),
    ],
)
async def test_a_yes_to_a_folder_outside_is_none_to_the_keys_in_it(
    folders: Folders, program: str, tmp_path: Path, path: str, expected: list[str]
) -> None:
    outside = tmp_path / "outside"
    lay_out(outside, {**GUARDED, ".github/dependabot.yml": b"needle\n", "a.txt": b"needle\n"})
    lay_out(outside, {"AGENTS.md": b"needle\n"})
    wanted = Search(pattern="needle", within=place(folders, str(outside / path)))
    at = [f"{outside}/{each}" for each in expected]
    assert places(await folders.search(wanted, [])) == at
    held = [unsaved(outside / name, "\nneedle\n") for name in GUARDED if "ignore" not in name]
    typed = [f"{each[:-1]}2" if each.removeprefix(f"{outside}/")[:-2] in GUARDED else each for each in at]
    assert places(await folders.search(wanted, held)) == typed


async def test_links_are_not_followed(folders: Folders, program: str, tmp_path: Path) -> None:
    lay_out(tmp_path / "outside", {"secret.txt": b"needle\n"})
    root = folders.roots[0]
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "circle").symlink_to(root)
    (root / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    assert places(await folders.search(Search(pattern="needle"), [])) == FOUND


async def test_too_many_lines_are_cut_and_said(folders: Folders, program: str) -> None:
    lay_out(folders.roots[0], {"many.txt": b"needle\n" * 1000})
    found = await folders.search(Search(pattern="needle", glob="many.txt"), [])
    assert isinstance(found, Lines)
    assert (len(found.lines), found.more) == (300, True)


async def test_long_lines_are_cut_around_the_match(folders: Folders, program: str) -> None:
    lay_out(folders.roots[0], {"long.txt": "é".encode() * 5000 + b"needle" + b"y" * 5000})
    found = await folders.search(Search(pattern="needle", glob="long.txt"), [])
    assert isinstance(found, Lines)
    (line,) = found.lines
    assert line.row == "…" + "é" * 100 + "needle" + "y" * 294 + "…"


async def test_several_folders(program: str, tmp_path: Path) -> None:
    lay_out(tmp_path, {"one/a.txt": b"needle\n", "two/a.txt": b"needle\n"})
    folders = Folders([tmp_path / "one", tmp_path / "two"])
    assert places(await folders.search(Search(pattern="needle"), [])) == ["one/a.txt:1", "two/a.txt:1"]
    assert await folders.files(None, "") == ("one/a.txt", "two/a.txt")


async def test_the_rules_of_a_repository_above_hold(program: str, tmp_path: Path) -> None:
    lay_out(
        tmp_path,
        {
            ".git/info/exclude": b"secret.txt\n",
            ".gitignore": b"out/\n",
            "part/out/a.txt": b"needle\n",
            "part/secret.txt": b"needle\n",
            "part/b.txt": b"needle\n",
        },
    )
    folders = Folders([tmp_path / "part"])
    assert await folders.files(None, "") == ("b.txt",)
    assert places(await folders.search(Search(pattern="needle"), [])) == ["b.txt:1"]


async def test_files_are_listed_without_what_is_ignored(folders: Folders, program: str) -> None:
    ignored = {"build/out.py", "x.log", "only-here.txt", "src/f.gen.ts", "src/deep/f.gen.ts", ".git/config"}
    assert await folders.files(None, "") == tuple(sorted(set(TREE) - ignored))
    assert await folders.files(place(folders, "src"), "*.py") == ("src/deep/.hidden.py", "src/deep/e.py")
    assert await folders.files(place(folders, "a.py"), "") == ("a.py",)


async def test_what_is_not_there_cannot_be_searched(folders: Folders, program: str) -> None:
    for found in (
        await folders.files(place(folders, "nowhere"), ""),
        await folders.search(Search(pattern="x", within=place(folders, "nowhere")), []),
    ):
        assert isinstance(found, Failure)
        assert found.code is Code.NO_SUCH_FILE
    for found in (await Folders([]).files(None, ""), await Folders([]).search(Search(pattern="x"), [])):
        assert isinstance(found, Failure)
        assert found.code is Code.OUTSIDE_WORKSPACE


async def test_names_that_are_no_text_are_listed_all_the_same(folders: Folders, program: str) -> None:
    (folders.roots[0] / os.fsdecode(b"\xff.md")).write_bytes(b"needle\n")
    found = await folders.files(None, "*.md")
    assert isinstance(found, tuple)
    assert len(found) == 1


def test_a_line_that_is_no_pattern_does_not_spoil_the_others(tmp_path: Path) -> None:
    lay_out(tmp_path, {".gitignore": b"!\n*.log\n", "a.log": b"", "b.txt": b""})
    names = [path.name for path in listing.walk(tmp_path, lambda name: name == ".git")]
    assert names == [".gitignore", "b.txt"]


async def test_a_slow_search_is_given_up(
    folders: Folders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(scan.find, "__defaults__", (0.3,))
    lay_out(folders.roots[0], {"slow.txt": b"a" * 40 + b"b\n"})
    found = await folders.search(Search(pattern=r"(a+)+$", glob="slow.txt"), [])
    assert isinstance(found, Failure)
    assert found.code is Code.TIMED_OUT


# ---- Ignore files that are none ----------------------------------------------------------------------


@pytest.mark.parametrize("name", [".gitignore", "src/.ignore", "src/deep/.rgignore"])
async def test_a_pipe_as_an_ignore_file_holds_no_search_up(
    folders: Folders, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(ripgrep, "PATIENCE_S", 0.1)
    path = tmp_path / "work" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    found = await folders.search(Search(pattern="needle = 1"), [])
    assert isinstance(found, Lines)
    assert [line.path for line in found.lines] == ["a.py"]
    assert "a.py" in await folders.files(None, "")


async def test_ripgrep_has_a_limit_of_memory(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it would read a link to `/dev/zero` whole."""
    fake = tmp_path / "bin" / "rg"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nulimit -v > {tmp_path}/limit\nkill -ABRT $$\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    found = await folders.search(Search(pattern="needle = 1"), [])
    assert isinstance(found, Lines), "it is done without ripgrep"
    assert [line.path for line in found.lines] == ["a.py"]
    assert (tmp_path / "limit").read_text() == f"{ripgrep.LIMIT_MEMORY_KB}\n"
