# expect: B1=finding
import os
from flask import Flask, request, send_file

app = Flask(__name__)
ROOT = "/srv/data"


@app.route("/get")
def get():
    return send_file(os.path.join(ROOT, request.args["f"]))
