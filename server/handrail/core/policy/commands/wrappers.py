"""
Find the commands that a command runs: `timeout 5 make test` runs `make test`, `bash -c 'a; b'` a text.

This is for the user's rules that block or ask. Text that is not written out, and options that are not known,
make a command unclear. Only the line is read, not files of commands, such as scripts, makefiles and tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from handrail.core.policy.commands import git_runs, programs
from handrail.core.policy.commands.runs import ANY, NOTHING, ONE, Runs, Words, base_name, is_known, of_text
from handrail.values import dataclass, replace

SET = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
TAKES_VALUE = (":", "?")
NUMBER = re.compile(r"-[0-9]+")
UNNAMED = "the name of a command, which only the shell can work out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrapper:
    """
    The words of a command before the one that it runs.

    Attributes:
        options: As in `options.py`: `-ab` are letters without a value, `--all` is a word without one, `:` at
            the end says that a value follows, `?` that one may be attached, `-#` is a number.
        operands: How many operands stand before the command.
        text: Options whose value is for a shell.
        only_says: Options with which nothing is run.
        sets: Whether variables may be set before the command.
        feeds: Whether words are added to the command from elsewhere.
    """

    options: str = ""
    operands: int = 0
    text: str = ""
    only_says: str = ""
    sets: bool = False
    feeds: bool = False


WRAPPERS: Mapping[str, Wrapper] = {
    "!": Wrapper(),
    "builtin": Wrapper(),
    "busybox": Wrapper(only_says="--list --list-full --help --install"),
    "catchsegv": Wrapper(),
    "chroot": Wrapper(options="--groups: --userspec: --skip-chdir", operands=1),
    "chrt": Wrapper(options="-abdfiorRv -T: -P: -D:", operands=1),
    "command": Wrapper(options="-p", only_says="-v -V"),
    "coproc": Wrapper(),
    "doas": Wrapper(options="-Ln -C: -u: -a:"),
    "dotenv": Wrapper(options="-f: --file:"),
    "env": Wrapper(
        options=(
            "-i0v -u: -C: -a: -S: --ignore-environment --null --debug --unset: --chdir: --argv0: "
            "--split-string: --block-signal? --default-signal? --ignore-signal? --list-signal-handling"
        ),
        text="-S --split-string",
        sets=True,
    ),
    "exec": Wrapper(options="-cl -a:"),
    "fakeroot": Wrapper(options="-u -l: -f: -i: -s: -b:"),
    "flock": Wrapper(
        options=(
            "-sxenuFov -E: -w: -c: --shared --exclusive --nonblock --nb --unlock --close --no-fork --verbose "
            "--conflict-exit-code: --timeout: --wait: --command:"
        ),
        operands=1,
        text="-c --command",
    ),
    "ionice": Wrapper(options="-t -c: -n: --class: --classdata: --ignore"),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "ltrace": Wrapper(options="-cCfLSrtTV -e: -o: -s: -n: -a: -l: -u: -x:"),
    "nice": Wrapper(options="-n: -# --adjustment:"),
    "nohup": Wrapper(),
    "runcon": Wrapper(options="-c -t: -u: -r: -l: --type: --user: --role: --range:", operands=1),
    "setsid": Wrapper(options="-cfw --ctty --fork --wait"),
    "stdbuf": Wrapper(options="-i: -o: -e: --input: --output: --error:"),
    "strace": Wrapper(options="-cCdfFhiknqrtTvVwxyYzZ -a: -b: -e: -E: -I: -o: -O: -P: -s: -S: -u: -U: -X:"),
    "sudo": Wrapper(
        options=(
            "-AbBEHknNPS -C: -D: -g: -h: -p: -R: -r: -t: -T: -u: --askpass --background --preserve-env? "
            "--set-home --non-interactive --stdin --user: --group: --chdir: --prompt:"
        ),
        only_says="-l -v -K --list --validate",
        sets=True,
    ),
    "taskset": Wrapper(options="-ac --all-tasks --cpu-list", operands=1),
    "time": Wrapper(options="-apqvl -f: -o: --append --portability --quiet --verbose --format: --output:"),
    "timeout": Wrapper(
        options="-fpv -k: -s: --foreground --preserve-status --verbose --kill-after: --signal:", operands=1
    ),
    "toybox": Wrapper(),
    "unbuffer": Wrapper(options="-p"),
    "xargs": Wrapper(
        options=(
            "-0oprtx -a: -d: -E: -I: -L: -n: -P: -s: -J: -R: -S: -e? -i? -l? --null --open-tty --interactive "
            "--no-run-if-empty --verbose --exit --arg-file: --delimiter: --eof? --replace? --max-lines? "
            "--max-args: --max-procs: --max-chars: --process-slot-var: --show-limits"
        ),
        feeds=True,
    ),
}
# Programs that run another one somewhere behind their own words.
_RUN_ANOTHER = (
    "asdf bundle bunx bwrap cgexec chpst chronic conda cpulimit daemonize dbus-run-session direnv dtach "
    "eatmydata entr faketime firejail hatch hyperfine i386 mamba micromamba mise npm npx nsenter numactl nq "
    "pdm perf pipenv pipx pixi pnpm poetry prlimit proot proxychains proxychains4 pyenv rbenv rr rye setarch "
    "setpriv setuidgid softlimit start-stop-daemon systemd-run tox torsocks torify unshare uv uvx valgrind "
    "volta watch x86_64 xvfb-run yarn"
)
RUN_ANOTHER = frozenset(_RUN_ANOTHER.split())
GIVE_TEXTS = frozenset({"watch", "hyperfine"})  # to a shell
GIVE_TEXT_OPTIONS = "-c --call --shell-command"
# Wrappers that start a shell if no command follows.
START_SHELLS = frozenset({"sudo", "doas", "chroot", "unshare", "nsenter", "setpriv", "fakeroot"})
LOADER = re.compile(r"ld(?:-linux.*|-musl.*)?\.so.*")
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash"})
SHELL_VALUES = frozenset({"--rcfile", "--init-file", "-o", "+o", "-O", "+O"})
INPUT = re.compile(r"-|/dev/.*|/proc/.*")  # what is not a file of commands
REPLACE = frozenset({"-I", "-i", "-J", "--replace"})
EXECUTES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def inner(words: Sequence[str]) -> Runs:
    """Returns what the command of these *words* runs besides itself."""
    if not words or not is_known(words[0]):
        return Runs(unclear=UNNAMED) if words else NOTHING
    name, rest = base_name(words[0]), tuple(words[1:])
    if name in WRAPPERS:
        return _of_wrapper(name, WRAPPERS[name], rest)
    if name in RUN_ANOTHER or LOADER.fullmatch(name):
        return _behind(name, rest)
    if name in SHELLS or name in OTHERS:
        return _of_shell(name, rest) if name in SHELLS else OTHERS[name](name, rest)
    return git_runs.inner(rest) if name == "git" else programs.inner(name, rest)


def _behind(name: str, words: Words) -> Runs:
    """Returns the commands that may begin at any of the *words* of another one."""
    maybe = []
    for index, word in enumerate(words):
        if is_known(word):
            maybe.append(words[index:])
        elif all(each.startswith("-") for each in words[:index]):
            return Runs(unclear=UNNAMED)
    given = tuple(word for word in words if is_known(word) and re.search(r"\s", word))
    texts = given if name in GIVE_TEXTS else ()
    is_text = name in ("npm", "npx", "pnpm", "yarn") and programs.find_option(GIVE_TEXT_OPTIONS, words)
    return Runs(maybe=tuple(maybe), texts=texts, unclear=f"the text that `{name}` runs" if is_text else "")


def _of_wrapper(name: str, wrapper: Wrapper, words: Words) -> Runs:
    """Returns the commands of a known wrapper."""
    left, replaced = list(words), ""
    variables: list[str] = []
    while left and left[0] != "--":
        word = left[0]
        if word.startswith("-") and len(word) > 1:
            if word.partition("=")[0] in wrapper.only_says.split():
                return NOTHING
            read = _read_option(wrapper, left)
            if read is None:
                return Runs(unclear=f"the option `{word}` of `{name}`" if is_known(word) else f"`{name}`")
            option, value, left = read
            if option in wrapper.text.split():
                return _of_split([value, *left]) if name == "env" else of_text(name, [value])
            replaced = (value or "{}") if name == "xargs" and option in REPLACE else replaced
        elif wrapper.sets and (SET.match(word) or word == "-"):
            variables.append(left.pop(0))
        else:
            break
    left = left[1:] if left[:1] == ["--"] else left
    if any(word.startswith(ANY) for word in left[: wrapper.operands]):
        return Runs(unclear=UNNAMED)
    left = left[wrapper.operands :]
    left = left[1:] if left[:1] == ["--"] else left
    while wrapper.sets and left and SET.match(left[0]):
        variables.append(left.pop(0))
    if name == "flock" and left[:1] == ["-c"]:
        return of_text(name, left[1:])
    return _with_variables(variables, _of_rest(name, wrapper, left, replaced))


def _of_rest(name: str, wrapper: Wrapper, left: Sequence[str], replaced: str) -> Runs:
    """Returns the command of a wrapper: *left*, in which *replaced* stands for something else."""
    if not left:
        reads = name in START_SHELLS
        return Runs(unclear=f"`{name}`, which reads commands from its input") if reads else NOTHING
    if replaced:
        return Runs(commands=(tuple(word.replace(replaced, ONE) for word in left),))
    return Runs(commands=((*left, ANY) if wrapper.feeds else tuple(left),))


def _with_variables(variables: Sequence[str], runs: Runs) -> Runs:
    """Adds the commands that run because these variables are set, `NAME=value`."""
    for each in variables:
        name, _, value = each.partition("=")
        more = programs.of_variable(name.removesuffix("+"), value)
        runs = replace(runs, texts=runs.texts + more.texts, unclear=runs.unclear or more.unclear)
    return runs


def _of_split(words: Sequence[str]) -> Runs:
    """`env -S` splits its text into words as `env` has them, which may be options and variables."""
    inside = of_text("env", words)
    is_odd = any("\\" in text for text in inside.texts)
    texts = tuple(f"env {text}" for text in inside.texts)
    return Runs(texts=texts, unclear=inside.unclear or ("`env -S`" if is_odd else ""))


def _read_option(wrapper: Wrapper, left: Sequence[str]) -> tuple[str, str, list[str]] | None:
    """
    The option that *left* begins with, its value, and what follows; None if it is not known.

    Letters in one word are read up to the one that takes a value.
    """
    known = _read_row(wrapper.options)
    word, rest = left[0], list(left[1:])
    name, equals, value = word.partition("=")
    if "-#" in known and NUMBER.fullmatch(word):
        return word, "", rest
    if not word.startswith("--"):
        taking = next((i for i in range(1, len(word)) if known.get(f"-{word[i]}") in TAKES_VALUE), len(word))
        if any(f"-{letter}" not in known for letter in word[1:taking]):
            return None
        name, value = f"-{word[taking : taking + 1]}", word[taking + 1 :]
        equals = value
    if not is_known(name) or (name not in known and name != "-"):
        return None
    if known.get(name) == ":" and not equals:
        return (name, rest[0], rest[1:]) if rest else None
    return name, value, rest


def _read_row(options: str) -> dict[str, str]:
    """The options of a row: each with its sign."""
    known = {}
    for each in options.split():
        sign = each[-1] if each[-1] in ":?" else ""
        bare = each.removesuffix(sign) if sign else each
        if bare.startswith("--") or bare == "-#":
            known[bare] = sign
        else:
            known |= {f"-{letter}": sign for letter in bare[1:]}
    return known


def _of_shell(name: str, words: Words) -> Runs:
    """A shell runs a text, a file of commands, or its input."""
    left, takes_text = list(words), False
    while left and left[0][:1] in ("-", "+") and left[0] not in ("-", "--", "+"):
        word = left.pop(0)
        if not is_known(word):
            return Runs(unclear=f"the options of `{name}`")
        if word in ("--version", "--help"):
            return NOTHING
        if word in SHELL_VALUES or (word[1] not in "-" and word[-1] in "oO"):
            left = left[1:]
        if word.startswith("--") and ("command" in word or "=" in word):
            return Runs(unclear=f"`{word}`")
        if word.startswith("-") and not word.startswith("--"):
            takes_text = takes_text or "c" in word
            if "s" in word[1:] and "c" not in word:
                return Runs(unclear=f"`{name}`, which reads commands from its input")
    if left[:1] in (["--"], ["-"]):
        left = left[1:]
    if not takes_text:
        return _of_file(name, left)
    return of_text(name, left[:1])


def _of_file(name: str, words: Sequence[str]) -> Runs:
    """A file of commands, which is not looked into."""
    if not words:
        return Runs(unclear=f"`{name}`, which reads commands from its input")
    if words[0].startswith((ANY, ONE)) or INPUT.fullmatch(words[0]):
        return Runs(unclear=f"what `{name}` reads")
    return NOTHING


def _of_find(words: Words) -> Runs:
    """`find` runs commands for each file."""
    commands: list[Words] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word in EXECUTES:
            end = next((i for i, each in enumerate(left) if each == ";" or _is_plus(left, i)), len(left))
            commands.append(tuple(each.replace("{}", ONE) for each in left[:end]))
            left = left[end + 1 :]
        elif word.startswith(ANY) or word in (";", "+"):
            return Runs(
                commands=tuple(commands), unclear="arguments of `find` that only the shell can work out"
            )
    return Runs(commands=tuple(each for each in commands if each))


def _is_plus(words: Sequence[str], index: int) -> bool:
    """Whether the word at *index* ends a command of `find` as `;` does."""
    return words[index] == "+" and index > 0 and words[index - 1] == "{}"


def _of_eval(name: str, words: Words) -> Runs:
    return of_text(name, words[1:] if words[:1] == ("--",) else words)


def _of_trap(name: str, words: Words) -> Runs:
    given = words[1:] if words[:1] == ("--",) else words
    return NOTHING if not given or given[0] in ("-", "-l", "-p") else of_text(name, given[:1])


OTHERS: Mapping[str, Callable[[str, Words], Runs]] = {
    "eval": _of_eval,
    "trap": _of_trap,
    ".": _of_file,
    "source": _of_file,
    "find": lambda _, words: _of_find(words),
}
