"""
Command lines drawn at random: of commands that are known, and of what shells and options are tricked with.

All that a line could do, if whoever runs it let it, is harmless: it makes a file named `MARK` in the folder
where it runs, reads a file that was made for it, or connects to a port of this machine. No line removes
anything, waits, sets a clock, or starts processes without end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from handrail.core.policy.commands import git
from handrail.core.policy.commands.options import SIGNS, Row
from handrail.core.policy.commands.special import BINARY, FIND_FILES, FIND_FLAGS, NUMERIC, UNARY
from handrail.core.policy.commands.table import TABLE

MARK = "pwned"
_TOUCH = "a[$(touch pwned)]"
Chance = random.Random
CHARACTERS = (
    "$`'\"\\(){}[]<>|&;*?#~!=^%@+-/:, 0179"
    "\t\n\r\x00\x01\x07\x0b\x0c\x1b\x7f\xe9\xa0\u2028\u202e\ufeff\u200b\udcff"
)
_SIGNS = "$( << <( >( <<< (( )) &> !! {} .. ./ -- // $(( ${ >| <> >& <& 2> 0< && || ;; |& [[ ]] ~+ +( $' $\""
NOISE = (*CHARACTERS, "\\\n", *_SIGNS.split())
ENDLESS = frozenset({"-f", "-F", "--follow", "--retry", "-s", "--sleep-interval"})  # of `tail`
# Options that no row has, since they write, run something, read files that are not named, or follow links.
EVIL = {
    "sort": """
        -o¤pwned -uopwned --output=pwned --out¤pwned --compress-program=./tool --files0-from=names -T¤.
    """,
    "find": """
        -exec¤./tool¤; -execdir¤./tool¤; -fprint¤pwned -fls¤pwned -fprintf¤pwned¤x -files0-from¤names
        -exec¤touch¤pwned¤+ -newerXY -L -follow -context
    """,
    "date": "-f¤dates --file=dates --file¤.env -f.env --fil=dates -r¤.env --reference=.env -d¤@1 -uf¤dates",
    "grep": """
        -f¤.env --file=.env -R --dereference-recursive -d¤recurse --directories=recurse
        --exclude-from=.env -rf.env
    """,
    "sed": """
        -i -i.bak --in-place -nf¤dates --file=dates -e¤wpwned wpwned 1wpwned s/o/touch¤pwned/e e r.env
        R.env 1e¤./tool -n¤s/o/x/wpwned --debug -l¤5 $!N 1,2!d 0~1p
    """,
    "tree": """
        -o¤pwned -Po -R -H¤. -aIo -L1o --fromfile¤.env --fromtabfile¤.env --info --infofile¤.env -l
        --output=pwned
    """,
    "uniq": "- pwned +1 -- a.txt¤pwned --output=pwned",
    "wc": "--files0-from=names --files0-fr¤names",
    "du": "--files0-from=names -X¤.env --exclude-from=.env -L -D",
    "ls": "-L -H --dereference --hyperlink --dired --dereference-command-line",
    "diff": """
        -r -N --to-file=.env --from-file=.env -X¤.env --exclude-from=.env -l --paginate -S¤x --new-file
    """,
    "strings": "@opts -T¤@opts --target=@opts",
    "rg": """
        --pre=./tool --pre¤./tool -z --search-zip -L --follow --hostname-bin¤./tool -uuu --no-hidden
        --ignore-file¤.env --hyperlink-format¤file --debug --trace --generate¤man --type-add¤x:*.env -tx
    """,
    "file": "-C -m¤dates --magic-file=dates -f¤names --files-from=names -z -s --compile",
    "tail": "--pid=1 -n¤+1",
    "stat": "--printf=%n",
    "xxd": "-r a.txt¤pwned",
    "cut": "--output-delimiter=x",
    "md5sum": "-c --check -cnames --warn --strict",
    "sha256sum": "-c --check -cnames",
    "cat": "--helpx -u /dev/stdin /dev/fd/0 /proc/self/environ",
    "head": "-n-1 --presume-input-pipe",
    "jq": "--args --rawfile¤x¤.env --slurpfile¤x¤.env -f¤dates input_filename env $ENV",
    "which": "-s",
    "tr": "-x",
}
GIT_EVIL = """
    --output=pwned --output¤pwned -opwned --ext-diff --textconv --show-signature --no-index¤.env¤a.txt
    -O.env -O¤.env --submodule=diff --open-files-in-pager=./tool -O./tool --exec=./tool
    --upload-pack=./tool --edit --contents¤.env --ignore-revs-file=.env -X.env --exclude-from=.env
    --exclude-per-directory=.env --pathspec-from-file=.env --edit-description --filters --batch --stdin
    --git-path¤x --parseopt --sq-quote --resolve-git-dir¤. --local-env-vars --format=%G? --pretty=%GG
    --format=%(trailers) --log-size -L1,2:.env -L:x:.env --no-index --ours --cc --remerge-diff
    --diff-merges=remerge --mailmap --use-mailmap --recurse-submodules
