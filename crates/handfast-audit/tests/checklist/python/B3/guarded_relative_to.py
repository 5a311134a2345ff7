# expect: B3=yes
from pathlib import Path
from flask import Flask, abort, request

app = Flask(__name__)
ROOT = Path("/srv/site").resolve()


def inside_root(candidate):
    try:
        candidate.relative_to(ROOT)
    except ValueError:
        return False
    return True


@app.route("/page")
def page():
    path = (ROOT / request.args["p"]).resolve()
    if not inside_root(path):
        abort(404)
    return path.read_text()
