"""A small scripted agent edits a project in an overlay. The person rejects it in the client with a comment; the second try is
looked at and committed on the command line, and the log tells all of it.

    trial.py HANDFAST WORKDIR

Prints what the person types and sees.
"""

import os
import subprocess
import sys

from client import Server

handfast, work = sys.argv[1:3]
project, state = os.path.join(work, "project"), os.path.join(work, "state")
os.makedirs(os.path.join(project, "src"))
for name, text in {
    "src/main.py": "def greet(name):\n    print('hello ' + name)\n\ngreet('world')\n",
    "README.md": "# Greeter\n\nSays hello.\n",
    ".env": "TOKEN=s3cret\n",
}.items():
    with open(os.path.join(project, name), "w", encoding="utf-8") as file:
        file.write(text)

agent = Server([handfast, "mcp", "--state", state, "--session", "review", "--protect", "workspace", project], stderr=subprocess.PIPE)
agent.initialize(name="scripted-agent", capabilities={"elicitation": {}})


def step(tool, **arguments):
    text, failed = agent.text(tool, arguments)
    print(f"agent: {tool} -> {'refused: ' if failed else ''}{text.splitlines()[0] if text else ''}")
    return text, failed


step("list_allowed_directories")
found, _ = step("search_content", path="", pattern=r"print\(")
assert "src/main.py:2:" in found
version = agent.call("read_text_file", {"path": "src/main.py"})["result"]["_meta"]["handfast/version"]
_, failed = step(
    "edit_file",
    path="src/main.py",
    edits=[{"oldText": "print('hello ' + name)", "newText": "print(f'hello, {name}!')"}],
    expectedVersion=version,
)
assert not failed
_, failed = step("write_file", path="src/main.py", content="lost", expectedVersion=version)
assert failed, "a stale write must be stopped"
step("write_file", path="CHANGES.md", content="- new greeting\n")

# The server asks the person through the client, and the client answers with what the person typed.
agent.number += 1
agent.send({"jsonrpc": "2.0", "id": agent.number, "method": "tools/call", "params": {"name": "propose_changes", "arguments": {}}})
question = agent.receive()
assert question["method"] == "elicitation/create", question
assert "+- new greeting" in question["params"]["message"], "the person sees the diff"
comment = "say that it is friendlier"
agent.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"comment": comment, "decision": "commit"}}})
said = agent.receive()["result"]["content"][0]["text"]
print(f"agent: propose_changes -> {said.splitlines()[0]}")
assert comment in said and "Nothing is on disk" in said, said
assert not os.path.exists(os.path.join(project, "CHANGES.md")), "an answer of the client commits nothing"
step("write_file", path="CHANGES.md", content="- friendlier greeting\n")
_, failed = step("read_text_file", path=".env")
assert failed
_, failed = step("read_text_file", path="../state/logs/mcp-0/log.json")
assert failed
agent.close()


def person(*words):
    command = [handfast, *words]
    shown = " ".join(words).replace(state, "STATE").replace(project, "PROJECT")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"\n$ handfast {shown}")
    print((done.stdout + done.stderr).replace(project, "PROJECT").rstrip())
    assert done.returncode == 0, done
    return done.stdout


def content(name):
    with open(os.path.join(project, name), encoding="utf-8") as file:
        return file.read()


assert "hello, {name}" not in content("src/main.py"), "the project is as it was"
assert not os.path.exists(os.path.join(project, "CHANGES.md"))
diff = person("session", "--state", state, "diff", "review")
assert "+    print(f'hello, {name}!')" in diff
log = os.path.join(state, "logs", "mcp-0")
person("session", "--state", state, "--log", log, "commit", "--yes", "review")
assert "hello, {name}" in content("src/main.py") and content("CHANGES.md") == "- friendlier greeting\n"
person("session", "--state", state, "--log", log, "undo", "--yes", "review")
assert not os.path.exists(os.path.join(project, "CHANGES.md"))
person("session", "--state", state, "--log", log, "commit", "--yes", "review")
shown = person("log", "show", log)
assert "scripted-agent 1 / edit_file" in shown and "DENIED" in shown
assert comment in shown, "the comment is in the log"
assert shown.count("done     commit") == 2 and shown.count("done     undo") == 1, "and so are commits, beside the writes"
person("log", "grep", log, "--denied")
person("log", "verify", log)
