"""Which command lines run unasked, with real programs on the disk; every question is answered with no."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bench import Bench
from handrail.core.policy.rules import read
from handrail.ports import ALLOW, DENY, Terms
from handrail.testing import answer, call, lay_out, snapshot

SECRET = "the-secret-of-the-file"
FILES = {
    "a.txt": b"one\ntwo\nthree\n",
    "b.txt": b"two\n",
    "src/main.py": b"print('hello')\n",
    "src/deep/util.py": b"# two\n",
    "-o": b"named like an option\n",
    "names": b".env\0",
    "dates": SECRET.encode(),
    "options": b"@.env",
    "keys/.env": f"KEY={SECRET}\n".encode(),
    "keys/readme": b"two\n",
    ".env": f"KEY={SECRET}\n".encode(),
}


def git(root: Path, *arguments: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    environment = {**kept, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ("git", "-c", "protocol.file.allow=always", *arguments)
    return subprocess.run(
        command, cwd=root, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def ground(bench: Bench) -> Bench:
    """A workspace with files, in which every question is answered with no."""
    lay_out(bench.root, FILES)
    bench.approver.says = DENY
    return bench


@pytest.fixture
def repository(ground: Bench) -> Bench:
    """The same, as a git repository with two commits, and neither `.env` in any of them."""
    git(ground.root, "init", "--quiet", "--initial-branch=main")
    git(ground.root, "add", "a.txt", "b.txt", "src")
    git(ground.root, "commit", "--quiet", "-m", "first")
    (ground.root / "b.txt").write_text("TWO\n")
    git(ground.root, "commit", "--quiet", "-am", "second")
    (ground.root / "a.txt").write_text("ONE\ntwo\nthree\n")
    return ground


async def run(bench: Bench, *lines: str) -> list[str]:
    """What comes of *lines*, called at once in one turn."""
    calls = [call("terminal", command=line) for line in lines]
    bench.says(answer("", *calls), answer("Done."))
    report = await bench.turn()
    return bench.texts(report.session)[-len(lines) :]


def asked(bench: Bench) -> list[str]:
    return [question.subject for question in bench.approver.asked]


ORDINARY = {
    "cat a.txt": "one\ntwo\nthree\n",
    "cat -n b.txt": "     1\ttwo\n",
    "cat *.txt | head -n 2": "one\ntwo\n",
    "head -2 a.txt": "one\ntwo\n",
    "tail -n 1 a.txt; wc -l < /dev/null": "three\n0\n",
    "sed -n '1,2p' a.txt": "one\ntwo\n",
    "sed -n 3p a.txt && echo done": "three\ndone\n",
    "cd src && ls": "deep\nmain.py\n",
    "cd src && cat deep/*.py; pwd | tail -c 4": "# two\nsrc\n",
    "cd nowhere || echo 'no such folder'": "cd: nowhere: No such file or directory\nno such folder\n",
    "grep -rn two src": "src/deep/util.py:1:# two\n",
    "grep -c two a.txt b.txt": "a.txt:1\nb.txt:1\n",
    "grep nothing a.txt || echo none": "none\n",
    "! grep -q nothing a.txt && echo none": "none\n",
    "find . -name '.env' | sort": "./.env\n./keys/.env\n",
    "ls -RA keys": "keys:\n.env\nreadme\n",
    "find src -name '*.py' -type f | sort": "src/deep/util.py\nsrc/main.py\n",
    "find src -name \\*.py -not -path '*/deep/*'": "src/main.py\n",
    "sort -r a.txt | uniq -c | tr -s ' ' | cut -d ' ' -f 3": "two\nthree\none\n",
    "diff a.txt b.txt": "1d0\n< one\n3d1\n< three\n",
    "[ -f a.txt ] && echo yes": "yes\n",
    "test 2 -gt 1 && printf '%s %d\\n' it 1": "it 1\n",
    "echo -n 'a  b'; echo": "a  b\n",
    "ls src/ 2>/dev/null": "deep\nmain.py\n",
    "ls nothing* > /dev/null 2>&1 || echo nothing": "nothing\n",
    "cat ./-o": "named like an option\n",
    "cat -- -o": "named like an option\n",
    "basename src/main.py .py": "main\n",
    "date -u -d @0 +%Y": "1970\n",
    "stat -c %s b.txt": "4\n",
    'echo \'$HOME `x` "y"\' "it\'s"': '$HOME `x` "y" it\'s\n',
    "echo a # a comment": "a\n",
    "du -s --apparent-size -b src/main.py | cut -f 2": "src/main.py\n",
}


async def test_ordinary_lines_run_unasked(ground: Bench) -> None:
    texts = await run(ground, *ORDINARY)
    assert asked(ground) == []
    shown = {line: text.partition(".\n")[2] for line, text in zip(ORDINARY, texts, strict=True)}
    assert shown == ORDINARY


# Each of these would leave a file `pwned` or show the secret if it ran; what would do more harm would fail.
HOSTILE = [
    # What a shell reads in another way than a grammar of it.
    "cat <<E\n`touch pwned`\nE",
    "cat <<E\n$(touch pwned)\nE",
    "find < /dev/null . -exec touch pwned ';'",
    "find > /dev/null . -exec touch pwned \\;",
    "sort <<E -o pwned\nx\nE",
    "[[ x =~ <(touch pwned) ]]",
    "[[ -v 'a[$(touch pwned)]' ]]",
    "for x in 'a[$(touch pwned)]'; do for y in $((x)); do ls; done; done",
    "for PATH in tools; do ls; done",
    "for GIT_CONFIG_VALUE_0 in x; do git status; done",
    "cat <<'E' <<F\nE\n$(touch pwned)\nF",
    "cat <<E\\\nF\n$(touch pwned)\nEF",
    "echo ${x:-$(touch pwned)}",
    "echo $((a[$(touch pwned)]))",
    'echo "$(touch pwned)"',
    "echo `touch pwned`",
    "echo <(touch pwned)",
    "ls >(touch pwned)",
    "ls | tee pwned",
    "ls > pwned",
    "ls >| pwned",
    "ls &> pwned",
    "ls >>pwned",
    "ls <> pwned",
    "ls 3> pwned",
    "ls > 'pwned'",
    "ls >/dev/null>pwned",
    "ls >/dev/nul\\\nl>pwned",
    "ls > /dev/../dev/null > pwned",
    "ls& touch pwned",
    "ls\ntouch pwned",
    "ls;touch pwned",
    "ls||touch pwned",
    "cat nothing||touch pwned",
    "ls|&touch pwned",
    "ls && { touch pwned; }",
    "(touch pwned)",
    "if true; then touch pwned; fi",
    "case x in x) touch pwned;; esac",
    "ls() { touch pwned; }; ls",
    "function ls { touch pwned; }; ls",
    "alias ls='touch pwned'\nls",
    "PATH=.:$PATH ls",
    "LD_PRELOAD=./x.so ls",
    "env touch pwned",
    "command touch pwned",
    "exec touch pwned",
    "eval touch pwned",
    "time touch pwned",
    "coproc touch pwned",
    "trap 'touch pwned' EXIT",
    "! touch pwned",
    "xargs touch pwned </dev/null",
    "printf -v x y; touch pwned",
    "echo x | sh",
    "./tool",
    "/usr/bin/touch pwned",
    "\\touch pwned",
    "'touch' pwned",
    "$'touch' pwned",
    "t{o,}uch pwned",
    "~/../../usr/bin/touch pwned",
    "*touch pwned",
    "ls\rtouch pwned",
    "ls\x0btouch pwned",
    # What writes by an option or an operand.
    "sort -o pwned a.txt",
    "sort -S 1b a.txt",
    "sort --buffer-size=1b a.txt",
    "cat a.txt | tac",
    "tac a.txt - < a.txt",
    "tac",
    "sort -uopwned a.txt",
    "sort -no pwned a.txt",
    "sort --output=pwned a.txt",
    "sort --out pwned a.txt",
    "sort --outpu=pwned a.txt",
    "sort a.txt -o pwned",
    "sort --compress-program=./tool a.txt",
    "sort --compress-prog ./tool -S 1k a.txt",
    "cat a.txt | uniq - pwned",
    "uniq a.txt pwned",
    "uniq -- a.txt pwned",
    "uniq a.txt -c",
    "uniq +1 a.txt pwned",
    "find . -exec touch pwned ';'",
    "find . -execdir touch pwned ';'",
    "find . -ok touch pwned ';'",
    "find . -fprint pwned",
    "find . -fprint0 pwned",
    "find . -fprintf pwned x",
    "find . -fls pwned",
    "find src -delete",
    "sed -n 'w pwned' a.txt",
    "sed 's/one/touch pwned/e' a.txt",
    "sed -n '1w pwned' a.txt",
    "sed -i s/one/two/ a.txt",
    "sed -n 1p a.txt -i",
    "sed --in-place=x 1d a.txt",
    "sed -n -e 'w pwned' a.txt",
    "sed -f dates a.txt",
    "awk 'BEGIN { system(\"touch pwned\") }'",
    "date 139999992030",
    "date -s nonsense",
    "date --set=nonsense",
    "date --s nonsense",
    "tree -o pwned",
    "tree -R -H . -L 1",
    "file -C -m dates",
    "file -m dates a.txt",
    "rg --pre ./tool two",
    "rg --pre=./tool two",
    "rg --hostname-bin ./tool --hyperlink-format x two",
    "diff --to-file=.env a.txt",
    "diff -l a.txt b.txt",
    "tee pwned",
    "dd if=a.txt of=pwned",
    "cp a.txt pwned",
    "mkdir pwned",
    "install a.txt pwned",
    "split a.txt pwned",
    "csplit a.txt 1",
    # What reads a file that is not judged.
    "cat .env",
    "cat .e*",
    "cat .en?",
    "cat .[e]nv",
    "cat keys/.env",
    "cat keys/.*",
    "cat */.env",
    "cat ./././.env",
    "cat src/../.env",
    "cd keys && cat .env",
    "cd keys; cat .env",
    "cd src/../keys && cat .env",
    "cd nowhere; cat .env",
    "true && cd src; cat ../.env",
    "cat < .env",
    "cat -n -- .env",
    "grep KEY .env",
    "grep -r KEY .",
    "grep -r KEY",
    "grep -nr KEY keys",
    "grep --recursive KEY keys",
    "grep -R KEY keys",
    "grep --dereference-rec KEY keys",
    "grep -d recurse KEY keys",
    "grep -drecurse KEY keys",
    "grep --directories=recurse KEY keys",
    "grep -e KEY .env",
    "grep -eKEY .env",
    "grep -f .env a.txt",
    "grep -f.env a.txt",
    "grep -vf .env a.txt",
    "grep --file=.env -v a.txt",
    "egrep -r KEY keys",
    "rg --hidden KEY keys",
    "rg -uu KEY keys",
    "rg -. KEY keys",
    "date -f .env",
    "date -f dates",
    "date --file=dates",
    "date -udf dates",
    "date -r .env",
    "sort --files0-from=names",
    "sort --files0-fr names",
    "wc --files0-from=names",
    "du --files0-from=names",
    "strings @options",
    "strings -n 4 @options",
    "strings -T @options a.txt",
    "diff -N . src",
    "diff . src",
    "diff -r keys src",
    "diff keys/.env a.txt",
    "diff -rN keys nowhere",
    "diff --from-file=.env a.txt",
    "cmp .env a.txt",
    "comm .env a.txt",
    "paste a.txt .env",
    "head -c 100 .env",
    "tail -c+1 .env",
    "tail --bytes=100 .env",
    "sort .env",
    "uniq .env",
    "nl .env",
    "tac .env",
    "rev .env",
    "fold .env",
    "cut -c 1-100 .env",
    "md5sum .env",
    "md5sum -c names",
    "sed -n 1p .env",
    "xxd .env",
    "cat hard",
    "grep KEY hard",
    "grep -r KEY linked",
    "cat soft",
    "cat /etc/hostname",
    "cat ../outside.txt",
    "ls ..",
    "cd .. && ls",
    "cd / && ls",
    "cd",
    "cd -",
    "cd ~",
    "cd $HOME",
    "cd folder && cat outside.txt",
    "grep -r outside folder",
    "find folder/",
    "find -L src",
    "find . -follow",
    "find . -newer ../outside.txt",
    "find .. -name x",
    "find -files0-from names",
]


@pytest.mark.parametrize("line", HOSTILE)
async def test_hostile_lines_ask(ground: Bench, line: str) -> None:
    root = ground.root
    (root.parent / "outside.txt").write_text("outside\n")
    os.link(root / ".env", root / "hard")
    (root / "linked").mkdir()
    os.link(root / ".env", root / "linked" / "x")
    (root / "soft").symlink_to("../outside.txt")
    (root / "folder").symlink_to("..")
    (root / "tool").write_text("#!/bin/sh\ntouch pwned\n")
    (root / "tool").chmod(0o755)
    before = snapshot(root)
    (text,) = await run(ground, line)
    assert asked(ground) == [line]
    assert SECRET not in text
    assert snapshot(root) == before


async def test_another_name_of_a_key_in_the_home_folder_is_asked_about(
    ground: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    lay_out(home, {".ssh/id_ed25519": SECRET.encode(), "harmless": b"harmless\n"})
    monkeypatch.setenv("HOME", str(home))
    os.link(home / ".ssh" / "id_ed25519", ground.root / "key.txt")
    os.link(home / "harmless", ground.root / "src" / "harmless.txt")
    texts = await run(
        ground, "cat src/harmless.txt", "cat key.txt", "grep -r x src", "cd src && head ../key.txt"
    )
    assert asked(ground) == ["cat key.txt", "cd src && head ../key.txt"]
    assert SECRET not in "".join(texts)


async def test_a_path_that_looks_like_a_uri_is_a_path(ground: Bench) -> None:
    (ground.root / "file:").symlink_to("keys")
    (ground.root / "keys" / "a.txt").symlink_to(".env")
    lines = ["cat file:///a.txt", f"cat file://{ground.root}/a.txt", "cat file:/a.txt", "cat file:/.env"]
    texts = await run(ground, *lines)
    assert asked(ground) == [lines[0], lines[2], lines[3]]
    assert SECRET not in "".join(texts)


async def test_a_wildcard_bomb_is_asked_about_soon(ground: Bench) -> None:
    for number in range(300):
        (ground.root / ("a" * 200 + f"{number:03}")).touch()
    lines = [
        "ls " + "*a" * 200 + "b",
        "ls " + "*a" * 4_000 + "b",
        "ls " + "*" * 5_000,
        "ls " + "/".join("*" * 50),
    ]
    async with asyncio.timeout(10):
        await run(ground, *lines)
    assert asked(ground)[:2] == lines[:2]


async def test_in_a_folder_that_is_none_nothing_runs(ground: Bench) -> None:
    ground.says(answer("", call("terminal", command="ls", folder="untitled:x")), answer("Done."))
    await ground.turn()
    assert asked(ground) == ["ls"]


async def test_a_program_of_the_workspace_is_not_run(ground: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = ground.root / "tools"
    tools.mkdir()
    for name in ("ls", "git", "echo", "which", "grep"):
        (tools / name).write_text("#!/bin/sh\necho hostile > pwned\n")
        (tools / name).chmod(0o755)
    (ground.root.parent / "link").symlink_to(tools)
    monkeypatch.setenv(
        "PATH", os.pathsep.join((str(tools), str(ground.root.parent / "link"), "tools", os.environ["PATH"]))
    )
    texts = await run(ground, "ls src", "echo x", "git status", "grep one a.txt")
    assert not (ground.root / "pwned").exists()
    assert asked(ground) == []
    assert texts[0] == "Exit code 0.\ndeep\nmain.py\n"


async def test_a_program_that_only_the_workspace_has_is_asked_about(
    ground: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(ground.root))
    (ground.root / "rg").write_text("#!/bin/sh\necho hostile > pwned\n")
    (ground.root / "rg").chmod(0o755)
    await run(ground, "rg two src")
    assert asked(ground) == ["rg two src"]
    assert "of the workspace" in ground.approver.asked[0].detail


async def test_the_environment_changes_nothing(ground: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (ground.root / "rc").write_text("touch pwned\n")
    for name in ("BASH_ENV", "ENV", "RIPGREP_CONFIG_PATH", "PS4", "GREP_OPTIONS"):
        monkeypatch.setenv(name, str(ground.root / "rc"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "touch pwned")
    monkeypatch.setenv("LS_COLORS", "x")
    monkeypatch.setenv("POSIXLY_CORRECT", "1")
    texts = await run(ground, "cat a.txt -n | head -n 1", "which ls | wc -l")
    assert texts == ["Exit code 0.\n     1\tone\n", "Exit code 0.\n1\n"]
    assert not (ground.root / "pwned").exists()


LOOKS = [
    "git status",
    "git status --short && git diff",
    "git diff HEAD~1 -- b.txt",
    "git diff --stat main",
    "git log --oneline -n 5",
    "git log -p -1",
    "git show",
    "git show HEAD~1 --stat",
    "git show HEAD:src/main.py",
    "git blame a.txt",
    "git --no-pager log -3 --format='%h %s'",
    "git ls-files src",
    "git branch -a",
    "git tag",
    "git rev-parse --show-toplevel HEAD",
    "git stash list",
    "cd src && git diff --cached && git show HEAD:./main.py",
]


async def test_git_that_looks_runs_unasked(repository: Bench) -> None:
    before = snapshot(repository.root / ".git")
    texts = await run(repository, *LOOKS)
    assert asked(repository) == []
    assert [text for text in texts if not text.startswith("Exit code 0.")] == []
    assert "-one\n+ONE\n" in texts[1]
    assert "-two\n+TWO\n" in texts[5]
    assert texts[8] == "Exit code 0.\nprint('hello')\n"
    assert snapshot(repository.root / ".git") == before  # the index, too


NOT_LOOKS = [
    "git",
    "git -c core.pager=./tool log",
    "git -C . status",
    "git --git-dir=.git status",
    "git --exec-path=. status",
    "git -p log",
    "git diff --output=pwned",
    "git diff --outp=pwned",
    "git log --output pwned",
    "git diff --ext-diff",
    "git log -p --textconv",
    "git diff --no-index .env a.txt",
    "git diff -Odates",
    "git diff -O dates",
    "git grep --open-files-in-pager=./tool two",
    "git grep -O./tool two",
    "git show --show-signature",
    "git log --show-signature",
    "git status -v",
    "git describe --dirty",
    "git branch new",
    "git branch --contains HEAD new",
    "git branch -D main",
    "git branch -m other",
    "git branch --edit-description",
    "git tag new",
    "git tag -d x",
    "git remote add x y",
    "git stash",
    "git stash show -p --ext-diff",
    "git cat-file --textconv HEAD:a.txt",
    "git cat-file --batch",
    "git blame --contents .env a.txt",
    "git blame --ignore-revs-file dates a.txt",
    "git ls-files -X dates -o",
    "git rev-parse --parseopt",
    "git checkout a.txt",
    "git config --get x",
    "git fetch",
    "git archive HEAD",
    "git bundle create pwned HEAD",
    "git format-patch HEAD~1",
    "git log --stdin",
    "git help log",
    "git unknown",
    "git log ':/first:x'",
    "git log -L1,2:.env",
    "git show :/first:",
    "git diff ../outside.txt",
    "git blame .env",
    "git show HEAD:.env",
    "git show HEAD:keys/.env",
    "git show :0:.env",
    "git cat-file -p HEAD:.env",
    "cd keys && git show HEAD:./.env",
]


@pytest.mark.parametrize("line", NOT_LOOKS)
async def test_other_git_asks(repository: Bench, line: str) -> None:
    (repository.root / "tool").write_text("#!/bin/sh\ntouch pwned\n")
    (repository.root / "tool").chmod(0o755)
    before = snapshot(repository.root)
    (text,) = await run(repository, line)
    assert asked(repository) == [line]
    assert SECRET not in text
    assert snapshot(repository.root) == before


@pytest.fixture
def leaked(repository: Bench) -> Bench:
    """A repository with a commit that holds `.env`, and later ones that do not."""
    root = repository.root
    git(root, "add", "-f", ".env")
    git(root, "commit", "--quiet", "-m", "a mistake")
    git(root, "mv", ".env", "plain")
    git(root, "commit", "--quiet", "-m", "renamed")
    git(root, "rm", "--quiet", "plain")
    git(root, "commit", "--quiet", "-am", "removed")
    return repository


@pytest.mark.parametrize(
    "line",
    [
        "git log -p",
        "git log --patch -n 3",
        "git log -U1 -3",
        "git log -p --all --reverse",
        "git log -p -M",
        "git log -c -p",
        "git log --cc -2",
        "git log -p --diff-filter=R",
        "git log -p --follow -- plain",
        "git show HEAD~2",
        "git show HEAD~1 -M",
        "git show HEAD~1 --format=%s",
        "git show HEAD~2 --stat -p",
        "git show HEAD~3..HEAD",
        "git diff HEAD~3 HEAD~2",
        "git diff HEAD~3..HEAD~2",
        "git diff HEAD~2 HEAD~1 -M",
        "git diff HEAD~2",
        "git diff HEAD~2 .",
        "git show HEAD~2 .",
        "git show --encoding '' HEAD~2",
        "git log -S '' -p",
        "git show --format '' HEAD~2",
        "git show HEAD~2:.env",
        "git cat-file -p HEAD~2:.env",
        "cd src && git log -p",
    ],
)
async def test_git_that_shows_a_protected_file_asks(leaked: Bench, line: str) -> None:
    (text,) = await run(leaked, line)
    assert asked(leaked) == [line]
    assert SECRET not in text


async def test_git_that_shows_only_names_of_protected_files_runs(leaked: Bench) -> None:
    lines = [
        "git log --stat",
        "git log --oneline",
        "git show --stat HEAD~1",
        "git log -p -n 1 HEAD~3",
        "git diff HEAD~1 HEAD -- src",
    ]
    texts = await run(leaked, *lines)
    assert asked(leaked) == []
    assert SECRET not in "".join(texts)


async def test_git_that_shows_an_object_without_a_path_asks(leaked: Bench) -> None:
    blob = git(leaked.root, "rev-parse", "HEAD~2:.env").strip()
    git(leaked.root, "tag", "innocent", blob)
    lines = [
        f"git show {blob}",
        f"git show {blob[:10]}",
        "git show innocent",
        f"git cat-file -p {blob}",
        f"git diff {blob} HEAD:a.txt",
        "git show HEAD^{tree}",
    ]
    texts = await run(leaked, *lines)
    assert asked(leaked) == lines
    assert SECRET not in "".join(texts)


SETTINGS = {
    "diff.external": "touch pwned",
    "diff.x.textconv": "touch pwned; cat",
    "diff.x.command": "touch pwned",
    "filter.x.clean": "touch pwned; cat",
    "filter.x.smudge": "touch pwned; cat",
    "filter.x.process": "touch pwned",
    "core.worktree": "..",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "include.path": "../included",
}


@pytest.mark.parametrize("name", SETTINGS)
async def test_a_repository_that_names_programs_is_asked_about(repository: Bench, name: str) -> None:
    root = repository.root
    (root / "included").write_text('[filter "x"]\n\tclean = touch pwned; cat\n')
    (root / ".gitattributes").write_text("* filter=x diff=x\n")
    (root / "a.txt").write_text("changed\n")
    git(root, "config", name, SETTINGS[name])
    lines = ["git status", "git diff", "git log -p -1", "git show", "git blame a.txt"]
    await run(repository, *lines)
    assert asked(repository) == lines
    assert not (root / "pwned").exists()


QUIET = {
    "core.fsmonitor": "touch pwned",
    "core.pager": "touch pwned",
    "core.editor": "touch pwned",
    "core.sshCommand": "touch pwned",
    "pager.log": "touch pwned",
    "credential.helper": "!touch pwned",
    "log.showSignature": "true",
    "alias.status": "!touch pwned",
    "status.submoduleSummary": "true",
    "diff.submodule": "log",
    "submodule.recurse": "true",
    "diff.relative": "true",
    "format.pretty": "%G?%GG",
}


@pytest.mark.parametrize("name", QUIET)
async def test_what_a_repository_sets_runs_nothing(repository: Bench, name: str) -> None:
    root = repository.root
    git(root, "config", name, QUIET[name])
    hooks = root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in (
        "post-index-change",
        "pre-auto-gc",
        "fsmonitor-watchman",
        "post-checkout",
        "reference-transaction",
    ):
        (hooks / hook).write_text("#!/bin/sh\ntouch pwned\n")
        (hooks / hook).chmod(0o755)
    os.utime(root / "b.txt", (1, 1))  # the index is stale
    texts = await run(repository, "git status", "git diff", "git log -p -1", "git show", "git blame a.txt")
    assert asked(repository) == []
    assert [text for text in texts if not text.startswith("Exit code 0.")] == []
    assert not (root / "pwned").exists()


async def test_a_bare_repository_that_the_model_wrote_counts_for_nothing(ground: Bench) -> None:
    root = ground.root
    lay_out(
        root,
        {
            "HEAD": b"ref: refs/heads/main\n",
            "config": b"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch pwned\n",
            "refs/x": b"",
            "objects/x": b"",
        },
    )
    await run(ground, "git status", "git log", "git diff")
    assert not (root / "pwned").exists()


async def test_a_nested_repository_runs_nothing(repository: Bench) -> None:
    root = repository.root
    nested = root / "nested"
    shutil.copytree(root / ".git", nested / ".git")
    git(nested, "checkout", "--quiet", "-f", "main")
    git(root, "add", "nested")
    git(nested, "config", "core.fsmonitor", "touch pwned; touch ../pwned")
    git(nested, "config", "filter.x.clean", "touch pwned; touch ../pwned; cat")
    (nested / ".gitattributes").write_text("* filter=x\n")
    (nested / "a.txt").write_text("changed\n")
    await run(repository, "git status", "git diff", "git diff HEAD", "git ls-files -m")
    assert not (root / "pwned").exists()
    assert not (nested / "pwned").exists()


async def test_a_repository_whose_top_lies_outside_is_asked_about(ground: Bench) -> None:
    git(ground.root.parent, "init", "--quiet")
    await run(ground, "git status")
    assert asked(ground) == ["git status"]
    assert "outside the workspace" in ground.approver.asked[0].detail


async def test_git_compares_no_files_outside_a_repository(ground: Bench) -> None:
    lines = ["git diff .env a.txt", "git diff -- keys src", "git diff keys/readme hard"]
    os.link(ground.root / ".env", ground.root / "hard")
    git(ground.root / "src", "init", "--quiet")
    lines += ["cd src && git diff main.py ../keys", "cd src && git diff -- deep ../keys"]
    texts = await run(ground, *lines)
    assert asked(ground) == lines
    assert SECRET not in "".join(texts)


async def test_without_a_repository_git_says_so(ground: Bench) -> None:
    (text,) = await run(ground, "git status")
    assert asked(ground) == []
    assert "not a git repository" in text


def rules(*patterns: str, verdict: str = "allow", tool: str = "terminal") -> Terms:
    """The user's rules for parts of commands, or for files."""
    found = read([{"tool": tool, "verdict": verdict, "match": pattern} for pattern in patterns])
    assert isinstance(found, tuple)
    return Terms(rules=found)


