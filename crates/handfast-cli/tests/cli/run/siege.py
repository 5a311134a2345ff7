# Attacks a project from inside: one process moves names about, another reads whatever it can reach. What
# is denied begins with SECRET. The answer is one line: how often that was read, and how much was tried.
import ctypes, errno, os, sys, time

libc = ctypes.CDLL(None, use_errno=True)
EXCHANGE = 2
seconds, outside, is_control = float(sys.argv[1]), sys.argv[2], sys.argv[3] == "control"

def quietly(act, *arguments):
    try:
        return act(*arguments)
    except OSError:
        return None

def exchange(one, other):
    return libc.renameat2(-100, one.encode(), -100, other.encode(), EXCHANGE)

def put(path, text):
    with open(path, "w") as file:
        file.write(text)

def link(target, path):
    quietly(os.unlink, path)
    quietly(os.symlink, target, path)

# Whatever the mover does, a name that is denied now must not lead its content to another name.
def move(end):
    tries = 0
    here = os.getcwd()
    while time.monotonic() < end:
        tries += 1
        link(".env", "swapped"); link("a.txt", "swapped")
        link(here + "/.env", "absolute"); link("conf/../.env", "folded")
        link(outside + "/secret", "away"); link("/proc/self/cwd/.env", "magic")
        for new in ["renamed", "conf/renamed"]:
            quietly(os.rename, ".env", new); quietly(os.rename, new, ".env")
            quietly(os.link, ".env", new)
        exchange(".env", "a.txt"); exchange("conf/.env", "conf/plain")
        exchange("conf", "other"); exchange("other", "conf")
        exchange("conf/.env", "swapped")
        quietly(os.rename, "conf", "moved"); quietly(os.rename, "moved", "conf")
        quietly(os.rename, ".ssh", "keys"); quietly(os.rename, "keys", ".ssh")
        quietly(os.link, ".env.local", "later"); quietly(os.rename, ".env.local", "later2")
        # Effects outside: through links, through the way up, through what belonged to others.
        # Only where a wall has to hold: the control would really do it.
        for path in [] if is_control else ["away", outside + "/made", "../outside/made", "/proc/1/cwd/made",
                     "/proc/1/root/made", "/made", "/usr/made", "/etc/made"]:
            quietly(put, path, "ESCAPED")
        quietly(os.link, outside + "/secret", "hard")
        if not is_control: quietly(os.rename, "a.txt", outside + "/a.txt")
        # What git obeys.
        for path in [".git/hooks/post-commit", ".git/config"]:
            quietly(put, path, "PLANTED")
    return tries

def read(end):
    read, secrets = 0, []
    fds = [fd for fd in range(3, 64) if quietly(os.fstat, fd)]
    fixed = [".env", ".env.local", "swapped", "absolute", "folded", "away", "magic", "renamed",
             "conf/renamed", "conf/.env", "conf/plain", "other/.env", "moved/.env", "keys/id", ".ssh/id",
             "later", "later2", "hard", "a.txt", "planted", "names", "outer/.env", "outer/plain",
             outside + "/secret", "../outside/secret", os.path.expanduser("~/.ssh/id")]
    fixed += ["/proc/1/cwd/.env", "/proc/1/root" + os.getcwd() + "/.env", "/proc/1/environ", "/proc/1/mem"]
    fixed += ["/proc/%s/cwd/.env" % pid for pid in os.listdir("/proc") if pid.isdigit()]
    fixed += ["/proc/self/fd/%d/.env" % fd for fd in fds] + ["/proc/1/fd/%d" % fd for fd in range(16)]
    # Held from the start: what it was when it was opened, and as a directory.
    top = os.open(".", os.O_PATH)
    while time.monotonic() < end:
        for path in fixed:
            for at in (None, top):
                try:
                    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK, dir_fd=at)
                except OSError:
                    continue
                try:
                    text = os.read(fd, 64)
                    read += 1
                    if text.startswith(b"SECRET"):
                        secrets.append(path)
                except OSError:
                    pass
                os.close(fd)
    return read, secrets

# What a program would do to its server and to the terminal; each has to be refused.
def reach():
    reached = []
    if libc.ptrace(16, 1, 0, 0) == 0: reached.append("ptrace")
    pidfd = libc.syscall(434, 1, 0)
    if pidfd >= 0 and any(libc.syscall(438, pidfd, fd, 0) >= 0 for fd in range(16)):
        reached.append("pidfd_getfd")
    ctypes.set_errno(0)
    libc.ioctl(0, 0x5412, b"x")
    if ctypes.get_errno() == errno.ENOTTY: reached.append("TIOCSTI")
    if libc.unshare(0x10000000) == 0: reached.append("unshare")
    if libc.chroot(b".") == 0: reached.append("chroot")
    if libc.syscall(304, -100, b"x", 0) >= 0: reached.append("open_by_handle_at")
    return reached

end = time.monotonic() + seconds
told, tell = os.pipe()
if os.fork() == 0:
    os.write(tell, b"%d" % move(end))
    os._exit(0)
read, secrets = read(end)
reached = [] if is_control else reach()
os.wait()
print(len(secrets), read, int(os.read(told, 32)), ",".join(sorted(set(secrets))[:8] + reached) or "-")
