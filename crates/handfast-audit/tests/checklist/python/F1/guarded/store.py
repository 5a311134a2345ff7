# expect: F1=yes
import os

ROOT = os.environ["STORE_ROOT"]


def save(name, text, root=ROOT):
    with open(os.path.join(ROOT, name), "w") as handle:
        handle.write(text)