"""
GIT_BEFORE = """
    -C¤keys -C¤nested -c¤core.pager=./tool -c¤alias.log=!./tool -c¤core.fsmonitor=./tool --paginate -p
    --exec-path=. --git-dir=nested/.git --git-dir¤.git --work-tree=.. --bare --namespace=x
    --config-env=a.b=HOME --no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects
    --attr-source=HEAD --super-prefix=x
"""
GIT_OTHER = """
    init¤pwned config¤a.b¤c config¤--list add¤a.txt commit¤--allow-empty¤-mx tag¤pwned branch¤pwned
    stash archive¤-o¤pwned¤HEAD bundle¤create¤pwned¤HEAD format-patch¤-1 apply¤a.txt grep¤-O./tool¤x
    grep¤KEY grep¤--no-index¤KEY hash-object¤-w¤a.txt hash-object¤.env notes fsck gc st bisect
    difftool¤-x¤./tool mergetool rebase¤-x¤./tool¤HEAD submodule¤foreach¤./tool var¤GIT_EDITOR
    check-ignore¤-v¤a.txt check-attr¤-a¤a.txt ls-remote¤ext::./tool fetch¤ext::./tool clone¤.¤pwned
    ls-remote¤. remote¤-v¤update remote¤show¤origin worktree¤list worktree¤add¤pwned
    cat-file¤--textconv¤HEAD:a.txt cat-file¤--batch blame¤--contents¤.env¤a.txt
