"""Every log must be accepted by all verifiers and every tampered one refused by all.

    check.py GO-VERIFIER HANDFAST LOGS-DIRECTORY SIZE...

The tampers are made here, on the files that others read. `handfast log verify` is asked twice: with
its own segments, and without them, as somebody who has only a copy of the published files.
"""

import pathlib
import random
import shutil
import subprocess
import sys

from verify import entries, levels, number, sha256

LIMIT = 60
counts = {"accepted": 0, "refused": 0}


def run(*command):
    """The exit code; a verifier that hangs has failed."""
    done = subprocess.run(command, capture_output=True, timeout=LIMIT)
    return done.returncode, done.stderr.decode(errors="replace") + done.stdout.decode(errors="replace")


def judge(log, what, good, memory=None, segments=True):
    more = [str(memory)] if memory else []
    ours = ["--since-checkpoint", *more] if memory else []
    away = log.with_suffix(".segments")
    asked = {
        "go": lambda: run(GO, str(log), *more),
        "python": lambda: run(sys.executable, str(HERE / "verify.py"), str(log), *more),
        "handfast without segments": lambda: run(HANDFAST, "log", "verify", str(log), *ours),
    }
    shutil.move(log / "segments", away)
    for who, ask in asked.items():
        code, said = ask()
        if (code == 0) != good or code not in (0, 1):
            sys.exit(f"{log.name} {what}: {who} answered {code}: {said}")
        counts["accepted" if good else "refused"] += 1
        if who.startswith("handfast") and good and not memory and "rollback" not in said:
            sys.exit(f"{log.name} {what}: rollback is not listed as not checked")
    shutil.move(away, log / "segments")
    if segments:
        code, said = run(HANDFAST, "log", "verify", str(log), *ours)
        if (code == 0) != good:
            sys.exit(f"{log.name} {what}: handfast with segments answered {code}: {said}")
        counts["accepted" if good else "refused"] += 1


class Changed:
    """Files that are put back afterwards."""

    def __init__(self):
        self.saved = {}

    def write(self, path, data):
        self.saved.setdefault(path, path.read_bytes() if path.exists() else None)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def undo(self):
        for path, data in self.saved.items():
            if data is None:
                path.unlink()
            else:
                path.write_bytes(data)
        self.saved.clear()


def bundle(changed, log, size, index, change):
    """Changes the entries of the bundle that holds an index; the new entries of it."""
    first = index // 256 * 256
    width = min(256, size - first)
    path = log / "tile/entries" / number(first // 256, width)
    data, found, at = path.read_bytes(), [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2], "big")
        found.append(data[at + 2 : at + 2 + length])
        at += 2 + length
    found = change(found, index - first)
    changed.write(path, b"".join(len(e).to_bytes(2, "big") + e for e in found))
    return found


def edit(found, at):
    return [*found[:at], found[at].replace(b'"v":1', b'"v":7'), *found[at + 1 :]]


def rewrite_tiles(changed, log, size, index, found, top):
    """Tiles over a changed bundle, from level 0 up to `top`, all consistent with each other."""
    position, row = index // 256, [sha256(b"\0" + entry) for entry in found]
    for level in range(top + 1):
        known = size >> 8 * level
        width = min(256, known - position * 256)
        path = log / "tile" / str(level) / number(position, width)
        changed.write(path, b"".join(row))
        above = size >> 8 * (level + 1)
        if level == top or width < 256 or not above:
            return
        up = levels(row)[8][0]
        parent = position // 256
        tile = log / "tile" / str(level + 1) / number(parent, min(256, above - parent * 256))
        data = tile.read_bytes()
        at = position % 256
        row = [data[i : i + 32] for i in range(0, len(data), 32)]
        row[at] = up
        position = parent


