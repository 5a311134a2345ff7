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
    info = os.lstat(path)
    if not stat.S_ISREG(info.st_mode):
        raise BadPath("not a plain file")
    return path


@app.route("/read")
def read():
    return open(check(request.args["name"])).read()
