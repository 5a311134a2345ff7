# expect: C1=finding C2=finding C3=finding
import os
from flask import Flask, abort, request

app = Flask(__name__)
ROOT = os.path.realpath("/srv/tree")


@app.route("/read")
def read():
    relative = request.args["path"]
    if ".." in relative.split("/"):
        abort(400)
    with open(os.path.join(ROOT, relative)) as handle:
        return handle.read()
