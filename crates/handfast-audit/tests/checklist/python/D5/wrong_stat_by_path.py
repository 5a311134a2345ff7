# expect: D5=finding
import os
import re
import stat
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.route("/read")
def read():
    name = request.args["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    path = os.path.join(BOX, name)
    with open(path, "rb") as handle:
        if not stat.S_ISREG(os.stat(path).st_mode):
            abort(400)
        return handle.read()
