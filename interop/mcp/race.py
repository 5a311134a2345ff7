"""An outside process swaps a directory with a link that leads outside, while each tool is called.

    race.py HANDFAST REFERENCE WORKDIR CALLS CONTROL_CALLS

Handfast must never touch or show what is outside, and still succeed often enough; the reference
2026.8.31 is the control: it must escape, or the attacker was too weak to tell anything. For the tools that it does
not have, the control is `naive.py`, which must escape with each of them.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile

from client import Server

handfast, reference, work = sys.argv[1:4]
# A launcher in front of Handfast, such as one that hides Landlock from it.
launcher = os.environ.get("LAUNCHER", "").split()
calls, control_calls = int(sys.argv[4]), int(sys.argv[5])
here = os.path.dirname(os.path.abspath(__file__))
PAUSES = (0, 100, 1000)
MARK = "OUTSIDE-MARK"
SHARE = 0.40


def put(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def arena(top, count, needs_sources):
    """`ws/sub` is a directory, `ws/trap` a link to `outside`; both hold the same names."""
    shutil.rmtree(top, ignore_errors=True)
    inside, outside = os.path.join(top, "ws", "sub"), os.path.join(top, "outside")
    for directory, text in ((inside, "inside"), (outside, MARK)):
        os.makedirs(directory)
        put(os.path.join(directory, "file.txt"), f"{text} x\n")
        put(os.path.join(directory, "old.txt"), f"{text} x\n")
        put(os.path.join(directory, "edit.txt"), f"{text} x\n")
        put(os.path.join(directory, "pixel.png"), text)
        os.mkdir(os.path.join(directory, "deep"))
        put(os.path.join(directory, "deep", "a.rs"), text)
        with tarfile.open(os.path.join(directory, "a.tar"), "w") as archive:
            archive.add(os.path.join(directory, "file.txt"), "file.txt")
        if needs_sources:
            for number in range(count):
                put(os.path.join(directory, f"m-{number}"), text)
    put(os.path.join(outside, MARK), MARK)
    os.mkdir(os.path.join(outside, "deep", MARK))
    os.symlink("../outside", os.path.join(top, "ws", "trap"))
    return os.path.join(top, "ws"), inside, outside


def snapshot(outside):
    found = {}
    for base, dirs, files in os.walk(outside):
        for name in dirs + files:
            path = os.path.join(base, name)
            content = None
            if name in files:
                with open(path, "rb") as file:
                    content = file.read()
            found[os.path.relpath(path, outside)] = content
    return found


def tools(sub):
    """Tool, a name for the row, and the arguments of the n-th call."""
    p = lambda name: os.path.join(sub, name)
    return [
        ("read_text_file", "read_text_file", lambda n: {"path": p("file.txt")}),
        ("read_text_file", "read_text_file head", lambda n: {"path": p("file.txt"), "head": 1}),
        ("read_media_file", "read_media_file", lambda n: {"path": p("pixel.png")}),
        ("read_multiple_files", "read_multiple_files", lambda n: {"paths": [p("file.txt"), p("old.txt")]}),
        ("write_file", "write_file, new", lambda n: {"path": p(f"new-{n}"), "content": "w"}),
        ("write_file", "write_file, overwrite", lambda n: {"path": p("old.txt"), "content": f"w{n}"}),
        ("edit_file", "edit_file", lambda n: {"path": p("edit.txt"), "edits": [{"oldText": "x", "newText": "xy"}]}),
        ("create_directory", "create_directory", lambda n: {"path": p(f"dir-{n}")}),
        ("list_directory", "list_directory", lambda n: {"path": sub}),
        ("list_directory_with_sizes", "list_directory_with_sizes", lambda n: {"path": sub}),
        ("directory_tree", "directory_tree", lambda n: {"path": sub}),
        ("move_file", "move_file", lambda n: {"source": p(f"m-{n}"), "destination": p(f"n-{n}")}),
        ("search_files", "search_files", lambda n: {"path": sub, "pattern": "**"}),
        ("search_content", "search_content", lambda n: {"path": sub, "pattern": "."}),
        ("search_content", "search_content, file", lambda n: {"path": p("file.txt"), "pattern": "."}),
        ("get_file_info", "get_file_info", lambda n: {"path": p("file.txt")}),
        ("read_text_file", "read_text_file, lines", lambda n: {"path": p("file.txt"), "startLine": 1, "endLine": 1}),
        ("append_file", "append_file", lambda n: {"path": p("old.txt"), "content": "w"}),
        ("copy_file", "copy_file", lambda n: {"source": p("file.txt"), "destination": p(f"copy-{n}")}),
        ("extract_archive", "extract_archive", lambda n: {"source": p("a.tar"), "destination": p(f"extracted-{n}")}),
        ("delete_file", "delete_file", lambda n: {"path": p(f"m-{n}")}),
    ]


# The reference does not have these; their control is naive.py.
OURS = ("search_content", "append_file", "copy_file", "extract_archive", "delete_file")


def shows_outside(tool, text):
    if tool == "get_file_info":
        # The outside file has another size.
        return f"size: {len(MARK) + 3}\n" in text
    return MARK in text or "T1VUU0lERS1NQVJL" in text


def cell(command, row, pause, count):
    top = os.path.join(work, "race")
    tool, name = row[0], row[1]
    ws, sub, outside = arena(top, count, tool in ("move_file", "delete_file"))
    before = snapshot(outside)
    environment = {**os.environ, "XDG_STATE_HOME": os.path.join(work, "race-state")}
    server = Server([*command, ws], env=environment)
    server.initialize()
    arguments = next(found for found in tools(sub) if found[1] == name)[2]
    swapper = subprocess.Popen(
        [sys.executable, os.path.join(here, "swapper.py"), sub, os.path.join(ws, "trap"), str(pause)],
        stdout=subprocess.PIPE,
    )
    swapper.stdout.readline()
    done = shown = 0
    named = None
    try:
        for number in range(count):
            answer = server.call(tool, arguments(number))
            result = answer.get("result", {})
            text = json.dumps(answer, ensure_ascii=False)
            bad = shows_outside(tool, "\n".join(b.get("text", "") for b in result.get("content", [])) + text)
            shown += bad
            # One that reads several tells in its text which it could not read.
            done += not result.get("isError", False) and "Error - " not in text
            if os.path.join(top, "outside") in text:
                named = text
    finally:
        swapper.kill()
        swapper.wait()
    server.close()
    after = snapshot(outside)
    touched = [path for path in after if before.get(path, 0) != after[path]]
    # A file that was moved away shows under its new name already.
    if not touched:
        touched = [path for path in before if path not in after]
    return {"done": done, "shown": shown, "touched": len(touched), "named": named, "examples": touched[:3]}


failed = []
only = os.environ.get("ONLY", "")
print(f"{'tool':28} {'pause':>8}  {'calls':>6} {'done':>7} {'escapes':>8}   control: calls, escapes (reference 2026.8.31, or naive)")
escaped = 0
harmless = []
for row in tools("/"):
    if only not in row[1]:
        continue
    done = naive = 0
    for pause in PAUSES:
        ours = cell([*launcher, handfast, "mcp", "--quiet", "--allow-delete"], row, pause, calls)
        escapes = ours["shown"] + ours["touched"]
        share = ours["done"] / calls
        line = f"{row[1]:28} {pause:>5} µs  {calls:>6} {share:>6.1%} {escapes:>8}"
        if escapes or ours["named"]:
            failed.append(f"{row[1]}, {pause} µs: {ours}")
        done += ours["done"]
        # A short run says little about one cell: there all three are judged together.
        if calls >= 500 and share < SHARE:
            failed.append(f"{row[1]}, {pause} µs: only {share:.1%} were done")
        if control_calls:
            is_ours = row[0] in OURS
            control = [sys.executable, os.path.join(here, "naive.py")] if is_ours else ["node", reference]
            theirs = cell(control, row, pause, control_calls)
            count = theirs["shown"] + theirs["touched"]
            escaped += 0 if is_ours else count
            naive += count if is_ours else 0
            line += f"   {control_calls:>6} {count:>6} ({count / control_calls:.1%}){' naive' if is_ours else ''}"
        print(line, flush=True)
    if control_calls and row[0] in OURS and not naive:
        harmless.append(row[1])
    if done < SHARE * calls * len(PAUSES):
        failed.append(f"{row[1]}: only {done} of {calls * len(PAUSES)} were done")
for line in failed:
    print("FAILED:", line)
if failed:
    sys.exit(1)
asked_of_reference = any(only in row[1] and row[0] not in OURS for row in tools("/"))
if control_calls and asked_of_reference and not escaped:
    harmless.append("every tool of the reference")
if harmless:
    print("cannot tell: the control did not escape either in", ", ".join(harmless))
    sys.exit(3)
