# expect: E2=yes
import os
import re


class Workspace:
    def __init__(self, root):
        self.root = os.path.realpath(root)

    def _path(self, name):
        if not re.fullmatch(r"[a-z]{1,30}", name):
            raise ValueError(name)
        return os.path.join(self.root, name)

    def write(self, name, text):
        with open(self._path(name), "w") as handle:
            handle.write(text)

    def remove(self, name):
        os.remove(self._path(name))
