# expect: B3=finding
from pathlib import Path
from flask import Flask, request

app = Flask(__name__)
ROOT = Path("/srv/site").resolve()


@app.route("/page")
def page():
    path = ROOT.joinpath(request.args["p"]).resolve()
    return path.read_text()
