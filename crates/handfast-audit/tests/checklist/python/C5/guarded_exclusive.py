# expect: C5=yes D2=yes
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
    with open(os.path.join(BOX, name), "x") as handle:
        handle.write(request.form["text"])
    return "ok"
