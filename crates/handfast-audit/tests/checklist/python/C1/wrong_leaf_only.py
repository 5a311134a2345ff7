# expect: C1=finding
import os
import stat
from flask import Flask, abort, request

app = Flask(__name__)
ROOT = os.path.realpath("/srv/tree")


@app.route("/read")
def read():
    relative = request.args["path"]
    if ".." in relative.split("/"):
        abort(400)
    path = os.path.join(ROOT, relative)
    if stat.S_ISLNK(os.lstat(path).st_mode):
        abort(400)
    with open(path) as handle:
        return handle.read()
