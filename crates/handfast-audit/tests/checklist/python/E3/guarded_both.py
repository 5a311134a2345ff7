# expect: E3=yes
import os
import re
import stat
from flask import Flask, abort, request

app = Flask(__name__)
ROOT = "/srv/clones"


def gate(name):
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    path = os.path.join(ROOT, name)
    if os.path.islink(path):
        abort(400)
    return path


@app.post("/sync")
def sync():
    path = gate(request.form["repo"])
    if request.form["mode"] == "fresh":
        os.mkdir(path)
    else:
        os.chmod(path, 0o700)
    return "ok"
