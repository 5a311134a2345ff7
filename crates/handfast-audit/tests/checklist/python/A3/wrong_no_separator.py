# expect: A3=finding
import os
import subprocess
from flask import Flask, abort, request

app = Flask(__name__)
REPOS = "/srv/git"


@app.post("/archive")
def archive():
    name = request.form["repo"]
    if "/" in name or ".." in name:
        abort(400)
    os.listdir(os.path.join(REPOS, name))
    subprocess.check_call(["tar", "cf", "/tmp/out.tar", name], cwd=REPOS)
    return "ok"
