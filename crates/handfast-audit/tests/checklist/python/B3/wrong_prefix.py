# expect: B3=finding
import os
from flask import Flask, abort, request, send_file

app = Flask(__name__)
ROOT = os.path.realpath("/srv/site")


@app.route("/page")
def page():
    path = os.path.realpath(os.path.join(ROOT, request.args["p"]))
    if not path.startswith(ROOT):
        abort(404)
    return send_file(path)