async def test_a_rule_for_a_part_holds_in_lines_that_need_no_shell(ground: Bench) -> None:
    ground.terms = rules("touch *")
    lines = ["touch x1", "cat a.txt | head -n 1; touch x2", "cd src && touch x3", "touch 'x 4' || ls"]
    await run(ground, *lines)
    assert asked(ground) == []
    assert {"x1", "x2", "src/x3", "x 4"} <= snapshot(ground.root).keys()


async def test_a_rule_for_a_part_does_not_hold_in_lines_that_need_a_shell(ground: Bench) -> None:
    ground.terms = rules("touch *", "cd *", "export *", "source *", ". *")
    lines = [
        "touch x1 && ls x*",
        "touch x1 | ls *",
        "touch x1; cd src && ls",
        "test -d src && cd src; touch x1",
        "test -d src || cd src && touch x1",
        "cd src | touch x1",
        "! cd src; touch x1",
        "cd - ; touch x1",
        "for x in a; do touch $x; done",
        "touch x1 > x2",
        "touch x1 &",
        "(touch x1)",
        "touch $(ls)",
        "touch x{1,2}",
        "X=1 touch x1",
        "touch *",
        "export X=1",
        "source ./options",
        ". ./options",
        "touch ../outside",
        "cd .. && touch outside",
        "touch .env",
    ]
    before = snapshot(ground.root)
    await run(ground, *lines)
    assert asked(ground) == lines
    assert snapshot(ground.root) == before


