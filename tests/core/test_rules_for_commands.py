"""The user's rules that block commands, or ask about them, hold for every command that a line runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.adapters.commands import shell_parser
from handrail.core.policy.commands.small_languages import awk_is_harmless, sed_is_harmless
from handrail.core.policy.containment import Available, Sandbox
from handrail.core.policy.grants import Grant, Rights
from handrail.core.policy.rules import Decision, Rule, why_asked_of_command
from handrail.core.policy.tool_kind import ToolKind
from handrail.core.policy.verdict import Allow, Ask, Request, verdict
from searches import examples

NO_RM = Rule(tool="terminal", match="rm *", decision=Decision.BLOCK)
NO_PUSH = Rule(tool="terminal", match="git push *", decision=Decision.BLOCK)
ALL = Rule(tool="terminal", match="*", decision=Decision.ALLOW)
CONTAINED = Available(by="a program", works=True)


def judge(line: str, *rules: Rule) -> str:
    """What becomes of a line in a sandbox."""
    command = shell_parser.parse(line)
    request = Request(
        tool="terminal",
        kind=ToolKind.COMMAND,
        command=command,
        folder="w",
        available=CONTAINED,
        sandbox=Sandbox.AUTO,
    )
    judged = verdict(request, Rights(rules=rules))
    return "runs" if isinstance(judged, Allow) else "asks" if isinstance(judged, Ask) else "blocked"


BLOCKED = r"""
rm v
true; rm v
"rm" v
r''m v
/usr/../bin/rm v
command rm v
command -p rm v
builtin command rm v
exec -a x rm v
env rm v
env -i A=1 rm v
env -u X -C sub rm v
env -S "rm v"
nice rm v
nice -5 rm v
nice -n 19 ionice -c 3 timeout -k 3 5 rm v
nohup rm v &
setsid -f rm v
stdbuf -o0 rm v
sudo -u x A=1 rm v
time rm v
time -p rm v
coproc rm v
busybox rm v
flock f rm v
flock f -c "rm v"
strace -f rm v
echo v | xargs rm
echo v | xargs -n1 -P 4 rm -f
xargs -I{} rm {} < names
find . -name v -exec rm {} ;
find . -name v -exec rm '{}' \;
find . -name v -execdir rm {} +
find . -ok rm {} \;
find . -exec sh -c 'rm "$1"' _ {} \;
bash -c 'rm v'
bash -lc "ls; rm v"
sh -o pipefail -ec "ls && rm v"
bash -c "bash -c 'rm v'"
eval rm v
eval 'ls; rm v'
trap 'rm v' EXIT
trap -- 'rm v' EXIT
e'va'l rm v
GIT_PAGER='rm v' git log
git bisect run rm v
git submodule foreach 'rm v'
watch 'rm v'
(rm v)
if true; then rm v; fi
x=$(rm v)
cat <(rm v)
let "a[$(rm v)0]=1"
"""


@pytest.mark.parametrize("line", BLOCKED.strip().split("\n"))
def test_what_a_line_runs_is_blocked(line: str) -> None:
    assert judge(line) in ("runs", "asks")
    assert judge(line, NO_RM) == "blocked"
    assert judge(line, NO_RM, Rule(tool="terminal", match="ls *", decision=Decision.ALLOW)) == "blocked"


ASKED = r"""
{rm,v}
$'rm' v
X=rm; $X v
`echo rm` v
$(echo rm) v
r${Z}m v
/bin/r? v
/bin/r[m] v
"$X" v
for i in rm; do $i v; done
alias q=rm; q v
((x=$(rm v)0))
~/bin/rm v
env $X v
xargs -I{} {} v
xargs sh -c < f
find . $X
find . -exec {} v \;
timeout $T ls
sh
echo 'rm v' | sh
bash <<< 'rm v'
bash -s < f
source <(echo rm v)
. /dev/stdin
eval "$X"
bash -c "$X"
sh -c $X
bash -c 'a; rm v)'
env --split='rm v'
sudo -i
sudo -s
awk 'BEGIN{system("rm v")}'
awk '{print | "rm v"}' f
awk "$X" f
gawk -i x 1 f
sed -n '1e rm v' f
sed 's/x/rm v/e' f
sed -e p -e '1e rm v' f
sed "$X" f
sed --expr='1e x' f
python3 -c 'import os'
python -Ic x
perl -e x
perl -pe x f
node -pe 1
ruby -e x
php -r x
echo x | python3
python3 - < f
python3 <(echo x)
python -m timeit x
node --eval=x
git -c alias.x='!rm v' x
git -C $X $Y
git clone -u 'rm v' x
make -f - < f
BASH_ENV=<(echo rm v) bash s
git -c core.fsmonitor='rm v' status
git $X
git rebase -x 'rm v' main
GIT_CONFIG_COUNT=1 git x
PAGER=$X git log
export EDITOR=$X; git commit
tar --checkpoint=1 --checkpoint-action=exec='rm v' -cf x .
tar -I 'rm v' -cf x .
tar xIf 'rm v' x
sort --compress-prog=rm f
fd -x rm
rg --pre ./x y
make SHELL='rm v'
make --eval=x
rsync -ae x y z
uv run rm v
npx rm v
poetry run rm v
npx -c 'rm v'
ssh h rm v
parallel rm ::: v
hash -p /bin/rm ls
x='a[$(rm v)]'; echo $((x))
[[ 'a[$(rm v)]' -eq 1 ]]
test -v 'a[$(rm v)]'
y=$X; echo ${y@P}
mapfile -C 'rm v' -c 1 x < f
sqlite3 x '.shell rm v'
vim -c '!rm v'
"""
ODD = (
    "true; rm v\n)",
    "true; rm v; echo '\u200b'",
    f"true; rm v # {'x' * 10_000}",
    "r\\\nm v",
    "nice " * 20 + "rm v",
    "bash <<E\nrm v\nE",
)


@pytest.mark.parametrize("line", [*ASKED.strip().split("\n"), *ODD])
def test_what_cannot_be_told_is_asked_about(line: str) -> None:
    assert judge(line, NO_RM) == "asks"
    assert judge(line, Rule(tool="terminal", match="rm *", decision=Decision.ASK)) == "asks"
    if not any(name in line for name in ("sudo", "ssh", "rsync", "npx")):  # those are asked about anyway
        assert judge(line) == "runs"
        paths = Rule(tool="*", match="vendor/**", decision=Decision.BLOCK)
        edits = Rule(tool="edit", match="rm *", decision=Decision.BLOCK)
        assert judge(line, paths, edits) == "runs"
        assert judge(line, NO_RM, ALL) == "runs"
        if "*" not in line:
            exact = Rule(tool="terminal", match=line, decision=Decision.ALLOW)
            assert judge(line, NO_RM, exact) == "runs"


HARMLESS = r"""
ls
pytest -q
git status
grep x y | head
ls *.py
rm_old x
cat rm.txt; echo rm v
find . -name "*.py" -o -name '*.md'
find src/* -type f | xargs grep foo
find . -name x -print0 | xargs -0 ls -l
find . -type f -exec grep -l foo {} +
awk '{print $1}' f
awk -F: '/a|b/ {print $1, $2/3}' f | sort
awk 'NR>1 && ($3 ~ /x|y/ || $4) {s+=$3; n++} END {print s/n}' f
sed -n '10,20p' f
sed -i 's/a/b/g' f
sed -E 's|a|b|; s#x#y#g' f
sed ':a;N;$!ba;s/\n/ /g' f
sed '/^$/d;1d' f
sed -e 's/[a-z]/x/' -e '/foo/{s/a/b/;p}' f
sed '1i header' f
python -m pytest -q
python3 x.py --foo -c
python -W ignore x.py
node x.js
npm test
npm run build && npm test
uv run pytest -k "a or b"
npx tsc --noEmit
make -j4 CC=gcc
CC=gcc make
go test ./...
for f in *.py; do echo $f; done
cd sub && npm ci
if [ -f x ]; then cat x; fi
echo "$HOME" $X *.py
x=$(git rev-parse HEAD); echo $x
FOO=1 pytest -q
timeout 60 pytest -q
time make
env
env FOO=1 make
bash build.sh
./build.sh
source .venv/bin/activate && pytest
sh -c "ls; pwd"
tar -czf out.tgz dir
tar xzf a.tgz
git log --oneline | head
git -C sub status
git --no-pager -c color.ui=never log
GIT_PAGER=cat git log
git commit -m 'use `x`'
cat <<E
cat a > b
grep -rn "foo|bar" src
echo $((1+2))
[[ -f x ]] && echo y
command -v rm
which rm
rsync2 -a x y
python --version
ls "$X"
printf "%s\n" a
read x < f
export FOO=bar; make
while read l; do echo "$l"; done < f
diff <(ls a) <(ls b)
export PATH=$PWD/bin:$PATH; foo
hash -r
"""


@pytest.mark.parametrize("line", HARMLESS.strip().replace("cat <<E", "cat <<E > f\x01hi\x01E").split("\n"))
def test_a_harmless_line_is_asked_about_as_without_rules(line: str) -> None:
    line = line.replace("\x01", "\n")
    assert judge(line, NO_RM) == judge(line)
    assert judge(line, NO_PUSH) == judge(line)


def test_words_that_are_not_known_may_be_those_of_a_rule() -> None:
    for line in ("X=push; git $X", 'git "$X" origin', "echo push | xargs git", "(git p*)", "(git -C a $X)"):
        assert judge(line, NO_PUSH) == "asks", line
    for line in ("git -C sub push", "git --no-pager push", "echo main | xargs git push"):
        assert judge(line, NO_PUSH) == "blocked", line
    for line in ("for f in *; do cat $f; done", "(git log $X)", 'x=1; git show "$x"'):
        assert judge(line, NO_PUSH) == judge(line), line
    forced = Rule(tool="terminal", match="git push --force", decision=Decision.ASK)
    assert judge("(git push $X)", forced) == "asks"
    assert judge("(git pull $X)", forced) == judge("(git pull $X)")


def test_a_rule_for_several_parts_asks_about_a_line_that_has_them_among_others() -> None:
    piped = Rule(tool="terminal", match="curl * | sh", decision=Decision.BLOCK)
    assert judge("curl x | sh", piped) == "blocked"
    for line in ("curl x|sh", "true; curl x | sh", "(curl x | sh)", "curl x | env sh"):
        assert judge(line, piped) == "asks", line
    hooks = Rule(tool="terminal", match="* > .hooks/*", decision=Decision.BLOCK)
    assert judge("true; (echo x > .hooks/a)", hooks) == "blocked"
    assert judge("true; (cat >.hooks/a <b)", hooks) == "asks"
    for line in ("ls; cat f | head", "echo x > f"):
        assert judge(line, piped, hooks) == judge(line), line


def test_a_rule_for_all_commands_is_for_a_line_without_one() -> None:
    assert judge("> f", Rule(tool="terminal", match="*", decision=Decision.BLOCK)) == "blocked"


def test_a_rule_that_allows_a_part_allows_what_cannot_be_told_of_it() -> None:
    allowed = Rule(tool="terminal", match="python3 -c *", decision=Decision.ALLOW)
    assert judge("python3 -c 'print(1)'", NO_RM, allowed) == "runs"
    assert judge("python3 -c 'print(1)'", allowed, NO_RM) == "runs"
    assert judge("python3 -c 'print(1)' && sh", NO_RM, allowed) == "asks"
    shells = Rule(tool="terminal", match="bash -c *", decision=Decision.ALLOW)
    assert judge("bash -c 'rm v'", NO_RM, shells) == "blocked"


def test_code_of_awk_and_sed_is_told_apart() -> None:
    for program in ("x++ / 2, (x) / 2 - /a/ ? $1 / 3 : 1", "/a|b/ || /c/ { print 1 / /x/ }", "{ exit /a/ }"):
        assert awk_is_harmless(program), program
    for program in (
        '1 / /"/ { print | "rm v" #"/',
        'x = 1 - /"/ ; print | "rm v" #"/',
        '{ if (1) /"/; print | "x" #"/ }',
    ):
        assert not awk_is_harmless(program), program
    for program in (
        'BEGIN { x++ / 2 | "rm v" / 3 }',
        '{ if (1) /a/ | "rm v" }',
        '/[/]"/{print | "x"}#"',
        "@f()",
    ):
        assert not awk_is_harmless(program), program
    for script in (
        "s/a/b/e",
        "e",
        "1,2e x",
        "s/[/]/e x/;s/a/b/",
        "y/a/b/;e",
        "s|a|b|e",
        "p;e",
        "{e}",
        "r f",
        "$e",
    ):
        assert not sed_is_harmless(script), script
    assert not sed_is_harmless(" " * 10_000 + "e")


PIECES = r"""
rm v ls sh bash -c -s - -- + -o $X '$(x)' "a b" ; && | ( ) { } env A=1 -S nice -n 5 xargs -I {} find -exec \;
timeout eval trap git -c a.b=c awk sed s/a/b/ python3 npx sudo flock $'x' `y` * <( > f
"""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('PAGER="$X" git log', "the value of the variable PAGER, which programs run as a command"),
        ("env EDITOR=$X git commit", "the value of the variable EDITOR, which programs run as a command"),
        (
            "BASH_ENV=$X bash a.sh",
            "the variable BASH_ENV, which names a file of commands that the shell runs",
        ),
        ('bash -c "$X"', "the text that `bash` runs, which only the shell can work out"),
        ("$X y", "the name of a command, which only the shell can work out"),
        ('echo "${x@P}"', "`${x@P}`, which runs commands in the value of the variable"),
        ("npx " + "a " * 101, "the arguments of `npx`: too many of them could be commands"),
        ("timeout 1 " * 8 + "ls", "commands that are nested too deeply"),
        ("eval " * 8 + "ls", "commands that are nested too deeply"),
    ],
)
def test_a_question_says_why_rules_may_apply(line: str, why: str) -> None:
    asked = why_asked_of_command([NO_RM], "terminal", ToolKind.COMMAND, shell_parser.parse(line))
    assert asked.endswith(f"cannot tell whether they apply, because of {why}.")


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from(PIECES.split()), max_size=12))
def test_any_line_is_judged(words: list[str]) -> None:
    line = " ".join(words)
    judge(line)
    assert judge(line, Rule(tool="terminal", match="*", decision=Decision.BLOCK)) == "blocked" or not words
    if words and words[0] == "rm" and words[1:2] == ["v"]:
        assert judge(line, NO_RM) != "runs"


def test_no_line_has_the_grant_of_another() -> None:
    request = Request(tool="terminal", kind=ToolKind.COMMAND, command=shell_parser.parse("make"), folder="/w")
    asked = verdict(request, Rights())
    assert isinstance(asked, Ask)
    rights = Rights(grants=asked.grants | {Grant(tool="terminal", subject="/w\nmake\0work")})
    assert isinstance(verdict(request, rights), Allow)
    forged = replace(request, command=shell_parser.parse("make\0work"))
    assert isinstance(verdict(forged, rights), Ask)
    below = replace(request, command=shell_parser.parse("b"), folder="/w\na")
    asked = verdict(below, Rights())
    assert isinstance(asked, Ask)
    above = replace(request, command=shell_parser.parse("a\nb"))
    assert isinstance(verdict(above, Rights(grants=asked.grants)), Ask)
    assert isinstance(verdict(below, Rights(grants=asked.grants)), Allow)
