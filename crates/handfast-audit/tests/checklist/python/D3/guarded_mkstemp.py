# expect: D3=yes
import os
import re
import tempfile
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.post("/save")
def save():
    name = request.form["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    path = os.path.join(BOX, name)
    fd, tmp = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(fd, "wb") as handle:
        handle.write(request.data)
    os.replace(tmp, path)
    return "ok"
