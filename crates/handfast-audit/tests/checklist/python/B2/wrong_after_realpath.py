# expect: B2=finding
import os
from flask import Flask, request, send_file

app = Flask(__name__)
ROOT = os.path.realpath("/srv/store")
if os.path.islink(ROOT) or not os.path.isdir(ROOT):
    raise SystemExit("bad root")


@app.route("/get")
def get():
    return send_file(os.path.join(ROOT, request.args["f"]))
