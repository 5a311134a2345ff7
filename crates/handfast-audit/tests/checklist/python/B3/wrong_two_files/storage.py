import os

ROOT = os.path.realpath("/srv/site")


def read(name):
    path = os.path.normpath(os.path.join(ROOT, name))
    with open(path) as handle:
        return handle.read()
