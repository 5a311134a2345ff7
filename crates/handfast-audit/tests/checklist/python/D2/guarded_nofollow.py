# expect: D2=yes
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


def open_plain(name):
    return os.open(os.path.join(BOX, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)


@app.route("/read")
def read():
    name = request.args["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    with os.fdopen(open_plain(name)) as handle:
        return handle.read()
