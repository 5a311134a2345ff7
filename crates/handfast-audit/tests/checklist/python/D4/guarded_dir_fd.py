# expect: D4=yes C5=yes
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
BOX_FD = os.open("/srv/box", os.O_DIRECTORY | os.O_NOFOLLOW)


@app.post("/remove")
def remove():
    name = request.form["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    os.unlink(name, dir_fd=BOX_FD)
    return "ok"
