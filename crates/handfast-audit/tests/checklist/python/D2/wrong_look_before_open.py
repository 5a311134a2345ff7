# expect: D2=finding
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.route("/read")
def read():
    name = request.args["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    path = os.path.join(BOX, name)
    if os.path.islink(path):
        abort(403)
    return open(path).read()
