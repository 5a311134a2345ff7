# expect: A3=finding
import os
import subprocess
from flask import Flask, request

app = Flask(__name__)
REPOS = "/srv/git"


@app.post("/gc")
def gc():
    name = request.form["repo"]
    os.listdir(os.path.join(REPOS, name))
    subprocess.run(f"git -C {REPOS}/{name} gc", shell=True)
    return "ok"
