# expect: B3=yes A4=yes
import os
from flask import Flask, abort, request, send_file

app = Flask(__name__)
ROOT = os.path.realpath("/srv/site")


def validate(root, path):
    if not root.endswith(os.path.sep):
        root += os.path.sep
    if not (path + os.path.sep).startswith(root):
        abort(403)
    return path


@app.route("/page")
def page():
    path = os.path.realpath(os.path.join(ROOT, request.args["p"]))
    return send_file(validate(ROOT, path))
