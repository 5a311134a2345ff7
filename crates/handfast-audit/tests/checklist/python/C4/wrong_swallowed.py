# expect: C4=finding
import os
import re
import stat
from flask import Flask, request


class BadPath(Exception):
    pass


app = Flask(__name__)
BOX = "/srv/box"


def check(name):
    if not re.fullmatch(r"[a-z]{1,30}", name):
        raise BadPath(name)
    path = os.path.join(BOX, name)
    try:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            raise BadPath("link")
    except OSError:
        pass
    return path


@app.route("/write", methods=["POST"])
def write():
    open(check(request.form["name"]), "w").write("x")
    return "ok"
