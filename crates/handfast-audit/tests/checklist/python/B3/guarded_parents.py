# expect: B3=yes A4=yes
from pathlib import Path
from flask import Flask, abort, request

app = Flask(__name__)
ROOT = Path("/srv/site").resolve()


@app.route("/page")
def page():
    path = ROOT.joinpath(request.args["p"]).resolve()
    if ROOT not in path.parents:
        abort(404)
    return path.read_text()
