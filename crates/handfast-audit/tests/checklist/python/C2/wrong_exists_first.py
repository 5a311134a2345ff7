# expect: C2=finding
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.route("/write", methods=["POST"])
def write():
    name = request.form["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    path = os.path.join(BOX, name)
    if os.path.exists(path) and os.path.islink(path):
        abort(400)
    with open(path, "w") as handle:
        handle.write(request.form["text"])
    return "ok"