async def test_a_yes_to_a_line_is_for_a_shell(ground: Bench) -> None:
    ground.approver.says = ALLOW
    lines = ["X=1; echo $((X+1)) > x1; cat x1", "echo {a,b}"]
    assert await run(ground, *lines) == [
        "Exit code 0.\n2\nFiles that changed while the command was running: x1 (created).",
        "Exit code 0.\na b\n",
    ]


async def test_what_changes_nothing_is_run_from_its_words_after_a_yes_too(ground: Bench) -> None:
    ground.approver.says = ALLOW
    lines = ["cat .env | head -c 4", "cat keys/.*"]
    texts = await run(ground, *lines)
    assert texts[0] == "Exit code 0.\nKEY="
    assert SECRET in texts[1]
    assert asked(ground) == lines


async def test_files_that_appear_before_a_line_runs_are_judged(ground: Bench) -> None:
    """The lines of one answer are judged at once, and run one after another."""
    ground.terms = rules("touch *", "ln *")
    lines = ["touch src/new.py", "ls src/*.py", "ln -s ../keys/.env src/link.py", "cat src/*.py"]
    texts = await run(ground, *lines)
    assert texts[1] == "Exit code 0.\nsrc/main.py\nsrc/new.py\n"
    assert SECRET not in texts[3]


