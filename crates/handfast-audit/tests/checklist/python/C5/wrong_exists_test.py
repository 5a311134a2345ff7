# expect: C5=finding
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.post("/new")
def new():
    name = request.form["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    path = os.path.join(BOX, name)
    if os.path.lexists(path):
        abort(409)
    with open(path, "w") as handle:
        handle.write(request.form["text"])
    return "ok"
