"""Test data of other readers: that of Go, of libarchive and of the `tar` crate, each file as an archive.

No file may end the process by a panic or a signal, write outside, leave anything if it is refused, or go
beyond the usual limits on bytes, memory and time. A group of which nothing could be had is an error.
"""
import binascii
import collections
import glob
import os
import shutil
import signal
import subprocess
import sys

from sources import debian

EXTRACT, WORK = sys.argv[1:3]
MOST_BYTES, MOST_KIB, SECONDS = 1 << 30, 256 * 1024, 60


def unpacked(name, package):
    """The files of a source package of Debian."""
    where = os.path.join(WORK, name)
    os.mkdir(where)
    debian(where, [package])
    for archive in glob.glob(f"{where}/*.orig.tar.*[!c]"):
        subprocess.run(["bsdtar", "-xf", archive, "-C", where], check=False, stderr=subprocess.DEVNULL)
    return where


def decoded(path):
    """A uuencoded file of libarchive's tests."""
    data, is_inside = bytearray(), False
    with open(path, "rb") as file:
        for line in file:
            if line.startswith((b"begin ", b"end")):
                is_inside = line.startswith(b"begin ")
            elif is_inside:
                # Some writers make lines too long.
                size = (((line[0] - 32) & 63) * 4 + 5) // 3
                data += binascii.a2b_uu(line[:size])
    out = path + ".decoded"
    with open(out, "wb") as file:
        file.write(data)
    return out


def groups():
    go = unpacked("go", "golang-1.19")
    yield "Go", [it for kind in ("tar", "zip") for it in glob.glob(f"{go}/*/src/archive/{kind}/testdata/*")]
    libarchive = unpacked("libarchive", "libarchive")
    yield "libarchive", [decoded(it) for it in glob.glob(f"{libarchive}/*/libarchive/test/*.uu")]
    # Later packages of the crate come without their test data.
    crate = os.path.join(WORK, "crate")
    os.makedirs(f"{crate}/src")
    with open(f"{crate}/Cargo.toml", "w", encoding="utf-8") as file:
        file.write('[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\ntar = "=0.4.5"\n[workspace]\n')
    open(f"{crate}/src/lib.rs", "w", encoding="utf-8").close()
    subprocess.run(["cargo", "vendor", "-q"], cwd=crate, check=True, stdout=subprocess.DEVNULL)
    yield "tar crate", glob.glob(f"{crate}/vendor/tar/tests/archives/*")


def size_of(top):
    return sum(os.lstat(os.path.join(above, it)).st_size for above, _, files in os.walk(top) for it in files)


def attempt(archive):
    """What is wrong with one file, and what was said about it."""
    case = os.path.join(WORK, "case")
    shutil.rmtree(case, ignore_errors=True)
    os.makedirs(f"{case}/inside")
    with open(f"{case}/said", "w", encoding="utf-8") as said:
        child = subprocess.Popen([EXTRACT, archive, f"{case}/inside", "x", "limited"], stdout=said, stderr=said,
                                 cwd=f"{case}/inside")
        signal.signal(signal.SIGALRM, lambda *_: child.kill())
        signal.alarm(SECONDS)
        _, status, used = os.wait4(child.pid, 0)
        signal.alarm(0)
    with open(f"{case}/said", encoding="utf-8", errors="replace") as file:
        said = file.read()
    wrong = []
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) not in (0, 1) or "panicked" in said:
        wrong.append(f"ended with {status}: {said[-300:]}")
    if sorted(os.listdir(case)) != ["inside", "said"]:
        wrong.append(f"outside: {os.listdir(case)}")
    left = os.listdir(f"{case}/inside")
    if left != (["x"] if status == 0 else []):
        wrong.append(f"left: {left}")
    if size_of(case) > MOST_BYTES or used.ru_maxrss > MOST_KIB:
        wrong.append(f"{size_of(case)} bytes, {used.ru_maxrss} KiB of memory")
    rule = "extracted" if status == 0 else said.split("\n")[0].rsplit("(", 1)[-1].rstrip(")") or "error"
    return wrong, rule[:40]


def main():
    failed = False
    for name, archives in groups():
        rules = collections.Counter()
        for archive in sorted(it for it in archives if os.path.isfile(it)):
            wrong, rule = attempt(archive)
            rules[rule] += 1
            for it in wrong:
                print(f"  {os.path.basename(archive)}: {it}")
            failed |= bool(wrong)
        failed |= not rules
        told = ", ".join(f"{rule} {count}" for rule, count in rules.most_common())
        print(f"{name}: {sum(rules.values())} files: {told}", flush=True)
    sys.exit(1 if failed else 0)


main()
