"""Both servers answer the same script; the answers are compared tool by tool.

    compare.py HANDFAST REFERENCE WORKDIR DIFFERENCES

Everything must be equal but for what the differences name; and what they name must differ, and
look as they say.
"""

import json
import os
import re
import shutil
import stat
import sys
import tomllib

from cases import build, cases, patterns
from client import Server

handfast, reference, work, differences = sys.argv[1:5]
with open(differences, "rb") as file:
    known = tomllib.load(file)
top = os.path.join(work, "ws")
environment = {**os.environ, "TZ": "UTC", "LC_ALL": "en_US.UTF-8", "XDG_STATE_HOME": os.path.join(work, "state")}


def snapshot(base):
    found = {}
    for here, dirs, files in os.walk(base):
        for name in dirs + files:
            path = os.path.join(here, name)
            status = os.lstat(path)
            kind = stat.S_IFMT(status.st_mode)
            content = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, base)] = (kind, stat.S_IMODE(status.st_mode), content)
    return found


def run(command):
    shutil.rmtree(top, ignore_errors=True)
    shutil.rmtree(os.path.join(work, "outside"), ignore_errors=True)
    build(top)
    with open(os.path.join(work, "stderr"), "ab") as words:
        server = Server(command, env=environment, stderr=words)
        server.initialize()
        tools = server.request("tools/list")["result"]["tools"]
        found = {text: server.text("search_files", {"path": top, "pattern": text})[0] for text in patterns(400)}
        answers = {name: server.call(tool, arguments) for name, tool, arguments in cases(top)}
        server.close()
    listed = {tool["name"]: tool for tool in tools}
    return listed, answers, snapshot(top), snapshot(os.path.join(work, "outside")), found


theirs = run(["node", reference, top])
ours = run([handfast, "mcp", "--quiet", "--full-answers", top])
wrong = []

# --- schemas ---------------------------------------------------------------------------------------


def leaves(value, path=""):
    """Every value in a JSON text, with the way to it."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from leaves(inner, f"{path}/{key}")
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}/{index}")
    else:
        yield path, value


listed = {tool["name"] for tool in known["tool"]}
if set(ours[0]) - set(theirs[0]) != listed or set(theirs[0]) - set(ours[0]):
    wrong.append(f"tools: {sorted(set(ours[0]) ^ set(theirs[0]))}")
if [name for name in ours[0] if name in theirs[0]] != list(theirs[0]):
    wrong.append("tools: another order")
used = set()
for name in theirs[0]:
    one, other = dict(leaves(theirs[0][name])), dict(leaves(ours[0].get(name, {})))
    for path in sorted(set(one) | set(other)):
        if one.get(path, "absent") == other.get(path, "absent"):
            continue
        for index, entry in enumerate(known["schema"]):
            fits = re.fullmatch(entry["path"], path) and name in entry.get("tools", [name])
            states = entry.get("ours")
            if fits and (states is None or re.fullmatch(states, str(other.get(path, "absent")), re.S)):
                used.add(index)
                break
        else:
            wrong.append(f"schema of {name}{path}: {one.get(path, 'absent')!r} became {other.get(path, 'absent')!r}")
for index, entry in enumerate(known["schema"]):
    if index not in used:
        wrong.append(f"schema {entry['path']}: does not differ any more")

# --- texts -----------------------------------------------------------------------------------------


def plain(answer):
    """An answer without what two runs cannot agree on, and without our `_meta` and `version`, which are additions."""
    answer = json.loads(json.dumps({key: answer[key] for key in ("result", "error") if key in answer}))
    if "result" in answer:
        answer["result"].pop("_meta", None)
        answer["result"].get("structuredContent", {}).pop("version", None)
    text = json.dumps(answer, ensure_ascii=False, sort_keys=True)
    return re.sub(r"(created|accessed|modified): [A-Z][^\\]*\)", r"\1: DATE", text)


def brief(answer):
    """What an answer says, for `ours` in the differences."""
    if "error" in answer:
        return f"error {answer['error']['code']}: {answer['error']['message']}"
    texts = [block.get("text", json.dumps(block)) for block in answer["result"]["content"]]
    return "\n".join(texts)


counts, equal = {}, {}
for name, tool, _ in cases(top):
    counts[tool] = counts.get(tool, 0) + 1
    one, other = plain(theirs[1][name]), plain(ours[1][name])
    entries = [entry for entry in known["text"] if name in entry["cases"]]
    if one == other:
        equal[tool] = equal.get(tool, 0) + 1
        if entries:
            wrong.append(f"{name}: does not differ any more")
    elif not entries:
        wrong.append(f"{name}:\n    theirs {one[:600]}\n    ours   {other[:600]}")
    else:
        shape = entries[0]["ours"].replace("TOP", re.escape(top))
        if not re.fullmatch(shape, brief(ours[1][name]), re.S):
            wrong.append(f"{name}: ours does not look like {shape!r}:\n    {brief(ours[1][name])!r}")
names = {name for name, _, _ in cases(top)}
for entry in known["text"]:
    for name in entry["cases"]:
        if name not in names:
            wrong.append(f"{name}: is in the differences and not in the script")

# --- patterns ----------------------------------------------------------------------------------------
for text, one in theirs[4].items():
    if one != ours[4][text]:
        wrong.append(f"pattern {text!r}: {one.splitlines()!r} became {ours[4][text].splitlines()!r}"[:600])

# --- what was left on disk -------------------------------------------------------------------------
for path in sorted(set(theirs[2]) | set(ours[2])):
    one, other = theirs[2].get(path), ours[2].get(path)
    if one == other:
        continue
    entry = next((entry for entry in known["disk"] if path in entry["paths"]), None)
    if entry is None:
        wrong.append(f"on disk {path}: {one!r} became {other!r}"[:800])
if ours[3] != {"secret.txt": (stat.S_IFREG, 0o644, b"outside\n")}:
    wrong.append(f"outside was changed: {ours[3]!r}")

for tool in sorted(counts):
    print(f"{tool:28} {counts[tool]:4} calls, {equal.get(tool, 0):4} equal, {counts[tool] - equal.get(tool, 0):3} as listed")
print(f"{'schemas':28} {len(theirs[0]):4} tools, equal up to {len(known['schema'])} listed differences")
print(f"{'random patterns':28} {len(theirs[4]):4} searches, {sum(one == ours[4][text] for text, one in theirs[4].items())} equal")
for line in wrong:
    print("different:", line)
sys.exit(1 if wrong else 0)
