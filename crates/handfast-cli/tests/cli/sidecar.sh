# Plays contrib/sidecar with namespaces: two roots, each with its own mounts and processes, and one volume.
# Arguments: a scratch directory, the directory of the command, the policy. Prints what the test looks for.
set -eu
scratch=$1 command=$2 policy=$3
mount --make-rprivate /
mkdir -p "$scratch/socket" "$scratch/state" "$scratch/workspace/src"
chmod 755 "$scratch" "$scratch/socket"
chmod 700 "$scratch/workspace" "$scratch/state"
echo alpha > "$scratch/workspace/src/a.txt"
echo SECRET=1 > "$scratch/workspace/src/.env"
echo notes > "$scratch/workspace/notes.txt"

# A root with the system's programs, the command and the socket's volume; more mounts are arguments: FROM TO.
container() {
  local root=$1 dir; shift
  mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root/opt" "$root/run/handfast" "$root/etc/handfast"
  for dir in usr bin sbin lib lib64; do
    if [ -L "/$dir" ]; then cp -P "/$dir" "$root/$dir"
    elif [ -d "/$dir" ]; then mkdir -p "$root/$dir"; mount --rbind "/$dir" "$root/$dir"; fi
  done
  mount --bind "$command" "$root/opt"
  mount --rbind /dev "$root/dev"
  mount --bind "$scratch/socket" "$root/run/handfast"
  while [ $# -gt 0 ]; do mkdir -p "$root$2"; mount --bind "$1" "$root$2"; shift 2; done
}
container "$scratch/broker" "$scratch/workspace" /workspace "$scratch/state" /var/lib/handfast
cp "$policy" "$scratch/broker/etc/handfast/policy.toml"
container "$scratch/agent"

# A process in a root, with a pid namespace of its own, as a user.
enter() {
  local root=$1 user=$2; shift 2
  # shellcheck disable=SC2016
  exec unshare --mount --pid --fork --kill-child sh -c '
    root=$1 user=$2; shift 2
    mount -t proc proc "$root/proc"
    if [ "$user" = 0 ]; then exec chroot "$root" "$@"; fi
    exec chroot --userspec="$user:$user" --groups= "$root" "$@"' sh "$root" "$user" "$@"
}
within() { (enter "$@"); }
agent() { within "$scratch/agent" "$AGENT" env HANDFAST_SOCKET=/run/handfast/broker.sock "$@"; }
answer() { local code=0; "$@" > "$scratch/out" 2>&1 || code=$?; echo "$code $(tr '\n' ' ' < "$scratch/out")"; }

enter "$scratch/broker" 0 /opt/handfast serve --policy /etc/handfast/policy.toml \
  --socket /run/handfast/broker.sock --state /var/lib/handfast > "$scratch/broker.out" 2>&1 &
broker=$!
# `unshare` waits for the broker and passes no signals on: the broker itself is asked to end, and then its exit
# code is that of `unshare`.
stop() {
  # shellcheck disable=SC2046
  kill -TERM $(cat "/proc/$broker/task/$broker/children")
  wait $broker
}
trap 'kill -KILL $broker 2>/dev/null || true' EXIT
ready() { within "$scratch/broker" 0 /opt/handfast serve --health-check --socket /run/handfast/broker.sock; }
for _ in $(seq 300); do
  if ready > /dev/null 2>&1; then break; fi
  sleep 0.1
done
echo "ready $(answer ready)"
echo "sees $(answer agent ls /workspace)"
id=$(agent /opt/handfast lease acquire --paths '**' --verbs read,write --ttl 5m 2>/dev/null)
echo "open $(answer agent /opt/handfast lease open "$id" src/a.txt)"
echo "denied $(answer agent /opt/handfast lease open "$id" src/.env)"
echo "beyond $(answer agent /opt/handfast lease open "$id" notes.txt)"
echo beta | agent /opt/handfast lease write "$id" src/b.txt > /dev/null 2>&1
echo "written $(cat "$scratch/workspace/src/b.txt")"
echo "stranger $(AGENT=$STRANGER answer agent /opt/handfast lease acquire --paths '**' --verbs read)"
echo "stolen $(AGENT=$STRANGER answer agent /opt/handfast lease open "$id" src/a.txt)"
within "$scratch/broker" 0 /opt/handfast lease --socket /run/handfast/broker.sock revoke --prefix "u$AGENT" > /dev/null 2>&1
echo "revoked $(answer agent /opt/handfast lease open "$id" src/a.txt)"
code=0
stop || code=$?
echo "stopped $code"
