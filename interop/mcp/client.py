"""A small MCP client on a server's standard input and output."""

import json
import select
import subprocess
import time


class Server:
    """A server process that is spoken to one message at a time."""

    def __init__(self, command, env=None, stderr=subprocess.DEVNULL, cwd=None):
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env, cwd=cwd, bufsize=0
        )
        self.buffer = b""
        self.number = 0

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def send_raw(self, line):
        self.process.stdin.write(line + b"\n")

    def receive(self, patience=30):
        """The next message; a server that says nothing for this long is broken."""
        end = time.monotonic() + patience
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError("no answer")
            chunk = self.process.stdout.read(1 << 16)
            if not chunk:
                raise EOFError("the server ended")
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def request(self, method, params=None, patience=30):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        while True:
            answer = self.receive(patience)
            if answer.get("id") == self.number and "method" not in answer:
                return answer

    def initialize(self, version="2025-06-18", name="interop", capabilities=None):
        answer = self.request(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": capabilities or {},
                "clientInfo": {"name": name, "version": "1"},
            },
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def call(self, tool, arguments, patience=30):
        return self.request("tools/call", {"name": tool, "arguments": arguments}, patience)

    def text(self, tool, arguments):
        """The text of a call, and whether it is an error."""
        result = self.call(tool, arguments)["result"]
        return result["content"][0].get("text", ""), result.get("isError", False)

    def resident(self):
        """Resident memory in KiB."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0

    def own(self):
        """Resident memory that is no page of a file, in KiB: what another run of the same program does not share."""
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="utf-8") as rollup:
            for line in rollup:
                if line.startswith("Anonymous:"):
                    return int(line.split()[1])
        return 0

    def processor(self):
        """Processor time of all threads so far, in seconds."""
        # The clock of a process by its number, as clock_getcpuclockid(3) has it on Linux.
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def descriptors(self):
        import os

        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
