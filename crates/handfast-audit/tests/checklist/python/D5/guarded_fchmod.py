# expect: D5=yes
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
    fd = os.open(os.path.join(BOX, name), os.O_RDWR | os.O_NOFOLLOW)
    try:
        os.fstat(fd)
        os.fchmod(fd, 0o600)
    finally:
        os.close(fd)
    return "ok"
