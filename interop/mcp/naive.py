"""A naive server for the tools that the reference does not have: the control of the race.

    naive.py DIRECTORY

It does what servers do that compare strings: it resolves the path, looks whether that lies inside, and then uses the
name again.
"""

import json
import os
import shutil
import sys
import tarfile

top = os.path.realpath(sys.argv[1])


def checked(path):
    if not os.path.realpath(path).startswith(top + os.sep):
        raise PermissionError("Access denied - path outside allowed directories")
    return path


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def append(path, content):
    checked(path)
    # Only what is there: the control must not make the file outside that the attacker moved away.
    with open(path, "r+", encoding="utf-8") as file:
        file.seek(0, os.SEEK_END)
        file.write(content)
    return "Successfully appended"


def copy(source, destination):
    shutil.copyfile(checked(source), checked(destination))
    return "Successfully copied"


def delete(path):
    checked(path)
    if not os.path.isfile(path):
        raise IsADirectoryError(path)
    os.remove(path)
    return "Successfully deleted"


def search(path, **_):
    checked(path)
    if os.path.isfile(path):
        return read(path)
    found = []
    for base, _, files in os.walk(path):
        found += [f"{name}:1:{read(os.path.join(base, name))}" for name in files if not name.endswith(".tar")]
    return "\n".join(found)


def extract(source, destination):
    checked(source)
    checked(destination)
    os.mkdir(destination)
    with tarfile.open(source) as archive:
        archive.extractall(destination, filter="data")
    return "Successfully extracted"


TOOLS = {
    "append_file": append,
    "copy_file": copy,
    "delete_file": delete,
    "search_content": search,
    "extract_archive": extract,
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {}
    if message["method"] == "tools/call":
        params = message["params"]
        try:
            text, failed = TOOLS[params["name"]](**params["arguments"]), False
        except (OSError, tarfile.TarError) as error:
            text, failed = type(error).__name__, True
        result = {"content": [{"type": "text", "text": text}]}
        if failed:
            result["isError"] = True
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
