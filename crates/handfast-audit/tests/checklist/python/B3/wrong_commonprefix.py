# expect: B3=finding
import os
from flask import Flask, abort, request, send_file

app = Flask(__name__)
ROOT = os.path.realpath("/srv/site")


def inside(path):
    return os.path.commonprefix([path, ROOT]) == ROOT


@app.route("/page")
def page():
    path = os.path.realpath(os.path.join(ROOT, request.args["p"]))
    if not inside(path):
        abort(404)
    return send_file(path)
