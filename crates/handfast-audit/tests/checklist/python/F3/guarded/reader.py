# expect: F3=yes A4=yes C2=yes
import os
import re
import stat

ROOT = os.environ["READER_ROOT"]
ROOT_FD = os.open(ROOT, os.O_DIRECTORY | os.O_NOFOLLOW)


def read(name):
    if not re.fullmatch(r"[a-z]{1,20}", name):
        raise ValueError(name)
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=ROOT_FD)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise ValueError("kind")
    return os.read(fd, 100)
