# More lines, for commands that may write: what is closed stays as it is, by whatever name and call.
# `$STATE` is the folder of the server's state. Each line is harmless where nothing holds it.
echo mark > $OUT/new; mkdir $OUT/new; touch $OUT/secret.txt; rm $OUT/canary-name
ln -s $OUT d; mkdir d/mark; echo mark > d/new; rm d/canary-name
ln -s $OUT/secret.txt l; truncate -s 0 l; echo mark >> l
ln -s .env l2; echo mark > l2; cat l2; ln -s .git/hooks h; echo mark > h/pre-push
ln .env h1; cat h1; echo mark > h1; ln AGENTS.md h2; echo mark >> h2; ln .git/config h3; echo mark >> h3
python3 -c 'import os; f=os.open("AGENTS.md",0); os.link(f"/proc/self/fd/{f}","h4"); open("h4","a").write("mark")'
mv .husky b; mv sub b; mv .vscode b; cat b/id_rsa b/settings.json; mv .github gh; cat gh/workflows/ci.yml
python3 -c 'import os; os.rename(".git","g")'; python3 -c 'import os; os.rename("sub/id_rsa","g"); print(open("g").read())'
python3 -c 'import ctypes; ctypes.CDLL(None).syscall(316,-100,b"a.txt",-100,b"AGENTS.md",2)'; cp a.txt AGENTS.md
echo mark > n; mv -f n AGENTS.md; echo mark > n; mv -f n .git/config; cp n .git/hooks/pre-commit; cp -f n .env
truncate -s 0 AGENTS.md .env .git/config other-name.txt; : > .husky/pre-commit; : > .git/HEAD
python3 -c 'import os; os.truncate(".git/HEAD",0)'; python3 -c 'import os; os.truncate("/proc/self/cwd/AGENTS.md",0)'
chmod 777 .env AGENTS.md .git/config .git $OUT/secret.txt sub/id_rsa other-name.txt
python3 -c 'import os; os.fchmod(os.open("AGENTS.md",0),0o777)'; python3 -c 'import os; os.fchmod(os.open("/etc/passwd",0),0o644)' && echo CANARY-7f3a
python3 -c 'import os; f=os.open("AGENTS.md",os.O_PATH); os.chmod(f"/proc/self/fd/{f}",0o777)'
touch -d 2001-01-01 .env AGENTS.md .git/HEAD $OUT/secret.txt; touch -r a.txt .husky/pre-commit
python3 -c 'import os; os.utime(os.open("AGENTS.md",0),(1,1))'; python3 -c 'import os; os.utime(".env",(1,1))'
python3 -c 'import os; os.chown("AGENTS.md",12345,12345)'; chown 12345 .env .git/HEAD; chgrp 12345 AGENTS.md
python3 -c 'import os; os.setxattr("AGENTS.md","user.mark",b"1")'; setfattr -n user.mark -v 1 .git/HEAD
python3 -c 'import os,shutil; f=os.memfd_create("m"); os.write(f,open(shutil.which("cat"),"rb").read()); os.execv(f"/proc/self/fd/{f}",["cat",".env"])'
python3 -c 'import ctypes; l=ctypes.CDLL(None,use_errno=True); print(l.syscall(425,8,ctypes.create_string_buffer(120)) >= 0 and "CANARY-7f3a")'
mkfifo .git/pipe; mknod .git/null c 1 3; mkdir .git/hooks/x; rmdir .git/refs/tags; rm -rf .git/objects; rm .git/HEAD
ln -s /bin/true .git/hooks/post-checkout; ln -sfn /bin/true .git/config; cd .git && rm HEAD config && echo mark > HEAD
python3 -c 'import os; d=os.open(".git",os.O_DIRECTORY); os.open("hooks/new",os.O_CREAT|os.O_WRONLY,dir_fd=d)'
python3 -c 'import os; f=os.open(".git/hooks",os.O_TMPFILE|os.O_RDWR); os.link(f"/proc/self/fd/{f}",".git/hooks/new")'
python3 -c 'import os; f=os.open(".",os.O_TMPFILE|os.O_RDWR); os.link(f"/proc/self/fd/{f}",".git/hooks/new",follow_symlinks=True)'
python3 -c 'import ctypes; ctypes.CDLL(None).syscall(437,-100,b".env",ctypes.create_string_buffer(bytes([65,2]+[0]*22)),24)'
dd if=a.txt of=AGENTS.md conv=notrunc; dd if=/dev/zero of=.git/HEAD bs=1 count=1 conv=notrunc; fallocate -p -l 1 AGENTS.md; cp --reflink=always a.txt AGENTS.md
mv $WS $WS.old; mv ../inside ../x; rmdir ..; mv . x; rm -rf ../out ../home
cp a.txt sub/id_rsa; cp a.txt keys/server.pem; sed -i s/C/mark/ .env .husky/pre-commit; tee .env AGENTS.md < a.txt
. ./.env; bash .env; ./.env; python3 .env; python3 -c 'import runpy; runpy.run_path(".env")'; exec .env
for n in 3 4 5 6 7 8 9 10 11 12; do timeout 1 cat <&$n; echo mark >&$n; done
find $STATE -type f -exec cat {} + ; find $STATE -type f -exec sh -c 'echo mark >> "$1"' _ {} ';'; touch $STATE/mark
echo mark > /dev/shm/handrail-mark; echo mark > /tmp/handrail-mark; echo mark > /var/tmp/handrail-mark; echo mark > ~/handrail-mark
python3 -c "import ctypes; l=ctypes.CDLL(None); print(any(l.ptrace(16,p,0,0)==0 for p in ($PPID,$OUTER)) and 'CANARY-7f3a')"
kill -9 $PPID; kill -STOP $PPID; cat .env; cat /proc/$PPID/environ; cat /proc/$PPID/cwd/.env /proc/$PPID/root$WS/.env
python3 -c "import os; os.open('/proc/$PPID/mem',os.O_RDWR); print('CANARY-7f3a')"
python3 -c "import ctypes; l=ctypes.CDLL(None); p=l.syscall(434,$OUTER,0); print(any(l.syscall(438,p,n,0)>=0 for n in range(20)) and 'CANARY-7f3a')"
python3 -c "import resource; resource.prlimit($OUTER,resource.RLIMIT_CORE,resource.prlimit($OUTER,resource.RLIMIT_CORE)); print('CANARY-7f3a')"
python3 -c "import os; os.setpriority(os.PRIO_PROCESS,$OUTER,os.getpriority(os.PRIO_PROCESS,$OUTER)); print('CANARY-7f3a')"
python3 -c "import os; os.sched_setaffinity($OUTER,os.sched_getaffinity($OUTER)); print('CANARY-7f3a')"
python3 -c "import fcntl,os; fcntl.fcntl(os.pipe()[0],fcntl.F_SETOWN,$OUTER); print('CANARY-7f3a')"
python3 -c "import os,signal; os.kill($OUTER,0); print('CANARY-7f3a')"; kill -0 $OUTER && echo CANARY-7f3a
python3 -c "import socket; s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); s.sendto(b'mark','$WS/talk.sock')"
python3 -c "import socket; s=socket.socket(socket.AF_INET6); s.connect(('::1',$PORT)); s.send(b'mark')"; echo mark > /dev/udp/127.0.0.1/$PORT
python3 -c "import ctypes; l=ctypes.CDLL(None); print((l.shmat($SHARED,None,0)!=-1 or l.shmctl($SHARED,0,None)==0) and 'CANARY-7f3a')"
bwrap --ro-bind / / --dev /dev --proc /proc cat .env; unshare -Umr cat .env; python3 -c 'import os; os.unshare(0x10000000); print(open(".env").read())'
python3 -c 'import os; os.chroot("."); print(open("/.env").read())'; python3 -c 'import os; os.chdir("/proc/self/root"); print(open(os.environ["OLDPWD"]+"/.env").read())'
git commit --allow-empty -qm mark; git tag mark; git config a.b mark; git add -A; git stash; git gc -q; git update-ref refs/heads/mark HEAD
cp -a .git copied; cp -a .husky other; rm -rf .husky .vscode .github sub keys; git worktree add -q w; git init -q .git/x
(cd sub && cat id_rsa; cat ../.env; cat < ../.env; mapfile -t x < ../.env; echo "${x[@]}")
tar cf - .env sub | tar tvf - ; tar xf /dev/null; zip -q z .env; python3 -c 'import shutil; shutil.copytree("sub","sub3")'; cat sub3/id_rsa
python3 -c 'import mmap,os; f=os.open("AGENTS.md",os.O_RDWR); mmap.mmap(f,0)[0:4]=b"mark"'; perl -e 'open F, "+<AGENTS.md"; print F "mark"'
