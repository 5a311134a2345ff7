# expect: B1=finding
import os
from flask import Flask, abort, request, send_file

app = Flask(__name__)
ROOT = os.path.abspath("/srv/data")


@app.route("/get")
def get():
    path = os.path.abspath(os.path.join(ROOT, request.args["f"]))
    if not path.startswith(ROOT + os.sep):
        abort(403)
    return send_file(path)
