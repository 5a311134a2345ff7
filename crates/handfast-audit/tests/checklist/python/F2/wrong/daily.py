# expect: F2=finding
import os
import time

ROOT = os.environ["LOG_ROOT"]


def append(tenant, line):
    day = time.strftime("%Y-%m-%d")
    with open(os.path.join(ROOT, tenant, day), "a") as handle:
        handle.write(line)
