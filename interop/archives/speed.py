"""Ten thousand small files and one large one, beside bsdtar and Python, in one run.

Processor time counts, user and system, the least of five turns: the machine may have other work. What is
kept in memory at most is printed too.
"""
import os
import shutil
import subprocess
import sys

EXTRACT, WORK = sys.argv[1:3]
TURNS = 5
LARGE = 1 << 30
MOST = {"bsdtar": 1.15, "python": 0.5}
# One large file is copied or inflated by everybody in the same way: `dd` takes 0.7 of Python's time for it.
EXCEPT = {("large.tar", "python"): 0.85, ("large.tar.gz", "python"): 0.85}
PYTHON = {
    "tar": "import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], filter='data')",
    "zip": "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2])",
}


def make():
    """Content that packs a little, as files do."""
    block = os.urandom(48 * 1024) + bytes(16 * 1024)
    for number in range(10_000):
        os.makedirs(f"{WORK}/many/d{number // 100}", exist_ok=True)
        with open(f"{WORK}/many/d{number // 100}/f{number}", "wb") as file:
            file.write(os.urandom(700))
    with open(f"{WORK}/large", "wb") as file:
        for _ in range(LARGE // len(block)):
            file.write(block)
    for name in ("many", "large"):
        subprocess.run(["tar", "--format=ustar", "-C", WORK, "-cf", f"{WORK}/{name}.tar", name], check=True)
        with open(f"{WORK}/{name}.tar.gz", "wb") as out:
            subprocess.run(["gzip", "-1", "-c", f"{WORK}/{name}.tar"], stdout=out, check=True)
    subprocess.run([sys.executable, "-m", "zipfile", "-c", f"{WORK}/many.zip", f"{WORK}/many"], check=True)
    shutil.rmtree(f"{WORK}/many")
    os.remove(f"{WORK}/large")


def cost(command):
    """Processor time and memory of one run."""
    out = f"{WORK}/out"
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    child = subprocess.Popen([it.replace("OUT", out) for it in command])
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"failed: {command}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss


def main():
    make()
    failed = False
    print("archive        ours     bsdtar         python         memory")
    for archive in ("many.tar", "many.tar.gz", "many.zip", "large.tar", "large.tar.gz"):
        path = f"{WORK}/{archive}"
        code = PYTHON["zip" if archive.endswith("zip") else "tar"]
        commands = {
            "ours": [EXTRACT, path, "OUT", "x"],
            "bsdtar": ["bsdtar", "-xf", path, "-C", "OUT"],
            "python": [sys.executable, "-c", code, path, "OUT"],
        }
        least = {name: min(cost(command) for _ in range(TURNS)) for name, command in commands.items()}
        ours, memory = least["ours"]
        line = f"{archive:14} {ours:.3f} s"
        for name, most in MOST.items():
            ratio = ours / least[name][0]
            failed |= ratio > EXCEPT.get((archive, name), most)
            line += f"  {least[name][0]:.3f} s {ratio:.2f}x"
        failed |= memory > 48 * 1024
        print(f"{line}  {memory // 1024} MiB", flush=True)
    sys.exit(1 if failed else 0)


main()
