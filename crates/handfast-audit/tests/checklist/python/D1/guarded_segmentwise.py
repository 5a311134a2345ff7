# expect: D1=yes
import os
import re
import stat
from flask import Flask, abort, request

app = Flask(__name__)
ROOT = "/srv/jobs"


@app.post("/job")
def job():
    name = request.form["name"]
    if not re.fullmatch(r"[a-z0-9]{1,32}", name):
        abort(400)
    path = os.path.join(ROOT, name)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode) or not stat.S_ISDIR(info.st_mode):
            abort(409)
    return "ok"
