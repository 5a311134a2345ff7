# expect: A3=yes
import os
import re
import subprocess
from flask import Flask, abort, request

app = Flask(__name__)
REPOS = "/srv/git"


@app.post("/gc")
def gc():
    name = request.form["repo"]
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", name):
        abort(400)
    os.listdir(os.path.join(REPOS, name))
    subprocess.run(["git", "gc", "--", name], cwd=REPOS, check=True)
    return "ok"
