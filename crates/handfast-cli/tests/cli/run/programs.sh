# Unmodified programs at their usual work. Each says `ok NAME`, `failed NAME` with the reason, or
# `absent NAME` where this machine does not have the program.
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
try() { # name, program, commands
    name=$1 program=$2
    command -v "$program" > /dev/null 2>&1 || { echo "absent $name"; return; }
    if said=$( (set -e; eval "$3") 2>&1 ); then echo "ok $name"; else
        echo "failed $name: $(echo "$said" | tail -3 | tr '\n' ' ')"
    fi
}
python=python3
/usr/bin/python3 -c 'import ensurepip' 2> /dev/null && python=/usr/bin/python3

try git-init git 'echo .env > .gitignore && git symbolic-ref HEAD refs/heads/main && git add -A && git commit -qm first'
try git-clone git 'git clone -q . clone && git -C clone fsck --strict && test -z "$(git -C clone status --porcelain)"'
try git-worktree git 'git worktree add -q tree -b other && test -z "$(git -C tree status --porcelain)" && git worktree remove tree'
try git-switch git 'git switch -q -c branch && echo x > a.txt && git commit -qam x && git switch -q main && grep -q base a.txt'
try git-gc git 'git gc -q && git fsck --strict'
try git-rebase git 'git switch -q branch && git rebase -q main && git switch -q main'
try git-stash git 'echo more >> a.txt && git stash -q && git stash pop -q && grep -q more a.txt'
try tar tar 'tar cf /tmp/src.tar src && mkdir untar && tar xf /tmp/src.tar -C untar && diff -r src untar/src'
try tar-links tar 'mkdir two && echo a > two/a && ln two/a two/b && tar cf /tmp/two.tar two && mkdir unlinks && tar xf /tmp/two.tar -C unlinks && test unlinks/two/a -ef unlinks/two/b'
try cp cp 'cp -a src copy && diff -r src copy && test ! src -nt copy && test ! src -ot copy'
try rsync rsync 'rsync -a src/ synced && diff -r src synced && test -z "$(rsync -ain src/ synced)"'
try ln ln 'echo one > h1 && ln h1 h2 && echo two >> h2 && test "$(cat h1)" = "$(cat h2)" && test "$(stat -c %h h1)" = 2 && rm h1 && grep -q two h2 && test "$(stat -c %h h2)" = 1'
try ln-base ln 'ln src/main.rs main2 && echo "// more" >> main2 && grep -q more src/main.rs && test src/main.rs -ef main2'
try venv "$python" '"$python" -m venv v && v/bin/python -c "import pip" && v/bin/pip --version'
try npm npm 'mkdir app loc && echo "{\"name\":\"loc\",\"version\":\"1.0.0\"}" > loc/package.json && echo "module.exports=1" > loc/index.js && cd app && echo "{\"name\":\"app\",\"version\":\"1.0.0\",\"dependencies\":{\"loc\":\"file:../loc\"}}" > package.json && npm install --offline --no-audit --no-fund --loglevel=error && node -e "require(\"loc\")"'
try cargo cargo 'mkdir -p small/src && cd small && printf "[package]\nname=\"small\"\nversion=\"0.1.0\"\nedition=\"2021\"\n[workspace]\n" > Cargo.toml && printf "fn main() {}\n#[test]\nfn t() {}\n" > src/main.rs && cargo build -q --offline && cargo test -q --offline && ./target/debug/small'
try sqlite "$python" '"$python" -c "
import sqlite3
one = sqlite3.connect(\"db\"); one.execute(\"pragma journal_mode=wal\"); one.execute(\"create table t(a)\")
one.execute(\"insert into t values (1)\"); one.commit()
two = sqlite3.connect(\"db\"); assert two.execute(\"select count(*) from t\").fetchone() == (1,)
one.execute(\"insert into t values (2)\"); one.commit()
assert two.execute(\"select count(*) from t\").fetchone() == (2,)"'
try make make 'mkdir mk && cd mk && printf "T=\$(shell seq 40)\nall: \$(T:%%=out/%%)\nout/%%:\n\tmkdir -p out && echo \$@ > \$@\n" > Makefile && make -s -j8 && test "$(ls out | wc -l)" = 40'
try cc cc 'printf "int main(){return 0;}\n" > c.c && cc -o c c.c && ./c'
try vim vim 'echo xx > edited && vim -es -u NONE -c "set backup writebackup" -c "%s/x/y/" -c wq edited < /dev/null; grep -q yx edited'
try safe-save mv 'cp a.txt .a.tmp && echo saved >> .a.tmp && sync .a.tmp && mv .a.tmp a.txt && grep -q saved a.txt'
try sed sed 'echo line > s && sed -i s/line/LINE/ s && grep -q LINE s'
try fallocate fallocate 'fallocate -l 1M f && test "$(stat -c %s f)" = 1048576 && fallocate -p -o 0 -l 4096 f'
try mmap "$python" '"$python" -c "
import mmap
f = open(\"m\", \"w+b\"); f.truncate(8192); m = mmap.mmap(f.fileno(), 8192); m[5000] = 65; m.flush()
f.seek(5000); assert f.read(1) == b\"A\""'
try copy-range "$python" '"$python" -c "
import os
a = os.open(\"src/main.rs\", os.O_RDONLY); b = os.open(\"r\", os.O_RDWR | os.O_CREAT)
assert os.copy_file_range(a, b, 1000) > 0"'
try touch-dir touch 'mkdir t && touch -d 2001-02-03 t && test "$(stat -c %Y t)" = "$(date -d 2001-02-03 +%s)" && touch t/x && test "$(stat -c %Y t)" -gt 1000000000'
try link-out ln 'ln -s /usr/bin/env e && ./e true && ln -s ../../../x y && test "$(readlink y)" = ../../../x'
