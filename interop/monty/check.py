"""Compares what cargo test said with the list of expected differences.

    check.py LOG LIST

Exit 0 if exactly the listed tests failed, 1 otherwise.
"""

import os
import re
import sys


def results(path):
    """(binary, test) -> passed"""
    found, binary = {}, None
    for line in open(path, encoding="utf-8", errors="replace"):
        if started := re.search(r"Running tests/(\w+)\.rs", line):
            binary = started[1]
        elif "Doc-tests" in line or "unittests" in line:
            binary = None
        elif (said := re.match(r"test (\S+) \.\.\. (ok|FAILED|ignored)", line)) and binary:
            found[binary, said[1]] = said[2]
    return found


def expected(path):
    listed = {}
    for line in open(path, encoding="utf-8"):
        if line.startswith("as-user:"):
            if os.geteuid() == 0:
                continue
            line = line.removeprefix("as-user:")
        if line.strip() and not line.startswith("#"):
            binary, test, reason = line.split(maxsplit=2)
            listed[binary, test] = reason.strip()
    return listed


def main():
    found, listed = results(sys.argv[1]), expected(sys.argv[2])
    wrong = []
    for (binary, test), said in sorted(found.items()):
        if said == "FAILED" and (binary, test) not in listed:
            wrong.append(f"failed, and is not listed: {binary} {test}")
        if said == "ok" and (binary, test) in listed:
            wrong.append(f"passed, and is listed as a difference: {binary} {test}")
    for binary, test in sorted(listed.keys() - found.keys()):
        wrong.append(f"listed, and is no test: {binary} {test}")
    passed = sum(said == "ok" for said in found.values())
    # A suite that did not run must not look like one that passed.
    if len(found) < 260:
        wrong.append(f"only {len(found)} tests ran; the suite has 265 on Linux")
    for line in wrong:
        print(line)
    print(f"monty-fs' own tests: {len(found)} run, {passed} passed, {len(listed)} differ on purpose")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
