# expect: D5=finding
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.post("/lock-down")
def lock_down():
    name = request.form["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    path = os.path.join(BOX, name)
    fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    os.chmod(path, 0o600)
    os.close(fd)
    return "ok"
