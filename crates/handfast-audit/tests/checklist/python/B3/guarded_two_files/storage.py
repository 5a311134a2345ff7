import os

ROOT = os.path.realpath("/srv/site")


def read(name):
    path = os.path.realpath(os.path.join(ROOT, name))
    if os.path.commonpath([ROOT, path]) != ROOT:
        raise ValueError(name)
    with open(path) as handle:
        return handle.read()