"""
PAYLOADS = (
    f"touch {MARK}",
    f"tee {MARK}",
    f"cp a.txt {MARK}",
    f"mkdir {MARK}",
    f"ln -s a.txt {MARK}",
    f": > {MARK}",
    f"echo x > {MARK}",
    f"echo x >> '{MARK}'",
    f"echo x >| {MARK}",
    f"dd if=a.txt of={MARK}",
    f"env touch {MARK}",
    f"command touch {MARK}",
    f"xargs touch {MARK}",
    f"awk 'BEGIN {{ system(\"touch {MARK}\") }}'",
    f"python3 -c \"open('{MARK}', 'w')\"",
    f"sh -c 'touch {MARK}'",
    "./tool",
    "sh tool",
    ". ./tool",
    "source ./tool",
    "exec ./tool",
    "cat .env",
    "cat ../out/secret.txt",
    "cat soft hard",
    "cat keys/server.pem",
    "cat < .env",
    "head -c 99 .e*",
    "cat */server.*",
    "cat .git/config",
    "grep -r KEY .",
    "cp .env copy",
    "base64 .env",
    "cd keys && cat .env",
    "cd ../out && cat secret.txt",
    "cat folder/secret.txt",
    "cat ~/.netrc",
    "echo x > /dev/tcp/127.0.0.1/{port}",
    "exec 3<>/dev/tcp/127.0.0.1/{port}",
    "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}))\"",
)
# What shells read in a special way, with a payload, a harmless command and a word in it.
_SHAPES = r"""
$({p})
`{p}`
{c} $({p})
{c} "$({p})"
{c} `{p}`
{c} "`{p}`"
{c} <({p})
{c} >({p})
{c} $((a[$({p})]))
{c} ${x:-$({p})}
{c} ${x[$({p})]}
{c} $[a[$({p})]]
{c} ${x/$({p})/}
[[ -v 'a[$({p})]' ]]
[[ x =~ <({p}) ]]
[[ $({p}) ]]
(( a[$({p})] ))
let 'a[$({p})]=1'
{c} <<E\n{p}\nE
{c} <<E\n$({p})\nE
{c} <<E\n`{p}`\nE
{c} <<'E'\n{p}\nE
{c} <<-E\n\t{p}\n\tE
{c} <<\\E\n$({p})\nE\n{p}
{c} <<E\\\nF\n$({p})\nEF
{c} <<'E' <<F\nE\n$({p})\nF
{c} <<<$({p})
{c} <<E; {p}\nE
{c} <<''\n\n{p}
{c} <<E\nE \n$({p})\nE
{c} <<$'E'\n$({p})\nE
{c} | {p}
{p} | {c}
{c} |& {p}
{c} & {p}
{c}&{p}
{c} && {p}
{c} || {p}
{c};{p}
{c}\n{p}
{c}\r\n{p}
{c}\x0b{p}
{c} \\\n; {p}
{c} # x\n{p}
{c} #\\\n{p}
!{p}
! {p}
({p})
{ {p}; }
if true; then {p}; fi
if {p}; then {c}; fi
for x in a; do {p}; done
for x in $({p}); do {c}; done
case a in a) {p};; esac
case $({p}) in *) {c};; esac
while {p}; do break; done
until ! {p}; do break; done
select x in a; do {p}; done
f() { {p}; }; f
function f { {p}; }; f
ls() { {p}; }; ls
alias ls='{p}'\nls
a=({p})
a=($({p}))
a[$({p})]=1
x=$({p}) {c}
x=`{p}` {c}
PATH=.:$PATH {c}
PATH=.\n{c}
LD_PRELOAD=./tool {c}
GIT_PAGER=./tool {c}
for PATH in .; do {c}; done
IFS=x {c}
BASH_ENV=./tool {c}
trap '{p}' EXIT; {c}
eval '{p}'
time {p}
coproc {p}
exec {p}
builtin {p}
nohup {p}
printf -v x '%s' a; {p}
read x <<< '{p}'; eval $x
x='{p}'; $x
set -- {p}; "$@"
{c} > {w}
{c} >> {w}
{c} 2> {w}
{c} &> {w}
{c} <> {w}
{c} >| {w}
{c} < {w}
{c} 3< {w}
{c} >/dev/null>{w}
{c} >/dev/nul\\\nl>{w}
{c} >/dev/null/../{w}
{c} > /dev/null{w}
{c} {x}>{w}
{c} >&{w}
{c} 1>&2-
{c} >&-
{c} <&3
{c} 2>&1 >{w}
> {w} {c}
<{w} {c}
2>{w} {c}
{c} | {c}
{c} && {c}
{c}; {c}
{c} || {c}
{c} | {c} | {c}
cd {w} && {c}
cd {w}; {c}
cd {w} || {c}
! {c}
{c} 2>/dev/null
{c} 2>&1 | {c}
{c} >/dev/null 2>&1 && {c}
cd src && {c} && {c}
true && cd {w}; {c}
cd src\n{c}
pushd {w}; {c}
cd - ; {c}
cd src/.. && {c}
cd nowhere; {c}
"""
SHAPES = tuple(each.encode().decode("unicode_escape") for each in _SHAPES.strip().splitlines())


@dataclass(frozen=True, kw_only=True)
class Names:
    """What the lines are about: files that may be read, folders of such, files that must not be, a port."""

    files: Sequence[str]
    folders: Sequence[str]
    secrets: Sequence[str]
    port: int


def lines(chance: Chance, names: Names) -> Iterator[str]:
    """Lines without an end: many could run as they are, others are spoiled or hostile."""
    while True:
        roll = chance.random()
        line = command(chance, names) if roll < 0.55 else _shaped(chance, names)
        for _ in range(chance.choice((0, 0, 0, 0, 0, 1, 1, 2))):
            at = chance.randint(0, len(line))
            line = line[:at] + chance.choice(NOISE) + line[at + chance.choice((0, 0, 1, 2)) :]
        yield line


def command(chance: Chance, names: Names) -> str:
    """One command of the table, with options and operands; a few of them are not in its row."""
    name = chance.choice(_NAMES)
    words = [name, *_MADE.get(name, _plain)(chance, names, name)]
    if chance.random() < 0.1:
        words.append(chance.choice(_VALUES))
    spelt = [spelled(chance, word) for word in words]
    if chance.random() < 0.1:
        spelt.insert(chance.randint(0, len(spelt)), chance.choice(_REDIRECTS))
    return chance.choice((" ", " ", " ", "  ", "\t", " \\\n")).join(spelt)


def spelled(chance: Chance, word: str) -> str:
    """*word* as a shell may have it written."""
    special = not word or any(character in " \t\n;|&<>()$`\\\"'*?[]#~={}!" for character in word)
    match chance.randint(0, 9 if special else 24):
        case 0:
            return '"' + "".join(f"\\{each}" if each in '\\"$`' else each for each in word) + '"'
        case 1 if word:
            return "".join(f"\\{each}" for each in word)
        case 2 if len(word) > 1:
            at = chance.randint(1, len(word) - 1)
            return _quoted(word[:at]) + chance.choice((word[at:], _quoted(word[at:])))
        case 3 if word:
            at = chance.randrange(len(word))
            return f"{word[:at]}{chance.choice(('?', '*', f'[{word[at]}]', '[!x]'))}{word[at + 1 :]}"
        case 4:
            return word
        case 5:
            return f"$'{word}'"
        case _:
            return _quoted(word) if special else word


def options(row: Row) -> list[tuple[str, str]]:
    """The options of a row, one by one, with their signs."""
    found = []
    for each in row.options.split():
        name = each.rstrip(SIGNS)
        signs = each[len(name) :]
        is_word = name.startswith("--") or name == "-#" or (signs and len(name) > 2)
        found += [(name, signs)] if is_word else [(f"-{letter}", signs) for letter in name[1:]]
    return found


_NAMES = [*TABLE, *("find", "sort", "date", "grep", "sed") * 4, *("git",) * 12]
_VALUES = (
    *(
        "1",
        "2",
        "x",
        "o",
        "R",
        "ol",
        "text",
        "*.py",
        "path",
        "name",
        "always",
        "never",
        "a.txt",
        "-",
        "",
        "./-o",
    ),
    *(
        "+%Y",
        "+1",
        "@0",
        "-o",
        f"-o{MARK}",
        "--",
        "KEY",
        "..",
        ".",
        "é",
        "a b",
        "1,2p",
        "$x",
        "~",
        "{a,b}",
        "-1",
    ),
)
_REDIRECTS = (
    *(
        ">/dev/null",
        "2>/dev/null",
        "2>&1",
        "&>/dev/null",
        "</dev/null",
        ">&2",
        ">>/dev/null",
        "< .env",
        "<.env",
    ),
    *(
        f">{MARK}",
        f">> {MARK}",
        f"2>{MARK}",
        f"&>{MARK}",
        f">|{MARK}",
        f"<>{MARK}",
        f"3>{MARK}",
        ">/dev/tcp/127.0.0.1/1",
    ),
)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _shaped(chance: Chance, names: Names) -> str:
    shape = chance.choice(SHAPES)
    payload = chance.choice(PAYLOADS).replace("{port}", str(names.port))
    made = (
        shape.replace("{{", "{")
        .replace("}}", "}")
        .replace("{p}", payload)
        .replace("{w}", _word(chance, names))
    )
    while "{c}" in made:
        made = made.replace("{c}", command(chance, names), 1)
    return made


def _word(chance: Chance, names: Names) -> str:
    roll = chance.random()
    if roll < 0.5:
        return chance.choice(names.files)
    if roll < 0.75:
        return chance.choice(names.folders)
    return chance.choice((*names.secrets, *_VALUES, MARK))


def _file(chance: Chance, names: Names) -> str:
    return chance.choice(names.files) if chance.random() < 0.85 else _word(chance, names)


def _folder(chance: Chance, names: Names) -> str:
    return chance.choice(names.folders) if chance.random() < 0.85 else _word(chance, names)


def _evil(chance: Chance, listed: str) -> list[str]:
    return chance.choice(listed.split()).split("¤") if listed and chance.random() < 0.12 else []


def _given(chance: Chance, names: Names, row: Row) -> list[str]:
    """Options of a row."""
    found: list[str] = []
    known = options(row)
    for _ in range(chance.choice((0, 0, 1, 1, 2, 3)) if known else 0):
        option, signs = chance.choice(known)
        if option == "-#":
            found.append(f"-{chance.randint(1, 9)}")
            continue
        value = _file(chance, names) if "<" in signs else chance.choice(_VALUES)
        is_attached = bool(set(signs) & set(":<?")) and chance.random() < 0.5
        if is_attached:
            found.append(f"{option}={value}" if option.startswith("--") else option + value)
        else:
            found += [option, value] if set(signs) & set(":<") else [option]
    return found


def _operands(chance: Chance, names: Names, row: Row) -> list[str]:
    kinds = row.operands.split()
    if kinds and kinds[-1].endswith("*"):
        kinds += [kinds[-1]] * chance.choice((0, 0, 1))
    made: dict[str, Callable[[], str]] = {
        "text": lambda: chance.choice(("one", "two", "x", "a", "1", ".", "^t", chance.choice(_VALUES))),
        "format": lambda: chance.choice(("+%Y", "+%s %H", "%Y")),
        "rows": lambda: chance.choice(("1p", "1,2p", "$p", "2q", "1d;2p", f"w{MARK}", "1!p", "s/a/b/")),
        "tree": lambda: _folder(chance, names),
        "object": lambda: chance.choice(
            ("HEAD", "HEAD~1", "main", "HEAD:a.txt", "a.txt", ":a.txt", "HEAD..", "HEAD:.env")
        ),
    }
    found = [made.get(kind.removesuffix("*"), lambda: _file(chance, names))() for kind in kinds]
    return found if chance.random() < 0.9 else found[:-1]


def _plain(chance: Chance, names: Names, name: str) -> list[str]:
    """The arguments of a command by its row."""
    row = TABLE[name]
    given = [word for word in _given(chance, names, row) if not (name == "tail" and word[:9] in ENDLESS)]
    if name == "tail":  # would wait for more
        given = [word for word in given if word.startswith("-n") or not word.startswith("-")]
    found = [*given, *_evil(chance, EVIL.get(name, "")), *_operands(chance, names, row)]
    if chance.random() < 0.1:
        chance.shuffle(found)
    return found


def _find(chance: Chance, names: Names, _: str) -> list[str]:
    found = [_folder(chance, names)] if chance.random() < 0.7 else []
    for _each in range(chance.choice((0, 1, 1, 2, 3))):
        flag = chance.choice(sorted(FIND_FLAGS - {"(", ")"}))
        value = chance.choice(
            ("-name", "-path", "-maxdepth", "-type", "-size", "-printf", "-regex", "-perm", "-mtime")
        )
        file = chance.choice(sorted(FIND_FILES))
        found += chance.choice(
            (
                [flag],
                [value, chance.choice(("*.py", "1", "f", "%p", "+1", ".env"))],
                [file, _file(chance, names)],
            )
        )
    return [*found, *_evil(chance, EVIL["find"])]


def _test(chance: Chance, names: Names, name: str) -> list[str]:
    one, two = _word(chance, names), _word(chance, names)
    found = chance.choice((
        [chance.choice(sorted(UNARY)), one],
        [one, chance.choice(sorted(BINARY)), two],
        [str(chance.randint(0, 9)), chance.choice(sorted(NUMERIC)), chance.choice(("1", _TOUCH, "x"))],
        ["!", one],
        ["-v", _TOUCH],
    ))  # fmt: skip
    return [*found, "]"] if name == "[" else found


def _echo(chance: Chance, names: Names, name: str) -> list[str]:
    words = [_word(chance, names) for _ in range(chance.choice((0, 1, 2, 3)))]
    head = chance.choice(("-n", "-e", "-E", "-ne", "\\x41", "\\c", "x", "\\0101"))
    if name == "printf":
        head = chance.choice(
            ("%s\\n", "%d", "%s %s", "-v", "%b", "%q", "%(%Y)T", "%n", "%*d", "\\n", "%5.2s", "%c")
        )
    return [head, *words]


def _git(chance: Chance, names: Names, _: str) -> list[str]:
    before = chance.choice(GIT_BEFORE.split()).split("¤") if chance.random() < 0.08 else []
    if chance.random() < 0.1:
        return [*before, *chance.choice(GIT_OTHER.split()).split("¤")]
    name = chance.choice(sorted(git.SUBCOMMANDS))
    row = git.SUBCOMMANDS[name]
    evil = _evil(chance, GIT_EVIL)
    paths = ["--", _file(chance, names)] if chance.random() < 0.4 else []
    operands = (
        [word for word in _operands(chance, names, row) if "paths" in row.operands]
        if chance.random() < 0.6
        else []
    )
    return [*before, *name.split(), *_given(chance, names, row), *evil, *operands[:1], *paths]


_MADE: dict[str, Callable[[Chance, Names, str], list[str]]] = {
    "find": _find,
    "test": _test,
    "[": _test,
    "echo": _echo,
    "printf": _echo,
    "git": _git,
}
