"""
The table of files that are asked about: those that hold secrets, and those that run later.

Secrets are asked about before they are read or written, files that run later before they are written: they
take effect later, unnoticed, with the permissions of whoever runs them. Tests, build scripts and a package's
own scripts are not in the table, since writing them is part of the work. `docs/security.md` lists it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

from handrail.adapters.containment.ground import Kind
from handrail.adapters.files.paths import OWN_FOLDER, VERSION_CONTROL
from handrail.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """
    A class of files.

    Attributes:
        reason: Why they are asked about, for people.
        patterns: Names of files and folders at any depth, in small letters, or of a folder and what is in it;
            `*` is any text, and `!` leaves out what another one has taken.
        is_read: Whether they are asked about before they are read, too.
        is_secret: Whether that is because they hold keys or passwords.
    """

    reason: str
    patterns: str
    is_read: bool = False
    is_secret: bool = False


PROTECTIONS: tuple[Protection, ...] = (
    Protection(
        reason="Such files may be keys that give access to something.",
        patterns="*.pem *.key *.p12 *.pfx id_rsa* id_dsa* id_ecdsa* id_ed25519* .ssh .gnupg",
        is_read=True,
        is_secret=True,
    ),
    Protection(
        reason="Such files may hold passwords or tokens for other services.",
        patterns=".netrc _netrc .npmrc .pypirc .git-credentials .aws",
        is_read=True,
        is_secret=True,
    ),
    Protection(
        reason=(
            "Such files may hold secrets such as passwords, which programs read when they start in this "
            "folder."
        ),
        patterns=".env* !.env*.example !.env*.sample !.env*.template",
        is_read=True,
        is_secret=True,
    ),
    Protection(
        reason="Editors take settings from such files, and some of these settings run commands.",
        patterns=".vscode *.code-workspace .idea .zed .exrc .nvim.lua .dir-locals.el",
        is_read=True,
    ),
    Protection(
        reason="Agents read settings from such files: their permissions, and the programs that they run.",
        patterns=".claude .cursor handrail/config.toml",
        is_read=True,
    ),
    Protection(
        reason="Such files define what runs on the build server, and with which permissions.",
        patterns="""
            .github/workflows .gitlab-ci.yml .circleci jenkinsfile azure-pipelines.yml
        """,
        is_read=True,
    ),
    Protection(
        reason="Editors apply such files as soon as the folder, or a file in it, is opened.",
        patterns="""
            .vimrc _vimrc .gvimrc .lvimrc .local.vimrc .nvimrc .vim .nvim .dir-locals-2.el .emacs .emacs.d
            .ycm_extra_conf.py .helix .kakrc .kak-lsp.toml .kateproject *.sublime-project .fleet .vs
            .theia .devcontainer .devcontainer.json devcontainer.json .gitpod.yml .gitpod.dockerfile
        """,
    ),
    Protection(
        reason="Agents use such files in their next turn: they hold instructions, tools or programs.",
        patterns="""
            agents.md agents.override.md agent.md claude.md claude.local.md gemini.md qwen.md warp.md
            skill.md .mcp.json mcp.json .mcp .agents .agent .codex .gemini .qwen .opencode opencode.json
            opencode.jsonc .cursorrules .windsurf .windsurfrules .clinerules .cline .roo .roomodes
            .roorules .kilocode .kilocodemodes .kiro .junie .amp .trae .goose .goosehints .continue
            .continuerules .aider* .augment .augment-guidelines .factory .crush crush.json .crush.json
            .openhands .rules .ai .github/copilot-instructions.md .github/instructions .github/prompts
            .github/chatmodes .github/agents .github/hooks .github/skills
        """,
    ),
    Protection(
        reason="Build servers execute such files as soon as they are pushed.",
        patterns="""
            .github/actions .gitlab-ci.yaml .gitlab-ci .gitlab jenkinsfile.* azure-pipelines.yaml
            .azure-pipelines .travis.yml .drone.yml .drone.star .woodpecker .woodpecker.yml
            .woodpecker.yaml .buildkite .appveyor.yml appveyor.yml bitbucket-pipelines.yml .cirrus.yml
            .cirrus.star .gitea/workflows .forgejo/workflows .semaphore .teamcity cloudbuild.yaml
            cloudbuild.yml buildspec.yml .build.yml .builds codefresh.yml
        """,
    ),
    Protection(
        reason="Git applies or runs such files when something is committed, checked out or pushed.",
        patterns="""
            .gitattributes .gitmodules .gitconfig .lfsconfig .husky .githooks .git-hooks
            .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml lefthook.* .lefthook
            .lefthook.* lefthook-local.* .overcommit.yml .lintstagedrc* lint-staged.config.* .huskyrc*
            .hgrc .simple-git-hooks.*
        """,
    ),
    Protection(
        reason="Shells and other programs read settings or commands from such files when they start.",
        patterns="""
            .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
            .zlogin .zlogout .kshrc .cshrc .tcshrc .login .logout .inputrc config.fish .tmux.conf
            .screenrc .direnv .autoenv* .mise .mise.toml .mise.*.toml mise.toml mise.*.toml .tool-versions
            .gdbinit .lldbinit .pdbrc .pythonrc .pythonrc.py .irbrc .pryrc .rprofile .sqliterc .psqlrc
            .curlrc .wgetrc .xinitrc .xprofile .config/autostart .config/systemd .config/fish
        """,
    ),
    Protection(
        reason="Such files tell a build tool which programs to run and where to get them.",
        patterns="""
            .cargo/config.toml .cargo/config rust-toolchain rust-toolchain.toml .yarnrc .yarnrc.yml
            .yarn/releases .yarn/plugins .pnpmfile.cjs .pnpmfile.mjs pnpmfile.js bunfig.toml .mvn
            gradle/wrapper gradlew gradlew.bat mvnw mvnw.cmd .bazelrc .bazeliskrc tools/bazel .buckconfig
            pip.conf pip.ini .pydistutils.cfg .condarc nuget.config .gemrc .bundle/config .justfile
        """,
    ),
    Protection(
        reason="Such files run in place of a program, or each time a program starts.",
        patterns="""
            .venv/bin venv/bin .venv/scripts venv/scripts pyvenv.cfg sitecustomize.py usercustomize.py
            *.pth node_modules/.bin .local/bin
        """,
    ),
)


def protection_of(path: Path) -> Protection | None:
    """The class of the file or folder at *path*, relative to its workspace folder; None if there is none."""
    parts = [plain_name(part) for part in path.parts]
    names, anywhere, classes = _table()
    found = {names[each] for each in (*parts, *map("/".join, pairwise(parts))) if each in names}
    for part in parts:
        if anywhere.fullmatch(part):
            found |= {at for at, (takes, leaves) in classes.items() if takes(part) and not leaves(part)}
    return PROTECTIONS[min(found)] if found else None


# The folders of patterns that name a folder and what is in it.
ABOVE = frozenset(
    pattern.partition("/")[0] for each in PROTECTIONS for pattern in each.patterns.split() if "/" in pattern
)
PACKAGES = "node_modules"
SECRETS = tuple(pattern for each in PROTECTIONS if each.is_read for pattern in each.patterns.split())


def holds_secrets(path: str) -> bool:
    """Whether *path*, relative to its workspace folder, is asked about before it is read."""
    found = protection_of(Path(path))
    return found is not None and found.is_read


def kind_of(path: Path) -> Kind:
    """Returns what kind of path *path*, relative to its workspace folder, is for a contained command."""
    name = plain_name(path.name)
    if name in VERSION_CONTROL:
        return Kind.KEPT
    if name == OWN_FOLDER:
        return Kind.OWN
    found = protection_of(path)
    if found is None:
        is_package = plain_name(path.parent.name) == PACKAGES  # a package has any name
        return Kind.ABOVE if name in ABOVE and not is_package else Kind.OPEN
    if not found.is_read:
        return Kind.LATER
    return Kind.SECRET if found.is_secret else Kind.ASKED


def plain_name(part: str) -> str:
    """A part of a path as file systems compare it: without case and what some of them do not see."""
    name = "".join(c for c in part if unicodedata.category(c) != "Cf")  # macOS does not see these
    return name.partition(":")[0].rstrip(" .").casefold()  # and Windows not these


Takes = Callable[[str], object]


@cache
def _table() -> tuple[Mapping[str, int], re.Pattern[str], Mapping[int, tuple[Takes, Takes]]]:
    """Classes by name; what any pattern with a wildcard matches; what each class takes and leaves."""
    names: dict[str, int] = {}
    classes: dict[int, tuple[Takes, Takes]] = {}
    for number, each in enumerate(PROTECTIONS):
        patterns = each.patterns.split()
        for name in patterns:
            if "*" not in name:
                names.setdefault(name, number)
        takes = [name for name in patterns if "*" in name and not name.startswith("!")]
        leaves = [name[1:] for name in patterns if name.startswith("!")]
        if takes:
            classes[number] = _any_of(takes).fullmatch, _any_of(leaves).fullmatch
    words = " ".join(each.patterns for each in PROTECTIONS).split()
    every = [name for name in words if "*" in name and not name.startswith("!")]
    return names, _any_of(every), classes


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    made = "|".join(".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns)
    return re.compile(made or r"(?!)", re.DOTALL)
