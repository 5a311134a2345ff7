"""What the official conformance suite says about the server, compared with the list of what does not apply.

    python3 check.py NODE SUITE URL OUTPUT LIST

Every check that does not pass must be in the list with its reason, and every check of the list must not pass: a list
that is too long is an error like one that is too short.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

NODE, SUITE, URL, OUTPUT, LIST = sys.argv[1:]
REVISIONS = ["2025-11-25", "2026-07-28"]


def run(revision):
    """Every check of a revision: (scenario, check) -> passed or not."""
    output = pathlib.Path(OUTPUT) / revision
    command = [NODE, SUITE, "server", "--url", URL, "--requirements", revision, "-o", str(output)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300)
    found = {}
    for file in sorted(output.glob("server-*/checks.json")):
        scenario = re.sub(r"^server-(.*?)-\d{4}-\d\d-\d\dT.*$", r"\1", file.parent.name)
        for check in json.loads(file.read_text()):
            key = (scenario, check["id"])
            passed = check["status"] in ("SUCCESS", "INFO")
            found[key] = found.get(key, True) and passed
    if "=== SUMMARY ===" not in said.stdout or not found:
        sys.exit(f"the suite did not run for {revision}:\n{said.stdout}{said.stderr}")
    return found


def listed():
    """What does not apply: (scenario, check) -> the name of the reason."""
    table = tomllib.loads(pathlib.Path(LIST).read_text())
    reasons = table.pop("reasons")
    found = {}
    for reason, scenarios in table.items():
        if reason not in reasons:
            sys.exit(f"the reason `{reason}` is not explained")
        for scenario, checks in scenarios.items():
            for check in checks:
                found[scenario, check] = reason
    return found


known, wrong, seen = listed(), [], set()
for revision in REVISIONS:
    checks = run(revision)
    failing = {key for key, passed in checks.items() if not passed}
    wrong += [f"{revision}: {'/'.join(key)} does not pass" for key in sorted(failing - known.keys())]
    passing = {key for key in known if checks.get(key)}
    wrong += [f"{revision}: {'/'.join(key)} passes, and is in the list" for key in sorted(passing)]
    seen |= checks.keys()
    by_reason = {}
    for key in failing & known.keys():
        by_reason[known[key]] = by_reason.get(known[key], 0) + 1
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(by_reason.items()))
    print(f"{revision}: {len(checks)} checks, {len(checks) - len(failing)} pass, {len(failing)} do not apply ({told})")
wrong += [f"{'/'.join(key)} is in the list, and the suite has no such check" for key in sorted(known.keys() - seen)]
for line in wrong:
    print(f"WRONG: {line}")
sys.exit(1 if wrong else 0)
