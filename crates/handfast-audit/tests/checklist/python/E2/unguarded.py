# expect: E2=finding
import os


class Workspace:
    def __init__(self, root):
        self.root = os.path.realpath(root)

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w") as handle:
            handle.write(text)
