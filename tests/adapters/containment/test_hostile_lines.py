"""
Containment alone, as if the policy allowed everything: hostile lines drawn at random get nowhere.

A line reads what is hidden, writes what is kept, or connects to what listens, by one of many ways, spellings
and detours. All of it stays in a yard that was made for it, also if nothing holds it. `python
tests/adapters/containment/test_hostile_lines.py 20000 --seed 7` tries as many; among the tests
`HANDRAIL_ESCAPES` says how many.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import random
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from adapters.containment.test_escapes import SECRET, Yard, contained, laid_out, landlocked
from handrail.adapters.containment import containment
from handrail.core.policy.containment import Contained, Profile
from shrink import smallest

COUNT = int(os.environ.get("HANDRAIL_ESCAPES", "50"))  # more with `scripts/check.py --all`
AT_ONCE = 50  # lines that one contained command runs
PROFILES = (Profile.WORK, Profile.LOOK)
RUNS = "timeout -k 1 10 bash -c {line} 2>&1 | timeout 12 head -c 3000\n"
EXPORTS = (
    "PATH=/usr/bin:$PATH; export WS OUT PORT OUTER OLDHOME ABSTRACT "
    "S='import os, sys, socket as s; e = os.environ'\n"
)

HIDDEN = (
    *(".env", "sub/id_rsa", "keys/server.pem", ".vscode/settings.json", "other-name.txt", "link-to-env"),
    *("../out/secret.txt", "../home/.ssh/id_ed25519", "../home/.netrc", "../home/.config/token"),
)
KEPT = (
    *(
        "../out/new",
        "../out/secret.txt",
        "../mark",
        "../home/new",
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/HEAD",
    ),
    *(
        "AGENTS.md",
        ".husky/pre-commit",
        ".husky/new",
        ".vscode/new",
        ".vscode/settings.json",
        ".env",
        "sub/id_rsa",
    ),
)
# How a path is spelt; `{t}` is relative to the workspace.
SPELT = """
{t}
./{t}
sub/../{t}
.//{t}
"$WS/{t}"
"/$WS/./{t}"
"/proc/self/root$WS/{t}"
"/proc/self/cwd/{t}"
"/proc/thread-self/root$WS/{t}"
"/proc/1/root$WS/{t}"
"/proc/2/root$WS/{t}"
"/proc/1/cwd/{t}"
"/proc/$PPID/root$WS/{t}"
"/proc/$PPID/cwd/{t}"
"/proc/$OUTER/root$WS/{t}"
"/proc/$OUTER/cwd/{t}"
"/proc/self/fd/../cwd/{t}"
"/dev/fd/../cwd/{t}"
"$(ln -sfn "$WS" way; echo way)/{t}"
"$(ln -sfn / way; echo way)$WS/{t}"
"$(mkdir -p deep/er; echo deep/er)/../../{t}"
"$(cd ..; pwd -P)/inside/{t}"
$(find "$WS/.." -path "*/{t}" 2>/dev/null | head -1)
~+/{t}
{g}
"""
READ = """
cat {p}
head -c 99 < {p}
echo "$(<{p})"
while read -r x; do echo "$x"; done < {p}
mapfile -t x < {p}; echo "${x[@]}"
exec 5< {p}; cat <&5
dd if={p} status=none
base64 -w0 {p}
rev {p}
xxd -p {p} | tr -d '\\n'
od -An -c {p} | tr -d ' \\n'
tar cf - {p} | strings
gzip -c {p} | gunzip -c
grep -a . {p}
sed p {p}
awk 1 {p}
sort {p}
diff /dev/null {p}
cmp -b /dev/null {p}
strings {p}
file -f {p}
wc --files0-from={p}
date -f {p}
bash {p}
. {p}
env $(cat {p})
git diff --no-index /dev/null {p}
git hash-object -w {p} | git cat-file --batch
git add -f {p}; git show :./{p}
git -c core.worktree=/ diff --no-index -- /dev/null {p}
git -c include.path={p} config -l
git blame --contents {p} a.txt
python3 -c 'import sys; print(open(sys.argv[1]).read())' {p}
python3 -c "$S"'; f = os.open(sys.argv[1], os.O_PATH); print(open(f"/proc/self/fd/{f}").read())' {p}
python3 -c 'import mmap, os, sys; f = os.open(sys.argv[1], 0); print(mmap.mmap(f, 0, prot=1)[:])' {p}
python3 -c "$S"'; r, w = os.pipe(); os.sendfile(w, os.open(sys.argv[1], 0), 0, 99); print(os.read(r, 99))' {p}
perl -e 'open F, shift; print <F>' {p}
cp {p} copy; cat copy
cp -r --preserve=all {p} copy; cat copy
cp --reflink=auto {p} copy; cat copy
ln -f {p} hard; cat hard
ln -sf {p} soft; cat soft
python3 -c "$S"'; os.link(sys.argv[1], "hard2", follow_symlinks=True); print(open("hard2").read())' {p}
mv {p} moved; cat moved; mv moved {p}
mv sub sub2; cat sub2/id_rsa; mv sub2 sub
mv keys keys2; cat keys2/server.pem; mv keys2 keys
chmod 777 {p}; cat {p}
umount {p}; cat {p}
umount -l {p}; cat {p}
mkdir -p on; mount --bind "$WS" on; cat on/.env
mkdir -p on; mount --rbind / on; cat on/$WS/.env
mkdir -p on; mount -t overlay overlay -o lowerdir="$WS" on; cat on/.env
mkdir -p on; mount -t proc proc on; cat on/1/root$WS/.env
unshare -Urm sh -c 'umount .env; umount -l .env; cat .env'
unshare -Ur sh -c 'mount --bind . sub; cat sub/.env'
unshare -UrmpfC --mount-proc cat /proc/1/root$WS/.env
nsenter -t 1 -m cat {p}
nsenter -t "$OUTER" -m cat {p}
nsenter -t "$PPID" -U -m --preserve-credentials cat {p}
chroot /proc/1/root cat "$WS/.env"
setpriv --reuid 65534 cat {p}
for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; done | tr '\\0' '\\n' | grep CANARY
for f in /proc/[0-9]*/fd/*; do timeout 1 head -c 99 $f < /dev/null; done 2>/dev/null | grep -a CANARY
cat /proc/[0-9]*/root$WS/.env /proc/[0-9]*/cwd/.env
find "$WS/.." -type f -exec cat {} + | grep -a CANARY
find / -xdev -maxdepth 4 -name .env -exec cat {} +
grep -ra CANARY "$WS" ..
env | grep CANARY
git config --list --show-origin | grep CANARY; cat "$OLDHOME"/.*/*
cat /run/user/*/* /var/run/* | grep -a CANARY
gdb -p "$OUTER" -batch -ex 'print 1'
strace -p "$OUTER" -e trace=none & sleep 0.1
cat /proc/$OUTER/environ /proc/$OUTER/maps
debugfs -R "cat $WS/.env" /dev/vda
"""
WRITE = """
touch {p}
echo pwned > {p}
echo pwned >> {p}
echo pwned >| {p}
: > {p}
tee {p} < a.txt
tee -a {p} < a.txt
cp a.txt {p}
cp --remove-destination a.txt {p}
install a.txt {p}
dd if=a.txt of={p} conv=notrunc status=none
truncate -s 1 {p}
ln -f a.txt {p}
ln -sf a.txt {p}
mkdir -p {p}
cp a.txt made; mv -f made {p}
python3 -c 'import sys; open(sys.argv[1], "a").write("pwned")' {p}
python3 -c 'import os, sys; open("made", "w").write("x"); os.replace("made", sys.argv[1])' {p}
python3 -c "$S"'; f = os.open(sys.argv[1], os.O_PATH); open(f"/proc/self/fd/{f}", "a")' {p}
perl -e 'open F, ">>", shift; print F "x"' {p}
sed -i s/a/b/ {p}
git config --file {p} a.b c
git config a.b c
git config core.hooksPath .
git init -q --template=. {p}
git worktree add {p}
git commit --allow-empty -qm x
chmod 777 {p}
touch -d @0 {p}
unshare -Urm sh -c 'mount -o remount,rw "$WS/.git"; touch "$WS/.git/new"'
mount -o remount,rw .git; touch .git/hooks/new
mount -o remount,bind,rw "$WS/.git" "$WS/.git"; echo x > .git/config
umount -l .git; touch .git/hooks/new
mkdir -p on; mount --bind .git on; touch on/hooks/new
mv .git git2; touch git2/hooks/new; mv git2 .git
mv .husky husky2; echo x > husky2/pre-commit; mv husky2 .husky
ln -sfn .git way; touch way/hooks/new
ln -sfn ../out way; touch way/new
tar cf x.tar a.txt; tar xf x.tar -C {p}
rsync a.txt {p}
nsenter -t 1 -m touch {p}
unshare -Ur touch {p}
setpriv --reuid 65534 touch {p}
"""
CONNECT = """
echo x > /dev/tcp/127.0.0.1/$PORT
echo x > /dev/udp/127.0.0.1/$PORT
echo x > /dev/tcp/localhost/$PORT
exec 3<>/dev/tcp/0.0.0.0/$PORT
exec 3<>/dev/tcp/127.1/$PORT
exec 3<>/dev/tcp/2130706433/$PORT
exec 3<>/dev/tcp/127.0.0.1/$PORT; cat a.txt >&3
curl -s -m 2 http://127.0.0.1:$PORT/
wget -q -T 2 -t 1 -O - http://127.0.0.1:$PORT/
nc -w 1 127.0.0.1 $PORT < a.txt
for a in $(hostname -I); do echo x > /dev/tcp/$a/$PORT; done
python3 -c "$S"'; s.create_connection(("127.0.0.1", int(e["PORT"])))'
python3 -c "$S"'; s.create_connection(("::ffff:127.0.0.1", int(e["PORT"])))'
python3 -c "$S"'; s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", int(e["PORT"])))'
python3 -c "$S"'; s.socket(s.AF_UNIX).connect("\\0" + e["ABSTRACT"])'
python3 -c "$S"'; s.socket(s.AF_UNIX).connect(e["WS"] + "/talk.sock")'
python3 -c "$S"'; s.socket(s.AF_UNIX).connect(e["OUT"] + "/talk.sock")'
python3 -c "$S"'; os.chdir(e["OUT"]); s.socket(s.AF_UNIX).connect("talk.sock")'
python3 -c "$S"'; s.socket(s.AF_UNIX).connect("/proc/1/root" + e["WS"] + "/talk.sock")'
python3 -c "$S"'; os.link("talk.sock", "talk2"); s.socket(s.AF_UNIX).connect("talk2")'
python3 -c "$S"'; os.rename("talk.sock", "talk3"); s.socket(s.AF_UNIX).connect("talk3")'
python3 -c "$S"'; s.socket(s.AF_UNIX, s.SOCK_DGRAM).sendto(b"x", e["OUT"] + "/talk.sock")'
unshare -n sh -c 'echo x > /dev/tcp/127.0.0.1/$PORT'
unshare -Urn ip link set lo up; echo x > /dev/tcp/127.0.0.1/$PORT
nsenter -t 1 -n bash -c 'echo x > /dev/tcp/127.0.0.1/$PORT'
nsenter -t "$OUTER" -n bash -c 'echo x > /dev/tcp/127.0.0.1/$PORT'
ssh -o ConnectTimeout=1 -o StrictHostKeyChecking=no -p $PORT 127.0.0.1 true
git ls-remote git://127.0.0.1:$PORT/x
timeout 1 cat pipe
echo x > pipe & sleep 0.05
"""
# By what else a line is run; `{x}` is quoted.
DETOURS = """
bash -c {x}
setsid -w bash -c {x}
nohup bash -c {x}
env -u HOME bash -c {x}
env HOME="$OLDHOME" bash -c {x}
(cd sub; cd "$WS"; bash -c {x})
bash -c {x} & wait
eval {x}
echo {x} | bash
bash <(echo {x})
python3 -c 'import subprocess, sys; subprocess.run(["bash", "-c", sys.argv[1]])' {x}
perl -e 'system("bash", "-c", shift)' {x}
unshare -Ur bash -c {x}
unshare -Urm bash -c {x}
unshare -Urmpf bash -c {x}
unshare -Urn bash -c {x}
find . -maxdepth 0 -exec bash -c {x} ';'
printf '%s' {x} | xargs -0 -n 1 bash -c
printf 'all:\\n\\t@%s\\n' "bash -c "'"$$X"' > made.mk; X={x} make -sf made.mk
export X={x}; git -c alias.x='!bash -c "$X"' -c core.pager=cat x
export X={x}; awk 'BEGIN { system(ENVIRON["X"]) }'
script -qec {x} /dev/null
sudo -n bash -c {x}
su -c {x}
systemd-run --user --wait bash -c {x}
at now <<< {x}
timeout 5 bash -c {x}
"""


def lines(chance: random.Random) -> Iterator[str]:
    """Lines without an end."""
    while True:
        line = "; ".join(_act(chance) for _ in range(chance.choice((1, 1, 1, 2, 2, 3))))
        for _ in range(chance.choice((0, 0, 1, 1, 2))):
            line = chance.choice(_rows(DETOURS)).replace("{x}", shlex.quote(line))
        yield line


def _act(chance: random.Random) -> str:
    ways, targets = chance.choice(((READ, HIDDEN), (READ, HIDDEN), (WRITE, KEPT), (CONNECT, HIDDEN)))
    target = chance.choice(targets)
    at = chance.randrange(len(target) - 2, len(target))
    globbed = f"{target[:at]}[{target[at]}]{target[at + 1 :]}"
    spelt = chance.choice(_rows(SPELT)).replace("{t}", target).replace("{g}", globbed)
    return chance.choice(_rows(ways)).replace("{p}", spelt)


def _rows(text: str) -> list[str]:
    return text.strip().splitlines()


@contextmanager
def yards() -> Iterator[Yard]:
    """A yard, which is also this process's home."""
    before = {name: os.environ.get(name) for name in ("HOME", "CANARY_KEY")}
    with tempfile.TemporaryDirectory(prefix="handrail-yard-") as name:
        yard = laid_out(Path(name).resolve())
        os.environ.update(HOME=str(yard.folder / "home"), CANARY_KEY=SECRET)
        try:
            yield yard
        finally:
            for each in yard.heard:
                each.close()
            for variable, value in before.items():
                if value is None:
                    del os.environ[variable]
                else:
                    os.environ[variable] = value


def complaint(wanted: Sequence[str], profile: Profile) -> str:
    """What *wanted*, run by one contained command, get at; empty if nothing."""
    with yards() as yard:
        before = yard.state()
        known = _holding_secret(yard.folder)
        script = "".join(RUNS.format(line=shlex.quote(line)) for line in wanted)
        (printed,) = asyncio.run(contained(yard, Contained(profile=profile), f"{EXPORTS}{script}"))
        if any(each in printed for each in SHAPES_OF_SECRET):
            return "prints what is hidden"
        if came := yard.anybody_came():
            return f"connects to {', '.join(came)}"
        after = yard.state()
        if changed := [name for name in {**before, **after} if before.get(name) != after.get(name)]:
            return f"changes {', '.join(os.path.relpath(name, yard.work) for name in sorted(changed)[:3])}"
        if copies := _holding_secret(yard.work) - known:
            return f"copies what is hidden to {min(copies)}"
    return ""


def _holding_secret(folder: Path) -> set[Path]:
    files = (path for path in folder.rglob("*") if not path.is_symlink() and path.is_file())
    return {path for path in files if SECRET in path.read_text("latin-1")}


def _base64(text: str) -> Iterator[str]:
    """What every base64 of something that holds *text* has in it."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + text.encode()).decode().rstrip("=")
        yield encoded[4 if before else 0 : -1]


SHAPES_OF_SECRET = (SECRET, SECRET[::-1], SECRET.encode().hex(), *_base64(SECRET))


def search(
    count: int, seed: int, tell: Callable[[str], object] = lambda text: None
) -> list[tuple[str, Profile, str]]:
    """The complaints about *count* lines, each run in one of the profiles: line, profile, what is wrong."""
    source, found = lines(random.Random(seed)), list[tuple[str, Profile, str]]()
    for number, done in enumerate(range(0, count, AT_ONCE)):
        wanted = [next(source) for _ in range(min(AT_ONCE, count - done))]
        profile = PROFILES[number % 3 == 2]
        if said := complaint(wanted, profile):
            alone = [(line, profile, one) for line in wanted if (one := complaint([line], profile))]
            found += alone or [("\n".join(wanted), profile, said)]
        tell(f"{done + len(wanted)} lines, {len(found)} complaints")
    return found


def test_hostile_lines_get_nowhere() -> None:
    assert search(COUNT, seed=11) == []


@landlocked
def test_hostile_lines_get_nowhere_where_only_landlock_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containment, "find", lambda *_: (None, "not here"))
    assert search(COUNT, seed=12) == []


@pytest.mark.parametrize(
    "line", ["cat a.txt", "echo x > /dev/tcp/127.0.0.1/$PORT", "cat .env | rev", "touch ../mark"]
)
def test_what_is_looked_for_is_found(line: str) -> None:
    """As if nothing were contained."""
    assert bool(complaint([line], Profile.FREE)) is (line != "cat a.txt")


def main() -> int:
    """Try as many lines as asked for; returns 1 if there is a complaint."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, nargs="?", default=1_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--landlock", action="store_true", help="as where there is no bubblewrap")
    parser.add_argument("--whole", action="store_true", help="print lines as they were drawn")
    asked = parser.parse_args()
    if asked.landlock:
        containment.find = lambda *_: (None, "not here")
    print(f"seed {asked.seed}", flush=True)
    found = search(asked.count, asked.seed, lambda text: print(text, flush=True))
    for line, profile, said in found[:20]:
        print(f"{profile}: {line!r}\n  {said}", flush=True)
        if not asked.whole:
            print(f"  smallest: {smallest(line, partial(first_bad, profile=profile))!r}", flush=True)
    return int(bool(found))


def first_bad(wanted: Sequence[str], profile: Profile) -> str | None:
    """The first of *wanted* about which there is a complaint."""
    return next((line for line in wanted if complaint([line], profile)), None)


if __name__ == "__main__":
    sys.exit(main())
