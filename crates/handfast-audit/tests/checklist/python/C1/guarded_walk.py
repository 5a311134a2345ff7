# expect: C1=yes C2=yes
import os
import stat
from flask import Flask, abort, request

app = Flask(__name__)
ROOT = os.path.realpath("/srv/tree")


def walk(relative):
    here = ROOT
    for part in relative.split("/"):
        if part in ("", ".", ".."):
            abort(400)
        here = os.path.join(here, part)
        info = os.lstat(here)
        if stat.S_ISLNK(info.st_mode):
            abort(400)
    return here


@app.route("/read")
def read():
    path = walk(request.args["path"])
    with open(path) as handle:
        return handle.read()
