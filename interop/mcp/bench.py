"""Three servers side by side in one run: start-up, memory, and how long calls take.

    bench.py HANDFAST REFERENCE RUST_MCP_FILESYSTEM WORKDIR CALLS STARTS

Handfast runs as people run it, with its log on; how durable that is, and what a write waits for, is printed. Rounds alternate
between the servers, so that a busy moment of the machine meets all of them. At the end `ping` is asked behind a search
that takes five seconds or more, where a server has such a search.
"""

import os
import shutil
import statistics
import sys
import time

from client import Server

handfast, reference, rust, work = sys.argv[1:5]
calls, starts = int(sys.argv[5]), int(sys.argv[6])
FILES = 10_000
top = os.path.join(work, "bench")
environment = {**os.environ, "XDG_STATE_HOME": os.path.join(work, "bench-state"), "TZ": "UTC"}
shutil.rmtree(top, ignore_errors=True)
os.makedirs(top)
with open(os.path.join(top, "read.txt"), "w", encoding="utf-8") as file:
    file.write("a line of text\n" * 80)
os.mkdir(os.path.join(top, "list"))
for number in range(100):
    open(os.path.join(top, "list", f"entry-{number}"), "w", encoding="utf-8").close()
os.mkdir(os.path.join(top, "tree"))
for directory in range(100):
    os.mkdir(os.path.join(top, "tree", f"dir-{directory}"))
    for number in range(FILES // 100):
        open(os.path.join(top, "tree", f"dir-{directory}", f"file-{number}.rs"), "w", encoding="utf-8").close()

SERVERS = {
    "handfast": [handfast, "mcp", "--quiet", "--full-answers", top],
    "reference 2026.8.31": ["node", reference, top],
    "rust-mcp-filesystem 0.4.5": [rust, "--allow-write", top],
}
p = lambda name: os.path.join(top, name)
WORK = {
    "read 1.2 kB": (1, lambda n: ("read_text_file", {"path": p("read.txt")})),
    "write 1.2 kB, new": (1, lambda n: ("write_file", {"path": p(f"new-{n}"), "content": "a line of text\n" * 80})),
    "write 1.2 kB, over": (1, lambda n: ("write_file", {"path": p("over.txt"), "content": "a line of text\n" * 80})),
    "list 100": (1, lambda n: ("list_directory", {"path": p("list")})),
    f"tree of {FILES:,}": (50, lambda n: ("directory_tree", {"path": p("tree")})),
    f"search {FILES:,}": (50, lambda n: ("search_files", {"path": p("tree"), "pattern": "**/file-7.rs"})),
}


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


load = [os.getloadavg()[0]]
started = {name: [] for name in SERVERS}
start_cost = {name: [] for name in SERVERS}
for _ in range(starts):
    for name, command in SERVERS.items():
        server = Server(command, env=environment)
        server.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})
        started[name].append((time.perf_counter() - server.begun) * 1000)
        start_cost[name].append(server.processor() * 1000)
        server.close()

running = {name: Server(command, env=environment) for name, command in SERVERS.items()}
for server in running.values():
    server.initialize(name="bench")
    server.call("read_text_file", {"path": p("read.txt")})