def tamper(log, size, chance):
    changed = Changed()

    def refused(what, **options):
        judge(log, what, False, **options)
        changed.undo()

    index = chance.randrange(size)
    # Somewhere in a full bundle where there is one, so that upper tiles are concerned.
    deep = chance.randrange(size // 256 * 256) if size >= 256 else index
    bundle(changed, log, size, index, edit)
    refused("entry edited")
    top = 0
    while size >> 8 * (top + 1):
        top += 1
    for level in range(top + 1):
        found = bundle(changed, log, size, deep, edit)
        rewrite_tiles(changed, log, size, deep, found, level)
        refused(f"entry and tiles up to level {level} edited")
    if size > 1:
        first = min(index, size - 2) // 256 * 256
        if min(256, size - first) > 1:
            bundle(changed, log, size, first, lambda f, _: [f[1], f[0], *f[2:]])
            refused("two entries swapped")
            bundle(changed, log, size, first, lambda f, _: f[1:])
            refused("an entry dropped")
            bundle(changed, log, size, first, lambda f, _: [f[0], f[0], *f[2:]])
            refused("an entry put twice")
    note = (log / "checkpoint").read_text()
    lines = note.split("\n")
    for what, text in {
        "size edited": "\n".join([lines[0], str(size + 1), *lines[2:]]),
        "root edited": "\n".join([*lines[:2], lines[2][::-1].lstrip("=") + "=", *lines[3:]]),
        "origin edited": note.replace("interop.example", "interop.exbmple", 1),
        "signature edited": note[:-9] + ("A" if note[-9] != "A" else "B") + note[-8:],
    }.items():
        changed.write(log / "checkpoint", text.encode())
        refused(f"checkpoint: {what}")
    if size > 2:
        other = next(p for p in log.parent.iterdir() if p.is_dir() and p.name.isdigit() and p != log)
        changed.write(log / "keys.txt", (other / "keys.txt").read_bytes())
        refused("foreign keys")


def rolled_back(log, size):
    """An older checkpoint and its tiles: consistent alone, refused by a client that remembers."""
    old = log.with_suffix(".old")
    before = int(old.read_text().split("\n")[1])
    if before == size or before == 0:
        return
    copy = log.with_name(f"{size}-back")
    shutil.rmtree(copy, ignore_errors=True)
    (copy / "segments").mkdir(parents=True)
    for name in ("keys.txt", "log.json"):
        shutil.copy(log / name, copy / name)
    shutil.copy(old, copy / "checkpoint")
    kept = list(entries(log, size))[:before]
    rows = levels([sha256(b"\0" + entry) for entry in kept])
    level = 0
    while before >> 8 * level:
        row = rows[8 * level]
        for first in range(0, len(row), 256):
            tile = row[first : first + 256]
            path = copy / "tile" / str(level) / number(first // 256, len(tile))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"".join(tile))
        level += 1
    for first in range(0, before, 256):
        part = kept[first : first + 256]
        path = copy / "tile/entries" / number(first // 256, len(part))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(len(e).to_bytes(2, "big") + e for e in part))
    # The list of keys of that time.
    if size > 4:
        (copy / "keys.txt").write_text((log / "keys.txt").read_text().split("\n")[0] + "\n")
    judge(copy, "rolled back, alone", True, segments=False)
    shutil.copy(log / "keys.txt", copy / "keys.txt")
    judge(copy, "rolled back, with memory", False, memory=log / "checkpoint", segments=False)
    shutil.rmtree(copy)


if __name__ == "__main__":
    GO, HANDFAST, LOGS, *SIZES = sys.argv[1:]
    HERE = pathlib.Path(__file__).parent
    chance = random.Random(20261116)
    for size in map(int, SIZES):
        log = pathlib.Path(LOGS) / str(size)
        judge(log, "honest", True)
        if size > 1:
            judge(log, "honest, with memory", True, memory=log.with_suffix(".old"))
        tamper(log, size, chance)
        rolled_back(log, size)
        judge(log, "honest again", True)
    print(f"{len(SIZES)} logs: {counts['accepted']} times accepted as it must, {counts['refused']} times refused as it must")
