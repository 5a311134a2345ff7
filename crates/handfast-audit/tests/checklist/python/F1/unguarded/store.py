# expect: F1=finding
import os

ROOT = os.environ["STORE_ROOT"]


def save(name, text):
    with open(os.path.join(ROOT, name), "w") as handle:
        handle.write(text)
