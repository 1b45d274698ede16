"""The table of what is asked about: each class, in every spelling, and nothing beside it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from handrail.adapters.workspace.folders import Folders
from handrail.adapters.workspace.protected import PROTECTIONS, protection_of
from handrail.agent.tools import TOOLS
from handrail.core.policy.grants import Rights
from handrail.core.policy.place import Place, PlaceKind
from handrail.core.policy.verdict import Allow, Ask, Request, verdict

DOCS = Path(__file__).parents[3] / "docs" / "security.md"
LATER = shlex.split("""
    .mcp.json .agents/rules/a.md .codex/config.toml .gemini/settings.json CLAUDE.md AGENTS.md
    docs/AGENTS.md .cursorrules .windsurfrules .clinerules/a.md .roo/mcp.json opencode.json
    .aider.conf.yml .github/copilot-instructions.md .github/prompts/a.prompt.md a/SKILL.md
    .devcontainer/devcontainer.json .devcontainer.json .vimrc sub/.vimrc .gvimrc .nvimrc
    a.sublime-project .ycm_extra_conf.py .gitpod.yml .husky/pre-commit .githooks/pre-push
    .pre-commit-config.yaml lefthook.yml .gitattributes sub/.gitattributes .gitmodules
    .lintstagedrc.json .travis.yml .drone.yml .woodpecker/a.yml .buildkite/pipeline.yml
    Jenkinsfile.release .github/actions/a/action.yml .forgejo/workflows/ci.yml bitbucket-pipelines.yml
    .cargo/config.toml sub/.cargo/config rust-toolchain.toml .yarnrc.yml .yarn/releases/yarn.cjs gradlew
    gradle/wrapper/gradle-wrapper.jar .mvn/extensions.xml .bazelrc pip.conf bunfig.toml .bashrc .profile
    .zshenv mise.toml .tool-versions .gdbinit .config/autostart/a.desktop .venv/bin/python
    venv/Scripts/activate.bat node_modules/.bin/eslint sitecustomize.py a.pth src/usercustomize.py
    .venv/pyvenv.cfg .local/bin/ls
""")
PLAIN = shlex.split("""
    src/a.py conftest.py Makefile package.json pyproject.toml setup.py tests/test_a.py .gitignore
    .github/dependabot.yml .editorconfig Cargo.toml .cargo/a bin/run venv/a node_modules/a/index.js
    vimrc agents.py claude.txt README.md docs/husky.md workflows/ci.yml .yarn/cache/a.zip config/fish
    path jenkins.py .github/ISSUE_TEMPLATE/a.md
""")


@pytest.mark.parametrize("path", LATER)
def test_what_runs_later_is_can_be_read_and_not_written(tmp_path: Path, path: str) -> None:
    for spelled in (path, path.upper(), f"deep/down/{path}", f"./a/../{path}", f"{path}."):
        place = Folders([tmp_path]).resolve(spelled)
        assert isinstance(place, Place)
        assert (place.kind, bool(place.why)) == (PlaceKind.RUNS_LATER, True), spelled
        for tool in ("write_file", "patch"):
            assert isinstance(
                verdict(Request(tool=tool, kind=TOOLS[tool].kind, places=(place,)), Rights()), Ask
            )
        for tool in ("read_file", "search", "list_files"):
            assert isinstance(
                verdict(Request(tool=tool, kind=TOOLS[tool].kind, places=(place,)), Rights()), Allow
            )


@pytest.mark.parametrize("path", PLAIN)
def test_the_work_itself_is_not_asked_about(tmp_path: Path, path: str) -> None:
    place = Folders([tmp_path]).resolve(path)
    assert isinstance(place, Place)
    assert place.kind is PlaceKind.INSIDE


def test_links_do_not_hide_it(tmp_path: Path) -> None:
    (tmp_path / ".husky").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / "plain").symlink_to(".husky")
    (tmp_path / "tool").symlink_to(".venv/bin/python")
    (tmp_path / ".vimrc").symlink_to("a.txt")
    (tmp_path / "modules").symlink_to("node_modules")
    (tmp_path / "node_modules" / ".bin").mkdir(parents=True)
    for path in ("plain/pre-commit", "tool", ".vimrc", "modules/.bin/x"):
        place = Folders([tmp_path]).resolve(path)
        assert isinstance(place, Place)
        assert place.kind is PlaceKind.RUNS_LATER, path


def test_the_strictest_of_both_ends_of_a_link_holds(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").symlink_to(".env")
    (tmp_path / ".env.local").symlink_to("AGENTS.md")
    for path in ("AGENTS.md", ".env.local"):
        place = Folders([tmp_path]).resolve(path)
        assert isinstance(place, Place)
        assert place.kind is PlaceKind.PROTECTED


def test_the_first_class_decides() -> None:
    found = protection_of(Path(".env"))
    assert found is not None
    assert (
        found.reason
        == "Such files may hold secrets such as passwords, which programs read when they start in this "
        "folder."
    )
    assert protection_of(Path("src/a.py")) is None
    assert len({each.reason for each in PROTECTIONS}) == len(PROTECTIONS)


def test_the_documentation_has_the_table() -> None:
    assert table() in DOCS.read_text(encoding="utf-8")


def table() -> str:
    """The table as `docs/security.md` has it."""
    rows = ["| asked before | what | why |", "|---|---|---|"]
    for each in PROTECTIONS:
        when = "reading, writing" if each.is_read else "writing"
        rows.append(f"| {when} | {' '.join(f'`{name}`' for name in each.patterns.split())} | {each.reason} |")
    return "\n".join(rows) + "\n"
