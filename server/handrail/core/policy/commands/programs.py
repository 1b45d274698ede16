"""
Find programs to which a line gives code, or whose options run a command: `awk`, `python -c`, `tar -I`.

Code in another language than a shell's is not read, so it is unclear what it runs. A file of code is not
looked into.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from handrail.core.policy.commands.runs import NOTHING, Runs, Words, is_known, of_text
from handrail.core.policy.commands.small_languages import awk_is_harmless, sed_is_harmless
from handrail.patterns import lazy_pattern

VERSION = lazy_pattern(r"-?[0-9][0-9.]*$")
MARKED = lazy_pattern(r"[\0\1].*", re.DOTALL)
CLUSTER = lazy_pattern(r"-[A-Za-z]{1,8}")
_PRINTS = "-e -p --eval --print"
# Options behind which code stands, by interpreter. Without an operand, it reads code from its input.
INTERPRETERS: Mapping[str, str] = {
    **dict.fromkeys(("python", "pypy", "ipython", "guile", "expect", "xonsh", "nu", "csh", "tcsh"), "-c"),
    **dict.fromkeys(("node", "nodejs", "bun", "ts-node", "tsx"), _PRINTS),
    **dict.fromkeys(("ruby", "lua", "luajit", "Rscript", "R", "groovy", "scala", "osascript", "ghc"), "-e"),
    **dict.fromkeys(("runghc", "ghci", "iex", "clojure", "clj", "qjs", "ocaml", "swift"), "-e"),
    **dict.fromkeys(("irb", "jshell", "tclsh", "wish", "elvish"), "-c -e"),
    **dict.fromkeys(("elixir", "racket", "sbcl"), "-e --eval"),
    **dict.fromkeys(("pwsh", "powershell"), "-c -Command -EncodedCommand"),
    "perl": "-e -E",
    "deno": "eval repl",
    "crystal": "eval",
    "php": "-r -B -R -E",
    "julia": "-e -E --eval --print",
    "erl": "-eval",
}
TAKE_VALUES = frozenset({"-W", "-X", "-I", "-r", "--require", "--import", "--loader", "-C", "-d"})
CODE_MODULES = frozenset({"code", "timeit", "pdb", "IPython", "idlelib"})
# Programs that can run a command in too many ways to tell.
_OPAQUE = (
    "alias ansible at batch bind complete compgen crontab dc ed emacs enable ex fc gdb gnuplot history lldb "
    "m4 mariadb mysql nix-shell nvim parallel psql red runuser screen script sg socat sqlite3 ssh su tmux vi "
    "view vim vimdiff"
)
OPAQUE = frozenset(_OPAQUE.split())
# Options with which a program runs a command.
_TAR = (
    "-I -F --to-command --checkpoint-action --use-compress-program --info-script --new-volume-script "
    "--rsh-command"
)
RUNNERS: Mapping[str, str] = {
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _TAR),
    **dict.fromkeys(("fd", "fdfind"), "-x -X --exec --exec-batch"),
    **dict.fromkeys(("gcc", "g++", "cc", "c++", "clang"), "-wrapper"),
    **dict.fromkeys(("make", "gmake"), "--eval"),
    **dict.fromkeys(("mapfile", "readarray"), "-C"),
    **dict.fromkeys(("nc", "ncat", "netcat"), "-e -c --exec --sh-exec --lua-exec"),
    "cargo": "--config",
    "cmake": "-E -P",
    "fzf": "--preview --bind",
    "go": "-exec -toolexec -vettool",
    "hash": "-p",
    "hg": "--config",
    "install": "--strip-program",
    "just": "-c --command --shell --shell-arg",
    "man": "-P -H --pager --html",
    "rg": "--pre --hostname-bin",
    "rsync": "-e --rsh --rsync-path",
    "scp": "-S -o",
    "sftp": "-S -o -b",
    "sort": "--compress-program",
    "split": "--filter",
    "svn": "--editor-cmd --diff-cmd --diff3-cmd --config-option",
    "tcpdump": "-z",
    "wget": "--use-askpass",
    "zip": "-TT --unzip-command",
}
# Builtins that may evaluate their arguments as arithmetic, in which a substitution runs.
_EVALUATORS = "let declare typeset local export readonly unset read mapfile readarray printf test [ [[ wait"
EVALUATORS = frozenset(_EVALUATORS.split())
SUBSTITUTION = lazy_pattern(r"\$[({]|`")
INPUT = lazy_pattern(r"-|/dev/(?:stdin|fd/.*)|/proc/.*")
SHELL_OF_MAKE = lazy_pattern(r"\.?SHELL(?:FLAGS)?\W*=|-f-|--(?:make)?file=(?:-|/dev/)")
AWKS = frozenset({"awk", "gawk", "mawk", "nawk", "original-awk"})
SED_FLAGS = lazy_pattern(
    r"-[nrEszub]+|-[nrEszub]*i.*|--(?:quiet|silent|regexp-extended|in-place(?:=.*)?|separate|null-data|posix|debug"
    r"|sandbox|help|version|follow-symlinks|unbuffered)"
)
# Variables whose values programs, or the shell, run as a command.
RUN_VARIABLE = lazy_pattern(
    r"(?:.*_)?(?:PAGER|EDITOR|ASKPASS|COMMAND)|VISUAL|BROWSER|SHELL|LESSOPEN|LESSCLOSE|PS4|GIT_SSH"
    r"|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|RSYNC_RSH|(?:.*_)?WRAPPER|(?:HOST)?(?:CC|CXX)"
)
SETTING_VARIABLE = lazy_pattern(
    r"GIT_CONFIG_(?:COUNT|KEY_.*|VALUE_.*|PARAMETERS)|TAR_OPTIONS|MAKEFLAGS|BASH_FUNC.*"
)


def inner(name: str, words: Words) -> Runs:
    """Returns the commands that the program *name* runs because of its *words*."""
    plain = VERSION.sub("", name)
    if name in OPAQUE:
        return Runs(unclear=f"`{name}`, which can run other commands")
    if plain in INTERPRETERS:
        return _of_interpreter(name, INTERPRETERS[plain].split(), words)
    if name in AWKS:
        return _of_awk_program(name, words)
    if name in ("sed", "gsed"):
        return _of_sed_script(name, words)
    if name in EVALUATORS and any(SUBSTITUTION.search(word) for word in words):
        return Runs(unclear=f"an argument of `{name}`, which the shell may evaluate")
    if name in ("make", "gmake") and _gives_commands_to_make(words):
        return Runs(unclear=f"`{name}` with commands among its arguments")
    option = find_option(RUNNERS.get(name, ""), words)
    if name in ("tar", "gtar") and words and re.fullmatch(r"[A-Za-z]*[IF][A-Za-z]*", words[0]):
        option = words[0]
    return Runs(unclear=f"`{name} {option}`, which can run other commands") if option else NOTHING


def _gives_commands_to_make(words: Words) -> bool:
    is_file = dict(zip(words[1:], words, strict=False))
    return any(
        "$(" in word
        or SHELL_OF_MAKE.match(word)
        or (INPUT.fullmatch(word) and is_file.get(word) in ("-f", "--file", "--makefile"))
        for word in words
    )


def of_variable(name: str, value: str) -> Runs:
    """Returns the commands that run because a variable is set."""
    if SETTING_VARIABLE.fullmatch(name):
        return Runs(unclear=f"the variable {name}, which can make a program run other commands")
    if name in ("BASH_ENV", "ENV") and (MARKED.fullmatch(value) or INPUT.fullmatch(value)):
        return Runs(unclear=f"the variable {name}, which names a file of commands that the shell runs")
    if not RUN_VARIABLE.fullmatch(name):
        return NOTHING
    if not is_known(value):
        return Runs(unclear=f"the value of the variable {name}, which programs run as a command")
    return of_text(name, (value,))


def find_option(listed: str, words: Sequence[str]) -> str:
    """Returns the first word that is one of the *listed* options, shortened or with a value; else nothing."""
    for word in words if listed else ():
        if word == "--":
            return ""
        name = word.partition("=")[0]
        for option in listed.split():
            is_long = option.startswith("--")
            if is_long and len(name) > len("--x") and option.startswith(name):
                return name
            if not is_long and len(option) > len("-x") and name == option:
                return name
            is_letter = not is_long and len(option) == len("-x")
            if is_letter and word.startswith("-") and not word.startswith("--") and option[1] in word:
                return name
    return ""


def _of_interpreter(name: str, options: Sequence[str], words: Words) -> Runs:
    """Code from the line or the input is unclear; a file or a module of code is a program."""
    coded = Runs(unclear=f"the code that `{name}` runs")
    letters = {option[1] for option in options if len(option) == len("-x")}
    is_python = name.startswith(("python", "pypy"))

    def gives_code(word: str) -> bool:
        is_cluster = CLUSTER.fullmatch(word) and letters & set(re.split("[WX]", word)[0])
        return bool(is_cluster) or word.partition("=")[0] in options

    if len(words) == 1 and words[0] in ("--version", "--help", "-V", "-h", "" if is_python else "-v"):
        return NOTHING
    for index, word in enumerate(words):
        if MARKED.fullmatch(word) or INPUT.fullmatch(word) or gives_code(word):
            return coded
        if is_python and word.startswith("-m"):
            return coded if CODE_MODULES & {word[2:], *words[index + 1 : index + 2]} else NOTHING
        if name.startswith("node") and word == "--test":
            return NOTHING
        if word.startswith("-") or (index > 0 and words[index - 1] in TAKE_VALUES):
            continue
        is_after_options = index > 0  # one of which may have taken this word
        return coded if is_after_options and any(map(gives_code, words[index:])) else NOTHING
    return coded


def _of_awk_program(name: str, words: Words) -> Runs:
    unclear = Runs(unclear=f"the code that `{name}` runs")
    left = list(words)
    while left and left[0].startswith("-") and len(left[0]) > 1:
        word = left.pop(0)
        if word == "--":
            break
        if word in ("-F", "-v"):
            left = left[1:]
        elif word in ("-f", "--file"):
            return unclear if not left or not is_known(left[0]) or INPUT.fullmatch(left[0]) else NOTHING
        elif not re.match(r"-[Fv]|--(?:csv|posix|traditional|re-interval|sandbox|version|help)\Z", word):
            return unclear
    is_told = not left or (is_known(left[0]) and awk_is_harmless(left[0]))
    return NOTHING if is_told else unclear


def _of_sed_script(name: str, words: Words) -> Runs:
    unclear = Runs(unclear=f"the code that `{name}` runs")
    scripts: list[str] = []
    operands: list[str] = []
    has_file = False
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            operands += left
            break
        if word in ("-f", "--file"):
            if not left or not is_known(left[0]) or INPUT.fullmatch(left[0]):
                return unclear
            has_file, left = True, left[1:]
        elif word in ("-e", "--expression") or re.fullmatch(r"-[nrEszu]+e", word):
            scripts += left[:1]
            left = left[1:]
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word.startswith("-") and len(word) > 1:
            if not SED_FLAGS.fullmatch(word):
                return unclear
        else:
            operands.append(word)
    used = scripts if scripts or has_file else operands[:1]
    is_told = all(is_known(each) and sed_is_harmless(each) for each in used)
    return NOTHING if is_told else unclear
