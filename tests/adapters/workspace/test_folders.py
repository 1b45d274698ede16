"""What a path means: real folders, real links, and any string at all."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handrail.adapters.files.files import uri_of
from handrail.adapters.files.paths import identity_of, root_names
from handrail.adapters.workspace.folders import Folders
from handrail.core.failure import Code, Failure
from handrail.core.policy.place import Place, PlaceKind
from handrail.ports import Workspace
from handrail.values import replace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app" / "src").mkdir(parents=True)
    (tmp_path / "app" / "src" / "a.py").write_bytes(b"")
    return tmp_path / "app"


def place(workspace: Workspace, path: str) -> Place:
    found = workspace.resolve(path)
    assert isinstance(found, Place), found
    return found


def kind_of(workspace: Workspace, path: str) -> PlaceKind:
    return place(workspace, path).kind


def test_every_spelling_is_one_document(root: Path, tmp_path: Path) -> None:
    (root / "link").symlink_to("src/a.py")
    (root / "folder").symlink_to("src")
    (tmp_path / "outside").symlink_to(root / "src")
    spellings = [
        "src/a.py",
        "./src/a.py",
        "src//./a.py",
        "src/../src/a.py",
        "link",
        "folder/a.py",
        "folder/../src/a.py",
        "../app/src/a.py",
        str(root / "src" / "a.py"),
        uri_of(root / "src" / "a.py"),
        uri_of(root / "link"),
        str(tmp_path / "outside" / "a.py"),
    ]
    places = {replace(place(Folders([root]), spelling), named=()) for spelling in spellings}
    assert places == {
        Place(
            uri=uri_of(root / "src" / "a.py"),
            identity=str(root / "src" / "a.py"),
            path="src/a.py",
            kind=PlaceKind.INSIDE,
        )
    }


def test_what_is_not_there_yet_has_a_place(root: Path) -> None:
    assert place(Folders([root]), "new/b.py").uri == uri_of(root / "new" / "b.py")


def test_the_root_is_spelled_as_the_client_spells_it(root: Path, tmp_path: Path) -> None:
    (tmp_path / "short").symlink_to("app")
    found = place(Folders([tmp_path / "short"]), "src/a.py")
    assert found.uri == uri_of(tmp_path / "short" / "src" / "a.py")
    assert found.identity == str(root / "src" / "a.py")
    assert kind_of(Folders([tmp_path / "short"]), str(root / "src" / "a.py")) is PlaceKind.INSIDE


def test_a_backslash_is_part_of_a_name(root: Path) -> None:
    assert place(Folders([root]), "src\\a.py").uri == uri_of(root / "src\\a.py")


@pytest.mark.parametrize(
    "path", ["../b", "/etc/passwd", "file:///etc/passwd", "escape/b", "src/../../b", "up"]
)
def test_outside_is_outside(root: Path, path: str) -> None:
    (root / "escape").symlink_to("/usr")
    (root / "up").symlink_to("../other")
    found = place(Folders([root]), path)
    assert found.kind is PlaceKind.OUTSIDE
    assert found.path == os.path.realpath(root / path.removeprefix("file://"))


def test_a_sibling_whose_name_begins_alike_is_outside(root: Path) -> None:
    assert kind_of(Folders([root]), str(root) + "lication/a") is PlaceKind.OUTSIDE


def test_an_empty_component_does_not_lead_to_the_root_of_the_system(root: Path) -> None:
    assert place(Folders([root]), "//etc").path == "/etc"
    assert place(Folders([root]), "file:////etc").kind is PlaceKind.OUTSIDE


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/config",
        "sub/.git/hooks/pre-commit",
        ".GIT/config",
        "worktree/.git",
        ".hg/store",
        ".svn/entries",
        ".jj/repo",
        ".bzr/branch",
        "innocent",
        "innocent/config",
        "elsewhere/config",
        ".git./config",
        ".git /config",
        "git~1/config",
        ".g\u200cit/config",
        ".git::$INDEX_ALLOCATION/config",
        "src/../.git/config",
        "through/../.git/config",
        ".git/worktrees/../../.git/HEAD",
    ],
)
def test_version_control_is_found_behind_any_name(root: Path, tmp_path: Path, path: str) -> None:
    (root / ".git").mkdir()
    (root / "worktree").mkdir()
    (root / "worktree" / ".git").write_text("gitdir: ../.git/worktrees/x\n")
    (root / "innocent").symlink_to(".git")
    (tmp_path / "other" / ".git").mkdir(parents=True)
    (root / "elsewhere").symlink_to(tmp_path / "other" / ".git")
    (tmp_path / "other" / "sub").mkdir()
    (root / "through").symlink_to(tmp_path / "other" / "sub")
    assert kind_of(Folders([root]), path) is PlaceKind.VERSION_CONTROL


def test_a_linked_git_folder_stays_version_control(root: Path, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (root / ".git").symlink_to(tmp_path / "store")
    assert kind_of(Folders([root]), ".git/config") is PlaceKind.VERSION_CONTROL


@pytest.mark.parametrize("path", [".handrail/x.md", ".handrail", "sub/.HANDRAIL/x", "./a/../.handrail/x"])
def test_our_own_folder(root: Path, path: str) -> None:
    assert kind_of(Folders([root]), path) is PlaceKind.OWN


@pytest.mark.parametrize("path", [".gitignore", ".github/a", "git/config", "a.git", "src/git~x"])
def test_what_only_looks_like_version_control(root: Path, path: str) -> None:
    assert kind_of(Folders([root]), path) is PlaceKind.INSIDE


def test_a_git_folder_that_leads_back_into_the_workspace_stays_version_control(root: Path) -> None:
    (root / ".git").symlink_to("src")
    assert kind_of(Folders([root]), ".git/a.py") is PlaceKind.VERSION_CONTROL


def test_a_workspace_inside_a_git_folder_can_be_worked_on(tmp_path: Path) -> None:
    root = tmp_path / ".git" / "hooks"
    root.mkdir(parents=True)
    assert kind_of(Folders([root]), "pre-commit") is PlaceKind.INSIDE
    assert kind_of(Folders([root]), "../config") is PlaceKind.VERSION_CONTROL


@pytest.mark.parametrize(
    "path",
    [
        "server.pem",
        "a/b/server.KEY",
        "id_rsa",
        "id_rsa.pub",
        "id_ed25519_work",
        "a.p12",
        "a.pfx",
        ".netrc",
        "sub/.npmrc",
        ".pypirc",
        ".ssh/config",
        ".ssh/.env.example",
        ".aws/credentials",
        ".gnupg/x",
        ".env",
        ".ENV",
        ".env.local",
        ".envrc",
        "sub/.env.production",
        ".env/settings",
        "new\nline/.env",
        ".vscode/settings.json",
        "app.code-workspace",
        ".idea/x",
        ".claude/settings.json",
        ".cursor/rules",
        ".github/workflows/ci.yml",
        "sub/.github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "Jenkinsfile",
        "azure-pipelines.yml",
        "linked",
        "plain-looking",
    ],
)
def test_protected(root: Path, path: str) -> None:
    (root / "linked").symlink_to(".env")
    (root / "plain-looking").symlink_to(".vscode/tasks.json")
    assert kind_of(Folders([root]), path) is PlaceKind.PROTECTED


def test_a_protected_name_protects_what_it_leads_to(root: Path) -> None:
    (root / ".env").symlink_to("src/a.py")
    assert kind_of(Folders([root]), ".env") is PlaceKind.PROTECTED
    assert kind_of(Folders([root]), "src/a.py") is PlaceKind.INSIDE
    (root.parent / "short").symlink_to(root)
    assert kind_of(Folders([root.parent / "short"]), str(root / ".env")) is PlaceKind.PROTECTED


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        ".env.template",
        ".env.local.example",
        ".envrc.example",
        ".github/dependabot.yml",
        "environment.py",
        "keys.py",
        "pem.txt",
        "my_id_rsa",
    ],
)
def test_not_protected(root: Path, path: str) -> None:
    assert kind_of(Folders([root]), path) is PlaceKind.INSIDE


def test_a_protected_place_says_why(root: Path) -> None:
    (root / "harmless").symlink_to("id_rsa")
    for path in ("id_rsa", "harmless", f"untitled:{root}/id_rsa"):
        place = Folders([root]).resolve(path)
        assert isinstance(place, Place)
        assert place.why == "Such files may be keys that give access to something."


# ---- Several folders --------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        (folder / "both").mkdir(parents=True)
        (folder / "both" / "a").write_bytes(b"")
    (one / "first").write_bytes(b"")
    (other / "second").write_bytes(b"")
    return one, other


@pytest.mark.parametrize(
    ("path", "root", "shown"),
    [
        ("first", 0, "one/first"),
        ("second", 1, "other/second"),
        ("both/a", 0, "one/both/a"),
        ("other/both/a", 1, "other/both/a"),
        ("./other/both/a", 1, "other/both/a"),
        ("one/both/a", 0, "one/both/a"),
        ("new", 0, "one/new"),
        ("other/new", 1, "other/new"),
        ("both/new", 0, "one/both/new"),
    ],
)
def test_a_path_in_several_folders(two: tuple[Path, Path], path: str, root: int, shown: str) -> None:
    found = place(Folders(two), path)
    assert found.path == shown
    assert found.uri == uri_of(two[root].parent / shown)
    assert place(Folders(two), found.path) == found, "what is shown can be said"


def test_a_folder_of_that_name_wins_for_new_files(two: tuple[Path, Path]) -> None:
    (two[0] / "other").mkdir()
    assert place(Folders(two), "other/new").uri == uri_of(two[0] / "other" / "new")


def test_folders_of_one_name_are_numbered(tmp_path: Path) -> None:
    roots = [tmp_path / "a" / "app", tmp_path / "b" / "app", tmp_path / "app-2"]
    for root in roots:
        root.mkdir(parents=True)
    assert root_names(roots) == ("app", "app-2", "app-2-2")
    assert place(Folders(roots), "app-2/x").uri == uri_of(roots[1] / "x")
    assert place(Folders(roots), uri_of(roots[1] / "x")).path == "app-2/x"


def test_the_innermost_folder_has_the_file(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for roots in ([tmp_path, tmp_path / "inner"], [tmp_path / "inner", tmp_path]):
        assert place(Folders(roots), str(tmp_path / "inner" / "a")).path == "inner/a"
        assert place(Folders(roots), str(tmp_path / "a")).path == f"{tmp_path.name}/a"


def test_folders_can_be_replaced(two: tuple[Path, Path]) -> None:
    workspace = Folders([two[0]])
    assert kind_of(workspace, str(two[1] / "second")) is PlaceKind.OUTSIDE
    workspace.replace([two[1]])
    assert workspace.roots == (two[1],)
    assert place(workspace, "second").path == "second"


# ---- What is no path --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a\0b",
        "x" * 300,
        "x/" * 3000,
        "\ud800",
        "file://server/a",
        "file:///a%00",
        "file:a",
        "https://a/b",
        "vscode-vfs://x/y",
    ],
)
def test_what_cannot_be_a_path(root: Path, path: str) -> None:
    found = Folders([root]).resolve(path)
    assert isinstance(found, Failure)
    assert found.code is Code.BAD_ARGUMENTS


def test_without_a_folder_nothing_is_inside() -> None:
    for path in ("a", "/a", "file:///a"):
        found = Folders([]).resolve(path)
        assert isinstance(found, Failure)
        assert found.code is Code.OUTSIDE_WORKSPACE


def test_untitled_documents_are_inside() -> None:
    uri = "untitled:Untitled-1"
    expected = Place(uri=uri, identity=uri, path=uri, kind=PlaceKind.INSIDE)
    assert Folders([]).resolve(uri) == expected


def test_an_untitled_document_that_will_be_saved_somewhere_is_judged_by_that(root: Path) -> None:
    workspace = Folders([root])
    assert kind_of(workspace, f"untitled:{root}/new") is PlaceKind.INSIDE
    assert kind_of(workspace, f"untitled:{root}/.env") is PlaceKind.PROTECTED
    assert kind_of(workspace, f"untitled:{root}/.git/config") is PlaceKind.VERSION_CONTROL
    assert kind_of(workspace, "untitled:/etc/passwd") is PlaceKind.OUTSIDE


def test_a_name_that_is_no_text_is_shown_as_a_uri_that_can_be_said(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    (root / name).write_bytes(b"")
    found = place(Folders([root]), name)
    assert found.path == found.uri == uri_of(root / name)
    assert place(Folders([root]), found.path) == found


def test_links_that_lead_in_a_circle_have_a_place(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert kind_of(Folders([root]), "a/x") is PlaceKind.INSIDE


def test_a_root_that_is_the_root_of_the_system() -> None:
    assert place(Folders([Path("/")]), "/no-such-folder/a").path == "no-such-folder/a"


pieces = st.sampled_from(
    ["..", ".", "/", "~", ".git", ".env", "file:", "untitled:", "%2e", "\\", "a", "", "é", "//"]
)
anything = st.text() | st.text(string.printable) | st.lists(pieces).map("/".join) | st.text(st.characters())


@given(anything)
@example("file:///%2e%2e/%2egit")
@example("untitled:/%00")
@example("untitled:/" + "x" * 5000)
def test_any_string_is_a_place_or_a_failure(path: str) -> None:
    for roots in ([], [Path("/nowhere/one")], [Path("/nowhere/one"), Path("/nowhere/two/.git")]):
        found = Folders(roots).resolve(path)
        assert isinstance(found, Place | Failure)
        if isinstance(found, Place) and not path.startswith("untitled:"):
            assert Folders(roots).resolve(found.uri) == found
            assert found.identity == identity_of(found.identity)
