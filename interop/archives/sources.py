"""Source packages of Debian."""
import glob
import os
import shutil
import subprocess


def debian(where, packages):
    """Downloads them. They need `deb-src` beside `deb`: in a list of our own."""
    listed = ""
    for path in glob.glob("/etc/apt/sources.list.d/*.sources"):
        with open(path, encoding="utf-8") as file:
            listed += file.read().replace("Types: deb\n", "Types: deb-src\n") + "\n"
    with open(f"{where}/own.sources", "w", encoding="utf-8") as file:
        file.write(listed)
    os.mkdir(f"{where}/lists")
    options = ["-o", f"Dir::Etc::SourceList={where}/own.sources", "-o", "Dir::Etc::SourceParts=-",
               "-o", f"Dir::State::Lists={where}/lists"]
    quiet = {"cwd": where, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    subprocess.run(["apt-get", *options, "-q", "update"], **quiet)
    # Fetching may fail for one package; what was fetched counts.
    for package in packages:
        subprocess.run(["apt-get", *options, "-q", "source", "--download-only", package], **quiet)
    os.remove(f"{where}/own.sources")
    shutil.rmtree(f"{where}/lists")
