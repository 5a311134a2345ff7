# expect: A4=yes
import os
from flask import Flask, abort, request, send_file

app = Flask(__name__)
TREE = "/srv/tree"


def split_safe(path):
    parts = path.split("/")
    for part in parts:
        if part in ("", ".", ".."):
            abort(400)
    return parts


@app.route("/tree")
def tree():
    parts = split_safe(request.args["path"])
    return send_file(os.path.join(TREE, *parts))
