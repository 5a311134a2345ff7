"""Extracts real archives with Handfast and with bsdtar, and compares the trees.

Source packages of crates come from cargo's cache, wheels from pip, tarballs from npm, source tars from
Debian. A group of which nothing could be had is an error: a run that compared nothing shows nothing.
"""
import glob
import os
import shutil
import subprocess
import sys

from sources import debian

EXTRACT, WORK = sys.argv[1:3]
WHEELS = ("requests numpy flask click jinja2 pyyaml urllib3 certifi idna packaging six attrs pytest pydantic "
          "rich typer httpx anyio setuptools wheel").split()
TARBALLS = ("lodash react express chalk commander typescript axios debug semver uuid yargs glob minimist async "
            "moment vue webpack rxjs tslib prettier").split()
SOURCES = "hello sed grep gzip bzip2 xz-utils less patch diffutils make-dfsg".split()


def run(command, where):
    """Fetching may fail for one package; what was fetched counts."""
    subprocess.run(command, cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def fetched(name):
    where = os.path.join(WORK, name)
    os.mkdir(where)
    if name == "crates":
        home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
        return sorted(glob.glob(f"{home}/registry/cache/*/*.crate"))[:200]
    if name == "wheels":
        run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", ".", *WHEELS], where)
    if name == "tarballs":
        for package in TARBALLS:
            run(["npm", "pack", "-s", package], where)
    if name == "sources":
        debian(where, SOURCES)
    kinds = ("*.whl", "*.tgz", "*.tar.*[!c]")
    return sorted(it for kind in kinds for it in glob.glob(f"{where}/{kind}"))


def tree(top):
    """Names, kinds, modes, link targets and contents."""
    found = {}
    for above, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(above, name)
            status = os.lstat(path)
            if os.path.islink(path):
                what = os.readlink(path)
            elif os.path.isdir(path):
                what = None
            else:
                with open(path, "rb") as file:
                    what = file.read()
            # Set-id bits are never taken from an archive.
            found[os.path.relpath(path, top)] = (status.st_mode & ~0o7000, what)
    return found


def compare(archive):
    """What differs, in words; nothing if nothing does."""
    ours, theirs = os.path.join(WORK, "ours"), os.path.join(WORK, "theirs")
    for where in (ours, theirs):
        shutil.rmtree(where, ignore_errors=True)
        os.mkdir(where)
    done = subprocess.run([EXTRACT, archive, ours, "x"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return "refused: " + " ".join((done.stdout + done.stderr).split("\n")[:2])
    subprocess.run(["bsdtar", "-xpf", archive, "-C", theirs], check=True)
    one, other = tree(os.path.join(ours, "x")), tree(theirs)
    differ = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return f"differs: {differ[:3]}" if differ else ""


def main():
    failed = False
    for group in ("crates", "wheels", "tarballs", "sources"):
        archives = fetched(group)
        wrong = [(os.path.basename(it), said) for it in archives if (said := compare(it))]
        print(f"{group}: {len(archives) - len(wrong)} of {len(archives)} the same")
        for name, said in wrong:
            print(f"  {name}: {said}")
        failed |= bool(wrong) or not archives
    sys.exit(1 if failed else 0)


main()