first = {name: server.resident() / 1024 for name, server in running.items()}
times = {name: {what: [] for what in WORK} for name in SERVERS}
cost = {name: dict.fromkeys(WORK, 0.0) for name in SERVERS}
memory, own = {}, {}
number = 0
for what, (fewer, call) in WORK.items():
    rounds = max(3, calls // fewer)
    for begin in range(0, rounds, 25):
        for name, server in running.items():
            spent = server.processor()
            for _ in range(min(25, rounds - begin)):
                number += 1
                tool, arguments = call(number)
                before = time.perf_counter()
                answer = server.call(tool, arguments, patience=120)
                times[name][what].append((time.perf_counter() - before) * 1000)
                if answer.get("result", {}).get("isError") or "error" in answer:
                    sys.exit(f"{name}: {what}: {str(answer)[:300]}")
            cost[name][what] += (server.processor() - spent) * 1000 / rounds
    if what.startswith("list"):
        memory = {name: server.resident() / 1024 for name, server in running.items()}
        own = {name: server.own() / 1024 for name, server in running.items()}
last = {name: server.resident() / 1024 for name, server in running.items()}
for server in running.values():
    server.close()


def pings_behind_a_search(command, tool, arguments):
    """How long the search took, and how long each `ping` that was asked meanwhile, in milliseconds."""
    server = Server(command, env=environment)
    server.initialize(name="bench")
    server.send({"jsonrpc": "2.0", "id": 900_000, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    begun, waited, number = time.perf_counter(), [], 900_000
    searching = True
    while searching:
        time.sleep(0.02)
        number += 1
        before = time.perf_counter()
        server.send({"jsonrpc": "2.0", "id": number, "method": "ping"})
        while (answer := server.receive(patience=120)).get("id") != number:
            searching &= answer.get("id") != 900_000
        waited.append((time.perf_counter() - before) * 1000)
    server.close()
    return (time.perf_counter() - begun) * 1000, waited


# An expression that is slow to match, over as much text as keeps a search busy for five seconds.
os.mkdir(p("slow"))
with open(p("slow/text"), "w", encoding="utf-8") as file:
    file.write("abababababababababababababababab\n" * 220_000)
for number in range(1, 60):
    os.link(p("slow/text"), p(f"slow/text-{number}"))
pattern = "(a|b){31}c$"
SEARCHES = {
    "handfast": ("search_content", {"path": p("slow"), "pattern": pattern}),
    "rust-mcp-filesystem 0.4.5": (
        "search_files_content",
        {"path": p("slow"), "pattern": "**/*", "query": pattern, "is_regex": True},
    ),
}
pinged = {name: pings_behind_a_search(SERVERS[name], *search) for name, search in SEARCHES.items()}

rows = [("start to the first answer, ms", {n: f"{statistics.median(v):.1f} / {percentile(v, 0.99):.1f}" for n, v in started.items()})]
rows.append(("  processor time, ms", {n: f"{statistics.median(v):.1f}" for n, v in start_cost.items()}))
rows.append(("resident after one call, MiB", {n: f"{v:.1f}" for n, v in first.items()}))
rows.append(("resident after reads and writes, MiB", {n: f"{v:.1f}" for n, v in memory.items()}))
rows.append(("  of which no page of a file, MiB", {n: f"{v:.1f}" for n, v in own.items()}))
rows.append(("resident after trees, too, MiB", {n: f"{v:.1f}" for n, v in last.items()}))
for what in WORK:
    rows.append(
        (f"{what}, ms", {n: f"{statistics.median(times[n][what]):.3f} / {percentile(times[n][what], 0.99):.3f}" for n in SERVERS})
    )
    rows.append(("  processor time a call, ms", {n: f"{cost[n][what]:.3f}" for n in SERVERS}))
rows.append(("a search that takes long, ms", {n: f"{v[0]:.0f}" for n, v in pinged.items()}))
rows.append(
    ("ping behind it, ms", {n: f"{statistics.median(v[1]):.3f} / {percentile(v[1], 0.99):.3f} ({len(v[1])})" for n, v in pinged.items()})
)
print("handfast: log on, every event `ordered` (it survives the process, not the machine); writes without --sync, as the others'")
load.append(os.getloadavg()[0])
print(f"load {load[0]:.1f} at the beginning, {load[1]:.1f} at the end, {os.cpu_count()} processors")
print(f"median / 99th percentile; {starts} starts, {calls} calls a row ({max(3, calls // 50)} for trees and searches)\n")
print("| | " + " | ".join(SERVERS) + " |")
print("|---|" + "---|" * len(SERVERS))
for what, row in rows:
    print(f"| {what} | " + " | ".join(row.get(name, "-") for name in SERVERS) + " |")

behind = []
for what in WORK:
    ours = statistics.median(times["handfast"][what])
    for name in list(SERVERS)[1:]:
        if ours > statistics.median(times[name][what]):
            behind.append(f"{what}: behind {name}")
        if cost["handfast"][what] > cost[name][what]:
            behind.append(f"{what}: takes more processor time than {name}")
for name in list(SERVERS)[1:]:
    if statistics.median(start_cost["handfast"]) > statistics.median(start_cost[name]):
        behind.append(f"start: takes more processor time than {name}")
if statistics.median(started["handfast"]) > 5:
    behind.append("start: over 5 ms")
if pinged["handfast"][0] < 5000:
    print(f"the search took {pinged['handfast'][0]:.0f} ms only")
if percentile(pinged["handfast"][1], 0.99) > 50:
    behind.append("ping behind a search: over 50 ms")
if memory["handfast"] > memory["rust-mcp-filesystem 0.4.5"]:
    behind.append("memory: above rust-mcp-filesystem's")
if memory["handfast"] > 8:
    behind.append("memory: over 8 MiB")
print()
print("ahead of both in each" if not behind else "goals missed: " + "; ".join(behind))
