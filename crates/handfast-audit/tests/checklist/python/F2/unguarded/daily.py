# expect: F2=finding
import datetime
import os

ROOT = os.environ["LOG_ROOT"]


def append(tenant, line):
    day = datetime.date.today().isoformat()
    with open(os.path.join(ROOT, tenant, day), "a") as handle:
        handle.write(line)
