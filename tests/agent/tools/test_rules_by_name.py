"""The user's rules for paths hold however a file is named: through links, by URIs, in several folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.tools.test_rules_below import found, judged, open_folders, terms, with_files
from bench import Bench, Yes
from handrail.adapters.files.files import uri_of
from handrail.adapters.workspace.spellings import link_spellings
from handrail.core.policy.place import Place
from handrail.core.policy.verdict import is_read_unasked
from handrail.ports import ALLOW, Question
from handrail.testing import answer, call, lay_out


@pytest.fixture
def ground(bench: Bench) -> Bench:
    return with_files(bench)


def link(bench: Bench, name: str, to: str) -> None:
    (bench.root / name).symlink_to(to)


async def said(bench: Bench, tool: str, **arguments: object) -> str:
    bench.says(answer("", call(tool, **arguments)), answer("Done."))
    return bench.texts((await bench.turn()).session)[-1]


@pytest.mark.parametrize("prefix", ["/", "/proc/self/root"])
async def test_a_rule_holds_for_every_spelling(ground: Bench, prefix: str) -> None:
    link(ground, "linked", "src/deep")
    ground.terms = terms(("*", "linked/**", "block"))
    path = f"{prefix}{ground.root}/linked/private.py"
    kept = "blocked" if prefix == "/" else "asked"
    assert await judged(ground, "read_file", path=path) == kept
    assert await judged(ground, "read_file", path=f"file://{path}") == kept
    assert await judged(ground, "terminal", command=f"cat {path}") == kept
    assert await judged(ground, "write_file", path=path, content="x\n") == kept


@pytest.mark.parametrize("prefix", ["/", "/proc/self/root", "link"])
async def test_a_link_with_a_protected_name_is_asked_about(
    ground: Bench, tmp_path: Path, prefix: str
) -> None:
    """No rule at all: what docs/security.md says of `.npmrc` that leads to `real.txt`."""
    link(ground, ".npmrc", "a.txt")
    (tmp_path / "other").symlink_to(ground.root)
    top = f"{tmp_path}/other" if prefix == "link" else f"{prefix}{ground.root}"
    assert await judged(ground, "read_file", path=f"{top}/.npmrc") == "asked"
    assert await judged(ground, "write_file", path=f"{top}/.npmrc", content="x\n") == "asked"


async def test_version_control_behind_a_link_is_blocked(ground: Bench) -> None:
    lay_out(ground.root, {"store/config": b"x"})
    link(ground, ".git", "store")
    assert await judged(ground, "read_file", path=".git/config") == "blocked"
    assert await judged(ground, "write_file", path=f"/{ground.root}/.git/config", content="x") == "blocked"


async def test_a_rule_holds_for_each_link_of_a_chain(ground: Bench) -> None:
    link(ground, "current", "src/deep")
    link(ground, "latest", "current")
    ground.terms = terms(("*", "current/**", "block"))
    assert await judged(ground, "read_file", path="latest/private.py") == "blocked"


async def test_a_rule_holds_behind_a_link_to_the_workspace(ground: Bench) -> None:
    link(ground, "linked", "src/deep")
    link(ground, "self", ".")
    ground.terms = terms(("*", "linked/**", "block"))
    assert await judged(ground, "read_file", path="self/linked/private.py") == "blocked"


async def test_a_rule_holds_if_one_folder_is_opened_by_its_link(ground: Bench) -> None:
    """Opened as the real folder; the path names another link to it."""
    lay_out(ground.root, {"real/deep/x.py": b"needle\n"})
    link(ground, "alias", "real")
    link(ground, "real/linked", "deep")
    open_folders(ground, ["real"])
    ground.terms = terms(("*", "linked/**", "block"))
    assert await judged(ground, "read_file", path=f"{ground.root}/alias/linked/x.py") == "blocked"


async def test_dots_behind_a_link_do_not_lead_to_what_a_rule_is_for(ground: Bench) -> None:
    """A false alarm: `docs/l/../main.py` is src/main.py."""
    link(ground, "docs/l", "../src/deep")
    ground.terms = terms(("*", "docs/main.py", "block"))
    assert await judged(ground, "read_file", path="docs/l/../main.py") == "ran"


@pytest.mark.parametrize("command", ["cat private.py", "grep -r needle"])
async def test_a_rule_holds_in_the_folder_of_a_command(ground: Bench, command: str) -> None:
    link(ground, "linked", "src/deep")
    ground.terms = terms(("*", "linked/private.py", "block"))
    assert await judged(ground, "terminal", command=f"cd linked && {command}") == "blocked"
    assert await judged(ground, "terminal", command=command, folder="linked") == "blocked"


@pytest.mark.parametrize("folders", [[], ["src", "src/deep"]], ids=["to the workspace", "nested"])
async def test_a_search_through_a_link_to_a_workspace_folder(ground: Bench, folders: list[str]) -> None:
    open_folders(ground, folders)
    top = ground.root / (folders[0] if folders else "")
    (top / "self").symlink_to(top)
    file = "self/deep/private.py" if folders else "self/src/deep/private.py"
    ground.terms = terms(("*", file, "block"))
    assert await judged(ground, "read_file", path=file) == "blocked"
    assert "private" not in await found(ground, path="self")


async def test_a_search_through_a_link_to_a_folder_whose_name_is_no_text(ground: Bench) -> None:
    folder = ground.root / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "my file.py").write_text("needle private\n")
    (ground.root / "linked").symlink_to(folder)
    ground.terms = terms(("*", "linked/my file.py", "block"))
    assert await judged(ground, "read_file", path="linked/my file.py") == "blocked"
    assert "private" not in await found(ground, path="linked")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "outside" / os.fsdecode(b"\xff.py")
    file.parent.mkdir()
    file.write_text("needle\n")
    return file


async def test_no_relative_pattern_allows_what_is_outside(ground: Bench, outside: Path) -> None:
    ground.terms = terms(("*", "*.py", "allow"))
    assert await judged(ground, "read_file", path=uri_of(outside)) == "asked"
    assert await judged(ground, "write_file", path=uri_of(outside), content="x\n") == "asked"


@pytest.mark.parametrize("match", ["*.py", "outside/", "**/new.py"])
async def test_nor_a_document_that_will_be_saved_outside(ground: Bench, outside: Path, match: str) -> None:
    ground.terms = terms(("edit", match, "allow"))
    path = f"untitled:{outside.parent}/new.py"
    assert await judged(ground, "write_file", path=path, content="x\n") == "asked"


async def test_an_absolute_pattern_is_for_a_name_that_is_no_text(ground: Bench, outside: Path) -> None:
    ground.terms = terms(("*", f"{outside.parent}/**", "block"))
    assert await judged(ground, "read_file", path=uri_of(outside)) == "blocked"


async def test_so_is_one_that_begins_with_a_folders_name(ground: Bench) -> None:
    file = ground.root / "src/deep" / os.fsdecode(b"\xff.py")
    file.write_text("needle\n")
    open_folders(ground, ["src", "docs"])
    ground.terms = terms(("*", "src/deep/**", "block"))
    assert await judged(ground, "read_file", path=uri_of(file)) == "blocked"


@pytest.mark.parametrize("folders", [["src", "src/deep"], ["src/deep", "src"]], ids=str)
async def test_a_pattern_with_the_name_of_the_outer_folder(ground: Bench, folders: list[str]) -> None:
    open_folders(ground, folders)
    ground.terms = terms(("*", "src/deep/**", "block"))
    assert await judged(ground, "read_file", path=f"{ground.root}/src/deep/private.py") == "blocked"
    assert await judged(ground, "terminal", command=f"grep -r needle {ground.root}/src") == "blocked"


async def test_a_pattern_with_a_name_that_two_folders_have(ground: Bench) -> None:
    lay_out(ground.root, {"x/app/m/1.sql": b"needle\n", "y/app/m/2.sql": b"needle\n"})
    open_folders(ground, ["x/app", "y/app"])
    ground.terms = terms(("*", "app/m/**", "block"))
    assert await judged(ground, "read_file", path=f"{ground.root}/x/app/m/1.sql") == "blocked"
    assert await judged(ground, "read_file", path=f"{ground.root}/y/app/m/2.sql") == "blocked"


@pytest.mark.parametrize("to", ["src/deep/private.py", ".env"])
async def test_diff_follows_every_link(ground: Bench, to: str) -> None:
    """With a rule; and, without a sandbox, for a protected file without any rule."""
    lay_out(ground.root, {f"x/plain/{n}": b"" for n in range(20)} | {".env": b"KEY=1\n", "y/z": b"needle\n"})
    link(ground, "x/z", f"{ground.root}/{to}")
    ground.terms = terms(("*", "src/deep/private.py", "block"))
    assert await judged(ground, "terminal", command="diff x y") != "ran"
    for number in range(20):
        link(ground, f"x/a{number}", f"plain/{number}")
    assert await judged(ground, "terminal", command="diff x y") != "ran"


async def test_a_block_below_a_folder_outside(ground: Bench, outside: Path) -> None:
    (outside.parent / "dump.sql").write_text("needle private\n")
    ground.approver.says = ALLOW
    folder = os.fspath(outside.parent)
    for match in ("*.sql", f"{folder}/dump.sql"):
        ground.terms = terms(("*", match, "block"))
        assert await judged(ground, "read_file", path=f"{folder}/dump.sql") == "blocked"
        assert "private" not in await found(ground, path=folder)  # so does this
        assert "private" not in await said(ground, "terminal", command=f"grep -r needle {folder}")


async def test_a_block_below_a_folder_that_has_the_workspace_in_it(ground: Bench) -> None:
    ground.approver.says = ALLOW
    ground.terms = terms(("*", "src/deep/private.py", "block"))
    assert "private" not in await found(ground, path="..")
    assert "private.py:needle" not in await said(ground, "terminal", command="grep -r needle ..")


@pytest.mark.parametrize("folders", [[], ["src", "docs"]], ids=["one folder", "two folders"])
@pytest.mark.parametrize("match", [".*", ".*/", "**/.*"])
async def test_a_rule_for_hidden_files_is_not_for_the_workspace(
    ground: Bench, match: str, folders: list[str]
) -> None:
    open_folders(ground, folders)
    ground.terms = terms(("*", match, "block"))
    calls = (("terminal", {"command": "ls"}), ("search", {"pattern": "x", "path": "."}))
    assert [await judged(ground, tool, **arguments) for tool, arguments in calls] == ["ran", "ran"]


async def test_grep_does_not_follow_links_below_a_folder(ground: Bench) -> None:
    link(ground, "linked", "src/deep")
    ground.terms = terms(("*", "linked/**", "block"))
    assert await judged(ground, "terminal", command="grep -r needle .") == "ran"


async def test_a_file_that_is_named_twice_has_all_its_names(ground: Bench) -> None:
    link(ground, "linked", "src/deep")
    ground.terms = terms(("*", "linked/**", "block"))
    names = ("src/deep/private.py", "linked/private.py")
    for first, second in (names, names[::-1]):
        assert await judged(ground, "terminal", command=f"cat {first} {second}") == "blocked"


async def test_links_in_a_circle_come_to_an_end(ground: Bench) -> None:
    link(ground, "a", "b")
    link(ground, "b", "a")
    assert await judged(ground, "read_file", path="a/x") == "unreadable-file"
    assert len(link_spellings(os.fspath(ground.root / "a/x")) or ()) == 2


@pytest.mark.parametrize(
    "target", ["a/" * 1_500 + "x", "b/../" * 700 + "b", "a/../x/" * 500], ids=["itself", "others", "back"]
)
async def test_links_that_multiply_are_not_followed_for_long(ground: Bench, target: str) -> None:
    link(ground, "a", target)
    link(ground, "b", "c/../" * 700 + "c")
    link(ground, "c", "d/../" * 700 + "d")
    link(ground, "d", "src")
    assert link_spellings(f"{ground.root}/./a/main.py") is None
    assert await judged(ground, "read_file", path="./a/main.py") == "asked"


# ---- What a path means to another process, letter case, and more ------------------------------------


async def test_a_path_that_means_something_else_to_a_command_is_asked_about(
    ground: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ground.root)
    link(ground, "here", "/proc/self/cwd")
    ground.terms = terms(("*", "src/deep/private.py", "block"))
    for line in (
        "cd src && cat /proc/self/cwd/deep/private.py",
        "cd src && cat ../here/deep/private.py",
        "cd src && grep -r needle /proc/thread-self/cwd/deep",
        "cat /dev/fd/0",
    ):
        assert await judged(ground, "terminal", command=line) == "asked"
    assert (
        await judged(ground, "terminal", command="cat private.py", folder="/proc/self/cwd/src/deep") != "ran"
    )
    assert await judged(ground, "read_file", path="here/src/deep/private.py") == "asked"


async def test_so_is_one_that_leads_out_of_that_again(ground: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ground.root / "src" / "deep")
    lay_out(ground.root, {"x/y/z/f": b"", "x/docs/a.md": b"private\n"})
    link(ground, "here", "/proc/self/cwd")
    ground.terms = terms(("*", "x/docs/a.md", "block"))
    line = "cd x/y/z && cat ../../../here/../../docs/a.md"  # for this process, that is docs/a.md
    assert await judged(ground, "terminal", command=line) == "asked"


@pytest.mark.parametrize("match", ["SRC/Deep/**", "src/deep/Private.py", "PRIVATE.py"])
async def test_letter_case_does_not_matter_to_what_a_rule_keeps(ground: Bench, match: str) -> None:
    ground.terms = terms(("*", match, "block"))
    assert await judged(ground, "read_file", path="src/deep/private.py") == "blocked"
    assert await judged(ground, "terminal", command="grep -r needle src") == "blocked"
    ground.terms = terms(("*", "**", "ask"), ("*", match, "allow"))
    assert await judged(ground, "read_file", path="src/deep/private.py") == "asked"


@pytest.mark.parametrize("folders", [[], ["src", "docs"]], ids=["one folder", "two folders"])
async def test_a_rule_for_what_is_in_a_folder_is_not_for_the_folder(
    ground: Bench, folders: list[str]
) -> None:
    open_folders(ground, folders)
    ground.terms = terms(("*", "docs/*", "block"))
    assert await judged(ground, "list_files", path="docs") == "ran"
    ground.terms = terms(("*", "docs", "block"))
    assert await judged(ground, "list_files", path="docs") == "blocked"


async def test_the_number_of_links_in_a_path_does_not_matter(ground: Bench) -> None:
    link(ground, "self", ".")
    link(ground, "linked", "src/deep")
    ground.terms = terms(("*", "linked/**", "block"))
    assert await judged(ground, "read_file", path=f"{'self/' * 90}linked/private.py") == "blocked"


async def test_no_rule_has_problems_in_version_controls_files_told(ground: Bench) -> None:
    known = terms(("*", "**", "allow")).rules
    lay_out(ground.root, {".git/COMMIT_EDITMSG": b"x\n", ".handrail/c.md": b"x\n"})
    for name, told in ((".git/COMMIT_EDITMSG", False), (".handrail/c.md", False), ("a.txt", True)):
        place = ground.folders.resolve(name)
        assert isinstance(place, Place)
        assert is_read_unasked(place, known) is told


class Turning(Yes):
    """Says yes, once a link leads to the same file by another way."""

    def __init__(self, link: Path, to: str) -> None:
        super().__init__()
        self._link, self._to = link, to

    async def ask(self, question: Question) -> str | None:
        self._link.unlink()
        self._link.symlink_to(self._to)
        return await super().ask(question)


async def test_a_link_that_leads_there_by_another_way_is_told_as_what_it_is(
    ground: Bench,
) -> None:
    link(ground, "linked", "src/deep")
    link(ground, "current", "src/deep")
    ground.terms = terms(("edit", "**", "ask"))
    ground.approver = Turning(ground.root / "linked", "current")
    told = await said(ground, "patch", path="linked/private.py", old_string="needle", new_string="x")
    assert "What this call would do has changed since it was checked" in told
    assert (ground.root / "src/deep/private.py").read_bytes() == b"needle: private\n"
