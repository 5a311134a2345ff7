# expect: B1=yes B3=yes
import os
from flask import Flask, abort, request, send_file

app = Flask(__name__)
ROOT = os.path.realpath("/srv/data", strict=True)


@app.route("/get")
def get():
    path = os.path.realpath(os.path.join(ROOT, request.args["f"]))
    if os.path.commonpath([path, ROOT]) != ROOT:
        abort(403)
    return send_file(path)
