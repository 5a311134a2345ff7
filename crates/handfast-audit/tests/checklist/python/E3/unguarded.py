# expect: E3=finding
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
ROOT = "/srv/clones"


@app.post("/sync")
def sync():
    name = request.form["repo"]
    path = os.path.join(ROOT, name)
    if request.form["mode"] == "fresh":
        if not re.fullmatch(r"[a-z]{1,30}", name):
            abort(400)
        os.mkdir(path)
    else:
        os.chmod(path, 0o700)
    return "ok"
