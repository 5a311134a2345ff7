# expect: D3=finding
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.post("/save")
def save():
    name = request.form["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    path = os.path.join(BOX, name)
    tmp = path + ".tmp"
    with open(tmp, "wb") as handle:
        handle.write(request.data)
    os.replace(tmp, path)
    return "ok"