async def test_rules_hold_for_what_a_pattern_stands_for(ground: Bench) -> None:
    ground.terms = rules("cat b.txt", verdict="block")
    texts = await run(ground, "cat b.txt", "cat b*", "cat [b].txt", "'cat' \\b.txt", "cat a.txt")
    assert ["blocked" in text for text in texts] == [True, True, True, True, False]
    assert asked(ground) == []


async def test_rules_for_files_hold_for_commands_that_read_them(ground: Bench) -> None:
    ground.terms = rules("src/**", verdict="block", tool="read")
    texts = await run(
        ground, "cat src/main.py", "cd src && cat main.py", "grep -r x src", "cat */main.py", "cat b.txt"
    )
    assert ["blocked" in text for text in texts] == [True, True, True, True, False]
    ground.terms = rules("b.txt", verdict="ask", tool="read_file")
    await run(ground, "head -n 1 b.txt", "cat a.txt")
    assert asked(ground) == ["head -n 1 b.txt"]


@pytest.mark.parametrize("address", ["https://user:secret@example.org/x", "https://token@example.org/x.git"])
async def test_addresses_with_passwords_are_asked_about(repository: Bench, address: str) -> None:
    git(repository.root, "remote", "add", "plain", "git@example.org:x.git")
    texts = await run(repository, "git remote -v", "git remote")
    assert "git@example.org:x.git" in texts[0]
    git(repository.root, "remote", "add", "origin", address)
    await run(repository, "git remote -v", "git remote --verbose", "git remote")
    assert asked(repository) == ["git remote -v", "git remote --verbose"]
