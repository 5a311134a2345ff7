"""A small scripted agent edits a project in an overlay; then a person looks, commits and reads the log.

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
agent.initialize(name="scripted-agent")


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
person("session", "--state", state, "commit", "--yes", "review")
assert "hello, {name}" in content("src/main.py") and content("CHANGES.md")
shown = person("log", "show", os.path.join(state, "logs", "mcp-0"))
assert "scripted-agent 1 / edit_file" in shown and "DENIED" in shown
person("log", "grep", os.path.join(state, "logs", "mcp-0"), "--denied")
person("log", "verify", os.path.join(state, "logs", "mcp-0"))
