"""Find the commands that `git` runs: those in settings and options of a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.core.policy.commands.programs import find_option
from handrail.core.policy.commands.runs import NOTHING, Runs, Words, is_known, of_text
from handrail.patterns import lazy_pattern

TAKE_VALUES = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--attr-source", "--super-prefix", "--config-env"}
)
# Settings that run nothing.
HARMLESS = lazy_pattern(
    r"(?:user\.(?:name|email)|color\.[a-z.]+|core\.(?:quotepath|autocrlf|abbrev|safecrlf|longpaths|filemode)"
    r"|advice\.[a-z]+|init\.defaultbranch|(?:commit|tag)\.gpgsign|safe\.directory|log\.[a-z]+"
    r"|merge\.conflictstyle|protocol\.[a-z.]+|diff\.(?:algorithm|renames|context|noprefix|mnemonicprefix))"
    r"(?:=.*)?|(?:pager\.[a-z]+|core\.pager|core\.editor|sequence\.editor)=(?:cat|false|true|:|)",
    re.IGNORECASE | re.DOTALL,
)
RUN_ANOTHER = frozenset(
    {"filter-branch", "daemon", "http-backend", "instaweb", "difftool", "mergetool", "send-email"}
)
OPTIONS = {
    "rebase": "-x --exec",
    "clone": "-u --upload-pack",
    "grep": "-O --open-files-in-pager",
    "push": "--receive-pack --exec",
    **dict.fromkeys(("fetch", "pull", "ls-remote", "archive"), "--upload-pack --exec"),
}


def without_options(words: Sequence[str]) -> list[str]:
    """Returns the *words* after `git` without the options before its subcommand."""
    left = list(words)
    while left and left[0].startswith("-"):
        left = left[2:] if left[0] in TAKE_VALUES else left[1:]
    return left


def inner(words: Words) -> Runs:
    """Returns the commands that git runs because of its *words*."""
    left = without_options(words)
    before = words[: len(words) - len(left)]
    for option, value in zip(before, (*before[1:], ""), strict=False):
        if option == "-c" and not HARMLESS.fullmatch(value):
            return Runs(unclear=f"the setting `{value}` of git" if is_known(value) else "a setting of git")
        if option.startswith(("--config-env", "--exec-path=")):
            return Runs(unclear=f"the option `{option}` of git")
    command, rest = (left[0], left[1:]) if left else ("", [])
    if not is_known(command):
        return Runs(unclear="the subcommand of git, which only the shell can work out")
    if command == "bisect" and rest[:1] == ["run"]:
        return Runs(commands=(tuple(rest[1:]),) if rest[1:] else ())
    if command == "submodule" and "foreach" in rest:
        given = rest[rest.index("foreach") + 1 :]
        return of_text("git", [each for each in given if each not in ("--recursive", "-q", "--quiet")])
    option = command if command in RUN_ANOTHER else find_option(OPTIONS.get(command, ""), rest)
    if not option and any(each.startswith("ext::") for each in rest):
        option = "ext::"
    return Runs(unclear=f"`git {command}`, which can run other commands") if option else NOTHING
