"""mcp-fuzzer before the server: its tool and protocol modes, by standard input and by HTTP.

    fuzzer.py MCP_FUZZER HANDFAST WORKDIR WITH_TOKEN RUNS

The fuzzer reports what it thinks of the answers; here it counts whether the server lives, answers, and leaves alone
what is outside. By standard input the fuzzer starts the server itself, by HTTP it is watched from here.
"""

import json
import os
import re
import subprocess
import sys
import time

fuzzer, handfast, work, with_token, runs = sys.argv[1:6]
home = os.path.join(work, "fuzzer-home")
inside, outside, state = (os.path.join(work, name) for name in ("fuzzed", "beside", "fuzzer-state"))
for directory in (home, inside, outside):
    os.makedirs(directory, exist_ok=True)
for directory, text in ((inside, "inside\n"), (outside, "outside\n")):
    with open(os.path.join(directory, "file.txt"), "w", encoding="utf-8") as file:
        file.write(text)
environment = {**os.environ, "HOME": home, "XDG_STATE_HOME": state}
failed = []


def fuzz(name, protocol, endpoint, mode):
    reports = os.path.join(work, "reports", name.replace(" ", "-"))
    os.makedirs(reports)
    command = [fuzzer, "--mode", mode, "--phase", "both", "--protocol", protocol, "--endpoint", endpoint, "--runs", runs]
    command += ["--runs-per-type", runs, "--protocol-phase", "aggressive", "--timeout", "20", "--no-safety", "--seed", "7"]
    command += ["--fs-root", home, "--output-dir", reports, "--log-level", "ERROR"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, cwd=home)
    with open(os.path.join(reports, "output.txt"), "w", encoding="utf-8") as file:
        file.write(done.stdout + done.stderr)
    said = done.stdout + done.stderr
    crashes = re.findall(r"(?i)(server (?:crash|exit|died)\w*|broken pipe|connection refused|panicked)", said)
    print(f"{name:24} exit {done.returncode}, {len(said)} characters of report, {len(crashes)} words of a dead server")
    if done.returncode not in (0, 1) or crashes:
        failed.append(f"{name}: exit {done.returncode}: {crashes[:3]}: {said[-600:]}")


def answers(command):
    """Whether a new server over the same directory still does what it should."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_directory", "arguments": {"path": ""}}}
    out, _ = process.communicate(json.dumps(request).encode() + b"\n", timeout=30)
    return json.loads(out.splitlines()[0]).get("result", {}).get("isError") is None and process.returncode == 0


command = [handfast, "mcp", "--quiet", "--allow-delete", inside]
for mode in ("tools", "protocol", "resources", "prompts"):
    fuzz(f"stdio {mode}", "stdio", " ".join(command), mode)

words = os.path.join(work, "fuzzer-words")
with open(words, "w", encoding="utf-8") as file:
    served = subprocess.Popen([handfast, "mcp", "--http", "127.0.0.1:0", "--allow-delete", inside], stderr=file, env=environment)
for _ in range(200):
    with open(words, encoding="utf-8") as file:
        said = file.read()
    if "Bearer" in said:
        break
    time.sleep(0.05)
url = re.search(r"listening on (\S+)", said).group(1)
token = re.search(r"Bearer (\S+)", said).group(1)
proxy = subprocess.Popen([sys.executable, with_token, url, token], stdout=subprocess.PIPE, text=True)
port = proxy.stdout.readline().strip()
descriptors = lambda: len(os.listdir(f"/proc/{served.pid}/fd"))
before = descriptors()
for mode in ("tools", "protocol", "resources", "prompts"):
    fuzz(f"HTTP {mode}", "streamablehttp", f"http://127.0.0.1:{port}/mcp", mode)
if served.poll() is not None:
    failed.append(f"the server by HTTP ended with {served.returncode}")
else:
    # Connections that the fuzzer left are closed within half a minute.
    for _ in range(80):
        if descriptors() <= before + 2:
            break
        time.sleep(0.5)
    print(f"descriptors {before} before, {descriptors()} after")
    if descriptors() > before + 2:
        failed.append("descriptors were left open")
for process in (proxy, served):
    process.terminate()
    process.wait()

with open(os.path.join(outside, "file.txt"), encoding="utf-8") as file:
    if file.read() != "outside\n" or len(os.listdir(outside)) != 1:
        failed.append("something outside was changed")
if not answers(command):
    failed.append("a new server over the same directory does not answer")
for line in failed:
    print("FAILED:", line)
sys.exit(1 if failed else 0)
