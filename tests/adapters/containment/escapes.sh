# Each line tries to say the secret, or to leave a mark that is looked for afterwards. `$WS` is the workspace,
# `$OUT` a folder beside it, `$PORT` where a server of this machine listens, `$OUTER` who runs this.
cat .env
cat ./.env ../inside/.env "$WS/.env" "$WS"/.e*
cat sub/id_rsa keys/server.pem
cat other-name.txt
cat link-to-env
cat .vscode/settings.json .github/workflows/ci.yml
cp .env copy; cat copy
ln .env hard; cat hard
ln -s .env soft; cat soft
mv .env moved; cat moved
mv sub sub2; cat sub2/id_rsa; mv sub2 sub
tar c . | strings
grep -r CANARY .
find / -name .env -exec cat {} + 2>/dev/null
cat /proc/self/root$WS/.env
cat /proc/1/root$WS/.env /proc/2/root$WS/.env
cat /proc/self/cwd/.env
for p in /proc/[0-9]*; do cat $p/environ; done | tr '\0' '\n' | grep CANARY
cat $OUT/secret.txt
cat "$OLDHOME/.ssh/id_ed25519" "$OLDHOME/.aws/credentials" "$OLDHOME/.netrc"
cat ~/.ssh/id_ed25519 ~/.config/token
echo $CANARY_KEY; env | grep CANARY
cat /etc/shadow /etc/gshadow
chmod 644 .env; cat .env
chmod 777 sub; cat sub/id_rsa
umount .env; cat .env
umount -l .env; cat .env
mount -o remount,rw,bind .env; cat .env
mount --bind /dev/null x; mount -t tmpfs t sub; mount -t proc p sub
unshare -rm sh -c 'umount .env; cat .env'
unshare -Ur cat .env
unshare -rmp --fork cat .env
nsenter -t 1 -m cat .env
setpriv --reuid 0 --clear-groups cat .env
su -c 'cat .env'; sudo -n cat .env
chroot / cat .env
dd if=.env; od -c .env; xxd .env; base64 .env; tail -c +1 .env; sed '' .env; python3 -c 'print(open(".env").read())'
python3 -c 'import ctypes; l=ctypes.CDLL(None); l.umount2(b".env",2); print(open(".env").read())'
python3 -c 'import os; fd=os.open(".", os.O_PATH); print(os.open(".env", os.O_RDONLY, dir_fd=fd))' | grep '^[0-9]' && cat .env
git show HEAD:.env; git diff --no-index /dev/null .env
git -c core.pager='cat .env' log -p
git config --file .env -l
echo mark > $OUT/mark
echo mark > ../mark
echo mark > /proc/self/root$OUT/mark
cp a.txt $OUT/mark
ln -s $OUT out; echo mark > out/mark
ln -s $OUT/secret.txt linked; echo changed >> linked
rm -rf $OUT; mv $OUT gone
rm -rf .git
echo 'echo mark' > .git/hooks/post-commit
printf '[core]\n fsmonitor = touch mark\n' >> .git/config
mv .git .git2; mkdir .git
git config core.hooksPath evil
echo mark >> AGENTS.md; mv AGENTS.md x; rm AGENTS.md; sed -i s/rules/mark/ AGENTS.md
mv .husky husky2; echo mark > .husky/pre-commit
echo mark > .vscode/settings.json
python3 -c "import socket; s=socket.create_connection(('127.0.0.1', $PORT), 2); s.send(b'mark')"
bash -c "echo mark > /dev/tcp/127.0.0.1/$PORT"
python3 -c "import socket; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'mark', ('127.0.0.1', $PORT))"
python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('$WS/talk.sock'); s.send(b'mark')"
python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('\0$ABSTRACT'); s.send(b'mark')"
python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('$OUT/talk.sock'); s.send(b'mark')"
python3 -c "import socket; s=socket.socket(socket.AF_UNIX); s.connect('/var/run/docker.sock'); s.send(b'mark')"
timeout 1 sh -c 'echo mark > pipe'
getent hosts example.com && echo CANARY-7f3a
kill -9 $OUTER; kill -TERM -1; kill -9 -- -$OUTER
cat /proc/$OUTER/environ /proc/$OUTER/maps
python3 -c "import ctypes; l=ctypes.CDLL(None, use_errno=True); print(l.ptrace(16, $OUTER, 0, 0) == 0 and 'CANARY-7f3a')"
mknod disk b 254 0; cat disk | head -c 100000 | strings | grep CANARY
cat /dev/vda /dev/sda /dev/mem /dev/kmem /dev/kmsg | head -c 100000 | strings | grep CANARY
echo mark > /proc/sys/kernel/core_pattern; echo mark > /proc/sysrq-trigger
echo mark > /sys/kernel/uevent_helper
ls -R /root /home /tmp /run /var/run /mnt /media /srv 2>/dev/null | grep -i canary-name
