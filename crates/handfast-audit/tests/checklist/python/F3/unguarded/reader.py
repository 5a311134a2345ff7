# expect: F3=finding
import os
import re

ROOT = os.environ["READER_ROOT"]


def read(name):
    if not re.fullmatch(r"[a-z]{1,20}", name):
        raise ValueError(name)
    return open(os.path.join(ROOT, name)).read()
