"""
The subcommands of git that are known to change nothing, with their options, and the settings that git then
has.

A repository can name programs that git runs even when it only reads. The settings turn them off where git
permits; where it does not, the repository's configuration has one of `PROGRAMS`, and the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set

from handrail.core.policy.commands.options import Arguments, Row
from handrail.patterns import lazy_pattern

# What git is started with, whatever it is to do.
SETTINGS: Mapping[str, str] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "blame.ignoreRevsFile": "",  # git quotes what it finds in it
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "gpg.program": "false",  # signatures; the next ones as well
    "gpg.openpgp.program": "false",
    "gpg.x509.program": "false",
    "gpg.ssh.program": "false",
    "log.showSignature": "false",
    "diff.autoRefreshIndex": "false",
    "diff.relative": "false",
    "diff.submodule": "short",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
ENVIRONMENT: Mapping[str, str] = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
# Settings of a repository by which git runs a program, fetches, or works elsewhere, in small letters.
PROGRAMS = lazy_pattern(
    r"filter\..*\.(?:clean|smudge|process)|diff\.external|diff\..*\.(?:command|textconv)|gpg\..*program"
    r"|core\.(?:worktree|virtualfilesystem)|extensions\.partialclone|remote\..*\.(?:promisor|partialclonefilter)"
)

_PATCH = (
    "-p -u -U --patch --unified --patch-with-stat --patch-with-raw -W --function-context --word-diff "
    "--color-words -c -m --cc"
)
_NO_PATCH = (
    "-s --no-patch --stat --numstat --shortstat --dirstat --summary --name-only --name-status --raw --quiet "
    "--compact-summary"
)
_DIFF = (
    "-puwbaszRW -U: -M? -C? -S: -G: -l: --patch --no-patch --unified: --stat? --numstat --shortstat "
    "--dirstat? --summary --name-only --name-status --compact-summary --raw --patch-with-stat "
    "--patch-with-raw --color? --no-color --color-moved? --color-words? --word-diff? --word-diff-regex: "
    "--ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --ignore-cr-at-eol "
    "--minimal --patience --histogram --diff-algorithm: --find-renames? --find-copies? --find-copies-harder "
    "--no-renames --text --diff-filter: --pickaxe-regex --pickaxe-all --abbrev? --full-index --no-prefix "
    "--src-prefix: --dst-prefix: --exit-code --quiet --inter-hunk-context: --function-context --no-ext-diff "
    "--no-textconv --indent-heuristic"
)
_LOG = (
    "-n: -# -iEFPgcm --max-count: --skip: --oneline --graph --no-graph --all --branches? --tags? --remotes? "
    "--glob: --exclude: --decorate? --no-decorate --pretty? --format: --abbrev-commit --no-abbrev-commit "
    "--since: --after: --until: --before: --author: --committer: --grep: --all-match --invert-grep "
    "--regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --merges --no-merges "
    "--first-parent --reverse --date: --relative-date --follow --full-history --topo-order --date-order "
    "--author-date-order --no-walk? --left-right --cherry-pick --cherry-mark --cherry --boundary "
    "--simplify-merges --simplify-by-decoration --ancestry-path --source --parents --children --full-diff "
    "--no-notes --cc --walk-reflogs --root --encoding: --no-expand-tabs --left-only --right-only "
    "--min-parents: --max-parents:"
)
_QUIET = ("--no-ext-diff", "--no-textconv")

SUBCOMMANDS: Mapping[str, Row] = {
    "blame": Row(
        options=(
            "-L: -w -M? -C? -ltfnsep -c --date: --porcelain --line-porcelain --show-email --show-number "
            "--show-name --root --abbrev: --incremental --minimal"
        ),
        operands="object* paths",
        added=("--no-textconv",),
    ),
    "branch": Row(
        options=(
            "-arvl -i --all --remotes --verbose --list --show-current --no-color --color? --sort: --format: "
            "--contains? --no-contains? --merged? --no-merged? --points-at: --abbrev? --no-abbrev "
            "--ignore-case --column? --no-column"
        ),
        operands="text*",
        needs="-l --list",
    ),
    "cat-file": Row(options="-t -s -e -p", operands="object"),
    "describe": Row(
        options=(
            "--tags --all --always --long --abbrev: --match: --exclude: --candidates: --contains "
            "--exact-match --first-parent"
        ),
        operands="text*",
    ),
    "diff": Row(
        options=_DIFF + " --cached --staged --merge-base --check --cc --base --ours --theirs",
        operands="object* paths",
        added=(*_QUIET, "--ignore-submodules=dirty"),
        content=True,
        no_patch=_NO_PATCH,
    ),
    "log": Row(
        options=f"{_LOG} {_DIFF}",
        operands="object* paths",
        added=_QUIET,
        content=True,
    ),
    "ls-files": Row(
        options=(
            "-cdmoisutzkv -x: --cached --deleted --modified --others --ignored --stage --unmerged --killed "
            "--exclude: --exclude-standard --full-name --error-unmatch --directory --no-empty-directory "
            "--abbrev? --eol --deduplicate"
        ),
        operands="text*",
    ),
    "ls-tree": Row(
        options="-drtlz --name-only --name-status --long --full-name --full-tree --abbrev?", operands="text*"
    ),
    "merge-base": Row(
        options="-a --all --is-ancestor --octopus --independent --fork-point", operands="text*"
    ),
    "reflog": Row(
        options=(
            "-n: -# --oneline --all --date: --format: --pretty? --abbrev-commit --no-abbrev-commit "
            "--decorate? --since: --until: --max-count: --no-color --color?"
        )
    ),
    "remote": Row(options="-v --verbose"),
    "rev-list": Row(options=f"{_LOG} --count", operands="text*"),
    "rev-parse": Row(
        options=(
            "-q --abbrev-ref? --short? --show-toplevel --git-dir --absolute-git-dir --git-common-dir "
            "--show-prefix --show-cdup --show-superproject-working-tree --is-inside-work-tree "
            "--is-inside-git-dir --is-bare-repository --is-shallow-repository --show-object-format? --verify "
            "--quiet --symbolic-full-name --symbolic --all --branches? --tags? --remotes? --path-format:"
        ),
        operands="text*",
    ),
    "shortlog": Row(
        options=(
            "-snec -# -w? --summary --numbered --email --committer --group: --format: --since: --until: "
            "--after: --before: --no-merges --merges --all --branches? --tags? --author: --grep: "
            "--max-count: --first-parent"
        ),
        operands="text*",
    ),
    "show": Row(
        options=f"{_LOG} {_DIFF}",
        operands="object* paths",
        added=_QUIET,
        content=True,
        no_patch=_NO_PATCH,
    ),
    "stash list": Row(options="-n: -# --oneline --date: --format: --pretty? --max-count:"),
    "status": Row(
        options=(
            "-sbz -u? --short --branch --long --porcelain? --show-stash --untracked-files? --ignored? "
            "--column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? "
            "--null"
        ),
        operands="text*",
        added=("--ignore-submodules=dirty",),
    ),
    "tag": Row(
        options=(
            "-l -i -n? --list --sort: --format: --contains? --no-contains? --merged? --no-merged? "
            "--points-at: --column? --no-column --color? --ignore-case"
        ),
        operands="text*",
        needs="-l --list",
    ),
    "worktree list": Row(options="-vz --porcelain --verbose"),
}
# What git prints, as against what it looks at; and what would leave out names.
_PRINTED = frozenset(
    f"{_PATCH} {_NO_PATCH} -z --pretty --format --oneline --graph --no-graph --color --no-color --decorate "
    "--no-decorate --abbrev-commit --check --exit-code --diff-filter -M -C --find-renames --find-copies "
    "--find-copies-harder --color-moved".split()
)
IN_TREE = lazy_pattern(r"[^:{}]*:(?![/(!^])(?:[0-3]:)?(.+)", re.DOTALL)
GLOBAL = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})


def options() -> tuple[str, ...]:
    """The options by which git is given its settings."""
    given = (f"{name}={value}" for name, value in SETTINGS.items())
    return ("--no-pager", *(each for setting in given for each in ("-c", setting)))


def programs(names: Iterable[str]) -> tuple[str, ...]:
    """Those of a repository's settings by which git could run something, or work elsewhere."""
    return tuple(dict.fromkeys(name for name in names if PROGRAMS.fullmatch(name.lower())))


def shows_content(row: Row, given: Set[str]) -> bool:
    """Whether contents of files are shown that are not named, with the options that are given."""
    has_patch = bool(given & set(_PATCH.split()))
    return row.content and (has_patch or bool(row.no_patch and not given & set(row.no_patch.split())))


def names(subcommand: str, arguments: Arguments) -> tuple[str, ...]:
    """The arguments by which git prints the names of all files whose contents the same call would show."""
    kept = []
    for name, signs, value in arguments.options:
        if name in _PRINTED:
            continue
        if name == "-#":
            kept.append(value)
        elif name.startswith("--"):
            kept.append(f"{name}={value}" if value or ":" in signs else name)
        else:
            kept += [name + value] if value or ":" not in signs else [name, value]
    objects = [each for each in arguments.objects if not IN_TREE.fullmatch(each)]
    log = ("--format=", "-m") if subcommand != "diff" else ("--ignore-submodules=dirty",)
    printed = (*log, "--name-only", "-z", "--no-renames", *_QUIET)
    # Without `--`, git takes for paths what is no revision; it must do so for the names as well.
    parted = ("--", *arguments.paths) if arguments.is_parted else ()
    return (subcommand, *kept, *printed, *objects, *parted)
