# What needs the network, a tool chain or more time than the suite has. Appended to the script of the suite.
try git-clone-file git 'git clone -q "file://$PWD" by-protocol && git -C by-protocol fsck --strict && git -C by-protocol log --oneline | grep -q .'
try git-worktree-repair git 'git worktree add -q far -b far && git worktree list | grep -q far && git worktree lock far && git worktree unlock far && git worktree move far near && git -C near status --porcelain && git worktree remove near && git worktree prune'
try git-submodule git 'git init -q sub.src && git -C sub.src commit -q --allow-empty -m one && git -c protocol.file.allow=always submodule add -q ./sub.src sub && git -C sub log -1 --format=%s | grep -q one && git rm -qf --cached sub && rm -rf sub sub.src .git/modules && git checkout -q HEAD -- . ; rm -f .gitmodules'
try git-bisect git 'for n in 1 2 3 4 5 6 7 8; do echo $n > n && git add n && git commit -qm $n; done && git bisect start HEAD HEAD~7 && git bisect run sh -c "test \$(cat n) -lt 5" && git bisect reset'
try git-repack git 'git repack -adq && git pack-refs --all && git reflog expire --expire=now --all && git gc -q --prune=now && git fsck --full --strict'
try git-ten-thousand git 'mkdir many && (cd many && seq 10000 | split -l 1 -a 4 -) && git add many && git commit -qm many && test -z "$(git status --porcelain many)" && git rm -rqf many && git commit -qm none'
try git-archive git 'git archive --format=tar HEAD | tar t > /dev/null'
try npm-registry npm 'mkdir reg && cd reg && npm init -y > /dev/null && npm install --no-audit --no-fund --loglevel=error is-odd semver && node -e "if (!require(\"is-odd\")(3)) process.exit(1)" && npm ls > /dev/null && npm uninstall --no-audit --no-fund is-odd && npm ci --no-audit --no-fund --loglevel=error'
try npm-bin npm 'cd reg && ./node_modules/.bin/semver 1.2.3 -r ">=1" && npx --no-install semver 1.0.0'
try pip "$python" '"$python" -m venv pv && pv/bin/pip install -q --disable-pip-version-check six idna && pv/bin/python -c "import six, idna" && pv/bin/pip uninstall -qy six'
try pip-native "$python" '"$python" -m venv nv && nv/bin/pip install -q --disable-pip-version-check markupsafe && nv/bin/python -c "import markupsafe; markupsafe.escape(1)"'
try pip-editable "$python" 'mkdir ed && cd ed && printf "[project]\nname = \"ed\"\nversion = \"1\"\n" > pyproject.toml && echo "x = 1" > ed.py && ../pv/bin/pip install -q --disable-pip-version-check -e . && cd / && "$OLDPWD/../pv/bin/python" -c "import ed; assert ed.x == 1"'
try cargo-ours cargo 'cd ours && cargo build -q --offline --locked -p handfast-ledger && cargo test -q --offline --locked -p handfast-ledger --lib'
try cargo-registry cargo 'mkdir -p dep/src && cd dep && printf "[package]\nname=\"dep\"\nversion=\"0.1.0\"\nedition=\"2021\"\n[workspace]\n[dependencies]\nfastrand-contrib=\"0.1\"\n" > Cargo.toml && echo "fn main() {}" > src/main.rs && cargo build -q'
try sqlite-cli sqlite3 'sqlite3 w.db "pragma journal_mode=wal; create table t(a); insert into t values(1);" && for n in 1 2 3 4; do (for m in 1 2 3 4 5; do sqlite3 -cmd ".timeout 20000" w.db "insert into t values($n);"; done) & done; wait; test "$(sqlite3 w.db "select count(*) from t")" = 21 && sqlite3 w.db "pragma integrity_check" | grep -qx ok && sqlite3 w.db "pragma wal_checkpoint(truncate); vacuum; pragma journal_mode=delete;"'
try make-tree make 'mkdir mt && cd mt && for n in $(seq 60); do echo "int f$n(void){return $n;}" > f$n.c; done && printf "O=\$(patsubst %%.c,%%.o,\$(wildcard *.c))\nlib.a: \$(O)\n\tar rcs \$@ \$^\n%%.o: %%.c\n\tcc -c -o \$@ \$<\n" > Makefile && make -s -j4 && test "$(ar t lib.a | wc -l)" = 60 && make -q && touch f1.c && ! make -q'
try tar-all tar 'mkdir ta && cd ta && mkfifo pipe && ln -s nowhere dangling && echo a > "a b" && ln "a b" c && chmod 751 c && mkdir -m 700 d && touch -d 2001-02-03T04:05:06.789 d/old && cd .. && tar cf ta.tar ta && mkdir tx && tar xpf ta.tar -C tx && tar df ta.tar -C tx && tar czf ta.tgz ta && tar tzf ta.tgz > /dev/null'
try rsync-all rsync 'rsync -aHX ta/ ra && test -z "$(rsync -aHXin ta/ ra)" && echo more >> ta/c && rsync -aHX --inplace ta/ ra && cmp ta/c ra/c && rsync -aH --delete --exclude=pipe ta/ ra && rsync -a --partial --append-verify ta/c ra/c'
try cp-sparse cp 'truncate -s 20M sp && printf x | dd of=sp bs=1 seek=10M conv=notrunc status=none && cp --sparse=always --reflink=auto sp sp2 && cmp sp sp2 && test "$(du -k sp2 | cut -f1)" -lt 2000'
try xattr "$python" '"$python" -c "
import os
open(\"xa\", \"w\").close(); os.setxattr(\"xa\", \"user.one\", b\"1\"); assert os.getxattr(\"xa\", \"user.one\") == b\"1\"
assert os.listxattr(\"xa\") == [\"user.one\"]; os.removexattr(\"xa\", \"user.one\"); assert os.listxattr(\"xa\") == []"'
try fifo mkfifo 'mkfifo ff && (echo through > ff &) && test "$(cat ff)" = through'
try unix-socket "$python" '"$python" -c "
import socket, os
s = socket.socket(socket.AF_UNIX); s.bind(\"so\"); s.listen(1)
c = socket.socket(socket.AF_UNIX); c.connect(\"so\"); a, _ = s.accept(); c.send(b\"x\"); assert a.recv(1) == b\"x\"; os.unlink(\"so\")"'
try o-tmpfile "$python" '"$python" -c "
import os
f = os.open(\".\", os.O_TMPFILE | os.O_RDWR, 0o600); os.write(f, b\"x\")
os.link(f\"/proc/self/fd/{f}\", \"tf\", follow_symlinks=True); assert open(\"tf\").read() == \"x\""'
try unlinked "$python" '"$python" -c "
import os
f = open(\"ul\", \"w+\"); os.unlink(\"ul\"); f.write(\"x\"); f.flush(); os.fchmod(f.fileno(), 0o640); os.utime(f.fileno(), (1, 2))
s = os.fstat(f.fileno()); assert (s.st_mode & 0o777, s.st_mtime, s.st_nlink, s.st_size) == (0o640, 2, 0, 1), s"'
try nano-pattern sh 'echo one > nn && cp -p nn nn~ && echo two > nn && chmod 600 nn~ && touch -r nn nn~ && ! cmp -s nn nn~ && grep -q two nn && rm nn~'
try vim-backup vim 'echo a > vb && vim -es -u NONE -c "set backup backupskip= backupcopy=no" -c "%s/a/b/" -c wq vb < /dev/null; vim -es -u NONE -c "set backup backupskip= backupcopy=yes undofile" -c "%s/b/c/" -c wq vb < /dev/null; grep -q c vb && ls vb~ .vb.un~ > /dev/null'
try flock flock 'flock lk sh -c "flock -n lk true && exit 1 || exit 0" && flock lk true'
try find-delete find 'mkdir -p fd/a/b/c fd/d && touch fd/a/x fd/a/b/y fd/d/z && find fd -delete && test ! -e fd'
try deep sh 'd=deep; for n in $(seq 60); do d=$d/dddddddddd; done; mkdir -p $d && echo x > $d/f && test "$(find deep -type f | wc -l)" = 1 && rm -r deep'
try big-dir sh 'mkdir bd && (cd bd && seq 20000 | xargs touch) && test "$(ls -U bd | wc -l)" = 20000 && rm -r bd'
try shebang sh 'printf "#!/bin/sh\nexit 7\n" > sb && chmod +x sb && { ./sb; test $? = 7; } && chmod -x sb && ! ./sb 2> /dev/null'
try bytes "$python" '"$python" -c "
import os
n = bytes(range(1, 256)).replace(b\"/\", b\"\")[:200]; open(n, \"w\").close(); assert n in os.listdir(b\".\"); os.unlink(n)"'
